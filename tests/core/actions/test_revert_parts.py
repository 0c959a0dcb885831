"""Hunks and files of a step, taken back one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.core.errors import InvalidParams, UnknownStep
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import Executable, Item, Symlink

# -- hunks


def test_hunks(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"A", l15=b"B")})
    agents.bench.write({"a.txt": text(l2=b"A", l9=b"U", l15=b"B")})
    assert agents.hunks(step, "a.txt") == ["@@ -1,5 +1,5 @@", "@@ -12,7 +12,7 @@"]
    assert agents.revert_hunks(step, "a.txt", [0]) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l9=b"U", l15=b"B")
    assert agents.states("one") == ["applied"]
    # again there is nothing to do, and the rest goes with the step
    assert agents.revert_hunks(step, "a.txt", [0]) == {"a.txt": "unchanged"}
    assert agents.undo("one") == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l9=b"U")
    agents.redo("one")
    assert agents.bench.read()["a.txt"] == text(l9=b"U", l15=b"B")


def test_hunks_that_overlap_with_the_users(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"A", l15=b"B")})
    agents.bench.write({"a.txt": text(l2=b"U", l15=b"B")})
    assert agents.revert_hunks(step, "a.txt", [0]) == {"a.txt": "conflict:changedSince"}
    assert agents.bench.read()["a.txt"] == text(l2=b"U", l15=b"B")
    assert agents.revert_hunks(step, "a.txt", [1]) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l2=b"U")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"f": b"1\n"}, {}),
        ({}, {"f": b"1\n"}),
        ({"f": Executable(b"1\n2\n")}, {}),
        ({"f": Executable(b"1\n")}, {"f": Executable(b"2\n")}),
        ({"f": Symlink("a")}, {"f": Symlink("b")}),
    ],
)
def test_all_hunks_or_none(tmp_path: Path, before: dict[str, Item], after: dict[str, Item]) -> None:
    agents = at_work(tmp_path, before)
    bench = agents.bench
    step = agents.step("one", lambda: bench.become(after))
    assert len(agents.hunks(step, "f")) == 1
    agents.revert_hunks(step, "f", [])
    assert bench.read() == after
    agents.revert_hunks(step, "f", [0])
    assert bench.read() == before


def test_files_without_hunks(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"bin": b"\0", "link": Symlink("a"), "mode": b"1\n"})
    step = agents.step("one", {"bin": b"\0\1", "link": b"a\n", "mode": Executable(b"1\n")})
    for name in ("bin", "link", "mode"):
        assert agents.hunks(step, name) == []
    for name in ("bin", "link", "mode"):
        with pytest.raises(InvalidParams):
            agents.revert_hunks(step, name, [0])
    with pytest.raises(InvalidParams):
        agents.hunks(step, "other")


# -- files


def test_some_files_of_a_step(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT, "bin": b"\0\1", "gone": b"g\n", "mode": b"m\n", "old": TEXT})
    bench = agents.bench

    def work() -> None:
        bench.write({"a.txt": text(l2=b"A"), "bin": b"\0\2", "d/new": b"n\n", "mode": Executable(b"m\n")})
        (bench.root / "gone").unlink()
        (bench.root / "old").rename(bench.root / "moved")

    step = agents.step("one", work)
    after = bench.read()
    bench.write({"a.txt": text(l2=b"A", l9=b"U")})
    assert agents.revert_files(step, "bin", "gone", dry_run=True) == {"bin": "restored", "gone": "restored"}
    assert agents.revert_files(step, "bin", "gone") == {"bin": "restored", "gone": "restored"}
    assert bench.read() == {**after, "a.txt": text(l2=b"A", l9=b"U"), "bin": b"\0\1", "gone": b"g\n"}
    assert agents.states("one") == ["applied"]
    assert agents.revert_files(step, "a.txt", "d/new", "mode") == {
        "a.txt": "merged", "d/new": "deleted", "mode": "restored",
    }  # fmt: skip
    # one that moved goes back as a whole, by whichever of its names
    assert agents.revert_files(step, "moved") == {"moved": "deleted", "old": "restored"}
    assert bench.read() == {"a.txt": text(l9=b"U"), "bin": b"\0\1", "gone": b"g\n", "mode": b"m\n", "old": TEXT}
    assert not (bench.root / "d").exists()
    assert set(agents.undo("one").values()) == {"unchanged"}


def test_files_that_the_step_did_not_change(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": b"x"})
    with pytest.raises(InvalidParams, match=r"b\.txt"):
        agents.revert_files(step, "a.txt", "b.txt")
    assert agents.bench.read()["a.txt"] == b"x"
    with pytest.raises(UnknownStep):
        agents.revert_files("none", "a.txt")


def test_files_of_a_part_of_the_step(agents: Agents) -> None:
    whole = agents.begin("one")
    agents.step("one", {"a.txt": b"part"}, parent=whole)
    agents.bench.write({"b.txt": b"whole"})
    agents.end(whole)
    assert agents.revert_files(whole, "a.txt", "b.txt") == {"a.txt": "restored", "b.txt": "restored"}
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_one_conflict_of_an_undone_step_is_resolved_and_redone(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"A"), "b.txt": b"agent\n", "c": b"c\n"})
    agents.bench.write({"a.txt": text(l2=b"U"), "b.txt": b"user\n"})
    assert agents.undo("one") == {
        "a.txt": "conflict:changedSince", "b.txt": "conflict:changedSince", "c": "deleted",
    }  # fmt: skip
    assert agents.revert_files(step, "b.txt", "c", on_conflict="overwrite") == {"b.txt": "restored", "c": "unchanged"}
    assert agents.bench.read() == {"a.txt": text(l2=b"U"), "b.txt": b"b\n"}
    assert agents.states("one") == ["partly"]
    # to do it again is to have again what was overwritten
    agents.redo("one")
    assert agents.bench.read() == {"a.txt": text(l2=b"U"), "b.txt": b"user\n", "c": b"c\n"}

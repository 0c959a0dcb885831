"""Files with several names (hard links): restored, reverted, undone and done again, each name for itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.failures import at_failpoint
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, Symlink, make, outcomes


def linked(folder: Path, names: str, text: bytes = b"two") -> Bench:
    """A workspace in which all of some names, of one letter each, are one file."""
    bench = make(folder)
    first, *others = names
    bench.write({first: text})
    for other in others:
        os.link(bench.path(first), bench.path(other))
    return bench


STATES: dict[str, Items] = {
    "all written": {"a": b"one", "b": b"one", "c": b"other"},
    "all deleted": {"d": b"one"},
    "one written, others deleted": {"b": b"one"},
    "one stays": {"a": b"one", "b": b"two", "c": b"one"},
}


@pytest.mark.parametrize("watcher", ["auto", "none"])
@pytest.mark.parametrize("state", STATES)
def test_one_restore_is_complete(tmp_path: Path, state: str, watcher: str) -> None:
    then = STATES[state]
    bench = make(tmp_path, then, watcher=watcher)  # type: ignore[arg-type]
    tree = bench.track()
    bench.become({"a": b"two"})
    os.link(bench.path("a"), bench.path("b"))
    os.link(bench.path("a"), bench.path("c"))
    bench.track()
    expected_outcomes = outcomes(bench.restore(tree, dry_run=True))
    assert outcomes(bench.restore(tree)) == expected_outcomes
    assert not {"conflict:changedMeanwhile", "failed"} & set(expected_outcomes.values())
    assert bench.read() == then
    assert bench.track() == tree


def test_two_names_of_a_symlink(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "b": b"1"})
    tree = bench.track()
    bench.become({"a": Symlink(b"target")})
    os.link(bench.path("a"), bench.path("b"), follow_symlinks=False)
    bench.track()
    assert outcomes(bench.restore(tree)) == {"a": "restored", "b": "restored"}


def test_undo_and_redo_of_a_step_that_wrote_through_two_names(tmp_path: Path) -> None:
    bench = linked(tmp_path, "ab", b"one")
    bench.track()
    agents = Agents(bench)
    session = agents.start()

    def write() -> None:
        with open(bench.path("a"), "wb") as file:
            file.write(b"two")

    agents.step(session, write)
    for _ in range(2):
        assert agents.undo(session) == {"a": "restored", "b": "restored"}
        assert bench.read() == {"a": b"one", "b": b"one"}
        # and where they are one file again when it is done once more
        assert agents.redo(session) == {"a": "restored", "b": "restored"}
        os.unlink(bench.path("b"))
        os.link(bench.path("a"), bench.path("b"))


def test_undo_of_a_step_that_made_links(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"one"})
    agents = Agents(bench)
    session = agents.start()

    def link() -> None:
        for name in "bcd":
            os.link(bench.path("a"), bench.path(name))

    agents.step(session, link)
    assert agents.undo(session) == dict.fromkeys("bcd", "deleted")
    assert bench.read() == {"a": b"one"}


def test_a_name_that_is_not_restored_is_as_it_was(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"one"})
    tree = bench.track()
    bench.become({"a": b"two"})
    os.link(bench.path("a"), bench.path("b"))
    now = bench.track()
    inode = os.stat(bench.path("b")).st_ino
    assert outcomes(bench.revert((tree, ["a"]))) == {"a": "restored"}
    assert bench.read() == {"a": b"one", "b": b"two"}
    assert os.stat(bench.path("b")).st_ino == inode
    # its ctime moved, by us: that is nobody's change
    assert outcomes(bench.restore(now, "fail")) == {"a": "restored"}


def test_a_link_that_somebody_makes_meanwhile_is_no_change(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"one"})
    tree = bench.track()
    bench.write({"a": b"two"})
    bench.track()
    with at_failpoint("apply.move", lambda: os.link(bench.path("a"), tmp_path / "elsewhere")):
        assert outcomes(bench.restore(tree)) == {"a": "restored"}
    assert (tmp_path / "elsewhere").read_bytes() == b"two"


@pytest.mark.parametrize("then", [{"a": b"one", "b": b"one"}, {"c": b""}])
def test_what_others_write_through_the_second_name_meanwhile_is_theirs(tmp_path: Path, then: Items) -> None:
    bench = make(tmp_path, then)
    tree = bench.track()
    bench.become({"a": b"two", "c": b""} if "c" in then else {"a": b"two"})
    os.link(bench.path("a"), bench.path("b"))
    bench.track()

    def write() -> None:
        # of the same size, and at the same time as far as mtime tells
        before = os.stat(bench.path("b"))
        with open(bench.path("b"), "r+b") as file:
            file.write(b"new")
        os.utime(bench.path("b"), ns=(before.st_atime_ns, before.st_mtime_ns))

    with at_failpoint("apply.move" if "a" in then else "apply.delete", write, 2):
        found = outcomes(bench.restore(tree))
    assert found["b"] == "conflict:changedMeanwhile"
    assert bench.read()["b"] == b"new"
    assert not [name for name in os.listdir(bench.root) if name.startswith(".snapd-")]

"""One step, the edits of the user since, and its undo: what becomes of each file."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import pytest

from snapd.model.errors import NothingToRedo
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, reachable, refused, stats, text
from tests.support.workspace import Executable, Item, Symlink, make, outcomes

# -- one step, the user's edits since, and its undo


@attrs.frozen
class Case:
    """States of the whole folder, and what undo says of each file.

    Attributes:
        before: what the step is begun on.
        agent: what it leaves.
        user: what the user makes of that.
        undone: what undo leaves.
        said: what it says.
    """

    before: dict[str, Item]
    agent: dict[str, Item]
    user: dict[str, Item]
    undone: dict[str, Item]
    said: dict[str, str]


OTHER: dict[str, Item] = {"other": b"other\n"}
AB: dict[str, Item] = {"d/a": TEXT, "d/b": b"b\n"}

CASES = {
    "lines apart": Case(
        {"a": TEXT}, {"a": text(l2=b"AGENT")}, {"a": text(l2=b"AGENT", l9=b"USER")}, {"a": text(l9=b"USER")},
        {"a": "merged"},
    ),
    "the same line": Case(
        {"a": TEXT}, {"a": text(l2=b"AGENT")}, {"a": text(l2=b"USER")}, {"a": text(l2=b"USER")},
        {"a": "conflict:changedSince"},
    ),
    "nobody else": Case({"a": TEXT}, {"a": b"x"}, {"a": b"x"}, {"a": TEXT}, {"a": "restored"}),
    "taken back by hand": Case({"a": TEXT}, {"a": b"x"}, {"a": TEXT}, {"a": TEXT}, {"a": "unchanged:already"}),
    "a conflict beside others": Case(
        {"a": TEXT, "b": b"b\n"}, {"a": b"x", "b": b"x", "c": b"x"}, {"a": b"y", "b": b"x", "c": b"x"},
        {"a": b"y", "b": b"b\n"}, {"a": "conflict:changedSince", "b": "restored", "c": "deleted"},
    ),
    "created": Case(OTHER, {**OTHER, "n/m/a": b"1"}, {**OTHER, "n/m/a": b"1"}, OTHER, {"n/m/a": "deleted"}),
    "created, the user put a file beside it": Case(
        OTHER, {**OTHER, "n/a": b"1"}, {**OTHER, "n/a": b"1", "n/u": b"u"}, {**OTHER, "n/u": b"u"}, {"n/a": "deleted"},
    ),
    "created, deleted by the user": Case(OTHER, {**OTHER, "a": b"1"}, OTHER, OTHER, {"a": "unchanged:already"}),
    "the user just added a file": Case(
        OTHER, {**OTHER, "a": b"1"}, {**OTHER, "a": b"1", "mine": b"m"}, {**OTHER, "mine": b"m"}, {"a": "deleted"},
    ),
    "deleted": Case({"d/a": TEXT}, {}, {}, {"d/a": TEXT}, {"d/a": "restored"}),
    "binary": Case({"a": b"\0\1"}, {"a": b"\0\2"}, {"a": b"\0\2"}, {"a": b"\0\1"}, {"a": "restored"}),
    "empty files": Case({"a": b""}, {"b": b""}, {"b": b""}, {"a": b""}, {"a": "restored", "b": "deleted"}),
    "symlink": Case(
        {"l": Symlink("a")}, {"l": Symlink("b")}, {"l": Symlink("b")}, {"l": Symlink("a")}, {"l": "restored"},
    ),
    "symlink became a file": Case(
        {"l": Symlink("a")}, {"l": b"1"}, {"l": b"1"}, {"l": Symlink("a")}, {"l": "restored"},
    ),
    "made executable, edited by the user": Case(
        {"a": TEXT}, {"a": Executable(TEXT)}, {"a": Executable(text(l3=b"U"))}, {"a": text(l3=b"U")}, {"a": "merged"},
    ),
    "edited, made executable by the user": Case(
        {"a": TEXT}, {"a": text(l3=b"A")}, {"a": Executable(text(l3=b"A"))}, {"a": Executable(TEXT)}, {"a": "merged"},
    ),
    "moved": Case(
        {"a": TEXT}, {"n/b": TEXT}, {"n/b": TEXT}, {"a": TEXT}, {"a": "restored", "n/b": "deleted"},
    ),
    "moved, edited by the user": Case(
        {"a": TEXT}, {"b": TEXT}, {"b": text(l5=b"U")}, {"a": text(l5=b"U")}, {"a": "merged", "b": "deleted"},
    ),
    "moved and edited by the step, edited by the user": Case(
        {"a": TEXT}, {"b": text(l2=b"A")}, {"b": text(l2=b"A", l9=b"U")}, {"a": text(l9=b"U")},
        {"a": "merged", "b": "deleted"},
    ),
    "moved, and its old name taken by the user": Case(
        {"a": TEXT}, {"b": TEXT}, {"a": b"u", "b": TEXT}, {"a": b"u", "b": TEXT},
        {"a": "conflict:occupied", "b": "conflict:occupied"},
    ),
    "moved by the step, then elsewhere by the user": Case(
        {"a": TEXT}, {"b": TEXT}, {"c": TEXT}, {"c": TEXT},
        {"a": "conflict:renamedSince", "b": "conflict:renamedSince"},
    ),
    "edited, moved by the user": Case(
        {"a": TEXT}, {"a": text(l2=b"A")}, {"b": text(l2=b"A")}, {"b": TEXT},
        {"a": "unchanged:renamedSince", "b": "restored"},
    ),
    "a directory moved": Case(
        AB, {"e/a": TEXT, "e/b": b"b\n"}, {"e/a": text(l7=b"U"), "e/b": b"b\n"}, {"d/a": text(l7=b"U"), "d/b": b"b\n"},
        {"d/a": "merged", "d/b": "restored", "e/a": "deleted", "e/b": "deleted"},
    ),
    "a directory made": Case(OTHER, {**OTHER, "n/m/": None}, {**OTHER, "n/m/": None}, OTHER, {}),
    "a directory made, used by the user": Case(
        OTHER, {**OTHER, "n/": None}, {**OTHER, "n/u": b"u"}, {**OTHER, "n/u": b"u"}, {},
    ),
    "a directory removed": Case({**OTHER, "n/m/": None}, OTHER, OTHER, {**OTHER, "n/m/": None}, {}),
    "a directory removed, made anew by the user": Case(
        {**OTHER, "n/": None}, OTHER, {**OTHER, "n/": None}, {**OTHER, "n/": None}, {},
    ),
    "the last file of a directory": Case(
        {"n/a": b"1"}, {"n/": None}, {"n/": None}, {"n/a": b"1"}, {"n/a": "restored"},
    ),
    "the first file of a directory": Case(
        {"n/": None}, {"n/a": b"1"}, {"n/a": b"1"}, {"n/": None}, {"n/a": "deleted"},
    ),
    "a file became a directory": Case(
        {"a": b"1"}, {"a/x": b"x", "a/y/z": b"z"}, {"a/x": b"x", "a/y/z": b"z"}, {"a": b"1"},
        {"a": "restored", "a/x": "deleted", "a/y/z": "deleted"},
    ),
    "a file became a directory, used by the user": Case(
        {"a": b"1"}, {"a/x": b"x"}, {"a/x": b"x", "a/u": b"u"}, {"a/u": b"u"},
        {"a": "conflict:occupied", "a/x": "deleted"},
    ),
    "a directory became a file": Case(
        {"a/x": b"x", "a/y/z": b"z"}, {"a": b"1"}, {"a": b"1"}, {"a/x": b"x", "a/y/z": b"z"},
        {"a": "deleted", "a/x": "restored", "a/y/z": "restored"},
    ),
    "a directory became a symlink": Case(
        {"a/x": b"x", "t/x": b"t"}, {"a": Symlink("t"), "t/x": b"t"}, {"a": Symlink("t"), "t/x": b"t"},
        {"a/x": b"x", "t/x": b"t"}, {"a": "deleted", "a/x": "restored"},
    ),
    "a file became a directory, the user's folder in it": Case(
        {"a": b"1"}, {"a/": None}, {"a/u/": None}, {"a": b"1"}, {"a": "restored"},
    ),
    "a directory removed, its name taken by the user": Case(
        {**OTHER, "n/m/": None}, OTHER, {**OTHER, "n": b"u"}, {**OTHER, "n": b"u"}, {"n/m": "conflict:occupied"},
    ),
    "names of all kinds": Case(
        {"ü \n\t'\"": b"1", "日本": b"2"}, {"日本": b"3", "new 語": b"4"}, {"日本": b"3", "new 語": b"4"},
        {"ü \n\t'\"": b"1", "日本": b"2"}, {"ü \n\t'\"": "restored", "日本": "restored", "new 語": "deleted"},
    ),
    "a pattern added, for a captured file": Case(
        {".gitignore": b"", "x.log": b"1"}, {".gitignore": b"*.log\n", "x.log": b"1"},
        {".gitignore": b"*.log\n", "x.log": b"2"}, {".gitignore": b"", "x.log": b"2"},
        {".gitignore": "restored"},
    ),
    "a pattern dropped, for an ignored file": Case(
        {".gitignore": b"*.log\n", "x.log": b"1"}, {".gitignore": b"", "x.log": b"1"},
        {".gitignore": b"", "x.log": b"1"}, {".gitignore": b"*.log\n", "x.log": b"1"},
        {".gitignore": "restored", "x.log": "kept:ignored"},
    ),
    "ignored files are nobody's": Case(
        {".gitignore": b"*.log\n", "x.log": b"1"}, {".gitignore": b"*.log\n", "x.log": b"2", "y.log": b"1", "a": b"1"},
        {".gitignore": b"*.log\n", "x.log": b"2", "y.log": b"1", "a": b"1"},
        {".gitignore": b"*.log\n", "x.log": b"2", "y.log": b"1"}, {"a": "deleted"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_undo_of_one_step(tmp_path: Path, case: Case) -> None:
    agents = at_work(tmp_path, case.before)
    bench = agents.bench
    step = agents.step("one", lambda: bench.become(case.agent))
    bench.become(case.user)
    assert agents.undo("one", dry_run=True) == case.said
    assert bench.read() == case.user
    assert agents.states("one") == ["applied"]
    inodes = stats(bench.root)
    outcome, steps = agents.undone("one")
    assert (outcomes(outcome), steps) == (case.said, [step])
    assert bench.read() == case.undone
    # what it did not touch, it did not touch
    touched = {name for name, word in case.said.items() if word in ("restored", "deleted", "merged")}
    conflicts = any(word.startswith("conflict") for word in case.said.values())
    idle = {name for name, word in case.said.items() if word == "unchanged:already"}
    state = "applied" if idle else "undone" if not conflicts else "partly" if touched else "applied"
    assert agents.states("one") == [state]
    assert agents.counts("one") == (int(state != "undone"), int(state != "applied"))
    assert all(inodes[name] == stat for name, stat in stats(bench.root).items() if name not in touched)
    # also after a restart, for the redo of it is the same thing again
    bench.reopen()
    if state == "applied":
        with pytest.raises(NothingToRedo):
            agents.redo("one")
    else:
        agents.redo("one")
    assert bench.read() == case.user
    assert agents.counts("one") == (1, 0)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fail_writes_all_or_nothing(tmp_path: Path, case: Case) -> None:
    agents = at_work(tmp_path, case.before)
    bench = agents.bench
    agents.step("one", lambda: bench.become(case.agent))
    bench.become(case.user)
    conflicts = any(word.startswith("conflict") for word in case.said.values())
    outcome, _ = agents.undone("one", on_conflict="fail")
    assert outcomes(outcome) == (refused(case.said) if conflicts else case.said)
    assert outcome.applied is not conflicts
    assert bench.read() == (case.user if conflicts else case.undone)
    idle = "unchanged:already" in case.said.values()
    assert agents.states("one") == ["applied" if conflicts or idle else "undone"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_overwrite_brings_back_what_was(tmp_path: Path, case: Case) -> None:
    agents = at_work(tmp_path, case.before)
    bench = agents.bench
    step = agents.step("one", lambda: bench.become(case.agent))
    bench.become(case.user)
    changed = set(agents.files(step))
    outcome, _ = agents.undone("one", on_conflict="overwrite")
    said, after = outcomes(outcome), bench.read()
    for name in changed:
        if said[name] in ("restored", "unchanged", "unchanged:already", "deleted"):
            assert after.get(name) == case.before.get(name), name
        else:
            # what cannot be had: the user's own files, and those that are ignored, are in the way
            assert said[name].startswith(("kept", "skipped", "conflict:occupied")), said
    users = {name for name in case.user if name not in changed and not name.endswith("/")}
    assert {name: after.get(name) for name in users} == {name: case.user[name] for name in users}
    bench.restore(outcome.before)
    # a hash says nothing of empty directories
    assert files_in(bench.read()) == files_in(case.user)


def files_in(items: dict[str, Item]) -> dict[str, Item]:
    """The files without the empty directories."""
    return {name: item for name, item in items.items() if not name.endswith("/")}


# -- what must not be touched


def test_a_file_that_was_too_large_and_shrank(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1"})
    bench.configure(max_file_size=1000)
    bench.write({"big": b"x" * 2000})
    agents = Agents(bench)
    agents.start("one")
    step = agents.step("one", {"big": b"x" * 10, "a": b"2"})
    assert agents.files(step) == {"a": "modified", "big": "added"}
    assert agents.undo("one") == {"a": "restored", "big": "kept:tooLarge"}
    assert bench.read() == {"a": b"1", "big": b"x" * 10}
    agents.redo("one")
    assert bench.read() == {"a": b"2", "big": b"x" * 10}


def test_a_file_that_grew_too_large(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "big": b"x"})
    bench.configure(max_file_size=1000)
    agents = Agents(bench)
    agents.start("one")
    agents.step("one", {"big": b"x" * 2000, "a": b"2"})
    assert agents.undo("one") == {"a": "restored", "big": "skipped:tooLarge"}
    assert bench.read() == {"a": b"1", "big": b"x" * 2000}


def test_files_over_ten_megabytes_are_kept_whole(tmp_path: Path) -> None:
    large = os.urandom(1 << 20) * 11
    bench = make(tmp_path, {"large": large})
    bench.configure(max_file_size=64 << 20)
    agents = Agents(bench)
    agents.start("one")
    step = agents.step("one", {"large": large + b"more", "other": large})
    assert agents.files(step) == {"large": "modified", "other": "added"}
    agents.undo("one")
    assert bench.read() == {"large": large}
    agents.redo("one")
    assert bench.read() == {"large": large + b"more", "other": large}


def test_nested_repositories(tmp_path: Path) -> None:
    bench = make(tmp_path, {"sub/a": TEXT, "a": b"1"}, git=True)
    run_git(bench.root / "sub", "init", "-q")
    run_git(bench.root / "sub", "add", ".")
    run_git(bench.root / "sub", "commit", "-qm", "first")
    agents = Agents(bench)
    agents.start("one")
    agents.step("one", {"sub/a": text(l2=b"A"), "sub/new/b": b"b", "a": b"2"})
    run_git(bench.root / "sub", "commit", "-qam", "second")
    head = run_git(bench.root / "sub", "rev-parse", "HEAD")
    agents.undo("one")
    assert bench.read() == {"sub/a": TEXT, "a": b"1"}
    assert run_git(bench.root / "sub", "rev-parse", "HEAD") == head


def test_undo_is_in_what_can_be_brought_back(agents: Agents) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"agent\n", "new": b"only here\n"})
    bench.write({"new": b"the user's\n"})
    before = bench.read()
    outcome, _ = agents.undone("one", on_conflict="overwrite")
    bench.restore(outcome.before)
    assert bench.read() == before
    run_git(Path(bench.store), "--git-dir=.", "gc", "-q", "--prune=now")
    assert outcome.before.hex() in reachable(Path(bench.store))

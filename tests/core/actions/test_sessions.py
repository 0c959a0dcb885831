"""Sessions, steps, undo and redo on a real folder and a real store: who did what, and what becomes of each file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from snapd.core.call import Call
from snapd.core.errors import Cancelled, InvalidParams, NothingToRedo, NothingToUndo, UnknownSession, UnknownStep
from snapd.core.feed.event_log import KEPT_FILES
from snapd.core.feed.events import Reverted, SessionMoved
from snapd.core.operations.writer import OperationOptions
from tests.support.git import run_git
from tests.support.sessions import Agents, reachable
from tests.support.workspace import Executable, Item, Symlink, make, outcomes

LINES = [b"%d\n" % number for number in range(1, 21)]
TEXT = b"".join(LINES)


def text(**changed: bytes) -> bytes:
    """`TEXT` with some lines replaced: `l3=b"..."` is the third."""
    lines = list(LINES)
    for name, line in changed.items():
        lines[int(name[1:]) - 1] = line + b"\n"
    return b"".join(lines)


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    made = Agents(make(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"}))
    made.start("one")
    return made


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
    "taken back by hand": Case({"a": TEXT}, {"a": b"x"}, {"a": TEXT}, {"a": TEXT}, {"a": "unchanged"}),
    "a conflict beside others": Case(
        {"a": TEXT, "b": b"b\n"}, {"a": b"x", "b": b"x", "c": b"x"}, {"a": b"y", "b": b"x", "c": b"x"},
        {"a": b"y", "b": b"b\n"}, {"a": "conflict:changedSince", "b": "restored", "c": "deleted"},
    ),
    "created": Case(OTHER, {**OTHER, "n/m/a": b"1"}, {**OTHER, "n/m/a": b"1"}, OTHER, {"n/m/a": "deleted"}),
    "created, the user put a file beside it": Case(
        OTHER, {**OTHER, "n/a": b"1"}, {**OTHER, "n/a": b"1", "n/u": b"u"}, {**OTHER, "n/u": b"u"}, {"n/a": "deleted"},
    ),
    "created, edited by the user": Case(
        OTHER, {**OTHER, "a": b"1"}, {**OTHER, "a": b"2"}, {**OTHER, "a": b"2"}, {"a": "conflict:changedSince"},
    ),
    "created, deleted by the user": Case(OTHER, {**OTHER, "a": b"1"}, OTHER, OTHER, {"a": "unchanged"}),
    "the user just added a file": Case(
        OTHER, {**OTHER, "a": b"1"}, {**OTHER, "a": b"1", "mine": b"m"}, {**OTHER, "mine": b"m"}, {"a": "deleted"},
    ),
    "deleted": Case({"d/a": TEXT}, {}, {}, {"d/a": TEXT}, {"d/a": "restored"}),
    "deleted, made anew by the user": Case(
        {"a": TEXT}, {}, {"a": b"u"}, {"a": b"u"}, {"a": "conflict:occupied"},
    ),
    "changed, deleted by the user": Case({"a": TEXT}, {"a": b"x"}, {}, {}, {"a": "conflict:deletedSince"}),
    "binary": Case({"a": b"\0\1"}, {"a": b"\0\2"}, {"a": b"\0\2"}, {"a": b"\0\1"}, {"a": "restored"}),
    "binary, changed by both": Case(
        {"a": b"\0\1"}, {"a": b"\0\2"}, {"a": b"\0\3"}, {"a": b"\0\3"}, {"a": "conflict:changedSince"},
    ),
    "empty files": Case({"a": b""}, {"b": b""}, {"b": b""}, {"a": b""}, {"a": "restored", "b": "deleted"}),
    "symlink": Case(
        {"l": Symlink("a")}, {"l": Symlink("b")}, {"l": Symlink("b")}, {"l": Symlink("a")}, {"l": "restored"},
    ),
    "symlink, changed by both": Case(
        {"l": Symlink("a")}, {"l": Symlink("b")}, {"l": Symlink("c")}, {"l": Symlink("c")},
        {"l": "conflict:changedSince"},
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
    "edited, moved by the user": Case(
        {"a": TEXT}, {"a": text(l2=b"A")}, {"b": text(l2=b"A")}, {"b": TEXT},
        {"a": "unchanged:renamedSince", "b": "restored"},
    ),
    "moved by the step, then elsewhere by the user": Case(
        {"a": TEXT}, {"b": TEXT}, {"c": TEXT}, {"c": TEXT},
        {"a": "conflict:renamedSince", "b": "conflict:renamedSince"},
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
        {".gitignore": "restored", "x.log": "conflict:occupied"},
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
    bench = make(tmp_path, case.before)
    agents = Agents(bench)
    agents.start("one")
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
    state = "undone" if not conflicts else "partly" if touched else "applied"
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


def refused(said: dict[str, str]) -> dict[str, str]:
    """What is told where conflicts keep all from being done."""
    touched = ("restored", "deleted", "merged")
    return {name: "unchanged:conflictsElsewhere" if word in touched else word for name, word in said.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_fail_writes_all_or_nothing(tmp_path: Path, case: Case) -> None:
    bench = make(tmp_path, case.before)
    agents = Agents(bench)
    agents.start("one")
    agents.step("one", lambda: bench.become(case.agent))
    bench.become(case.user)
    conflicts = any(word.startswith("conflict") for word in case.said.values())
    outcome, _ = agents.undone("one", on_conflict="fail")
    assert outcomes(outcome) == (refused(case.said) if conflicts else case.said)
    assert outcome.applied is not conflicts
    assert bench.read() == (case.user if conflicts else case.undone)
    assert agents.states("one") == ["applied" if conflicts else "undone"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_overwrite_brings_back_what_was(tmp_path: Path, case: Case) -> None:
    bench = make(tmp_path, case.before)
    agents = Agents(bench)
    agents.start("one")
    step = agents.step("one", lambda: bench.become(case.agent))
    bench.become(case.user)
    changed = set(agents.files(step))
    outcome, _ = agents.undone("one", on_conflict="overwrite")
    said, after = outcomes(outcome), bench.read()
    for name in changed:
        if said[name] in ("restored", "unchanged", "deleted"):
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


def stats(root: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each file."""
    found = {}
    for above, _, names in os.walk(root):
        for name in names:
            path = os.path.join(above, name)
            status = os.lstat(path)
            found[os.path.relpath(path, root)] = (status.st_ino, status.st_mtime_ns)
    return found


# -- several steps


def three(agents: Agents) -> list[str]:
    """Three steps in one file, and an edit of the user's between them."""
    bench = agents.bench
    first = agents.step("one", {"a.txt": text(l2=b"A")}, message="m1", part="p1")
    bench.write({"a.txt": text(l2=b"A", l6=b"U")})
    second = agents.step("one", {"a.txt": text(l2=b"A", l6=b"U", l10=b"B"), "new": b"n"}, message="m1", part="p2")
    third = agents.step("one", {"a.txt": text(l2=b"A", l6=b"U", l10=b"B", l14=b"C")}, message="m2")
    return [first, second, third]


def test_undo_of_the_last(agents: Agents) -> None:
    steps = three(agents)
    assert agents.undone("one")[1] == [steps[2]]
    assert agents.bench.read()["a.txt"] == text(l2=b"A", l6=b"U", l10=b"B")
    assert agents.undone("one")[1] == [steps[1]]
    assert agents.bench.read() == {"a.txt": text(l2=b"A", l6=b"U"), "b.txt": b"b\n"}
    assert agents.undone("one")[1] == [steps[0]]
    assert agents.bench.read() == {"a.txt": text(l6=b"U"), "b.txt": b"b\n"}
    with pytest.raises(NothingToUndo):
        agents.undone("one")
    assert agents.states("one") == ["undone"] * 3


def test_undo_of_the_middle(agents: Agents) -> None:
    steps = three(agents)
    assert agents.undo("one", step=steps[1]) == {"a.txt": "merged", "new": "deleted"}
    assert agents.bench.read() == {"a.txt": text(l2=b"A", l6=b"U", l14=b"C"), "b.txt": b"b\n"}
    assert agents.states("one") == ["applied", "undone", "applied"]
    assert agents.counts("one") == (2, 1)
    agents.redo("one")
    assert agents.bench.read()["a.txt"] == text(l2=b"A", l6=b"U", l10=b"B", l14=b"C")


def test_undo_of_all(agents: Agents) -> None:
    steps = three(agents)
    before = agents.bench.read()
    assert agents.undone("one", count=99)[1] == steps[::-1]
    assert agents.bench.read() == {"a.txt": text(l6=b"U"), "b.txt": b"b\n"}
    assert agents.counts("one") == (0, 3)
    assert agents.redo("one", count=99) == {"a.txt": "restored", "new": "restored"}
    assert agents.bench.read() == before


def test_redo_goes_back_as_undo_came(agents: Agents) -> None:
    steps = three(agents)
    states = []
    for _ in steps:
        states.append(agents.bench.read())
        agents.undo("one")
    for state in reversed(states):
        agents.redo("one")
        assert agents.bench.read() == state
    with pytest.raises(NothingToRedo):
        agents.redo("one")


def test_revert_to_a_message_and_back(agents: Agents) -> None:
    three(agents)
    before = agents.bench.read()
    agents.revert("one", "m2")
    assert agents.states("one") == ["applied", "applied", "undone"]
    agents.revert("one", "m1", "p2")
    assert agents.bench.read() == {"a.txt": text(l2=b"A", l6=b"U"), "b.txt": b"b\n"}
    agents.revert("one", "m1")
    assert agents.bench.read() == {"a.txt": text(l6=b"U"), "b.txt": b"b\n"}
    assert agents.revert("one", "m1") == {}
    agents.bench.write({"b.txt": b"typed meanwhile\n"})
    agents.unrevert("one")
    assert agents.bench.read() == {**before, "b.txt": b"typed meanwhile\n"}
    with pytest.raises(NothingToRedo):
        agents.unrevert("one")
    for message, part in (("m3", None), ("m1", "p3")):
        with pytest.raises(UnknownStep) as raised:
            agents.revert("one", message, part)
        assert raised.value.data == {"messageId": message, "partId": part}


def test_revert_takes_back_what_is_open(agents: Agents) -> None:
    agents.step("one", {"b.txt": b"B\n"}, message="m1")
    step = agents.begin("one", message="m2")
    agents.bench.write({"a.txt": b"half done\n"})
    before = agents.bench.read()
    assert agents.revert("one", "m2", dry_run=True) == {"a.txt": "restored"}
    assert agents.bench.read() == before
    assert agents.states("one") == ["applied", "open"]
    assert agents.revert("one", "m2") == {"a.txt": "restored"}
    assert agents.view(step).step.state == "undone"
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"B\n"}
    agents.unrevert("one")
    assert agents.bench.read() == before


def test_an_undo_is_none_of_what_revert_did(agents: Agents) -> None:
    three(agents)
    agents.undo("one")
    with pytest.raises(NothingToRedo):
        agents.unrevert("one")
    agents.revert("one", "m1")
    agents.unrevert("one")
    assert agents.states("one") == ["applied", "applied", "undone"]


def test_undo_of_a_step_that_is_open_ends_it(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"a.txt": b"half done\n", "new": b"n"})
    assert agents.undo("one", step=step, dry_run=True) == {"a.txt": "restored", "new": "deleted"}
    assert agents.view(step).step.state == "open"
    assert agents.undo("one", step=step) == {"a.txt": "restored", "new": "deleted"}
    assert agents.view(step).step.state == "undone"
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}
    # whoever ends it afterwards is told how it ended
    assert agents.end(step).step.state == "undone"


def test_undo_while_another_step_of_the_session_is_open(agents: Agents) -> None:
    done = agents.step("one", {"a.txt": text(l2=b"A")})
    under_way = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A", l9=b"B")})
    assert agents.undone("one")[1] == [done]
    agents.bench.write({"a.txt": text(l9=b"B", l15=b"C")})
    agents.end(under_way)
    assert agents.files(under_way) == {"a.txt": "modified"}
    assert agents.undo("one", step=under_way) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == TEXT


def test_steps_without_changes(agents: Agents) -> None:
    bench = agents.bench
    empty = agents.step("one", {})
    inodes, before = stats(bench.root), bench.read()
    with pytest.raises(NothingToUndo):
        agents.undo("one")
    outcome, steps = agents.undone("one", step=empty)
    assert (outcome.applied, outcome.before, outcome.files) == (True, outcome.after, ())
    assert steps == []
    assert (stats(bench.root), bench.read()) == (inodes, before)
    assert agents.counts("one") == (0, 0)
    # and they are passed over
    full = agents.step("one", {"a.txt": b"1"})
    agents.step("one", {})
    assert agents.counts("one") == (1, 0)
    assert agents.undone("one", count=5)[1] == [full]
    # one that changes nothing does not keep from doing it again
    agents.step("one", {})
    agents.redo("one")
    assert agents.states("one") == ["applied"] * 4


def test_a_whole_without_changes_of_its_own(agents: Agents) -> None:
    whole = agents.begin("one")
    part = agents.step("one", {"p": b"p"}, parent=whole)
    agents.end(whole)
    assert agents.undone("one", step=whole)[1] == [part, whole]
    assert agents.states("one") == ["undone", "undone"]
    agents.redo("one")
    assert agents.states("one") == ["applied", "applied"]
    assert agents.undone("one")[1] == [part]


def test_what_came_and_went_within_a_step(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"t": b"t", "a.txt": b"x"})
    agents.bench.track()
    agents.begin("one", parent=None)
    agents.bench.remove("t")
    agents.bench.write({"a.txt": TEXT})
    agents.end(step)
    assert agents.files(step) == {}


def test_a_new_step_ends_the_redo_but_not_the_way_back(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": b"agent\n", "new": b"n"})
    left = agents.view(step).step.to
    assert left is not None
    agents.undo("one")
    agents.step("one", {"b.txt": b"B\n"})
    with pytest.raises(NothingToRedo):
        agents.redo("one")
    assert agents.counts("one") == (1, 0)
    assert agents.states("one") == ["undone", "applied"]
    agents.bench.restore(left.tree)
    assert agents.bench.read() == {"a.txt": b"agent\n", "b.txt": b"b\n", "new": b"n"}


def test_who_is_unknown(agents: Agents) -> None:
    agents.start("two")
    step = agents.step("one", {"a.txt": b"1"})
    for ask in (
        lambda: agents.undo("nobody"),
        lambda: agents.redo("nobody"),
        lambda: agents.revert("nobody", "m"),
        lambda: agents.unrevert("nobody"),
        lambda: agents.begin("nobody"),
        lambda: agents.steps("nobody"),
        lambda: agents.bench.workspace.sessions.end("nobody", Call()),
    ):
        with pytest.raises(UnknownSession) as raised:
            ask()
        assert raised.value.data == {"sessionId": "nobody"}
    for ask in (
        lambda: agents.undo("one", step="none"),
        lambda: agents.end("none"),
        lambda: agents.begin("one", parent="none"),
        lambda: agents.hunks("none", "a.txt"),
        lambda: agents.revert_hunks("none", "a.txt", [0]),
    ):
        with pytest.raises(UnknownStep) as raised:
            ask()
        assert raised.value.data == {"stepId": "none"}
    with pytest.raises(UnknownStep):
        agents.undo("two", step=step)


def test_an_ended_session(agents: Agents) -> None:
    sessions = agents.bench.workspace.sessions
    step = agents.begin("one")
    agents.bench.write({"a.txt": b"1"})
    sessions.end("one", Call())
    sessions.end("one", Call())
    assert agents.session("one").session.ended is not None
    assert agents.states("one") == ["applied"]
    assert agents.files(step) == {"a.txt": "modified"}
    with pytest.raises(UnknownSession):
        agents.begin("one")
    # what it did can be taken back all the same
    agents.undo("one")
    assert agents.bench.read()["a.txt"] == TEXT
    agents.start("one")
    assert agents.session("one").session.ended is None
    agents.redo("one")
    agents.step("one", {"a.txt": b"2"})
    assert [view.step.begun.index for view in agents.steps("one")] == [0, 1]


# -- parts


def test_parts_go_with_the_whole(agents: Agents) -> None:
    bench = agents.bench
    whole = agents.begin("one")
    bench.write({"a.txt": text(l2=b"W")})
    part = agents.step("one", {"a.txt": text(l2=b"W", l9=b"P"), "p": b"p"}, parent=whole)
    bench.write({"a.txt": text(l2=b"W", l9=b"P", l15=b"X")})
    agents.end(whole)
    assert agents.files(whole) == {"a.txt": "modified", "p": "added"}
    assert agents.files(part) == {"a.txt": "modified", "p": "added"}
    before = bench.read()
    # one part alone
    agents.undo("one", step=part)
    assert bench.read()["a.txt"] == text(l2=b"W", l15=b"X")
    assert agents.states("one") == ["applied", "undone"]
    agents.redo("one")
    assert bench.read() == before
    # all of it
    assert agents.undone("one", step=whole)[1] == [part, whole]
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}
    agents.redo("one")
    assert bench.read() == before
    assert agents.states("one") == ["applied", "applied"]


def test_a_part_of_another_session(agents: Agents) -> None:
    bench = agents.bench
    agents.start("sub")
    whole = agents.begin("one")
    bench.write({"a.txt": text(l2=b"W")})
    part = agents.step("sub", {"a.txt": text(l2=b"W", l9=b"P")}, parent=whole)
    agents.end(whole)
    before = bench.read()
    agents.undo("one", step=whole)
    assert (agents.states("one"), agents.states("sub")) == (["undone"], ["undone"])
    assert bench.read()["a.txt"] == TEXT
    # the other session does its own again, and no more
    agents.redo("sub")
    assert (agents.states("one"), agents.states("sub")) == (["undone"], ["applied"])
    assert bench.read()["a.txt"] == text(l9=b"P")
    agents.redo("one")
    assert bench.read() == before
    agents.undo("sub")
    assert bench.read()["a.txt"] == text(l2=b"W")
    assert agents.undone("one", step=whole)[1] == [whole]
    assert agents.view(part).step.state == "undone"


# -- several sessions at once


def test_sessions_do_not_undo_each_other(agents: Agents) -> None:
    agents.start("two")
    agents.step("one", {"a.txt": text(l2=b"1")})
    agents.step("two", {"a.txt": text(l2=b"1", l9=b"2"), "two": b"2"})
    agents.step("one", {"a.txt": text(l2=b"1", l9=b"2", l15=b"3")})
    agents.undo("one", count=9)
    assert agents.bench.read() == {"a.txt": text(l9=b"2"), "b.txt": b"b\n", "two": b"2"}
    assert (agents.counts("one"), agents.counts("two")) == ((0, 2), (1, 0))
    # a step of one leaves what the other may do again
    agents.step("two", {"two": b"22"})
    agents.redo("one", count=9)
    assert agents.bench.read() == {"a.txt": text(l2=b"1", l9=b"2", l15=b"3"), "b.txt": b"b\n", "two": b"22"}


def overlapping(agents: Agents, one: list[str] | None, two: list[str] | None) -> tuple[str, str]:
    """Two steps at once: the first session's writes `a.txt`, the second one's `b.txt`."""
    agents.start("two")
    first, second = agents.begin("one"), agents.begin("two")
    agents.bench.write({"a.txt": b"1", "b.txt": b"2"})
    agents.end(first, one)
    agents.end(second, two)
    return first, second


@pytest.mark.parametrize(
    ("one", "two", "first", "second"),
    [
        (None, None, {"a.txt": "modified:shared", "b.txt": "modified:shared"},
         {"a.txt": "modified:shared", "b.txt": "modified:shared"}),
        (["a.txt"], ["b.txt"], {"a.txt": "modified"}, {"b.txt": "modified"}),
        (["a.txt"], None, {"a.txt": "modified"}, {"b.txt": "modified"}),
        (None, ["b.txt"], {"a.txt": "modified"}, {"b.txt": "modified"}),
        (["a.txt"], ["a.txt"], {"a.txt": "modified:shared"}, {"a.txt": "modified:shared"}),
        ([], [], {}, {}),
    ],
)  # fmt: skip
def test_steps_that_overlap(
    agents: Agents,
    one: list[str] | None,
    two: list[str] | None,
    first: dict[str, str],
    second: dict[str, str],
) -> None:
    steps = overlapping(agents, one, two)
    assert (agents.files(steps[0]), agents.files(steps[1])) == (first, second)
    assert agents.counts("one") == (int(bool(first)), 0)
    assert agents.counts("two") == (int(bool(second)), 0)
    agents.bench.reopen()
    assert (agents.files(steps[0]), agents.files(steps[1])) == (first, second)
    if not first:
        with pytest.raises(NothingToUndo):
            agents.undo("one")
        return
    shared = [name for name, word in first.items() if word.endswith("shared")]
    said = agents.undo("one")
    assert said == {name: "conflict:shared" if name in shared else "restored" for name in first}
    found = agents.bench.read()
    assert found["a.txt"] == (b"1" if shared else TEXT)
    assert found["b.txt"] == b"2"


def test_what_is_shared_goes_where_that_is_asked_for(agents: Agents) -> None:
    overlapping(agents, None, None)
    assert agents.undo("one", on_conflict="fail") == {"a.txt": "conflict:shared", "b.txt": "conflict:shared"}
    assert agents.undo("one", on_conflict="overwrite") == {"a.txt": "restored", "b.txt": "restored"}
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_what_conflicted_is_resolved_by_choice(agents: Agents) -> None:
    bench = agents.bench
    step = agents.step("one", {"a.txt": b"1", "b.txt": b"2", "new": b"3"})
    left = bench.read()
    bench.write({"a.txt": b"the user's", "new": b"the user's too"})
    assert agents.undo("one") == {"a.txt": "conflict:changedSince", "b.txt": "restored", "new": "conflict:changedSince"}
    assert agents.states("one") == ["partly"]
    # asked for as before, it is as before, by its name or as the last one
    again = {"a.txt": "conflict:changedSince", "new": "conflict:changedSince"}
    assert agents.undo("one", step=step) == again
    assert agents.undo("one") == again
    assert agents.states("one") == ["partly"]
    assert agents.undo("one", step=step, on_conflict="fail") == again
    chosen = agents.undo("one", step=step, on_conflict="overwrite", by_name=True)
    assert chosen == {"a.txt": "restored", "new": "deleted"}
    assert "new" not in bench.read()
    with pytest.raises(NothingToUndo):
        agents.undo("one", step=step, on_conflict="overwrite", by_name=True)
    bench.reopen()
    # what was taken back in two goes is done again in one
    agents.redo("one")
    assert bench.read() == left | {"a.txt": b"the user's", "new": b"the user's too"}
    assert agents.states("one") == ["applied"]
    with pytest.raises(NothingToRedo):
        agents.redo("one")


def test_who_wrote_what_is_told_anew_when_it_is_known(agents: Agents) -> None:
    agents.start("two")
    first, second = agents.begin("one"), agents.begin("two")
    agents.bench.write({"a.txt": b"1", "b.txt": b"2"})
    agents.end(first)
    assert agents.files(first) == {"a.txt": "modified:shared", "b.txt": "modified:shared"}
    told = listen(agents)
    agents.end(second, ["b.txt", "a.txt"])
    assert agents.files(first) == {}
    assert agents.counts("one") == (0, 0)
    # the other session changed by that, and is told of
    moved = {news.session.session.session_id: news for news in told if isinstance(news, SessionMoved)}
    assert set(moved) == {"one", "two"}
    assert moved["one"].session.undoable == 0
    assert moved["one"].step is not None
    assert moved["one"].step.files == ()


def listen(agents: Agents) -> list[object]:
    """All that is told from now on."""
    told: list[object] = []
    agents.bench.workspace.event_log.listen(lambda news: told.append(news.event))
    return told


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
    bench = make(tmp_path, before)
    agents = Agents(bench)
    agents.start("one")
    step = agents.step("one", lambda: bench.become(after))
    assert len(agents.hunks(step, "f")) == 1
    agents.revert_hunks(step, "f", [])
    assert bench.read() == after
    agents.revert_hunks(step, "f", [0])
    assert bench.read() == before


def test_files_without_hunks(tmp_path: Path) -> None:
    bench = make(tmp_path, {"bin": b"\0", "link": Symlink("a"), "mode": b"1\n"})
    agents = Agents(bench)
    agents.start("one")
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
    bench = make(tmp_path, {"a.txt": TEXT, "bin": b"\0\1", "gone": b"g\n", "mode": b"m\n", "old": TEXT})
    agents = Agents(bench)
    agents.start("one")

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


# -- a client that goes


def test_what_changes_when_the_client_is_gone_is_not_the_steps(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    agents.bench.write({"a.txt": text(l2=b"A")})
    agents.leave("c")
    agents.bench.write({"a.txt": text(l2=b"A", l9=b"U"), "mine": b"m\n"})
    assert agents.undo("one") == {"a.txt": "merged"}
    assert agents.bench.read() == {"a.txt": text(l9=b"U"), "b.txt": b"b\n", "mine": b"m\n"}
    assert agents.files(step) == {"a.txt": "modified"}
    agents.redo("one")
    assert agents.bench.read()["a.txt"] == text(l2=b"A", l9=b"U")


def test_who_ends_a_step_by_name_speaks_for_what_changed_since(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    agents.bench.write({"a.txt": b"first"})
    agents.leave("c")
    agents.bench.write({"a.txt": b"second", "b.txt": b"back"})
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified", "b.txt": "modified"}
    agents.undo("one")
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_a_step_that_is_left_does_not_share_what_others_do(agents: Agents) -> None:
    agents.start("two")
    left = agents.begin("one", client="c")
    agents.leave("c")
    step = agents.step("two", {"a.txt": b"x"})
    assert agents.files(step) == {"a.txt": "modified"}
    assert agents.undo("two") == {"a.txt": "restored"}
    agents.redo("two")
    # until somebody says that it was at work all the while
    agents.end(left)
    assert agents.files(step) == {"a.txt": "modified:shared"}
    assert agents.files(left) == {"a.txt": "modified:shared"}


def test_a_session_ends_without_what_changed_since_its_client_went(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    agents.leave("c")
    agents.bench.write({"a.txt": b"user"})
    agents.bench.workspace.sessions.end("one", Call())
    assert agents.files(step) == {}
    view = agents.view(step)
    assert view.step.to == view.step.from_
    with pytest.raises(NothingToUndo):
        agents.undo("one")


def test_a_restart_leaves_the_steps(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    detached = agents.begin("one")
    agents.bench.write({"a.txt": b"agent"})
    agents.bench.workspace.track((), Call())
    agents.bench.reopen()
    agents.bench.write({"b.txt": b"later"})
    agents.bench.workspace.sessions.end("one", Call())
    assert "b.txt" not in agents.files(step)
    assert "b.txt" in agents.files(detached)


def test_two_agents_are_told_apart_after_the_daemon_was_killed(agents: Agents) -> None:
    agents.start("two")
    first, second = agents.begin("one", client="c"), agents.begin("two", client="d")
    agents.bench.write({"a.txt": b"first", "b.txt": b"second"})
    # nobody looked when their clients went
    agents.bench.reopen()
    agents.end(first, ["a.txt"])
    assert agents.files(first) == {"a.txt": "modified"}
    agents.undo("one")
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"second"}
    agents.end(second, ["b.txt"])
    assert agents.files(second) == {"b.txt": "modified"}
    agents.undo("two")
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_nothing_is_told_of_a_client_that_left_nothing_behind(agents: Agents) -> None:
    agents.begin("one", client="c")
    told = listen(agents)
    agents.leave("c")
    agents.leave("c")
    agents.leave("nobody")
    assert told == []


def test_a_part_that_is_left_and_spoken_for(agents: Agents) -> None:
    whole = agents.begin("one", client="c")
    part = agents.begin("one", parent=whole, client="d")
    agents.leave("d")
    agents.bench.write({"a.txt": b"x"})
    agents.begin("one", client="e")
    agents.end(part)
    agents.end(whole)
    assert agents.files(part) == {"a.txt": "modified"}
    own = agents.bench.workspace.step_changes.own(agents.view(whole).step)
    assert not own.files


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


# -- unsaved text in an editor


def unsaved(agents: Agents, *names: str) -> object:
    editor = object()
    for name in names:
        agents.bench.workspaces.unsaved.mark(editor, os.fsencode(agents.bench.path(name)), True)
    return editor


def test_unsaved_text(agents: Agents) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "b.txt": b"2", "new": b"3"})
    editor = unsaved(agents, "a.txt", "new")
    said = {"a.txt": "conflict:unsavedInEditor", "b.txt": "restored", "new": "conflict:unsavedInEditor"}
    assert agents.undo("one", dry_run=True) == said
    assert agents.undo("one", on_conflict="fail") == refused(said)
    assert agents.undo("one", on_conflict="overwrite", dry_run=True) == said
    assert agents.undo("one") == said
    assert bench.read() == {"a.txt": b"1", "b.txt": b"b\n", "new": b"3"}
    # only what was done is done again
    bench.workspaces.unsaved.drop(editor)
    bench.write({"a.txt": b"4"})
    agents.redo("one")
    assert bench.read() == {"a.txt": b"4", "b.txt": b"2", "new": b"3"}
    unsaved(agents, "a.txt")
    assert agents.undo("one", on_conflict="overwrite", by_name=True)["a.txt"] == "restored"


def test_unsaved_text_of_a_file_that_moved(agents: Agents) -> None:
    bench = agents.bench

    def move() -> None:
        os.rename(bench.path("a.txt"), bench.path("moved"))

    for name in ("a.txt", "moved"):
        agents.step("one", move)
        editor = unsaved(agents, name)
        conflict = "conflict:unsavedInEditor"
        assert agents.undo("one") == {"a.txt": conflict, "moved": conflict}
        assert bench.read() == {"moved": TEXT, "b.txt": b"b\n"}
        bench.workspaces.unsaved.drop(editor)
        os.rename(bench.path("moved"), bench.path("a.txt"))


# -- operations while steps are open


def test_an_operation_is_no_change_of_an_open_step(agents: Agents) -> None:
    bench = agents.bench
    agents.start("two")
    first = bench.track()
    agents.step("one", {"a.txt": b"1"})
    step = agents.begin("two")
    bench.write({"two": b"2"})
    agents.undo("one")
    bench.restore(first)
    agents.end(step)
    assert agents.files(step) == {"two": "added"}
    # the restore took it away, and the step's undo has nothing left to do
    assert agents.undo("two") == {"two": "unchanged"}


def test_what_others_change_during_an_operation_is_theirs(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.start("two")
    agents.step("one", {"a.txt": b"1", "n/x": b"x"})
    step = agents.begin("two")
    work_tree = bench.workspace._work_tree
    apply = work_tree.apply

    def apply_and_write(*arguments: object) -> object:
        results = apply(*arguments)
        bench.write({"b.txt": b"two\n", "c/d": b"d", "a.txt": b"two\n"})
        bench.remove("c")
        bench.write({"c/e": b"e", "n": b"now a file"})
        return results

    monkeypatch.setattr(work_tree, "apply", apply_and_write)
    assert agents.undo("one") == {"a.txt": "restored", "n/x": "deleted"}
    monkeypatch.undo()
    assert bench.read() == {"a.txt": b"two\n", "b.txt": b"two\n", "c/e": b"e", "n": b"now a file"}
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified", "b.txt": "modified", "c/e": "added", "n": "added"}
    agents.undo("two")
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}
    assert bench.git("fsck", "--strict", "--no-dangling") == b""


def test_rules_that_an_operation_changes_make_no_changes(agents: Agents) -> None:
    bench = agents.bench
    agents.start("two")
    bench.write({"x.log": b"1", "y.tmp": b"2", ".gitignore": b"*.tmp\n"})
    agents.step("one", {".gitignore": b"*.log\n"})
    step = agents.begin("two")
    agents.undo("one")
    agents.end(step)
    assert agents.files(step) == {}
    step = agents.begin("two")
    agents.redo("one")
    agents.end(step)
    assert agents.files(step) == {}


def test_forced_paths_are_nobodys_change(agents: Agents) -> None:
    bench = agents.bench
    bench.write({".gitignore": b"*.log\n", "x.log": b"1"})
    tree = bench.track("x.log", "a.txt")
    step = agents.begin("one")
    bench.write({"x.log": b"2", "a.txt": b"2", "b.txt": b"2"})
    outcome = bench.restore(tree)
    assert outcome.after == tree
    bench.write({"mine": b"m"})
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified", "b.txt": "modified", "mine": "added"}
    own = bench.workspace.step_changes.own(bench.workspace.sessions.known_step(step))
    assert set(own.files) == {b"a.txt", b"b.txt", b"mine"}
    assert bench.read()["x.log"] == b"1"
    bench.restore(outcome.before)
    assert bench.read()["x.log"] == b"2"


# -- taken back requests, failures


class Interrupted(Exception):
    """Somebody pulled the plug."""


def test_a_request_that_is_cancelled_too_late(agents: Agents) -> None:
    bench = agents.bench
    sessions = bench.workspace.sessions
    call = Call()
    step = agents.begin("one")
    bench.write({"a.txt": b"1"})
    bench.workspace.event_log.listen(lambda _: call.cancel())
    assert sessions.finish(step, None, call).step.state == "applied"
    call = Call()
    outcome, steps = bench.workspace.undo_steps.undo("one", 1, None, OperationOptions("merge", False, False), call)
    assert outcome.applied
    assert [view.step.state for view in steps] == ["undone"]


def test_a_request_that_is_cancelled_in_time(agents: Agents) -> None:
    call = Call()
    step = agents.begin("one")
    agents.bench.write({"a.txt": b"1"})
    call.cancel()
    with pytest.raises(Cancelled):
        agents.bench.workspace.sessions.finish(step, None, call)
    assert agents.states("one") == ["open"]
    agents.end(step)
    with pytest.raises(Cancelled):
        agents.bench.workspace.undo_steps.undo("one", 1, None, OperationOptions("merge", False, False), call)
    assert agents.states("one") == ["applied"]


@pytest.mark.parametrize("where", ["look", "tell", "sync"])
def test_an_operation_that_fails_after_its_files_were_moved(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    bench = agents.bench
    agents.start("two")
    agents.step("one", {"a.txt": b"1", "new": b"n"})
    step = agents.begin("two")
    work_tree, store = bench.workspace._work_tree, bench.workspace._store
    apply = work_tree.apply

    def fail(*_: object, **__: object) -> object:
        raise Interrupted

    def apply_and_fail(*arguments: object) -> object:
        results = apply(*arguments)
        if where == "sync":
            raise Interrupted
        monkeypatch.setattr(*((work_tree, "capture") if where == "look" else (store, "append_event")), fail)
        return results

    monkeypatch.setattr(work_tree, "apply", apply_and_fail)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    # whatever comes next, it is ended first
    bench.write({"b.txt": b"two\n"})
    agents.end(step)
    assert agents.states("one") == ["undone"]
    assert agents.files(step) == {"b.txt": "modified"}
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"two\n"}
    agents.redo("one")
    assert bench.read() == {"a.txt": b"1", "b.txt": b"two\n", "new": b"n"}


def test_an_operation_that_fails_before_is_none(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new": b"n"})

    def fail(*_: object) -> object:
        raise Interrupted

    monkeypatch.setattr(bench.workspace._work_tree, "apply", fail)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    bench.track()
    bench.reopen()
    assert agents.states("one") == ["applied"]
    assert bench.read() == {"a.txt": b"1", "b.txt": b"b\n", "new": b"n"}


# -- killed


def killed(agents: Agents, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Undoes the last step of "one" in a process that is killed, and opens the workspace as the next one does.

    Args:
        agents: at work.
        monkeypatch: to be killed by.
        at: before which call of the applier, or after all of them: "end".
    """
    from snapd.worktree.apply import applier as applying

    bench = agents.bench

    def die(*_: object, **__: object) -> object:
        shutil.copytree(bench.root, bench.folder / "as-it-was", symlinks=True)
        raise Interrupted

    intent = Path(bench.store) / "intent"
    kept: list[bytes] = []
    work_tree = bench.workspace._work_tree
    apply = work_tree.apply

    def watched(*arguments: object) -> object:
        kept.append(intent.read_bytes())
        results = apply(*arguments)
        assert at == "end"
        return die(results)

    monkeypatch.setattr(work_tree, "apply", watched)
    if at != "end":
        monkeypatch.setattr(applying.Applier, at, die)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    bench.close()
    # the process had no time to clear up
    shutil.rmtree(bench.root)
    os.rename(bench.folder / "as-it-was", bench.root)
    intent.write_bytes(kept[0])
    bench.open()


@pytest.mark.parametrize("at", ["_delete", "_move", "_sync", "end"])
def test_killed_while_undoing(agents: Agents, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new/n": b"n", "link": Symlink("a.txt")})
    killed(agents, monkeypatch, at)
    if at == "_move":
        assert any(name.startswith(".snapd-tmp-") for name in os.listdir(bench.root))
    # the user is at work before anybody asks
    bench.write({"b.txt": b"typed\n", "mine": b"m"})
    told = listen(agents)
    step = agents.step("one", {})
    # what was ended is told as if nothing had happened: the files, and the step
    reverted, moved = told[:2]
    assert isinstance(reverted, Reverted)
    assert isinstance(moved, SessionMoved)
    assert moved.step is not None
    assert (moved.session.session.session_id, moved.step.step.state) == ("one", "undone")
    assert agents.states("one") == ["undone", "applied"]
    assert agents.files(step) == {}
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"typed\n", "mine": b"m"}
    agents.redo("one")
    assert bench.read() == {
        "a.txt": b"1", "b.txt": b"typed\n", "mine": b"m", "new/n": b"n", "link": Symlink("a.txt"),
    }  # fmt: skip


def test_killed_while_undoing_and_the_user_was_faster(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new": b"n"})
    killed(agents, monkeypatch, "_delete")
    bench.write({"new": b"typed\n", "a.txt": b"typed too\n"})
    step = agents.begin("one")
    assert bench.read() == {"a.txt": b"typed too\n", "new": b"typed\n", "b.txt": b"b\n"}
    agents.end(step)
    # nothing was done, so nothing is undone
    assert agents.states("one") == ["applied", "applied"]
    with pytest.raises(NothingToRedo):
        agents.redo("one")


def test_killed_while_a_file_moves_back_and_its_old_name_is_taken(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("a.txt"), bench.path("moved.txt")))
    killed(agents, monkeypatch, "_move")
    bench.write({"a.txt": b"typed\n"})
    agents.step("one", {})
    assert bench.read() == {"a.txt": b"typed\n", "moved.txt": TEXT, "b.txt": b"b\n"}


def test_leftovers_that_are_not_ours_are_kept(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "d/new": b"n"})
    killed(agents, monkeypatch, "_move")
    bench.write({
        ".snapd-tmp-0123456789abcdef": b"typed in the very moment\n",
        "d/.snapd-tmp-0123456789abcdef": TEXT[:20],
        "elsewhere/.snapd-tmp-0123456789abcdef": b"not ours to look at\n",
    })  # fmt: skip
    agents.step("one", {})
    found = bench.read()
    kept = [name for name in found if name.startswith(".snapd-kept-")]
    assert [found.pop(name) for name in kept] == [b"typed in the very moment\n"]
    assert found == {"a.txt": TEXT, "b.txt": b"b\n", "elsewhere/.snapd-tmp-0123456789abcdef": b"not ours to look at\n"}
    assert kept[0] in bench.names(bench.track())


def test_what_was_to_be_written_is_lost(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new": b"n"})
    killed(agents, monkeypatch, "_delete")
    oid = run_git(bench.root, "hash-object", "--stdin", input=TEXT).decode().strip()
    store = Path(bench.store)
    bench.close()
    os.unlink(store / "objects" / oid[:2] / oid[2:])
    bench.open()
    # nobody can have it, and everybody can go on
    agents.step("one", {"b.txt": b"2"})
    assert bench.read() == {"a.txt": b"1", "b.txt": b"2", "new": b"n"}


# -- many


def test_what_is_kept_of_the_news_is_bounded(agents: Agents) -> None:
    bench = agents.bench
    event_log = bench.workspace.event_log
    for number in range(4):
        agents.step("one", {f"many/{name}": b"%d" % number for name in range(300)})
    assert event_log._files <= KEPT_FILES
    assert event_log._files >= 4 * 300


def test_deep_parts(agents: Agents) -> None:
    above: str | None = None
    first = ""
    for depth in range(60):
        step = agents.begin("one", parent=above)
        agents.bench.write({f"p{depth}": b"1"})
        first = first or step
        above = step
    agents.bench.workspace.sessions.end("one", Call())
    assert len(agents.files(first)) == 60
    agents.undo("one", step=first)
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}
    agents.redo("one")
    assert len(agents.bench.read()) == 62


def test_directories_that_steps_make_and_remove(agents: Agents) -> None:
    bench = agents.bench
    actions: list[Callable[[], object]] = [
        lambda: bench.write({"d/e/": None}),
        lambda: bench.write({"d/e/f": b"f"}),
        lambda: bench.remove("d/e/f"),
        lambda: bench.remove("d/e"),
        lambda: bench.remove("d"),
        lambda: bench.write({"d/e/g/": None}),
    ]
    states = [bench.read()]
    for action in actions:
        agents.step("one", action)
        states.append(bench.read())
    for count in range(1, len(actions) + 1):
        agents.undo("one", count=count)
        assert bench.read() == states[-1 - count], count
        agents.redo("one", count=count)
        assert bench.read() == states[-1], count
    # one in the middle, and the others at its side
    for _ in actions:
        agents.undo("one")
    for state in states[1:]:
        agents.redo("one")
        assert bench.read() == state


def test_directories_that_stay_for_another_step(agents: Agents) -> None:
    """One that came with a file of the first step goes with it, though a later step took that file and put another."""
    bench = agents.bench
    before = bench.read()
    agents.step("one", {"d/e/first": b"1"})
    agents.step("one", lambda: (bench.remove("d/e/first"), bench.write({"d/e/second": b"2"})))
    after = bench.read()
    agents.undo("one", count=2)
    assert bench.read() == before
    agents.redo("one", count=2)
    assert bench.read() == after


def test_redo_of_what_was_deleted_and_is_ignored_since(agents: Agents) -> None:
    bench = agents.bench
    bench.write({"a.log": b"captured\n"})

    def ignore() -> None:
        os.unlink(bench.path("a.log"))
        bench.write({".gitignore": b"*.log\n"})

    agents.step("one", ignore)
    after = bench.read()
    agents.undo("one")
    assert bench.read()["a.log"] == b"captured\n"
    agents.redo("one")
    assert bench.read() == after
    # what the user puts there since is theirs
    agents.undo("one")
    bench.write({"a.log": b"the user's\n"})
    assert agents.redo("one")["a.log"] == "conflict:changedSince"
    assert bench.read()["a.log"] == b"the user's\n"


def test_directories_that_came_and_went_in_steps_taken_back_together(agents: Agents) -> None:
    bench = agents.bench
    states = [bench.read()]
    actions: list[Callable[[], object]] = [
        lambda: bench.write({"d/e/x": b"x"}),
        lambda: (bench.write({"x": b"x"}), bench.remove("d")),
        lambda: bench.write({"d/y": b"y"}),
        lambda: (bench.remove("d"), bench.write({"d": b"a file"})),
        lambda: (os.unlink(bench.path("d")), bench.write({"d/e/f/z": b"z"})),
    ]
    for action in actions:
        agents.step("one", action)
        states.append(bench.read())
    for count in range(1, len(actions) + 1):
        agents.undo("one", count=count)
        assert bench.read() == states[-1 - count]
        for state in states[len(states) - count :]:
            agents.redo("one")
            assert bench.read() == state

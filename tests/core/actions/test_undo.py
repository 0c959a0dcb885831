"""Undo and redo: in which order, with parts of steps, and of hunks and files one by one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.feed import KEPT_FILES
from snapd.core.operations.editors import DocumentChanged, FileOnDisk
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, NothingToRedo, NothingToUndo, UnknownSession, UnknownStep
from tests.support.sessions import TEXT, Agents, at_work, refused, stats, text
from tests.support.workspace import Executable, Item, Symlink

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


@pytest.mark.parametrize("session", ["one", None])
def test_a_redo_without_a_count_does_all_that_the_last_undo_took_back(agents: Agents, session: str | None) -> None:
    steps = three(agents)
    states = [agents.bench.read()]
    for wanted in (UndoRequest(message_id="m1"), UndoRequest(step_id=steps[2])):
        agents.bench.workspace.undo_steps.undo(wanted, OperationOptions("merge", False, False), Call())
        states.append(agents.bench.read())
    for state in states[-2::-1]:
        agents.redo(session, None)
        assert agents.bench.read() == state
    agents.revert("one", "m1")
    agents.redo(session, None)
    assert agents.bench.read() == states[0]
    with pytest.raises(NothingToRedo):
        agents.redo(session, None)


def test_a_redo_without_a_count_does_what_is_left_of_the_last_undo(agents: Agents) -> None:
    steps = three(agents)
    before = agents.bench.read()
    agents.undo("one", step=steps[2])
    agents.undo("one", 2)
    agents.redo("one")
    agents.redo("one", None)
    assert agents.bench.read() == {**before, "a.txt": text(l2=b"A", l6=b"U", l10=b"B")}
    agents.redo("one", None)
    assert agents.bench.read() == before


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


# -- unsaved text in an editor


def unsaved(agents: Agents, *names: str) -> object:
    editor = object()
    for name in names:
        path = os.fsencode(agents.bench.path(name))
        agents.bench.workspaces.editors.take(editor, path, [DocumentChanged(b"typed")], FileOnDisk(b"saved", 0, 0.0))
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
    bench.workspaces.editors.drop(editor)
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
        bench.workspaces.editors.drop(editor)
        os.rename(bench.path("moved"), bench.path("a.txt"))


# -- many


def test_what_is_kept_of_the_news_is_bounded(agents: Agents) -> None:
    bench = agents.bench
    event_log = bench.workspace.event_log
    for number in range(4):
        agents.step("one", {f"many/{name}": b"%d" % number for name in range(300)})
    assert event_log.file_count <= KEPT_FILES
    assert event_log.file_count >= 4 * 300


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


# -- hunks and files of a step, one by one


def test_hunks(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"A", l15=b"B")})
    agents.bench.write({"a.txt": text(l2=b"A", l9=b"U", l15=b"B")})
    assert agents.hunks(step, "a.txt") == ["@@ -1,5 +1,5 @@", "@@ -12,7 +12,7 @@"]
    assert agents.revert_hunks(step, "a.txt", [0]) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l9=b"U", l15=b"B")
    assert agents.states("one") == ["applied"]
    # again there is nothing to do, and the rest goes with the step
    assert agents.revert_hunks(step, "a.txt", [0]) == {"a.txt": "unchanged:already"}
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
    assert set(agents.undo("one").values()) == {"unchanged:already"}


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

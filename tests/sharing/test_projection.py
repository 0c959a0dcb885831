"""The copy of a session that travels: what it says of each step is what the workspace says."""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path

import attrs
import pytest

from snapd.core.actions.step_changes import StepChanges
from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.attribution import OwnChanges
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import NothingToRedo, NothingToUndo
from snapd.model.timeline import SessionEnded, SessionStarted, Step, StepBegun, StepEnded, Transcript
from snapd.model.trees import files
from snapd.store.timeline.timeline import TimelineView
from tests.support.amounts import amount
from tests.support.sessions import TEXT, Agents, at_work, text

from .travelling import Travelled


def alone(own: OwnChanges) -> OwnChanges:
    """The changes without who else may have made them: the others do not travel."""
    return OwnChanges(
        {path: tuple(attrs.evolve(delta, others=()) for delta in chain) for path, chain in own.files.items()},
        {path: attrs.evolve(delta, shared=False) for path, delta in own.directories.items()},
    )


def told(timeline: TimelineView, changes: StepChanges, session: str) -> dict[str, object]:
    """What is said of a session and its steps."""
    mine = {step.step_id for step in timeline.steps(session)}

    def of(step: Step) -> tuple[object, ...]:
        begun = step.begun
        return (
            *(begun.index, begun.parent if begun.parent in mine else None, begun.message_id, begun.part_id, begun.tool),
            *(step.started, step.ended, step.state, step.claims, step.from_.tree, step.to.tree if step.to else None),
            alone(changes.own(step)),
            alone(changes.in_force(step)),
            [attrs.astuple(one) for one in timeline.undone(step.step_id)],
        )

    known = timeline.session(session)
    assert known is not None
    return {
        "session": known,
        "messages": timeline.message_page(session, "", None, None),
        "redoable": timeline.redoable(session),
        "operations": [event.what for event in timeline.operations_about(session)],
        **{step.step_id: of(step) for step in timeline.steps(session)},
    }


def compare(agents: Agents, *sessions: str) -> None:
    workspace = agents.bench.workspace
    for session in sessions:
        copy = Travelled(agents.bench, session)
        here = told(workspace.store.timeline, workspace.step_changes, session)
        assert told(copy.timeline, copy.changes, session) == here


def test_steps_one_after_the_other(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.start("two")
    agents.step("one", {"a.txt": text(l2=b"1"), "dir/new": b"n"}, message="m")
    agents.bench.write({"a.txt": text(l2=b"1", l9=b"user")})
    agents.step("two", {"a.txt": text(l2=b"1", l9=b"user", l12=b"2")})
    agents.step("one", {"a.txt": text(l2=b"3", l9=b"user", l12=b"2")})
    compare(agents, "one", "two")
    agents.undo("one")
    compare(agents, "one", "two")
    agents.redo("one")
    compare(agents, "one", "two")


def test_of_others_only_what_lies_around(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"})
    agents.start("two")
    one, two = agents.begin("one"), agents.begin("two")
    agents.bench.write({"a.txt": text(l2=b"1"), "b.txt": b"2\n", "mine.txt": b"user\n"})
    agents.end(one, ["a.txt"])
    agents.end(two, ["b.txt"])
    compare(agents, "one", "two")
    copy = Travelled(agents.bench, "one")
    assert {event.seq for event in copy.events} == set(range(1, len(copy.events) + 1))
    assert two not in str(copy.events)
    spans = [event.seen for event in copy.events if event.seen is not None]
    read = agents.bench.workspace.store.read_tree
    assert [entry.name for span in spans for entry in read(span.after.tree)] == [b"a.txt", b"b.txt"]
    before, after = (read(tree) for tree in (spans[0].before.tree, spans[0].after.tree))
    assert before[1] == after[1]
    assert before[0] != after[0]


def test_what_the_user_did_meanwhile_stays_here(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"1"), "mine.txt": b"user\n"})
    agents.end(step, ["a.txt"])
    compare(agents, "one")
    read = agents.bench.workspace.store.read_tree
    (span,) = (event.seen for event in Travelled(agents.bench, "one").events if event.seen is not None)
    assert [entry.name for entry in read(span.after.tree)] == [b"a.txt"]


def test_what_was_there_before_and_after_it_stays_here(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.start("two")
    agents.step("two", {"before.txt": b"older\n"})
    agents.bench.remove("before.txt")
    agents.start("three")
    agents.step("three", {"a.txt": text(l2=b"1")})
    agents.bench.write({"after.txt": b"newer\n"})
    agents.step("two", {"b.txt": b"b\n"})
    agents.bench.workspace.sessions.end("three", Call())
    compare(agents, "three")
    copy = Travelled(agents.bench, "three")
    kinds = [type(event.what) for event in copy.events]
    assert kinds == [SessionStarted, StepBegun, StepEnded, SessionEnded]
    read = agents.bench.workspace.store.read_tree
    trees = [None if event.head is None else [entry.name for entry in read(event.head.tree)] for event in copy.events]
    assert trees == [None, [b"a.txt"], [b"a.txt"], [b"a.txt"]]


def test_where_the_conversation_lies_stays_here(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    workspace, call = agents.bench.workspace, Call()
    with workspace.writer.turn(call):
        workspace.messages.record(
            "one", "m", "do it", lambda: workspace.sessions.capture(call), call, Transcript("/home/me/x", 7)
        )
    assert workspace.store.timeline.transcript("one", "m") == Transcript("/home/me/x", 7)

    copy = Travelled(agents.bench, "one")
    assert copy.timeline.message("one", "m") is not None
    assert "/home/me" not in str(copy.events)


def test_empty_directories(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT, "went1/": None, "went2/": None})
    agents.start("two")
    one, two = agents.begin("one"), agents.begin("two")
    agents.bench.write({"came1/": None, "came2/": None})
    agents.bench.remove("went1", "went2")
    agents.end(one, ["came1", "went1"])
    agents.end(two, ["came2", "went2"])
    compare(agents, "one", "two")
    load = agents.bench.workspace.store.load
    (span,) = (event.seen for event in Travelled(agents.bench, "one").events if event.seen is not None)
    assert load(span.after).coverage.empty_dirs == (b"came1", b"went2")


def test_an_undone_piece_that_came_back(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    step = agents.step("one", {"a.txt": text(l2=b"1", l19=b"2")})
    agents.revert_hunks(step, "a.txt", [0])
    compare(agents, "one")
    undo = agents.bench.workspace.undo_steps.undo
    undo(UndoRequest(None), OperationOptions("merge", False, False), Call())
    assert Path(agents.bench.path("a.txt")).read_bytes() == text(l2=b"1", l19=b"2")
    compare(agents, "one")


def test_what_is_about_this_machine_stays(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT, ".gitignore": b"*.log\n"})
    agents.bench.configure("secret/", max_file_size=100)
    agents.step("one", {"a.txt": b"1\n", "large.bin": b"x" * 1000, "empty/": None})
    compare(agents, "one")
    copy = Travelled(agents.bench, "one")
    for snapshot in copy.named():
        coverage = agents.bench.workspace.store.load(snapshot).coverage
        assert (coverage.skipped, coverage.rules, coverage.forced) == ((), (), ())


def test_what_is_left_out_is_nowhere(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT, "secret/key": b"k0", "deep/secret/key": b"k1", "e/empty/": None})
    hidden = ["secret", ".env", "empty"]
    agents.start("two")
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"1"), "secret/key": b"k2", ".env": b"k3", "secret/empty/": None})
    agents.end(step, ["a.txt", "secret/key", ".env"])
    other = agents.step("two", {"a.txt": text(l2=b"1", l8=b"2")})
    agents.undo("one", step=step)
    agents.redo("one")
    agents.undo("two", step=other)
    copy = Travelled(agents.bench, "one", *hidden)
    store = agents.bench.workspace.store
    for snapshot in copy.named():
        assert [path for path, _ in files(store.read_tree, snapshot.tree)] == [b"a.txt"]
        assert store.load(snapshot).coverage.empty_dirs == ()
    assert "key" not in str(copy.events)
    assert ".env" not in str(copy.events)
    (found,) = copy.timeline.steps("one")
    own = copy.changes.own(found)
    assert (list(own.files), list(own.directories), found.state) == ([b"a.txt"], [], "applied")
    assert own.files == {b"a.txt": agents.bench.workspace.step_changes.own(found).files[b"a.txt"]}


def test_an_undo_of_several_sessions_is_split(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.start("two")
    whole = agents.begin("one")
    agents.step("two", {"a.txt": text(l3=b"part")}, parent=whole)
    agents.bench.write({"a.txt": text(l3=b"part", l8=b"whole")})
    agents.end(whole)
    agents.undo("one", step=whole)
    assert agents.states("one") == agents.states("two") == ["undone"]
    compare(agents, "one", "two")
    copy = Travelled(agents.bench, "two")
    head = copy.timeline.head
    assert head is not None
    (entry,) = agents.bench.workspace.store.read_tree(head.tree)
    # without what was taken back of the other session
    assert agents.bench.workspace.store.read_blob(entry.oid) == text(l8=b"whole")


def test_a_client_that_left(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.start("two")
    step = agents.begin("one", client="c")
    agents.bench.write({"a.txt": text(l2=b"1")})
    agents.leave("c")
    agents.step("two", {"b.txt": b"b\n"})
    compare(agents, "one", "two")
    agents.bench.write({"a.txt": text(l2=b"1", l4=b"late")})
    agents.end(step, ["a.txt"])
    compare(agents, "one", "two")


def test_a_client_that_did_not_come_back(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.start("two")
    agents.begin("one", client="c")
    agents.bench.write({"a.txt": text(l2=b"1")})
    agents.leave("c")
    agents.step("two", {"b.txt": b"b\n"})
    agents.bench.workspace.sessions.end("one", Call())
    compare(agents, "one", "two")


@pytest.mark.parametrize("seed", range(amount(12, 200)))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    agents = at_work(tmp_path, {"a.txt": TEXT, "b.txt": TEXT, "d/c.txt": TEXT})
    sessions = ["one", "two", "three"]
    for session in sessions[1:]:
        agents.start(session)
    files = ["a.txt", "b.txt", "d/c.txt", "d/e.txt", "f.txt"]
    started: list[tuple[str, str]] = []

    def write() -> None:
        name = chance.choice(files)
        if chance.random() < 0.15 and os.path.exists(agents.bench.path(name)):
            agents.bench.remove(name)
        else:
            lines = {f"l{chance.randrange(1, 20)}": b"%d" % chance.randrange(100)}
            agents.bench.write({name: text(**lines)})

    def begin() -> None:
        session = chance.choice(sessions)
        of_session = [step for name, step in started if name == session]
        parent = chance.choice([None, *of_session])
        started.append((session, agents.begin(session, parent, chance.choice([None, "m1", "m2"]))))

    def end() -> None:
        if started:
            _, step = started.pop(chance.randrange(len(started)))
            agents.end(step, chance.choice([None, [], chance.sample(files, 2)]))

    def undo() -> None:
        agents.undo(chance.choice(sessions), chance.randrange(1, 3), on_conflict=chance.choice(["merge", "overwrite"]))
        known = agents.bench.workspace.store.timeline.open_steps()
        started[:] = [(step.session_id, step.step_id) for step in known]

    def redo() -> None:
        agents.redo(chance.choice(sessions))

    for _ in range(30):
        with contextlib.suppress(NothingToUndo, NothingToRedo):
            chance.choice([write, write, write, begin, begin, end, end, undo, redo])()
    compare(agents, *sessions)

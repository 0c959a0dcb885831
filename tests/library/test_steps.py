"""Sessions and steps of the library: what they change, and taking it back."""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from snapd import (
    InvalidParams,
    IoError,
    NothingToRedo,
    NothingToUndo,
    Outcome,
    PlanChanged,
    Session,
    SnapdError,
    Snapshot,
    Step,
    StoreLocked,
    UnknownSession,
    UnknownStep,
)
from snapd.library.project import Project
from snapd.wire.session import StepBeginParams
from tests.library.others import WAIT, Breaking, other_process, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from snapd.library import FileChange
    from snapd.wire.values import RequestParams
    from tests.cli.running import Home
    from tests.library.others import Daemon

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"


def told(files: Iterable[FileChange]) -> list[tuple[str, str, int, int]]:
    return [(file.file, file.status, file.additions, file.deletions) for file in files]


def contents(project: Path) -> dict[str, str]:
    return {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()}


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def work(snap: Snapshot, project: Path) -> list[Any]:
    """Two agents and a user in one file, what was undone, and what was told of it; what it all came to."""
    file = project / "text"
    file.write_text(TEXT)
    found: list[Any] = []
    with snap.session(agent="ada", title="words") as ada, snap.session("ben", agent="ben") as ben:
        with ada.step(tool="edit", description="first", message_id="m1", part_id="p1") as first:
            change(file, "two\n", "TWO\n")
            (project / "new").write_text("n\n")
        assert first.before is not None
        assert first.after is not None
        assert snap.get_file_at(first.before, "text") == TEXT
        assert snap.get_file_at(first.after, "text") == file.read_text()
        found.append(told(first.files))
        change(file, "one\n", "the user\none\n")
        with ben.step() as bens:
            change(file, "five\n", "FIVE\n")
        with ada.step(message_id="m2") as second:
            change(file, "eight\n", "EIGHT\n")
        found.append(told(ada.undo(step=first).files and first.files))
        assert "TWO" not in file.read_text()
        found += [contents(project), [step.state for step in ada.steps()]]
        outcome = ada.redo()
        assert [step.step_id for step in outcome.steps] == [first.step_id]
        found.append(contents(project))
        info = ada.revert("m1", "p1")
        assert (info.message_id, info.part_id, info.applied) == ("m1", "p1", True)
        assert info.snapshot == info.before
        assert info.diff == snap.diff(info.before, info.after)
        found += [contents(project), told_diff(ada), told_diff(ben)]
        assert ada.unrevert().applied
        found += [contents(project), told_diff(ada, "m2"), told_diff(ada, step=second), told_diff(ben, step=bens)]
        (hunk,) = ada.hunks(second, "text")
        found.append((hunk.header, hunk.lines))
        assert ada.revert_hunks(second, file, [hunk.index]).applied
        found.append(contents(project))
    found.append([(info.agent, info.title, info.step_count, info.ended_at is None) for info in snap.sessions()])
    found.append([entry.kind for entry in snap.history()])
    found.append([entry.kind for entry in snap.history(2)])
    taken = snap.snapshots()
    assert {entry.after for entry in snap.history()} <= {one.hash for one in taken}
    assert snap.snapshots(1) == taken[:1]
    assert snap.snapshots(prefix=taken[0].hash[:6])[0] == taken[0]
    return found


def told_diff(session: Session, message_id: str | None = None, step: Step | None = None) -> Any:
    full = session.diff(message_id, step=step)
    bare = session.diff(message_id, step=step, contents=False)
    assert all((diff.before, diff.after) == ("", "") for diff in bare)
    assert [(diff.file, diff.additions, diff.deletions) for diff in full] == [
        (diff.file, diff.additions, diff.deletions) for diff in bare
    ]
    return [(diff.file, diff.before, diff.after) for diff in full]


def expected(project: Path) -> list[Any]:
    """The same by hand."""
    rest = {"config.yaml": "a: 1\n", "src/main.py": "print(1)\nprint(2)\n"}
    all_of_it = "the user\none\nTWO\nthree\nfour\nFIVE\nsix\nseven\nEIGHT\n"
    without_first = all_of_it.replace("TWO", "two")
    without_ada = without_first.replace("EIGHT", "eight")
    whole = {**rest, "text": all_of_it, "new": "n\n"}
    return [
        [("new", "added", 1, 0), ("text", "modified", 1, 1)],
        [("new", "added", 1, 0), ("text", "modified", 1, 1)],
        {**rest, "text": without_first},
        ["undone", "applied"],
        whole,
        {**rest, "text": without_ada},
        [],
        [("text", "the user\none\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n", all_of_it.replace("EIGHT", "eight"))],
        whole,
        [("text", all_of_it.replace("EIGHT", "eight"), all_of_it)],
        [("text", all_of_it.replace("EIGHT", "eight"), all_of_it)],
        [("text", "the user\none\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n", all_of_it.replace("EIGHT", "eight"))],
        ("@@ -6,4 +6,4 @@ four", [" FIVE", " six", " seven", "-eight", "+EIGHT"]),
        {**whole, "text": all_of_it.replace("EIGHT", "eight")},
        [("ada", "words", 2, False), ("ben", None, 1, False)],
        # the user's change is seen when a step begins
        ["hunks", "unrevert", "revert", "redo", "undo", "step", "step", "user", "step"],
        ["hunks", "unrevert"],
    ]


def test_two_agents_and_a_user(snap: Snapshot, project: Path) -> None:
    assert work(snap, project) == expected(project)


def test_the_daemon_answers_unseen(home: Home, project: Path, daemon: Daemon) -> None:
    wanted = expected(project)
    # it has looked at the folder before, so what the user wrote first is the user's
    wanted[-2] = [*wanted[-2], "user"]
    with Snapshot(project) as snap:
        assert work(snap, project) == wanted
    # it did the work, and a client of it sees the same
    steps = daemon.client.session_steps("ben")["steps"]
    assert [step["state"] for step in steps] == ["applied"]


def test_undo_goes_back_step_by_step_and_past_the_end_of_the_session(snap: Snapshot, project: Path) -> None:
    config = project / "config.yaml"
    with snap.session() as session:
        for value in "234":
            with session.step():
                config.write_text(f"a: {value}\n")
        with session.step() as idle:
            pass
        assert idle.files == []
    # ended, and still there
    assert [step.state for step in session.undo(2).steps] == ["undone", "undone"]
    assert config.read_text() == "a: 2\n"
    preview = session.undo(dry_run=True)
    assert (preview.applied, [(file.file, file.outcome) for file in preview.files]) == (
        False,
        [("config.yaml", "restored")],
    )
    assert config.read_text() == "a: 2\n"
    session.undo()
    with pytest.raises(NothingToUndo):
        session.undo()
    session.redo(9)
    assert config.read_text() == "a: 4\n"
    with pytest.raises(NothingToRedo):
        session.redo()
    with pytest.raises(UnknownSession), session.step():
        pass
    with snap.session(session.session_id) as again:
        assert again.session_id == session.session_id
        assert len(again.steps()) == 4
        with again.step():
            config.write_text("a: 5\n")
        again.undo(step=again.steps()[-1])
    assert config.read_text() == "a: 4\n"


def test_every_method_insists_on_the_plan_that_was_shown(snap: Snapshot, project: Path) -> None:
    file, other = project / "config.yaml", project / "src/main.py"
    tree = snap.track()
    with snap.session() as session, session.step(message_id="m") as step:
        file.write_text("a: 2\n")
    (hunk,) = session.hunks(step, file)
    undone: list[Callable[..., Any]] = [
        session.undo,
        partial(session.undo, step=step),
        partial(session.revert, "m"),
        partial(session.revert_hunks, step, file, [hunk.index]),
        partial(session.revert_files, step, [file]),
        partial(snap.revert, tree, [file]),
        partial(snap.restore, tree),
        partial(snap.review.revert, files=[file]),
        snap.undo,
    ]
    redone = {2: session.unrevert, 0: session.redo, 8: snap.redo}
    for at, method in enumerate(undone):
        holds(partial(method, on_conflict="overwrite"), file)
        assert file.read_text() == "a: 1\n"
        holds(redone.get(at, snap.undo if 3 <= at <= 7 else session.redo), file)
        assert file.read_text() == "a: 2\n"
    assert other.read_text() == "print(1)\nprint(2)\n"


def holds(method: Callable[..., Any], file: Path) -> None:
    """A method does what its dry run said, and nothing where something else would be done."""
    plan = method(dry_run=True).plan
    assert method(dry_run=True).plan == plan
    before = file.read_text()
    file.write_text(before + "b: 1\n")
    with pytest.raises(PlanChanged):
        method(expect=plan)
    assert file.read_text() == before + "b: 1\n"
    file.write_text(before)
    assert method(expect=plan).applied


def test_a_conflict_is_told_and_chosen(snap: Snapshot, project: Path) -> None:
    config = project / "config.yaml"
    with snap.session() as session:
        with session.step() as step:
            config.write_text("a: agent\n")
        config.write_text("a: user\n")
        for choice in ("merge", "fail"):
            outcome = session.undo(step=step, on_conflict=choice, dry_run=True)
            assert [(file.outcome, file.reason) for file in outcome.files] == [("conflict", "changedSince")]
        assert not session.undo(step=step, on_conflict="fail").applied
        assert config.read_text() == "a: user\n"
        outcome = session.undo(step=step, on_conflict="overwrite")
        assert config.read_text() == "a: 1\n"
        assert snap.get_file_at(outcome.before, "config.yaml") == "a: user\n"


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_a_block_that_raises_ends_its_step_and_its_session(
    snap: Snapshot, project: Path, error: type[BaseException]
) -> None:
    def half() -> None:
        (project / "half").write_text("h\n")
        raise error

    with pytest.raises(error), snap.session() as session, session.step() as step:
        half()
    assert told(step.files) == [("half", "added", 1, 0)]
    (info,) = snap.sessions()
    assert info.ended_at is not None
    session.undo()
    assert not (project / "half").exists()


def test_what_the_block_raised_is_not_hidden(
    snap: Snapshot, project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise IoError("the disk is gone", errno="EIO")

    def half() -> None:
        monkeypatch.setattr(Project, "request", fail)
        raise ZeroDivisionError

    session = snap.session()
    with pytest.raises(ZeroDivisionError), session, session.step() as step:
        half()
    (said,) = {record.message for record in caplog.records}
    assert said.startswith(f"snapshots of {project}: the disk is gone (hint: ")
    assert len(caplog.records) == 2
    # where the block did not, it is raised
    with pytest.raises(IoError, match="the disk is gone"):
        step.end()
    with pytest.raises(IoError, match="the disk is gone"), session:
        pass
    monkeypatch.undo()
    step.end()
    assert step.after is not None
    session.end()


def test_steps_without_a_block_and_in_threads(snap: Snapshot, project: Path) -> None:
    session = snap.session()
    step = session.step(tool="shell")
    thread = threading.Thread(target=step.begin)
    thread.start()
    thread.join()
    (project / "new").write_text("n\n")
    step.end()
    after = step.after
    (project / "new").write_text("later\n")
    step.end()
    assert step.after == after
    assert told(step.files) == [("new", "added", 1, 0)]
    with pytest.raises(RuntimeError, match="once"):
        step.begin()


def test_a_step_that_is_given_up_while_it_begins(
    snap: Snapshot, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = snap.session()
    step = session.step()
    request = Project.request
    began, go_on = threading.Event(), threading.Event()

    def slow(project: Project, params: RequestParams) -> Any:
        if isinstance(params, StepBeginParams):
            began.set()
            assert go_on.wait(WAIT)
        return request(project, params)

    monkeypatch.setattr(Project, "request", slow)
    beginning = threading.Thread(target=step.begin)
    ending = threading.Thread(target=step.end)
    beginning.start()
    assert began.wait(WAIT)
    # whoever waited for it was cancelled, and ends it
    ending.start()
    go_on.set()
    beginning.join()
    ending.join()
    (info,) = session.steps()
    assert (info.step_id, info.state) == (step.step_id, "applied")
    unborn = session.step()
    unborn.end()
    assert (unborn.step_id, unborn.before, unborn.after, unborn.files) == (None, None, None, [])
    with pytest.raises(RuntimeError, match="once"):
        unborn.begin()
    assert len(session.steps()) == 1


def test_parts_and_what_the_agent_wrote(snap: Snapshot, project: Path) -> None:
    with snap.session(agent="ada") as ada, snap.session(agent="sub") as sub, snap.session(agent="ben") as ben:
        with ada.step() as whole, sub.step(parent=whole) as part:
            (project / "part").write_text("p\n")
        assert [step.parent_step_id for step in sub.steps()] == [whole.step_id]
        # it is asked for when its part begins
        later = ada.step()
        inner = sub.step(parent=later)
        with pytest.raises(UnknownStep, match="parent"):
            sub.step(parent=later).begin()
        with later, inner:
            pass
        assert sub.steps()[-1].parent_step_id == later.step_id
        with ada.step() as one, ben.step() as two:
            (project / "ada").write_text("a\n")
            (project / "ben").mkdir()
            (project / "ben" / "x").write_text("b\n")
            one.wrote("ada")
            two.wrote(project / "ben")
            two.wrote(b"nothing")
        assert told(one.files) == [("ada", "added", 1, 0)]
        assert told(two.files) == [("ben/x", "added", 1, 0)]
        # who claims nothing wrote nothing
        with ada.step() as one, ben.step() as two:
            (project / "more").write_text("m\n")
            one.wrote()
        assert told(one.files) == []
        assert told(two.files) == [("more", "added", 1, 0)]
        ada.undo(step=whole)
        assert not (project / "part").exists()
        assert part.step_id is not None


def test_a_step_that_was_not_begun_is_never_taken_for_all(snap: Snapshot, project: Path) -> None:
    with snap.session() as session:
        with session.step():
            (project / "new").write_text("n\n")
        unborn = session.step()
        calls: list[Callable[[], Any]] = [
            lambda: session.undo(step=unborn),
            lambda: session.diff(step=unborn),
            lambda: session.hunks(unborn, "new"),
            lambda: session.revert_hunks(unborn, "new", [0]),
        ]
        for call in calls:
            with pytest.raises(UnknownStep):
                call()
        assert (project / "new").exists()


@pytest.mark.parametrize("way", ["argument", "settings", "daemon"])
def test_where_snapshots_are_off_steps_do_nothing(
    home: Home, project: Path, monkeypatch: pytest.MonkeyPatch, way: str, request: pytest.FixtureRequest
) -> None:
    if way == "daemon":
        request.getfixturevalue("daemon")
    if way != "argument":
        monkeypatch.setenv("SNAPD_SNAPSHOT", "0")
    opened: list[Project] = []
    real = Project.open_backend
    monkeypatch.setattr(Project, "open_backend", lambda each: opened.append(each) or real(each))
    with Snapshot(project, enabled=way != "argument") as snap:
        with snap.session() as session, session.step() as step:
            step.wrote("a")
            (project / "a").write_text("a\n")
        assert (step.step_id, step.files) == (None, [])
        # nothing is opened where the caller said it
        assert (opened == []) == (way == "argument")
        assert snap.sessions() == []
        assert not session.start()


def test_degraded(home: Home, project: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Snapshot(project, errors="degrade") as snap, snap.session("s") as session:
        with session.step() as step:
            (project / "new").write_text("n\n")
        nothing = Outcome(applied=False, before="", after="", files=[])
        calls: list[tuple[Callable[[], Any], Any]] = [
            (lambda: session.redo().steps, []),
            (lambda: session.redo().applied, False),
            (session.unrevert, nothing),
            (lambda: session.undo(step="nothing").applied, False),
            (lambda: session.revert("m", "p").message_id, "m"),
            (lambda: session.revert("m", "p").diff, ""),
            (lambda: session.diff(step="nothing"), []),
            (lambda: session.hunks(step, "config.yaml"), []),
            (lambda: session.revert_hunks(step, "new", [7]), nothing),
        ]
        for call, empty in calls:
            caplog.clear()
            assert call() == empty
            ((name, level, message),) = caplog.record_tuples
            assert (name, level) == ("snapd.library", logging.WARNING)
            assert str(project) in message


def test_a_failing_store_never_stops_the_agent(home: Home, project: Path, caplog: pytest.LogCaptureFixture) -> None:
    with other_process(home, project) as other:
        with pytest.raises(StoreLocked):
            Snapshot(project).session()
        with Snapshot(project, errors="degrade") as snap:
            session = snap.session(agent="ada")
            with session.step(parent="nobody") as lost:
                (project / "lost").write_text("l\n")
            assert (lost.step_id, lost.before, lost.after, lost.files) == (None, None, None, [])
            assert "owns the store" in caplog.text
            assert not session.undo(step=lost).applied
            assert (project / "lost").exists()
            assert snap.sessions() == []
            assert snap.history() == []
            assert snap.snapshots() == []
            # it is tried again with the next step, and the session is one
            assert tell(other) == "closed\n"
            with session.step(parent=lost) as step:
                (project / "new").write_text("n\n")
            session.end()
            assert told(step.files) == [("new", "added", 1, 0)]
            assert [(info.session_id, info.agent, info.step_count) for info in snap.sessions()] == [
                (session.session_id, "ada", 1)
            ]


def test_what_may_have_been_done_is_not_done_again(home: Home, project: Path) -> None:
    with Snapshot(project) as snap, snap.session() as session:
        with session.step(message_id="m") as step:
            (project / "new").write_text("n\n")
        once: list[Callable[[], Any]] = [
            session.undo,
            session.redo,
            lambda: session.revert("m"),
            session.unrevert,
            lambda: session.revert_hunks(step, "new", [0]),
            lambda: session.step().begin(),
        ]
        for call in once:
            snap.close()
            broken = Breaking()
            opening = mock.patch.object(Project, "open_backend", return_value=broken)
            with opening, pytest.raises(IoError, match="it ended"):
                call()
            assert len(broken.asked) == 1
        assert [len(session.steps()), session.steps()[0].state] == [1, "applied"]
        with pytest.raises(InvalidParams):
            session.undo(0)
        with pytest.raises(SnapdError):
            session.hunks(step, "../x")


def test_a_daemon_that_ends_inside_a_step(home: Home, project: Path, daemon: Daemon) -> None:
    with Snapshot(project) as snap, snap.session() as session:
        with session.step() as step:
            (project / "new").write_text("n\n")
            daemon.kill()
        # this process owns the store now, and goes on where the daemon was
        assert told(step.files) == [("new", "added", 1, 0)]
        session.undo()
    assert not (project / "new").exists()


def test_text_that_json_cannot_say(home: Home, project: Path, daemon: Daemon) -> None:
    """What a model wrote is not always Unicode; in process and through the daemon it is told the same."""
    for _ in range(2):
        with Snapshot(project) as snap:
            step = snap.session().step(description="\udcff")
            with pytest.raises(InvalidParams):
                step.begin()
        with Snapshot(project, errors="degrade") as snap:
            step = snap.session().step(description="\udcff").begin()
            assert step.step_id is None
        if daemon.process.poll() is None:
            daemon.stop()


def test_unsaved_text_in_an_editor_is_left_alone(home: Home, project: Path, daemon: Daemon) -> None:
    config = project / "config.yaml"
    with Snapshot(project) as snap, snap.session() as session:
        start = snap.track()
        assert start is not None
        with session.step() as step:
            config.write_text("a: agent\n")
        document = {"uri": config.as_uri(), "languageId": "yaml", "version": 1, "text": "a: typed\n"}
        daemon.client.notify("textDocument/didOpen", {"textDocument": document})
        # an answer on the same connection: what was told before it is known
        daemon.client.track()
        blocked = [("config.yaml", "conflict", "unsavedInEditor")]
        calls: list[Callable[..., Outcome]] = [
            partial(session.undo, step=step),
            partial(snap.restore, start),
            partial(snap.revert, start, ["config.yaml"]),
        ]
        for call in calls:
            outcome = call()
            assert [(file.file, file.outcome, file.reason) for file in outcome.files] == blocked
            assert config.read_text() == "a: agent\n"
        for call in calls[1:]:
            config.write_text("a: agent\n")
            assert call(on_conflict="overwrite").applied
            assert config.read_text() == "a: 1\n"

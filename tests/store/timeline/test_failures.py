"""Kills, full and failing disks at each point of telling: an event is there with its snapshot, or neither is."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd.model.errors import IoError, SnapdError, StorageFull
from snapd.model.snapshot import Coverage, ObjectId
from snapd.model.snapshot_records import SnapshotRecordQuery
from snapd.model.timeline import SessionStarted, StepBegun, StepEnded
from snapd.store.store import Store
from snapd.store.timeline.chain import Chains
from snapd.store.timeline.database import Database
from tests.store.steps import Disk, read_files
from tests.support.amounts import amount

from .telling import Telling
from .test_model import some_history

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Refusal:
    """Has the system refuse one call, once.

    Args:
        monkeypatch: puts it there.
        name: the function of `os`.
        at: which call of it is refused, from 0.
        concerns: whether a call counts, by its arguments.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        at: int = 0,
        concerns: Callable[..., bool] = lambda *_: True,
    ) -> None:
        self.left = at
        self.done = False
        real = getattr(os, name)

        def call(*args: Any, **options: Any) -> Any:
            if not self.done and concerns(*args):
                if self.left == 0:
                    self.done = True
                    raise FULL
                self.left -= 1
            return real(*args, **options)

        monkeypatch.setattr(os, name, call)


def refused(telling: Telling) -> None:
    """Tells a step and its snapshot, which must leave nothing; what comes later must not bring it back."""
    telling.edit()
    tree = telling.snapshot.tree
    event = telling.event(StepBegun("refused", "two", 2, None, None, None, None, None))
    with pytest.raises(StorageFull):
        telling.store.append(event)
    telling.store.discard()
    assert not telling.store.knows(tree)
    assert telling.store.timeline.events(None, 1000) == tuple(telling.model.events[::-1])


@pytest.mark.parametrize("name", ["fdatasync", "write", "open", "rename"])
@pytest.mark.parametrize("at", range(8))
def test_a_full_disk_leaves_neither(telling: Telling, name: str, at: int) -> None:
    some_history(telling)
    with pytest.MonkeyPatch.context() as patch:
        refusal = Refusal(patch, name, at)
        telling.edit()
        event = telling.event(StepBegun("refused", "two", 2, None, None, None, None, None))
        tree = telling.snapshot.tree
        try:
            telling.store.append(event)
        except StorageFull:
            told = False
        else:
            told = True
            telling.model.events.append(event)
    if not refusal.done:
        assert told
    telling.store.discard()
    assert telling.store.knows(tree) == told
    assert telling.store.timeline.events(None, 1000) == tuple(telling.model.events[::-1])
    if name != "rename":
        # a rename that fails after another was made is what the disk cannot take back
        telling.store.ownership.release()
        telling.store = Store(str(telling.path), None)
        assert telling.store.knows(tree) == told
        assert telling.store.timeline.events(None, 1000) == tuple(telling.model.events[::-1])


def test_what_was_refused_does_not_come_back(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither with what is told next, nor after a kill."""
    some_history(telling)
    Refusal(monkeypatch, "fdatasync")
    refused(telling)
    # its number is not used again: nobody can tell what a disk that fails has of it
    assert telling.store.timeline.next_seq == telling.model.next_seq + 1
    monkeypatch.undo()
    head = telling.model.head
    assert head is not None
    telling.snapshot = telling.store.load(head)
    later = telling.event(SessionStarted("three", None, None))
    telling.store.append(later)
    telling.model.events.append(later)
    telling.check()
    telling.kill()
    telling.check()


@pytest.mark.parametrize("names_stay", [True, False])
def test_what_a_refused_step_stored_is_stored_again_by_the_next(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_stay: bool
) -> None:
    """It was given up, so it must not count as stored."""
    some_history(telling)
    disk = Disk(telling.path, monkeypatch)
    with pytest.MonkeyPatch.context() as patch:
        Refusal(patch, "write", 0)
        refused(telling)
    telling.snapshot = telling.stored(Coverage())
    event = telling.event(StepBegun("again", "two", 2, None, None, None, None, None))
    event = attrs.evolve(event, seq=telling.store.timeline.next_seq)
    telling.store.append(event)
    telling.model.events.append(event)
    found = disk.after_a_cut(tmp_path / "found", names_stay)
    disk.close()
    telling.store.close()
    telling.path = found
    telling.opened()
    telling.check()
    assert read_files(telling.store, telling.snapshot.tree)["a.txt"] == telling.files["a.txt"]


@pytest.mark.parametrize("names_stay", [True, False])
def test_a_power_cut_after_an_answer(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_stay: bool
) -> None:
    disk = Disk(telling.path, monkeypatch)
    some_history(telling)
    telling.operate("restore", None, {})
    found = disk.after_a_cut(tmp_path / "found", names_stay)
    disk.close()
    telling.store.close()
    telling.path = found
    telling.opened()
    telling.check()


def test_a_power_cut_with_the_database_as_it_was_closed(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names that went when it was opened are there again, and its bytes in part."""
    some_history(telling)
    telling.closed()
    telling.keep_copy(tmp_path / "copy")
    telling.opened()
    telling.edit()
    telling.end("c")
    telling.store.ownership.release()
    for path in (tmp_path / "copy").iterdir():
        if path.suffix == ".sha1":
            shutil.copy2(path, telling.path)
    telling.opened()
    telling.check()


def test_a_kill_between_the_journal_and_the_database(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)
    telling.reopen()

    class Killed(BaseException):
        pass

    def killed(_: Database) -> None:
        raise Killed

    monkeypatch.setattr(Database, "commit", killed)
    event = telling.event(StepBegun("d", "two", 2, None, None, None, None, None))
    with pytest.raises(Killed):
        telling.store.append(event)
    monkeypatch.undo()
    telling.model.events.append(event)
    telling.kill()
    telling.check()


@pytest.mark.parametrize("point", ["begin", "add", "commit"])
def test_a_database_without_room_goes_on_in_memory(
    telling: Telling, monkeypatch: pytest.MonkeyPatch, point: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The event stands, and the next opening has the database in its file again."""
    some_history(telling)
    real = getattr(Database, point)
    failed = []

    def once(*args: Any) -> None:
        if not failed:
            failed.append(point)
            raise sqlite3.OperationalError("database or disk is full")
        real(*args)

    monkeypatch.setattr(Database, point, once)
    telling.edit()
    telling.end("c")
    assert failed
    assert "in memory" in caplog.text
    telling.model.summaries.clear()
    telling.check()
    telling.begin("one", "d")
    telling.check()
    telling.closed()
    telling.opened()
    telling.check()


@pytest.mark.parametrize("then", ["ask", "kill", "reopen", "no room", "damage"])
def test_snapshots_that_wait_for_the_database_are_all_answered(
    telling: Telling, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    some_history(telling)
    taken = []

    def record() -> None:
        telling.edit()
        telling.store.record(telling.snapshot, "track")
        taken.append(telling.snapshot.tree)

    def answered() -> list[ObjectId]:
        records = telling.store.timeline.taken(SnapshotRecordQuery(), None, len(taken))
        return [record.tree for record in records[::-1]]

    for _ in range(19):
        record()
    added: list[int] = []
    monkeypatch.setattr(Database, "add", lambda *events: added.append(events[1].event.seq))
    record()
    assert added == [], "the database hears of it with the next question"
    monkeypatch.undo()
    match then:
        case "kill":
            telling.kill()
        case "reopen":
            telling.reopen()
        case "no room" | "damage":
            error = sqlite3.OperationalError("disk full") if then == "no room" else sqlite3.IntegrityError("not unique")
            real = Database.add

            def once(*args: Any) -> None:
                monkeypatch.setattr(Database, "add", real)
                raise error

            monkeypatch.setattr(Database, "add", once)
    assert answered() == taken
    record()
    telling.begin("one", "after")
    taken.append(telling.snapshot.tree)
    assert answered() == taken
    telling.reopen()
    assert answered() == taken
    assert telling.store.timeline.agrees()


@pytest.mark.parametrize("table", ["events", "steps"])
def test_an_event_that_is_half_in_the_database_is_not_kept_there(
    telling: Telling, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """What is recorded is in the file as a whole when it is next opened."""
    some_history(telling)
    real = Database.insert
    failed = []

    def failing(self: Database, name: str, **values: Any) -> None:
        real(self, name, **values)
        if name == table and not failed:
            failed.append(name)
            # as an error that takes back nothing, and leaves no savepoint to go back to
            self.connection.execute("RELEASE change")
            raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Database, "insert", failing)
    telling.begin("one", "half")
    assert failed
    telling.model.summaries.clear()
    telling.check()
    telling.closed()
    telling.opened()
    telling.check()
    assert telling.store.timeline.agrees()


def test_supposed_events_are_in_no_file_after_an_error(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)
    timeline = telling.store.timeline
    with timeline.simulation():
        timeline.simulate(telling.event(SessionStarted("supposed", None, None)))
        timeline.use_memory(sqlite3.OperationalError("disk I/O error"))
    connection = sqlite3.connect(telling.database)
    assert connection.execute("SELECT COUNT(*) FROM sessions WHERE session_id = 'supposed'").fetchone() == (0,)
    connection.close()
    telling.closed()
    telling.opened()
    telling.check()


def test_a_copy_of_a_closed_database_is_used(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest shows that it is whole; then a kill costs the copy no more than the original."""
    some_history(telling)
    path = telling.closed()
    data = path.read_bytes()
    path.rename(path.with_name("moved"))
    path.write_bytes(data)
    monkeypatch.setattr(Chains, "read", lambda _: pytest.fail("events were read"))
    telling.opened()
    telling.check()
    telling.kill()
    telling.check()


def test_a_copy_of_an_open_database_is_made_anew(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)
    telling.kill()
    telling.check()
    database = telling.store.timeline.database
    assert database is not None
    database.connection.close()
    path = telling.database
    data = path.read_bytes()
    path.rename(path.with_name("moved"))
    path.write_bytes(data)
    telling.store.ownership.release()
    read: list[object] = []
    real = Chains.read
    monkeypatch.setattr(Chains, "read", lambda it: read.append(it) or real(it))
    telling.opened()
    telling.check()
    assert read


def test_a_disk_that_is_really_full_for_the_database(telling: Telling) -> None:
    some_history(telling)
    database = telling.store.timeline.database
    assert database is not None
    (pages,) = database.connection.execute("PRAGMA page_count").fetchone()
    database.connection.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(20):
        telling.edit()
        telling.operate(f"full {number}", None, {})
    assert telling.store.timeline.database is not database
    telling.model.summaries.clear()
    telling.check(again=True)


def test_a_database_that_cannot_be_read_any_more(telling: Telling) -> None:
    some_history(telling)
    database = telling.store.timeline.database
    assert database is not None
    database.close()
    telling.model.summaries.clear()
    telling.check()


def test_a_directory_that_cannot_take_a_database(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)
    telling.closed().unlink()
    Refusal(monkeypatch, "open", 0, lambda path, *_: "timeline.db" in str(path))
    telling.opened()
    telling.check()
    telling.end("c")
    telling.check()


CALLS = (0, 1, 7, 16)[:: amount(2, 1)]
KILLED = textwrap.dedent("""
    import os, sys
    sys.path.insert(0, sys.argv[3])
    from pathlib import Path
    from tests.store.timeline.telling import Telling
    from tests.store.timeline.test_model import some_history
    name, at = sys.argv[2].split()
    telling = Telling(Path(sys.argv[1]))
    some_history(telling)
    left = int(at)
    real = getattr(os, name)
    def call(*args, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return real(*args, **options)
    setattr(os, name, call)
    try:
        for number in range(6):
            telling.edit()
            telling.begin("one", f"more {number}")
            # what it answered
            sys.stdout.write(".")
            sys.stdout.flush()
    finally:
        os._exit(0)
""")


@pytest.mark.parametrize("where", [f"{name} {at}" for name in ("fdatasync", "rename", "write") for at in CALLS])
def test_a_real_kill(tmp_path: Path, where: str) -> None:
    """What was answered is there, and of what was not, nothing or all."""
    path = tmp_path / "store"
    root = str(Path(__file__).parents[3])
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), where, root], capture_output=True, check=False)
    assert done.returncode in (0, -9), done.stderr
    answered = len(done.stdout)
    expected = Telling(tmp_path / "expected")
    some_history(expected)
    store = Store(str(path), None)
    try:
        events = store.timeline.events(None, 1000)[::-1]
        assert len(events) in (len(expected.model.events) + answered, len(expected.model.events) + answered + 1)
        assert store.timeline.head == events[-1].head
        head = events[-1].head
        assert head is not None
        assert store.knows(head.tree)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
    finally:
        store.close()
        expected.store.close()
    assert b"missing" not in subprocess.run(
        ["git", f"--git-dir={path}", "fsck", "--strict"], capture_output=True, check=False
    ).stdout  # fmt: skip


def test_nobody_else_is_needed_to_close(telling: Telling, caplog: pytest.LogCaptureFixture) -> None:
    some_history(telling)
    telling.database.unlink()
    telling.store.close()
    assert "without its digest" in caplog.text
    telling.opened()
    telling.check()


def test_a_question_after_the_close_leaves_the_file_alone(telling: Telling) -> None:
    some_history(telling)
    old = telling.store
    telling.reopen()
    telling.model.check(old, summaries=False)
    telling.check(again=True)


def test_the_errors_are_typed(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)
    Refusal(monkeypatch, "fdatasync")
    with pytest.raises(SnapdError):
        telling.begin("one", "x")


def test_a_database_that_fails_while_something_is_supposed_says_so_and_answers_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    telling = Telling(tmp_path / "store")
    telling.start("one")
    telling.begin("one", "step")

    class Failing:
        in_transaction = False

        def execute(self, *_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        def close(self) -> None:
            connection.close()

    with telling.store.timeline.simulation():
        telling.store.timeline.simulate(telling.event(StepEnded("step", None, True, True)))
        database = telling.store.timeline.database
        assert database is not None
        connection = database.connection
        monkeypatch.setattr(database, "connection", Failing())
        with pytest.raises(IoError, match="try again"):
            telling.store.timeline.head  # noqa: B018
    telling.check(again=True)
    telling.store.close()


def test_events_are_supposed_within_a_block_alone(tmp_path: Path) -> None:
    telling = Telling(tmp_path / "store")
    with pytest.raises(ValueError, match="block"):
        telling.store.timeline.simulate(telling.event(SessionStarted("one", None, None)))
    with telling.store.timeline.simulation(), pytest.raises(ValueError, match="is unknown"):
        telling.store.timeline.simulate(telling.event(StepEnded("none", None, True, True)))
    telling.check()
    telling.store.close()

"""Random histories against the model: after a kill, or with the database lost, old or damaged, no answer changes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapd.model.timeline import Operated, StepBegun, StepEnded
from snapd.store.timeline import codec

from .telling import Telling

SESSIONS = ("one", "two \U0001f600", "three\0")


def history(telling: Telling, action: str, number: int) -> None:
    """One more event, if that is possible now."""
    sessions, steps = telling.model.sessions(), telling.model.steps()
    session = SESSIONS[number % len(SESSIONS)]
    goes_on = session in sessions and sessions[session].ended is None
    own = [step for step in steps.values() if step.begun.session_id == session]
    is_open = [step.step_id for step in own if step.state == "open"]
    done = [step for step in own if step.state != "open"]
    match action:
        case "edit":
            telling.edit()
        case "start":
            agent, title = (None, "agent")[number % 2], (None, f"title {number}")[number // 2 % 2]
            telling.start(session, agent, title)
        case "end session" if goes_on and not is_open:
            telling.end_session(session)
        case "begin" if goes_on:
            every = [step.step_id for step in steps.values() if step.state == "open"]
            parent = every[number % len(every)] if every and number % 4 == 0 else None
            telling.begin(session, f"step {telling.model.next_seq}", parent)
        case "end" if is_open:
            claims = (None, (), (b"a.txt", b"raw \xff"))[number % 3]
            ending = is_open[number % len(is_open)]
            telling.end(ending, claims, changed=number % 2 == 0, spoken_for=number % 5 > 1)
        case "suppose" if is_open:
            telling.simulate(StepEnded(is_open[number % len(is_open)], None, number % 2 == 0, number % 3 == 0))
        case "leave" if is_open:
            telling.leave(is_open[number % len(is_open)])
        case "turn" if done:
            chosen = done[-1 - number % min(3, len(done)) :]
            undoes = list(telling.model.operations())[-1:]
            telling.operate(
                f"operation {telling.model.next_seq}",
                session,
                {step.step_id: step.state == "applied" or number % 7 == 0 for step in reversed(chosen)},
                undoes[0] if undoes and number % 2 else None,
                chosen[0].step_id if number % 3 == 0 else None,
                older=number % 5 == 0,
                rest=number % 4 == 1,
            )
        case "restore":
            telling.operate(f"operation {telling.model.next_seq}", None, {})
        case "operation" if telling.model.states():
            chosen_name = list(telling.model.states())[number % len(telling.model.states())]
            telling.operate(f"operation {telling.model.next_seq}", None, {}, rest=number % 4 == 1, other=chosen_name)
        case "summarize" if steps:
            telling.summarize(list(steps)[number % len(steps)])
        case _:
            pass


EVENTS = (
    "edit",
    "start",
    "end session",
    "begin",
    "leave",
    "end",
    "suppose",
    "turn",
    "restore",
    "operation",
    "summarize",
)
actions = st.lists(
    st.tuples(
        st.sampled_from((*EVENTS, *EVENTS, "begin", "end", "reopen", "kill", "lose", "older", "damage")),
        st.integers(0, 10_000),
    ),
    max_size=30,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(actions)
def test_any_history(taken: list[tuple[str, int]]) -> None:
    directory = Path(tempfile.mkdtemp())
    telling = Telling(directory / "store")
    copy = directory / "copy"
    telling.keep_copy(copy)
    try:
        telling.start("one")
        for action, number in taken:
            match action:
                case "reopen":
                    telling.reopen()
                case "kill":
                    telling.kill()
                case "lose":
                    telling.closed().unlink()
                    telling.opened()
                case "older":
                    database = telling.closed()
                    older = sorted(copy.iterdir())
                    telling.keep_copy(directory / "newer")
                    for path in older:
                        shutil.copy2(path, database.parent)
                    telling.opened()
                    shutil.rmtree(copy)
                    (directory / "newer").rename(copy)
                case "damage":
                    data = bytearray(telling.closed().read_bytes())
                    data[number % len(data)] ^= 1 << number % 8
                    telling.database.write_bytes(data)
                    telling.opened()
                case _:
                    history(telling, action, number)
            telling.check(again=True)
        assert b"dangling" not in telling.git("fsck", "--strict", "--full", "--no-dangling")
    finally:
        telling.store.close()
        shutil.rmtree(directory)


def some_history(telling: Telling) -> None:
    """A little of everything."""
    telling.start("one", "agent", "title")
    telling.start("two")
    telling.begin("one", "a")
    telling.edit()
    telling.begin("two", "b", "a")
    telling.edit()
    telling.end("b", (b"a.txt",))
    telling.edit()
    telling.end("a")
    telling.operate("o1", "one", {"a": True, "b": True}, root="a")
    telling.operate("o2", "one", {"b": False}, "o1")
    telling.begin("two", "c")
    telling.summarize("a")


def truncated(database: Path) -> None:
    with database.open("r+b") as file:
        file.truncate(database.stat().st_size // 2)


def emptied(database: Path) -> None:
    database.write_bytes(b"")


def no_database(database: Path) -> None:
    database.write_bytes(b"not a database" * 1000)


def unsealed(database: Path) -> None:
    database.with_name("timeline.db.sha1").unlink()


def a_directory(database: Path) -> None:
    database.unlink()
    database.mkdir()


@pytest.mark.parametrize("harm", [truncated, emptied, no_database, unsealed, a_directory])
def test_a_damaged_database_is_made_anew(telling: Telling, harm: Callable[[Path], None]) -> None:
    some_history(telling)
    harm(telling.closed())
    telling.opened()
    telling.check()
    telling.end("c")
    telling.check(again=True)


def test_a_flipped_bit_anywhere_is_seen(telling: Telling) -> None:
    some_history(telling)
    data = telling.closed().read_bytes()
    for place in range(0, len(data), 997):
        damaged = bytearray(data)
        damaged[place] ^= 4
        telling.database.write_bytes(damaged)
        telling.opened()
        telling.check()
        telling.closed()


def test_a_database_that_was_closed_is_believed(telling: Telling) -> None:
    """Else the summaries would be gone."""
    some_history(telling)
    inode = os.stat(telling.database).st_ino
    telling.reopen()
    telling.check()
    assert telling.model.summaries
    assert os.stat(telling.database).st_ino == inode


def test_an_older_copy_is_not_believed(telling: Telling, tmp_path: Path) -> None:
    some_history(telling)
    telling.closed()
    telling.keep_copy(tmp_path / "copy")
    telling.opened()
    telling.end("c")
    telling.closed()
    for path in (tmp_path / "copy").iterdir():
        shutil.copy2(path, telling.path)
    telling.opened()
    telling.check()


def test_a_database_of_other_tables_is_made_anew(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)
    telling.closed()
    monkeypatch.setattr("snapd.store.timeline.database.VERSION", 2)
    telling.opened()
    telling.check()
    with closing(sqlite3.connect(telling.closed())) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2 << 8 | codec.VERSION,)
    telling.opened()


def test_a_store_from_before_has_no_timeline(telling: Telling) -> None:
    telling.check(again=True)
    assert not list(telling.path.glob("timeline*"))
    assert telling.store.timeline.head is None
    some_history(telling)
    telling.check()


def test_no_file_is_for_others(telling: Telling) -> None:
    some_history(telling)
    telling.closed()
    for path in telling.path.glob("timeline*"):
        assert path.stat().st_mode & 0o077 == 0
    telling.opened()


def test_two_sessions_may_share_a_reference(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapd.store.timeline.chain.NAME_DIGITS", 0)
    monkeypatch.setattr("snapd.store.timeline.chain.SESSIONS", "refs/snapd/sessions/0123456789abcdef")
    some_history(telling)
    telling.check()
    telling.closed().unlink()
    telling.opened()
    telling.check()


@pytest.mark.parametrize("illegal", ["again", "unknown session", "ended", "not next", "operation"])
def test_an_event_that_cannot_follow_is_refused(telling: Telling, illegal: str) -> None:
    some_history(telling)
    head = telling.model.head
    assert head is not None
    whats = {
        "again": StepBegun("a", "one", 9, None, None, None, None, None),
        "unknown session": StepBegun("x", "nobody", 0, None, None, None, None, None),
        "ended": StepEnded("a", None, True, True),
        "operation": Operated("o1", "undo", None, head),
    }
    event = telling.event(whats.get(illegal, StepEnded("c", None, True, True)))
    if illegal == "not next":
        event = attrs.evolve(event, seq=event.seq + 1)
    with pytest.raises(ValueError, match=r".+"):
        telling.store.append(event)
    telling.check()
    telling.end("c")
    telling.check()
    telling.kill()
    telling.check()

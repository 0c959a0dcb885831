"""What an event costs, counted call by call: one sync and a handful of files, however long the history."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from snapd.model.snapshot import ObjectId
from snapd.model.timeline import StepBegun
from snapd.store.journal import journal
from snapd.store.timeline import chain
from snapd.store.timeline.chain import ChainLink, Chains
from tests.support.system_calls import counted, traced

from .telling import Telling
from .test_model import some_history

COUNTED = ("open", "write", "rename", "fsync", "fdatasync", "stat", "unlink", "listdir", "scandir", "pwrite")


def test_a_step_begun_on_nothing_new_is_one_sync(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "publish_later", lambda _: None)
    some_history(telling)
    telling.begin("one", "x")
    event = telling.event(StepBegun("z", "one", 9, None, None, None, None, None))
    with counted(*COUNTED) as calls:
        telling.store.append(event)
    # a frame
    assert calls == {"fdatasync": 1, "write": 1}


def test_the_database_syncs_nothing(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from tests.store.timeline.telling import Telling
        from tests.store.timeline.test_model import some_history
        from snapd.store.journal import journal
        journal.publish_later = lambda _: None
        telling = Telling(Path(sys.argv[1]))
        some_history(telling)
        telling.begin("one", "x")
        telling.edit()
        os.getppid()
        telling.end("x")
        os.getppid()
        telling.store.close()
    """)
    (step,) = traced(script, str(tmp_path / "store"), log=tmp_path / "trace")
    names = step.counts()
    assert names["fdatasync"] + names["fsync"] == 1
    # its objects and references become files later
    assert names["rename"] == 0


def test_a_store_that_was_closed_reads_no_events(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)

    def read(_: Chains) -> None:
        pytest.fail("events were read")

    monkeypatch.setattr(Chains, "read", read)
    telling.reopen()
    telling.check()


def test_after_a_kill_only_the_last_events_are_read(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database has all but those of its last commits."""
    some_history(telling)
    for number in range(200):
        telling.begin("one", f"step-{number}")
        telling.edit()
        telling.end(f"step-{number}")
    count = telling.store.timeline.next_seq - 1
    real = chain.decode_link
    numbers: list[int] = []

    def decode(name: str, commit: ObjectId, data: bytes) -> tuple[ChainLink, ObjectId | None]:
        found = real(name, commit, data)
        numbers.append(found[0].event.seq)
        return found

    monkeypatch.setattr(chain, "decode_link", decode)
    telling.kill()
    telling.check()
    assert numbers
    assert sorted(numbers) == list(range(min(numbers), count + 1))
    assert len(numbers) <= 64 < count


def test_an_open_store_is_not_asked_for_its_references_again(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    some_history(telling)
    monkeypatch.setattr("snapd.store.timeline.timeline.Chains", None)
    telling.begin("one", "x")
    telling.check()

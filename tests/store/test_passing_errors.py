"""Errors that pass: what could not be opened or listed for a moment is not taken for missing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.core.call import Call
from snapd.core.errors import IoError
from snapd.core.history import Event, SessionStarted
from snapd.core.model import Coverage, Snapshot
from snapd.store.packindex import PackIndexes
from tests.store.fsck.test_chains import add_session
from tests.store.steps import Files, Steps


def step(number: int) -> Files:
    return {"a": b"first\n" * 40, "d/e/c": b"step %d\n" % number * 30}


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Steps]:
    taken = Steps(tmp_path / "store")
    for number in range(4):
        taken.take(step(number))
    yield taken
    taken.store.close()


def refusing(patch: pytest.MonkeyPatch, call: str, ending: str) -> None:
    """Has a call of the system fail for paths with an ending, as where too many files are open."""
    real: Callable[..., Any] = getattr(os, call)

    def refuse(path: Any = ".", *args: Any, **options: Any) -> Any:
        if os.fspath(path).endswith(ending):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return real(path, *args, **options)

    patch.setattr(os, call, refuse)


def test_snapshots_whose_references_cannot_be_listed(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.store.close()
    with monkeypatch.context() as patch:
        refusing(patch, "scandir", "refs/snapd/snapshots")
        with pytest.raises(IoError):
            steps.open()
    steps.open()
    steps.take(step(50))
    steps.check()


def test_sessions_whose_references_cannot_be_listed(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    add_session(steps, "S", 2)
    steps.reopen()
    with monkeypatch.context() as patch:
        refusing(patch, "scandir", "refs/snapd/sessions")
        with pytest.raises(IoError):
            steps.store.timeline.sessions()
    started = Event(steps.store.timeline.next_seq, 1_700_000_000_000, None, None, SessionStarted("T", None, None))
    steps.store.tell(started)
    steps.reopen()
    assert {session.session_id for session in steps.store.timeline.sessions()} == {"S", "T"}


def test_a_pack_whose_index_cannot_be_opened(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = steps.take({f"m{at % 7}/f{at}": b"file %d\n" % at * 20 for at in range(40)})
    packs = PackIndexes(str(steps.path / "objects" / "pack"))
    with monkeypatch.context() as patch:
        refusing(patch, "open", ".idx")
        with pytest.raises(IoError):
            packs.among({tree})
    assert packs.among({tree}) == {tree}


def test_the_note_of_the_folder_cannot_be_read(steps: Steps) -> None:
    (steps.path / "root.json").mkdir()
    with pytest.raises(IoError):
        steps.store.remember_root(b"/x", (1, 2))
    (steps.path / "root.json").rmdir()
    steps.store.remember_root(b"/x", (1, 2))
    assert steps.store.identify(Snapshot(steps.take(step(5)), Coverage())).tree
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()

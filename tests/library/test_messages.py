"""Messages in the library: turns, and what others did to an agent's work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from snapd import Snapshot, UnknownSession, init_snapshot, track_message
from snapd.library.message_loop import snapshots

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Home


def test_turns_and_news(home: Home, project: Path) -> None:
    with Snapshot(project) as snap, snap.session("S", agent="ada") as ada:
        ada.message("m1", "write it")
        with ada.step(tool="write") as first:
            (project / "new.txt").write_text("new\n")
        with ada.step(message_id="m2") as second:
            (project / "other.txt").write_text("other\n")
        assert [(step.step_id, step.message_id) for step in ada.steps()] == [
            (first.step_id, "m1"),
            (second.step_id, "m2"),
        ]
        assert [(each.message_id, each.text, each.steps, each.files, each.state) for each in ada.messages()] == [
            ("m1", "write it", 1, 1, "applied"),
            ("m2", None, 1, 1, "applied"),
        ]
        assert ada.news().files == []
        ada.undo(step=second)
        told = ada.news()
        assert [step.step_id for step in told.undone] == [second.step_id]
        assert [file.file for file in told.files] == ["other.txt"]
        assert ada.news().undone == []


def test_where_snapshots_are_off(home: Home, project: Path) -> None:
    with Snapshot(project, enabled=False) as snap, snap.session("S") as ada:
        ada.message("m1", "write it")
        assert not ada.start()


def test_a_message_loop_takes_messages(home: Home, project: Path) -> None:
    init_snapshot("loop", project)
    track_message("loop", "m1", "hello")
    with Snapshot(project) as snap:
        (message,) = snap.session("loop").messages()
        assert message.text == "hello"
    snapshots.pop("loop").close()
    with pytest.raises(KeyError):
        track_message("loop", "m2")


def test_a_session_that_has_ended(home: Home, project: Path) -> None:
    with Snapshot(project) as snap:
        with snap.session("S") as ada:
            ada.message("m1", "one")
        with pytest.raises(UnknownSession, match="has ended"):
            ada.message("m2", "two")

"""The helpers for an agent's message loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from snapd import compute_diff, init_snapshot, track_snapshot
from snapd.library.message_loop import snapshot_history

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Home


def test_a_session(home: Home, project: Path) -> None:
    with init_snapshot("one", project) as snap:
        before = track_snapshot("one")
        (project / "config.yaml").write_text("a: 2\n")
        after = track_snapshot("one")
        assert before is not None
        assert after is not None
        assert before != after
        (diff,) = compute_diff("one", before, after)
        assert (diff.file, diff.before, diff.after) == ("config.yaml", "a: 1\n", "a: 2\n")
        assert snapshot_history("one") == [before, after]
        snap.revert(before, ["config.yaml"])
        assert track_snapshot("one") == before
        (operation,) = snap.undo().operations or []
        assert (operation.kind, operation.state, track_snapshot("one")) == ("revert", "undone", after)
        assert snap.redo().applied
        assert track_snapshot("one") == before


def test_sessions_side_by_side_and_anew(home: Home, project: Path) -> None:
    with init_snapshot("one", str(project)), init_snapshot("two", str(project)) as two:
        tree = track_snapshot("one")
        assert track_snapshot("two") == tree
        with init_snapshot("one", project):
            assert snapshot_history("one") == []
            assert snapshot_history("two") == [tree]
            assert two.track() == track_snapshot("one") == tree


def test_switched_off(home: Home, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNAPD_SNAPSHOT", "0")
    with init_snapshot("off", project):
        assert track_snapshot("off") is None
        assert snapshot_history("off") == []


def test_a_session_that_was_not_begun() -> None:
    for call in (lambda: track_snapshot("no"), lambda: compute_diff("no", "", ""), lambda: snapshot_history("no")):
        with pytest.raises(KeyError):
            call()

"""Helpers for an agent's message loop: one `Snapshot` per session, and the hashes that it took.

This is the interface of `core/snapshots.py` in agents that keep their snapshots by session. It records which snapshots
a session took, but not who changed what between them; for steps that can be undone one by one, use `Snapshot.session`.
All functions but `init_snapshot` raise `KeyError` for a session that was not initialized.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from snapd.library import FileDiff, Snapshot

if TYPE_CHECKING:
    import os

_lock = threading.Lock()
snapshots: dict[str, Snapshot] = {}
_histories: dict[str, list[str]] = {}


def init_snapshot(session_id: str, project_dir: str | os.PathLike[str]) -> Snapshot:
    """Starts a session, with any id, in a folder; replaces an earlier session with that id."""
    snapshot = Snapshot(project_dir)
    with _lock:
        before = snapshots.get(session_id)
        snapshots[session_id] = snapshot
        _histories[session_id] = []
    if before is not None:
        before.close()
    return snapshot


def track_snapshot(session_id: str) -> str | None:
    """Takes a snapshot and adds its hash to the session's history; returns None if snapshots are off.

    Raises `SnapdError` if no snapshot was taken.
    """
    tree = snapshots[session_id].track()
    if tree is not None:
        with _lock:
            _histories[session_id].append(tree)
    return tree


def track_message(session_id: str, message_id: str, text: str | None = None) -> None:
    """Records that a message was sent to the agent, for `snapd log`, editors and `Session.messages`.

    `message_id` is the agent's id for the message, `text` the prompt. `Snapshot.session` has the session's steps and
    messages under the same id. Raises `SnapdError` if the message was not recorded.
    """
    snapshots[session_id].session(session_id).message(message_id, text)


def snapshot_history(session_id: str) -> list[str]:
    """Returns the hashes that `track_snapshot` returned in a session, oldest first."""
    with _lock:
        return list(_histories[session_id])


def compute_diff(session_id: str, from_hash: str, to_hash: str) -> list[FileDiff]:
    """Returns each file that differs between two snapshots; raises the errors of `Snapshot.diff_full`."""
    return snapshots[session_id].diff_full(from_hash, to_hash)

"""Checkpoints: snapshots with a name.

The timeline has names for steps alone. So a checkpoint is a step that changes nothing, in a session of its own; its
description is the name, and the snapshot on which it began is the one that is named. It is kept as long as any step.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from snapd.core.errors import InvalidParams, UnknownSession
from snapd.mcp.call import Answer
from snapd.wire.converter import structure
from snapd.wire.values import Skipped

from .results import MAX_FILES, Checkpoint

if TYPE_CHECKING:
    from snapd.mcp.call import Call

    from .params import CheckpointParams

SESSION = "snapd-checkpoints"
_TOOL = "checkpoint"
_LONGEST = 100
_recording = threading.Lock()
"""Held while a checkpoint is recorded: whoever ends the session ends the steps of others in it."""
_HEXADECIMAL = frozenset("0123456789abcdef")


def checkpoint(call: Call, params: CheckpointParams) -> Answer:
    """Takes a snapshot and gives it a name.

    Raises:
        InvalidParams: it cannot be called that, or snapshots are turned off.
    """
    name = _checked(params.name.strip())
    older = checkpoint_named(call, name)
    taken = call.request("snapshot/track", {})
    if taken["hash"] is None:
        raise InvalidParams("snapshots of this folder are turned off", hint="the setting 'enabled' turns them on")
    snapshot = _record(call, name)
    skipped = [structure(row, Skipped) for row in taken["skipped"][:MAX_FILES]]
    moved = older is not None and older != snapshot
    result = Checkpoint(name=name, snapshot=snapshot, moved=moved or None, skipped=skipped)
    said = f"Checkpoint {name!r} is snapshot {snapshot}."
    if moved:
        said += f" Until now the name stood for {older}."
    if taken["skipped"]:
        names = ", ".join(f"{row['file']} ({row['reason']})" for row in taken["skipped"][:MAX_FILES])
        said += f" {len(taken['skipped'])} files could not be captured: {names}"
    return Answer(result, said)


def _record(call: Call, name: str) -> str:
    """Makes the step; gives the snapshot on which it began."""
    with _recording:
        call.request("session/start", {"sessionId": SESSION, "agent": "snapd", "title": "Checkpoints"})
        try:
            begun = call.request("step/begin", {"sessionId": SESSION, "tool": _TOOL, "description": name})
            # it writes nothing: what changes meanwhile is others' work
            call.finish("step/end", {"stepId": begun["stepId"], "files": []})
        finally:
            # a session that has not ended would never expire
            call.finish("session/end", {"sessionId": SESSION})
    return str(begun["hash"])


def checkpoint_named(call: Call, name: str) -> str | None:
    """The snapshot of the latest checkpoint of a name; None if there is none."""
    try:
        steps: list[dict[str, Any]] = call.request("step/find", {"sessionId": SESSION})["steps"]
    except UnknownSession:
        return None
    return next((str(step["from"]) for step in steps if step.get("description") == name), None)


def _checked(name: str) -> str:
    if not 0 < len(name) <= _LONGEST or not name.isprintable():
        raise InvalidParams(
            f"name: expected 1 to {_LONGEST} characters that can be printed", hint="give another name", field="name"
        )
    if name == "last" or set(name) <= _HEXADECIMAL:
        raise InvalidParams(
            f"name: {name!r} could be taken for a snapshot", hint="give a name with other letters", field="name"
        )
    return name

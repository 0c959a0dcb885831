"""Resolves the model's words for sessions, steps and snapshots; and creates checkpoints.

Only steps have names in the timeline. So a checkpoint is an empty step in a session of its own: its description is the
name, and its first snapshot is the named one. It is kept as long as any step.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from snapd.mcp.call import Answer
from snapd.model.errors import InvalidParams, UnknownSession, UnknownSnapshot, UnknownStep
from snapd.wire.converter import structure
from snapd.wire.values import Skipped

from .results import MAX_FILES, Checkpoint

if TYPE_CHECKING:
    from snapd_client.protocol import Step, StepFindParams

    from snapd.mcp.call import Call

    from .params import CheckpointParams

_HEXADECIMAL = frozenset("0123456789abcdef")
_STEP = 32
_HASH = 40
_LEAST = 6
_NAMED = 5
_LOOKED_AT = 20
"""Steps to search first for the last one that changed something."""
_SNAPSHOTS = "give a snapshot hash or at least its first 6 digits, the name of a checkpoint, or 'last'"
_LISTED = "`history` lists the steps with their ids"
SESSION = "snapd-checkpoints"
_TOOL = "checkpoint"
_LONGEST = 100
_recording = threading.Lock()
"""Held while a checkpoint is recorded: ending the session would end the steps of others in it."""


def find_step(call: Call, word: str) -> Step:
    """The step for `word`. Raises `UnknownStep`, or `InvalidParams` if the word is ambiguous or malformed."""
    if word == "last":
        return _last_step(call)
    if not (word and set(word) <= _HEXADECIMAL and len(word) <= _STEP):
        raise InvalidParams(
            f"step: expected a step id, a prefix of one, or 'last', got {word!r}", hint=_LISTED, field="step"
        )
    steps = _steps(call, {"prefix": word, "limit": _NAMED + 1})
    if not steps:
        raise UnknownStep(f"no step {word!r} in this folder", hint=_LISTED, stepId=word)
    if len(steps) > 1:
        raise _several("step", word, [step["stepId"] for step in steps])
    return steps[0]


def find_snapshot(call: Call, word: str) -> str:
    """The snapshot for `word`. Raises `UnknownSnapshot`, or `InvalidParams` if the word is ambiguous or malformed."""
    if word == "last":
        last = call.request("snapshot/status", {}).get("lastHash")
        if last is None:
            raise UnknownSnapshot("there is no snapshot of this folder yet", hint="`checkpoint` takes one", hash=word)
        return last
    if not set(word) <= _HEXADECIMAL:
        text = find_checkpoint(call, word)
        if text is None:
            raise UnknownSnapshot(f"no checkpoint {word!r} in this folder", hint=_SNAPSHOTS, hash=word)
        return text
    if not _LEAST <= len(word) <= _HASH:
        raise InvalidParams(
            f"snapshot: expected {_LEAST} to {_HASH} digits of a hash, got {word!r}", hint=_SNAPSHOTS, field="snapshot"
        )
    if len(word) == _HASH:
        return word
    listed = call.request("snapshot/list", {"prefix": word, "counts": False, "limit": _NAMED + 1})
    hashes = [row["hash"] for row in listed["snapshots"]]
    if not hashes:
        raise UnknownSnapshot(
            f"no snapshot {word!r} in this folder", hint="`history` lists the snapshots around each step", hash=word
        )
    if len(hashes) > 1:
        raise _several("snapshot", word, hashes)
    return hashes[0]


def whose(call: Call, word: str | None) -> str | None:
    """The session for `word`, None for the whole folder; without a word, this agent's, if snapd has it."""
    if word == "all":
        return None
    if word == "mine":
        return own_session(call)
    if word is not None:
        return word
    return call.own_session if call.own_session is not None and _has_steps(call, call.own_session) else None


def own_session(call: Call) -> str:
    """This agent's session. Raises `UnknownSession` if the agent did not report it."""
    if call.own_session is None:
        raise UnknownSession("this agent did not report its session", hint="give a session id from `history`, or 'all'")
    return call.own_session


def beginning(call: Call, session_id: str) -> str:
    """The first snapshot of a session. Raises `UnknownSession` if there is no such session, or it has no steps."""
    steps = call.request("session/steps", {"sessionId": session_id, "limit": 1})["steps"]
    if not steps:
        raise UnknownSession(
            f"session {session_id!r} has no recorded steps",
            hint="give a step or a snapshot instead; `history` lists them",
            sessionId=session_id,
        )
    return steps[0]["from"]


def _last_step(call: Call) -> Step:
    session_id = whose(call, None)
    for limit in (_LOOKED_AT, None):
        for step in _steps(call, {"sessionId": session_id, "limit": limit}):
            # skip a step that a hook began for this very call, and checkpoints
            if step.get("files"):
                return step
    raise UnknownStep("no step has changed anything in this folder yet", hint=_LISTED, stepId="last")


def _steps(call: Call, params: StepFindParams) -> list[Step]:
    return call.request("step/find", {**params, "renames": True})["steps"]


def _has_steps(call: Call, session_id: str) -> bool:
    try:
        return bool(_steps(call, {"sessionId": session_id, "limit": 1}))
    except UnknownSession:
        return False


def _several(what: str, word: str, names: list[str]) -> InvalidParams:
    listed = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return InvalidParams(f"{what}: {word!r} is ambiguous: {listed}", hint="give more digits", field=what)


def checkpoint(call: Call, params: CheckpointParams) -> Answer:
    """Takes a snapshot and names it. Raises `InvalidParams` if the name is not allowed or snapshots are off."""
    name = _checked(params.name.strip())
    older = find_checkpoint(call, name)
    taken = call.request("snapshot/track", {})
    if taken["hash"] is None:
        raise InvalidParams("snapshots of this folder are turned off", hint="the setting 'snapshot' turns them on")
    snapshot = _record(call, name)
    skipped = [structure(row, Skipped) for row in taken["skipped"][:MAX_FILES]]
    moved = older is not None and older != snapshot
    result = Checkpoint(name=name, snapshot=snapshot, moved=moved or None, skipped=skipped)
    text = f"Checkpoint {name!r} is snapshot {snapshot}."
    if moved:
        text += f" The name referred to {older} before."
    if taken["skipped"]:
        names = ", ".join(f"{row['file']} ({row['reason']})" for row in taken["skipped"][:MAX_FILES])
        text += f" {len(taken['skipped'])} files could not be captured: {names}"
    return Answer(result, text)


def _record(call: Call, name: str) -> str:
    with _recording:
        call.request("session/start", {"sessionId": SESSION, "agent": "snapd", "title": "Checkpoints"})
        try:
            begun = call.request("step/begin", {"sessionId": SESSION, "tool": _TOOL, "description": name})
            # no files: what changes meanwhile is the work of others
            call.finish("step/end", {"stepId": begun["stepId"], "files": []})
        finally:
            # an open session never expires
            call.finish("session/end", {"sessionId": SESSION})
    return begun["hash"]


def find_checkpoint(call: Call, name: str) -> str | None:
    """The snapshot of the latest checkpoint with this name, if any."""
    try:
        steps = call.request("step/find", {"sessionId": SESSION})["steps"]
    except UnknownSession:
        return None
    return next((step["from"] for step in steps if step.get("description") == name), None)


def _checked(name: str) -> str:
    if not 0 < len(name) <= _LONGEST or not name.isprintable():
        raise InvalidParams(
            f"name: expected 1 to {_LONGEST} printable characters", hint="choose another name", field="name"
        )
    if name == "last" or set(name) <= _HEXADECIMAL:
        raise InvalidParams(
            f"name: {name!r} looks like a snapshot hash or 'last'", hint="choose another name", field="name"
        )
    return name

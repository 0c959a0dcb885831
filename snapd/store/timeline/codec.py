"""Events, intents and summaries as JSON, for the commits of the timeline, the intent file, and the database.

Everything is ASCII. Decoding accepts only what this version or an older one writes.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_args

from snapd.core.errors import StoreCorrupt
from snapd.core.model import UncapturedChange
from snapd.core.timeline.model import (
    Edited,
    Event,
    EventPayload,
    FileSummary,
    Intent,
    Kept,
    MessageSent,
    Operated,
    OperationKind,
    SessionEnded,
    SessionStarted,
    Span,
    StepBegun,
    StepEnded,
    StepsLeft,
    Summary,
    Turned,
)
from snapd.store.files.disk_errors import WrittenByNewer

from .fields import (
    ANYTHING,
    BOOLEAN,
    EFFECT,
    FILE,
    NUMBER,
    PAIR,
    PATH,
    PATHS,
    SNAPSHOT,
    Field,
    Record,
    one_of,
    optional,
    row,
    several,
    text,
)

if TYPE_CHECKING:
    from snapd.core.model import ObjectId, RelPath

VERSION = 8
"""Version 2 added steps that are left; 3, what was not undone or redone of a step; 4, what editors saved; 5, operations
that were undone, and files that no snapshot has; 6, messages; 7, what was kept; 8, steps that were
reported late."""

_SESSION_ID = text("sessionId")
_STEP_ID = text("stepId")
_STEP_IDS = several(_STEP_ID)
_OPERATION_ID = text("operationId")
_MESSAGE_ID = Field("messageId", optional(text("messageId")), "message_id")
_PART_ID = Field("partId", optional(text("partId")), "part_id")

_SPAN = Record(
    Span,
    Field("before", SNAPSHOT),
    Field("after", SNAPSHOT),
    Field("steps", _STEP_IDS),
    Field("left", _STEP_IDS, missing=()),
)

_UNCAPTURED = several(row(UncapturedChange, attrgetter("path", "deleted"), PATH, BOOLEAN))

_TURNED = Record(
    Turned,
    Field("stepId", optional(_STEP_ID), "step_id"),
    Field("state", one_of("applied", "partly", "undone")),
    Field("effects", several(EFFECT)),
    Field("made", PATHS, "made_directories"),
    Field("removed", PATHS, "removed_directories"),
    Field("left", optional(PATHS), missing=None),
    Field("again", optional(_OPERATION_ID), missing=None),
    Field("rest", PATHS, missing=()),
    Field("moved", several(PAIR), missing=()),
    Field("operation", optional(_OPERATION_ID), "operation_id", missing=None),
)

_OPERATED = Record(
    Operated,
    Field("operationId", _OPERATION_ID, "operation_id"),
    Field("kind", one_of(*get_args(OperationKind))),
    Field("sessionId", optional(_SESSION_ID), "session_id"),
    Field("before", SNAPSHOT),
    Field("turned", several(_TURNED.kind)),
    Field("undoes", optional(text("undoes"))),
    _MESSAGE_ID,
    _PART_ID,
    Field("root", optional(_STEP_ID)),
    Field("effects", optional(several(EFFECT)), missing=None),
)

_PAYLOADS: dict[str, Record[Any]] = {
    "sessionStarted": Record(
        SessionStarted,
        Field("sessionId", _SESSION_ID, "session_id"),
        Field("agent", optional(text("agent"))),
        Field("title", optional(text("title"))),
    ),
    "sessionEnded": Record(SessionEnded, Field("sessionId", _SESSION_ID, "session_id")),
    "messageSent": Record(
        MessageSent,
        Field("sessionId", _SESSION_ID, "session_id"),
        Field("messageId", text("messageId"), "message_id"),
        Field("text", optional(text("text"))),
    ),
    "stepBegun": Record(
        StepBegun,
        Field("stepId", _STEP_ID, "step_id"),
        Field("sessionId", _SESSION_ID, "session_id"),
        Field("index", NUMBER),
        Field("parent", optional(text("parentStepId"))),
        _MESSAGE_ID,
        _PART_ID,
        Field("tool", optional(text("tool"))),
        Field("description", optional(text("description"))),
        Field("detached", BOOLEAN, missing=False),
        Field("began", optional(NUMBER), missing=None),
    ),
    "stepsLeft": Record(StepsLeft, Field("steps", _STEP_IDS)),
    "edited": Record(Edited, Field("paths", PATHS), Field("steps", _STEP_IDS), Field("saved", BOOLEAN)),
    "stepEnded": Record(
        StepEnded,
        Field("stepId", _STEP_ID, "step_id"),
        Field("claims", optional(PATHS)),
        Field("changed", BOOLEAN),
        Field("spokenFor", BOOLEAN, "spoken_for", missing=True),
        Field("uncaptured", _UNCAPTURED, missing=()),
        Field("description", optional(text("description")), missing=None),
    ),
    "operated": _OPERATED,
    "kept": Record(Kept, Field("files", several(FILE)), Field("steps", _STEP_IDS)),
}
_NAMES = {record.made: name for name, record in _PAYLOADS.items()}

_EVENT: Record[dict[str, Any]] = Record(
    dict,
    Field("seq", NUMBER),
    Field("previous", optional(NUMBER)),
    Field("milliseconds", NUMBER),
    Field("head", optional(SNAPSHOT)),
    Field("seen", optional(_SPAN.kind)),
    Field("type", one_of(*_PAYLOADS)),
    Field("what", ANYTHING),
)

_INTENT = Record(
    Intent,
    Field("operation", _OPERATED.kind),
    Field("files", several(EFFECT)),
    Field("made", PATHS, "made_directories"),
    Field("removed", PATHS, "removed_directories"),
    Field("forced", PATHS),
    Field("together", several(PATHS), "linked", missing=()),
    Field("step", optional(_STEP_ID), "step_id", missing=None),
    Field("moves", several(row(lambda *move: move, tuple, PATH, PATH, BOOLEAN)), missing=()),
    Field("permissions", several(row(lambda *file: file, tuple, PATH, NUMBER)), missing=()),
)


def name_of(what: EventPayload) -> str:
    """The name of the type of an event."""
    return _NAMES[type(what)]


def encode_event(event: Event, previous: int | None) -> str:
    """The JSON of an event.

    Args:
        event: the event.
        previous: the `seq` of the previous event in the timeline; None if it is the first.

    Raises:
        InvalidParams: a text in it is not valid Unicode.
    """
    name = name_of(event.what)
    return _dump(
        {
            "version": VERSION,
            "seq": event.seq,
            "previous": previous,
            "milliseconds": event.milliseconds,
            "head": SNAPSHOT.show(event.head) if event.head is not None else None,
            "seen": _SPAN.show(event.seen) if event.seen is not None else None,
            "type": name,
            "what": _PAYLOADS[name].show(event.what),
        }
    )


def decode_event(payload: str, commit: ObjectId) -> tuple[Event, int | None]:
    """Decodes what `encode_event` returned.

    Args:
        payload: the JSON.
        commit: of the event, for error messages.

    Returns:
        The event, and the `seq` of the previous one.

    Raises:
        WrittenByNewer: a newer snapd wrote it.
        StoreCorrupt: it is not an event.
    """
    try:
        read = _EVENT.read(_without_version(payload, f"event {commit.hex()}", commit.hex()))
        previous, what = read.pop("previous"), _PAYLOADS[read.pop("type")].read(read.pop("what"))
        return Event(**read, what=what), previous
    except (ValueError, RecursionError) as error:
        raise StoreCorrupt(f"event {commit.hex()} cannot be read: {error}", object=commit.hex()) from error


def _without_version(payload: str | bytes, what: str, name: str) -> dict[str, Any]:
    """Parses JSON, and takes the version out; raises `ValueError` and `WrittenByNewer`."""
    document: dict[str, Any] = json.loads(payload)
    version = document.pop("version", None) if type(document) is dict else None
    if type(version) is not int or version < 1:
        raise ValueError("it has no version")
    if version > VERSION:
        raise WrittenByNewer(f"{what} was written by a newer snapd (format {version})", object=name)
    return document


def encode_intent(intent: Intent) -> bytes:
    """The JSON of an intent; raises `InvalidParams` as `encode_event`."""
    return _dump({"version": VERSION, **_INTENT.show(intent)}).encode("ascii")


def decode_intent(data: bytes) -> Intent:
    """Decodes what `encode_intent` returned; raises `ValueError`, and `WrittenByNewer` if a newer snapd wrote it."""
    return _INTENT.read(_without_version(data, "the intent of an interrupted operation", "intent"))


def encode_claims(claims: tuple[RelPath, ...]) -> str:
    """The JSON of `StepEnded.claims`."""
    return _dump(PATHS.show(claims))


def encode_uncaptured(uncaptured: tuple[UncapturedChange, ...]) -> str:
    """The JSON of `StepEnded.uncaptured`."""
    return _dump(_UNCAPTURED.show(uncaptured))


def decode_uncaptured(payload: str) -> tuple[UncapturedChange, ...]:
    """Decodes what `encode_uncaptured` returned."""
    return _UNCAPTURED.read(json.loads(payload))


def decode_claims(payload: str) -> tuple[RelPath, ...]:
    """Decodes what `encode_claims` returned."""
    return PATHS.read(json.loads(payload))


def encode_summary(summary: Summary) -> str:
    """The JSON of a summary."""
    files = [
        [PATH.show(file.path), file.status, file.additions, file.deletions, file.binary, file.shared_with]
        for file in summary.files
    ]
    return _dump([files, summary.directories])


def decode_summary(payload: str) -> Summary:
    """Decodes what `encode_summary` returned."""
    rows, directories = json.loads(payload)
    files = [
        FileSummary(PATH.read(path), status, additions, deletions, binary, tuple(others))
        for path, status, additions, deletions, binary, others in rows
    ]
    return Summary(tuple(files), directories)


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))

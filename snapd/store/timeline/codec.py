"""Events, intents and summaries as JSON, for the commits of the timeline, the intent file, and the database.

The classes of `snapd.model.timeline` define the content; the shapes here describe where a class differs from how
`converter` writes any class. Old stores and signatures depend on each byte: if you rename a class or an attribute, or
change a default, keep the old name or value here. Everything is ASCII. Missing and unknown fields and wrong types are
errors.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any, TypeVar, get_args

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.git import GitStateId
from snapd.model.snapshot import ObjectId, RelPath, UncapturedChange
from snapd.model.timeline import (
    Effect,
    Event,
    EventPayload,
    FileSummary,
    Informed,
    Intent,
    Operated,
    Reversal,
    SnapshotId,
    Span,
    Summary,
)
from snapd.store.files.durable import NewerFormat

from .converter import Shape, make_converter

T = TypeVar("T")

VERSION = 12
"""Version 2 added steps that are left; 3, the parts of a step that were not undone or redone; 4, saves in editors; 5,
undone operations, and files in no snapshot; 6, messages; 7, what was kept; 8, steps reported late; 9, snapshots as
events; 10, the commands of steps; 11, git states; 12, comments."""

_MADE = {"made_directories": "made", "removed_directories": "removed"}
_CONVERTER = make_converter(
    {
        Effect: Shape(row=("path", "old", "new")),
        FileSummary: Shape(row=("path", "status", "additions", "deletions", "binary", "shared_with", "by_git")),
        Intent: Shape({**_MADE, "linked": "together", "step_id": "step"}),
        Operated: Shape(always=("turned", "undoes", "message_id", "part_id", "root")),
        Summary: Shape(row=("files", "directories")),
        Reversal: Shape({**_MADE, "operation_id": "operation"}, always=tuple(_MADE)),
        UncapturedChange: Shape(row=("path", "deleted")),
    },
    # where the texts of these attributes come from, in a request
    {"again": "operationId", "left": "stepId", "parent": "parentStepId", "root": "stepId", "steps": "stepId"},
)

_PLAIN = make_converter({}, {})
"""Writes every attribute: for values that only the database keeps."""

_CLASSES: dict[str, Any] = {cls.__name__[0].lower() + cls.__name__[1:]: cls for cls in get_args(EventPayload)}
_TYPES = {cls: name for name, cls in _CLASSES.items()}
_PATHS = tuple[RelPath, ...]
_UNCAPTURED = tuple[UncapturedChange, ...]


@attrs.define
class _EventObject:
    """The JSON object of an event, without the version: see `Event`; `type` names the class of `what`."""

    seq: int
    previous: int | None
    milliseconds: int
    head: SnapshotId | None
    seen: Span | None
    type: str
    what: Any
    git: GitStateId | None = None


def name_of(what: EventPayload) -> str:
    """Returns the name of the type of an event."""
    return _TYPES[type(what)]


def encode_event(event: Event, previous: int | None) -> str:
    """Encodes an event; `previous` is the `seq` of the event before it in the timeline.

    Raises `InvalidParams` if a text is not valid Unicode.
    """
    what = event.what
    kind = name_of(what)
    return _with_version(
        _EventObject(event.seq, previous, event.milliseconds, event.head, event.seen, kind, what, event.git)
    )


def decode_event(payload: str, commit: ObjectId) -> tuple[Event, int | None]:
    """Decodes an event and the `seq` of the previous one; `commit` is for error messages.

    Raises `WrittenByNewer` if a newer snapd wrote it, and `StoreCorrupt` if it is not an event.
    """
    try:
        result = _CONVERTER.structure(_without_version(payload, f"event {commit.hex()}", commit.hex()), _EventObject)
        if result.type not in _CLASSES:
            raise ValueError("its type is unknown")
        what = _CONVERTER.structure(result.what, _CLASSES[result.type])
        event = Event(result.seq, result.milliseconds, result.head, result.seen, what, result.git)
        return event, result.previous
    except (ValueError, RecursionError) as error:
        raise StoreCorrupt(f"event {commit.hex()} cannot be read: {error}", object=commit.hex()) from error


def encode_informed(informed: Informed) -> str:
    """Encodes what an agent hears, as the id of the news that say so."""
    return b64encode(_with_version(informed).encode("ascii")).decode("ascii")


def decode_informed(text: str) -> Informed:
    """Decodes the id of some news; raises `ValueError` and `NewerFormat`."""
    document = _without_version(b64decode(text, validate=True), "the id of some news", "news")
    return _CONVERTER.structure(document, Informed)


def encode_intent(intent: Intent) -> bytes:
    """Encodes an intent; raises `InvalidParams` as `encode_event`."""
    return _with_version(intent).encode("ascii")


def decode_intent(data: bytes) -> Intent:
    """Decodes an intent; raises `ValueError`, and `NewerFormat` if a newer snapd wrote it."""
    return _CONVERTER.structure(_without_version(data, "the intent of an interrupted operation", "intent"), Intent)


def encode_claims(claims: tuple[RelPath, ...]) -> str:
    """Encodes `StepEnded.claims`."""
    return _dump(_CONVERTER.unstructure(claims, _PATHS))


def decode_claims(payload: str) -> tuple[RelPath, ...]:
    """Decodes `StepEnded.claims`."""
    return _CONVERTER.structure(json.loads(payload), _PATHS)


def encode_uncaptured(uncaptured: tuple[UncapturedChange, ...]) -> str:
    """Encodes `StepEnded.uncaptured`."""
    return _dump(_CONVERTER.unstructure(uncaptured, _UNCAPTURED))


def decode_uncaptured(payload: str) -> tuple[UncapturedChange, ...]:
    """Decodes `StepEnded.uncaptured`."""
    return _CONVERTER.structure(json.loads(payload), _UNCAPTURED)


def encode_summary(summary: Summary) -> str:
    """Encodes a summary."""
    return _dump(_CONVERTER.unstructure(summary))


def decode_summary(payload: str) -> Summary:
    """Decodes a summary."""
    return _CONVERTER.structure(json.loads(payload), Summary)


def encode_derived(value: attrs.AttrsInstance) -> str:
    """Encodes a value that follows from events."""
    return _dump(_PLAIN.unstructure(value))


def decode_derived(payload: str, cls: type[T]) -> T:
    """Decodes what `encode_derived` wrote."""
    return _PLAIN.structure(json.loads(payload), cls)


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _with_version(value: Intent | Informed | _EventObject) -> str:
    return _dump({"version": VERSION, **_CONVERTER.unstructure(value)})


def _without_version(payload: str | bytes, what: str, name: str) -> dict[str, Any]:
    """Parses JSON and removes the version; raises `ValueError` and `NewerFormat`."""
    document: dict[str, Any] = json.loads(payload)
    version = document.pop("version", None) if type(document) is dict else None
    if type(version) is not int or version < 1:
        raise ValueError("it has no version")
    if version > VERSION:
        raise NewerFormat(f"{what} was written by a newer snapd (format {version})", object=name)
    return document

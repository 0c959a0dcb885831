"""Events, intents and summaries as JSON, for the commits of the timeline, the intent file, and the database.

Everything is ASCII. Decoding accepts only what this version or an older one writes: missing and unknown fields and
wrong types are errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_args

import attrs

from snapd.model.errors import InvalidParams, StoreCorrupt
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK, Entry, ObjectId, RelPath, UncapturedChange
from snapd.model.timeline import (
    Edited,
    Effect,
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
    SnapshotId,
    Span,
    StepBegun,
    StepEnded,
    StepsLeft,
    Summary,
    Turned,
)
from snapd.store.files.durable import WrittenByNewer

T = TypeVar("T")

_OID = re.compile(r"[0-9a-f]{40}")
_MODES = {f"{mode:o}": mode for mode in (REGULAR, EXECUTABLE, SYMLINK)}
_REQUIRED = object()

VERSION = 8
"""Version 2 added steps that are left; 3, what was not undone or redone of a step; 4, what editors saved; 5, operations
that were undone, and files that no snapshot has; 6, messages; 7, what was kept; 8, steps that were
reported late."""


@attrs.frozen
class Kind(Generic[T]):
    """A kind of value.

    Attributes:
        show: returns the JSON value.
        read: returns what `show` wrote; raises `ValueError` for anything else.
    """

    show: Callable[[T], Any]
    read: Callable[[Any], T]


def plain(read: Callable[[Any], T]) -> Kind[T]:
    """The kind of values that JSON has too."""
    return Kind(lambda value: value, read)


def optional(kind: Kind[T]) -> Kind[T | None]:
    """Null, or a value of another kind."""
    show, read = kind.show, kind.read
    return Kind(
        lambda value: None if value is None else show(value), lambda value: None if value is None else read(value)
    )


def several(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """A list of values of another kind."""
    show, read = kind.show, kind.read

    def read_all(value: object) -> tuple[T, ...]:
        if type(value) is not list:
            raise ValueError("not a list")
        return tuple([read(item) for item in value])

    return Kind(lambda values: [show(value) for value in values], read_all)


def row(made: Callable[..., T], split: Callable[[T], Sequence[Any]], *kinds: Kind[Any]) -> Kind[T]:
    """A list with one value of each kind.

    Args:
        made: makes the value of its parts.
        split: the parts of a value.
        kinds: of the parts.
    """
    shows, reads = [kind.show for kind in kinds], [kind.read for kind in kinds]

    def read(value: object) -> T:
        if type(value) is not list or len(value) != len(kinds):
            raise ValueError(f"not a list of {len(kinds)}")
        return made(*[read_part(part) for read_part, part in zip(reads, value, strict=True)])

    return Kind(lambda value: [show(part) for show, part in zip(shows, split(value), strict=True)], read)


def one_of(*choices: T) -> Kind[T]:
    """One of some values."""

    def read(value: object) -> T:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise ValueError(f"not one of {choices}")

    return plain(read)


def text(name: str) -> Kind[str]:
    """Text that JSON and the database can hold; `show` raises `InvalidParams` if it is not Unicode.

    Args:
        name: of the parameter, for the error message.
    """

    def show(value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            # it holds half a surrogate pair
            raise InvalidParams(f"{name} is not valid Unicode", field=name) from error
        return value

    return Kind(show, _read_text)


def _read_text(value: object) -> str:
    if type(value) is not str:
        raise ValueError("not a text")
    value.encode()
    return value


def _read_number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a number")
    return value


def _read_path(value: object) -> RelPath:
    if type(value) is not str:
        raise ValueError("not a path")
    return value.encode("utf-8", "surrogateescape")


def _read_object_id(value: object) -> ObjectId:
    if type(value) is not str or _OID.fullmatch(value) is None:
        raise ValueError("not an object id")
    return bytes.fromhex(value)


def _read_entry(value: object) -> Entry:
    mode, _, oid = _read_text(value).partition(" ")
    if mode not in _MODES:
        raise ValueError("not the mode of a file")
    return Entry(_MODES[mode], _read_object_id(oid))


ANYTHING: Kind[Any] = plain(lambda value: value)
NUMBER = plain(_read_number)
"""A whole number from 0 on."""
BOOLEAN = one_of(False, True)
# a byte that is not UTF-8 becomes a lone surrogate
PATH: Kind[RelPath] = Kind(lambda path: path.decode("utf-8", "surrogateescape"), _read_path)
PATHS = several(PATH)
OBJECT_ID: Kind[ObjectId] = Kind(lambda oid: oid.hex(), _read_object_id)
SNAPSHOT = row(SnapshotId, attrgetter("tree", "coverage"), OBJECT_ID, OBJECT_ID)
ENTRY: Kind[Entry] = Kind(lambda entry: f"{entry.mode:o} {entry.oid.hex()}", _read_entry)
EFFECT = row(Effect, attrgetter("path", "old", "new"), PATH, optional(ENTRY), optional(ENTRY))
FILE: Kind[tuple[RelPath, Entry | None]] = row(lambda *file: file, tuple, PATH, optional(ENTRY))
PAIR: Kind[tuple[RelPath, RelPath]] = row(lambda *pair: pair, tuple, PATH, PATH)


@attrs.frozen
class Field:
    """A field of a JSON object.

    Attributes:
        name: of the field.
        kind: of its value.
        attribute: the name of the attribute that it holds; empty if it is that of the field.
        missing: the value if the field is missing, because older versions did not write it.
    """

    name: str
    kind: Kind[Any]
    attribute: str = ""
    missing: Any = _REQUIRED


class Record(Generic[T]):
    """A JSON object that stands for an object of a class: the kind `Kind(record.show, record.read)`.

    Args:
        made: the class; its attributes are passed by name.
        fields: all fields, in their order.

    Attributes:
        made: as given.
    """

    def __init__(self, made: Callable[..., T], *fields: Field) -> None:
        self.made = made
        self._fields = [
            (field.name, field.attribute or field.name, field.kind.show, field.kind.read, field.missing)
            for field in fields
        ]

    def show(self, value: T) -> dict[str, Any]:
        """The JSON object, without fields that have the value for a missing one; raises as the kinds of the fields."""
        found = ((name, getattr(value, attribute), show, missing) for name, attribute, show, _, missing in self._fields)
        return {name: show(each) for name, each, show, missing in found if each != missing}

    def read(self, value: object) -> T:
        """What `show` wrote; raises `ValueError` for anything else."""
        if type(value) is not dict:
            raise ValueError("not an object")
        values = {}
        unknown = len(value)
        for name, attribute, _, read, missing in self._fields:
            if name in value:
                values[attribute] = read(value[name])
                unknown -= 1
            elif missing is _REQUIRED:
                raise ValueError(f"field {name} is missing")
            else:
                values[attribute] = missing
        if unknown:
            raise ValueError(f"{unknown} of its fields are unknown")
        return self.made(**values)

    @property
    def kind(self) -> Kind[T]:
        """The kind of value for which this object stands."""
        return Kind(self.show, self.read)


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

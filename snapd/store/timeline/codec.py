"""Events, intents and summaries as JSON, for the commits of the timeline, the intent file, and the database.

Everything is ASCII. Decoding accepts only what this version or an older one writes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from snapd.core.errors import StoreCorrupt
from snapd.core.timeline.model import (
    Edited,
    Effect,
    Event,
    EventPayload,
    FileSummary,
    Intent,
    Operated,
    OperationKind,
    SessionEnded,
    SessionStarted,
    Span,
    StepBegun,
    StepEnded,
    StepsLeft,
    StepTurned,
    Summary,
)
from snapd.store.files.disk_errors import WrittenByNewer

from . import fields
from .fields import Fields, shown_entry, shown_path, shown_snapshot, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.model import ObjectId, RelPath

VERSION = 4
"""Version 2 added steps that are left; 3, what was not undone or redone of a step; 4, what editors saved."""

_NAMES: dict[type[EventPayload], str] = {
    SessionStarted: "sessionStarted",
    SessionEnded: "sessionEnded",
    StepBegun: "stepBegun",
    StepsLeft: "stepsLeft",
    Edited: "edited",
    StepEnded: "stepEnded",
    Operated: "operated",
}


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
    return _dump(
        {
            "version": VERSION,
            "seq": event.seq,
            "previous": previous,
            "milliseconds": event.milliseconds,
            "head": shown_snapshot(event.head),
            "seen": _shown_span(event.seen) if event.seen is not None else None,
            "type": name_of(event.what),
            "what": _shown_happening(event.what),
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
        document = json.loads(payload)
        _refuse_newer(document, f"event {commit.hex()}", commit.hex())
        read = Fields(document)
        read.take("version", fields.one_of(*range(1, VERSION + 1)))
        kind = read.take("type", fields.one_of(*_READERS))
        event = Event(
            seq=read.take("seq", fields.number),
            milliseconds=read.take("milliseconds", fields.number),
            head=read.take("head", fields.optional(fields.snapshot_id)),
            seen=read.take("seen", fields.optional(_span)),
            what=read.take("what", _READERS[kind]),
        )
        previous = read.take("previous", fields.optional(fields.number))
        read.end()
    except (ValueError, RecursionError) as error:
        raise StoreCorrupt(f"event {commit.hex()} cannot be read: {error}", object=commit.hex()) from error
    return event, previous


def _refuse_newer(document: object, what: str, name: str) -> None:
    version = document.get("version") if type(document) is dict else None
    if type(version) is int and version > VERSION:
        raise WrittenByNewer(f"{what} was written by a newer snapd (format {version})", object=name)


def encode_intent(intent: Intent) -> bytes:
    """The JSON of an intent; raises `InvalidParams` as `encode_event`."""
    return _dump(
        {
            "version": VERSION,
            "operation": _shown_happening(intent.operation),
            "files": [_shown_effect(effect) for effect in intent.files],
            "made": [shown_path(path) for path in intent.made_directories],
            "removed": [shown_path(path) for path in intent.removed_directories],
            "forced": [shown_path(path) for path in intent.forced],
            "together": [[shown_path(path) for path in group] for group in intent.linked],
        }
    ).encode("ascii")


def decode_intent(data: bytes) -> Intent:
    """Decodes what `encode_intent` returned; raises `ValueError`, and `WrittenByNewer` if a newer snapd wrote it."""
    document = json.loads(data)
    _refuse_newer(document, "the intent of an interrupted operation", "intent")
    read = Fields(document)
    read.take("version", fields.one_of(*range(1, VERSION + 1)))
    intent = Intent(
        operation=read.take("operation", _operated),
        files=read.take("files", fields.several(_effect)),
        made_directories=read.take("made", fields.several(fields.path)),
        removed_directories=read.take("removed", fields.several(fields.path)),
        forced=read.take("forced", fields.several(fields.path)),
        linked=read.given("together", fields.several(fields.several(fields.path)), ()),
    )
    read.end()
    return intent


def encode_claims(claims: tuple[RelPath, ...]) -> str:
    """The JSON of `StepEnded.claims`."""
    return _dump([shown_path(path) for path in claims])


def decode_claims(payload: str) -> tuple[RelPath, ...]:
    """Decodes what `encode_claims` returned."""
    return fields.several(fields.path)(json.loads(payload))


def encode_summary(summary: Summary) -> str:
    """The JSON of a summary."""
    files = [
        [shown_path(file.path), file.status, file.additions, file.deletions, file.binary, file.shared]
        for file in summary.files
    ]
    return _dump([files, summary.directories])


def decode_summary(payload: str) -> Summary:
    """Decodes what `encode_summary` returned."""
    files, directories = json.loads(payload)
    return Summary(tuple([FileSummary(fields.path(path), *rest) for path, *rest in files]), directories)


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


# -- spans


def _shown_span(span: Span) -> dict[str, Any]:
    return {
        "before": shown_snapshot(span.before),
        "after": shown_snapshot(span.after),
        "steps": [shown_text(step, "stepId") for step in span.steps],
        "left": [shown_text(step, "stepId") for step in span.left],
    }


def _span(value: object) -> Span:
    read = Fields(value)
    span = Span(
        before=read.take("before", fields.snapshot_id),
        after=read.take("after", fields.snapshot_id),
        steps=read.take("steps", fields.several(fields.text)),
        left=read.given("left", fields.several(fields.text), ()),
    )
    read.end()
    return span


# -- what happened


def _shown_happening(what: EventPayload) -> dict[str, Any]:
    match what:
        case SessionStarted():
            return {
                "sessionId": shown_text(what.session_id, "sessionId"),
                "agent": shown_text(what.agent, "agent"),
                "title": shown_text(what.title, "title"),
            }
        case SessionEnded():
            return {"sessionId": shown_text(what.session_id, "sessionId")}
        case StepBegun():
            return {
                "stepId": shown_text(what.step_id, "stepId"),
                "sessionId": shown_text(what.session_id, "sessionId"),
                "index": what.index,
                "parent": shown_text(what.parent, "parentStepId"),
                "messageId": shown_text(what.message_id, "messageId"),
                "partId": shown_text(what.part_id, "partId"),
                "tool": shown_text(what.tool, "tool"),
                "description": shown_text(what.description, "description"),
                "detached": what.detached,
            }
        case StepsLeft():
            return {"steps": [shown_text(step, "stepId") for step in what.steps]}
        case Edited():
            return {
                "paths": [shown_path(path) for path in what.paths],
                "steps": [shown_text(step, "stepId") for step in what.steps],
                "saved": what.saved,
            }
        case StepEnded():
            return {
                "stepId": shown_text(what.step_id, "stepId"),
                "claims": None if what.claims is None else [shown_path(path) for path in what.claims],
                "changed": what.changed,
                "spokenFor": what.spoken_for,
            }
        case Operated():
            return {
                "operationId": shown_text(what.operation_id, "operationId"),
                "kind": what.kind,
                "sessionId": shown_text(what.session_id, "sessionId"),
                "before": shown_snapshot(what.before),
                "turned": [_shown_turned(turned) for turned in what.turned],
                "undoes": shown_text(what.undoes, "undoes"),
                "messageId": shown_text(what.message_id, "messageId"),
                "partId": shown_text(what.part_id, "partId"),
                "root": shown_text(what.root, "stepId"),
            }


def _shown_turned(turned: StepTurned) -> dict[str, Any]:
    return {
        "stepId": shown_text(turned.step_id, "stepId"),
        "state": turned.state,
        "effects": [_shown_effect(effect) for effect in turned.effects],
        "made": [shown_path(path) for path in turned.made_directories],
        "removed": [shown_path(path) for path in turned.removed_directories],
        "left": None if turned.left is None else [shown_path(path) for path in turned.left],
        "again": shown_text(turned.again, "operationId"),
        "rest": [shown_path(path) for path in turned.rest],
        "moved": [[shown_path(path), shown_path(name)] for path, name in turned.moved],
    }


def _shown_effect(effect: Effect) -> list[str | None]:
    return [shown_path(effect.path), shown_entry(effect.old), shown_entry(effect.new)]


def _session_started(value: object) -> SessionStarted:
    read = Fields(value)
    happening = SessionStarted(
        session_id=read.take("sessionId", fields.text),
        agent=read.take("agent", fields.optional(fields.text)),
        title=read.take("title", fields.optional(fields.text)),
    )
    read.end()
    return happening


def _session_ended(value: object) -> SessionEnded:
    read = Fields(value)
    happening = SessionEnded(read.take("sessionId", fields.text))
    read.end()
    return happening


def _step_begun(value: object) -> StepBegun:
    read = Fields(value)
    happening = StepBegun(
        step_id=read.take("stepId", fields.text),
        session_id=read.take("sessionId", fields.text),
        index=read.take("index", fields.number),
        parent=read.take("parent", fields.optional(fields.text)),
        message_id=read.take("messageId", fields.optional(fields.text)),
        part_id=read.take("partId", fields.optional(fields.text)),
        tool=read.take("tool", fields.optional(fields.text)),
        description=read.take("description", fields.optional(fields.text)),
        detached=read.given("detached", fields.boolean, False),
    )
    read.end()
    return happening


def _steps_left(value: object) -> StepsLeft:
    read = Fields(value)
    happening = StepsLeft(read.take("steps", fields.several(fields.text)))
    read.end()
    return happening


def _edited(value: object) -> Edited:
    read = Fields(value)
    happening = Edited(
        paths=read.take("paths", fields.several(fields.path)),
        steps=read.take("steps", fields.several(fields.text)),
        saved=read.take("saved", fields.boolean),
    )
    read.end()
    return happening


def _step_ended(value: object) -> StepEnded:
    read = Fields(value)
    happening = StepEnded(
        step_id=read.take("stepId", fields.text),
        claims=read.take("claims", fields.optional(fields.several(fields.path))),
        changed=read.take("changed", fields.boolean),
        spoken_for=read.given("spokenFor", fields.boolean, True),
    )
    read.end()
    return happening


def _operated(value: object) -> Operated:
    read = Fields(value)
    happening = Operated(
        operation_id=read.take("operationId", fields.text),
        kind=read.take("kind", fields.one_of(*_KINDS)),
        session_id=read.take("sessionId", fields.optional(fields.text)),
        before=read.take("before", fields.snapshot_id),
        turned=read.take("turned", fields.several(_turned)),
        undoes=read.take("undoes", fields.optional(fields.text)),
        message_id=read.take("messageId", fields.optional(fields.text)),
        part_id=read.take("partId", fields.optional(fields.text)),
        root=read.take("root", fields.optional(fields.text)),
    )
    read.end()
    return happening


def _turned(value: object) -> StepTurned:
    read = Fields(value)
    turned = StepTurned(
        step_id=read.take("stepId", fields.text),
        state=read.take("state", fields.one_of(*_TURNED)),
        effects=read.take("effects", fields.several(_effect)),
        made_directories=read.take("made", fields.several(fields.path)),
        removed_directories=read.take("removed", fields.several(fields.path)),
        left=read.given("left", fields.optional(fields.several(fields.path)), None),
        again=read.given("again", fields.optional(fields.text), None),
        rest=read.given("rest", fields.several(fields.path), ()),
        moved=read.given("moved", fields.several(_pair), ()),
    )
    read.end()
    return turned


def _pair(value: object) -> tuple[RelPath, RelPath]:
    if type(value) is not list or len(value) != 2:
        raise ValueError("not a pair of paths")
    return fields.path(value[0]), fields.path(value[1])


def _effect(value: object) -> Effect:
    if type(value) is not list or len(value) != 3:
        raise ValueError("not an effect")
    path, old, new = value
    return Effect(fields.path(path), fields.optional(fields.entry)(old), fields.optional(fields.entry)(new))


_KINDS: tuple[OperationKind, ...] = get_args(OperationKind)
_TURNED: tuple[Any, ...] = ("applied", "partly", "undone")
_READERS: dict[str, Callable[[object], EventPayload]] = {
    "sessionStarted": _session_started,
    "sessionEnded": _session_ended,
    "stepBegun": _step_begun,
    "stepsLeft": _steps_left,
    "edited": _edited,
    "stepEnded": _step_ended,
    "operated": _operated,
}

"""Events as JSON: nothing is lost, and nothing reads that this version would not have written."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapd.model.errors import InvalidParams, StoreCorrupt
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK, Entry, UncapturedChange
from snapd.model.timeline import (
    Edited,
    Effect,
    Event,
    FileSummary,
    Intent,
    Kept,
    MessageSent,
    Operated,
    Reversal,
    SessionEnded,
    SessionStarted,
    SnapshotId,
    Span,
    StepBegun,
    StepEnded,
    StepsLeft,
    Summary,
)
from snapd.store.timeline.codec import (
    VERSION,
    decode_claims,
    decode_event,
    decode_intent,
    decode_summary,
    encode_claims,
    encode_event,
    encode_intent,
    encode_summary,
)

LATER = {"left", "detached", "spokenFor", "again", "rest", "moved", "effects", "operation"}
"""What the first version did not write."""
COMMIT = b"\1" * 20
texts = st.text(st.characters(codec="utf-8"), max_size=12)
maybe = st.none() | texts
paths = st.binary(min_size=1, max_size=12)
oids = st.binary(min_size=20, max_size=20)
numbers = st.integers(0, 2**60)
snapshots = st.builds(SnapshotId, oids, oids)
entries = st.none() | st.builds(Entry, st.sampled_from([REGULAR, EXECUTABLE, SYMLINK]), oids)
effects = st.builds(Effect, paths, entries, entries)
lists = st.lists(paths, max_size=3).map(tuple)
uncaptured = st.lists(st.builds(UncapturedChange, paths, st.booleans()), max_size=3).map(tuple)
turned = st.builds(
    Reversal,
    maybe,
    st.sampled_from(["applied", "partly", "undone"]),
    st.lists(effects, max_size=3).map(tuple),
    lists,
    lists,
    st.none() | lists,
    maybe,
    lists,
    st.lists(st.tuples(paths, paths), max_size=3).map(tuple),
    maybe,
)
operated = st.builds(
    Operated,
    operation_id=texts,
    kind=st.sampled_from(["restore", "revert", "undo", "redo", "unrevert", "hunks"]),
    session_id=maybe,
    before=snapshots,
    turned=st.lists(turned, max_size=3).map(tuple),
    effects=st.none() | st.lists(effects, max_size=3).map(tuple),
    **{name: maybe for name in attrs.fields_dict(Operated) if name in ("undoes", "message_id", "part_id", "root")},
)
happenings = st.one_of(
    st.builds(SessionStarted, texts, maybe, maybe),
    st.builds(SessionEnded, texts),
    st.builds(MessageSent, texts, texts, maybe),
    st.builds(StepBegun, texts, texts, numbers, maybe, maybe, maybe, maybe, maybe, st.booleans(), st.none() | numbers),
    st.builds(StepsLeft, st.lists(texts, max_size=3).map(tuple)),
    st.builds(Edited, lists, st.lists(texts, max_size=3).map(tuple), st.booleans()),
    st.builds(StepEnded, texts, st.none() | lists, st.booleans(), st.booleans(), uncaptured, maybe),
    operated,
    st.builds(Kept, st.lists(st.tuples(paths, entries), max_size=3).map(tuple), st.lists(texts, max_size=3).map(tuple)),
)
events = st.builds(
    Event,
    numbers,
    numbers,
    st.none() | snapshots,
    st.none()
    | st.builds(
        Span, snapshots, snapshots, st.lists(texts, max_size=3).map(tuple), st.lists(texts, max_size=3).map(tuple)
    ),
    happenings,
)
EXAMPLE = Event(
    seq=7,
    milliseconds=5,
    head=SnapshotId(b"h" * 20, b"c" * 20),
    seen=Span(SnapshotId(b"b" * 20, b"c" * 20), SnapshotId(b"h" * 20, b"c" * 20), ("one",), ("two",)),
    what=Operated(
        "operation",
        "undo",
        "session",
        SnapshotId(b"b" * 20, b"c" * 20),
        (
            Reversal(
                "one",
                "undone",
                (Effect(b"p", Entry(REGULAR, b"o" * 20), None),),
                (b"d",),
                (b"e",),
                (b"l",),
                "other",
                (b"r",),
                ((b"m", b"n"),),
            ),
        ),
    ),
)


@given(events, st.none() | numbers)
def test_an_event_comes_back(event: Event, previous: int | None) -> None:
    payload = encode_event(event, previous)
    assert payload.isascii()
    assert "\n" not in payload
    assert "\0" not in payload
    assert decode_event(payload, COMMIT) == (event, previous)


@given(
    st.builds(
        Intent,
        operated,
        st.lists(effects, max_size=3).map(tuple),
        lists,
        lists,
        lists,
        st.lists(lists, max_size=3).map(tuple),
        maybe,
        st.lists(st.tuples(paths, paths, st.booleans()), max_size=3).map(tuple),
        st.lists(st.tuples(paths, numbers), max_size=3).map(tuple),
    )
)
def test_an_intent_comes_back(intent: Intent) -> None:
    assert decode_intent(encode_intent(intent)) == intent


@given(lists)
def test_claims_come_back(claims: tuple[bytes, ...]) -> None:
    assert decode_claims(encode_claims(claims)) == claims


@given(
    st.builds(
        Summary,
        st.lists(
            st.builds(
                FileSummary,
                paths,
                st.sampled_from(["added", "deleted", "modified"]),
                numbers,
                numbers,
                st.booleans(),
                st.lists(texts, max_size=2).map(tuple),
            ),
            max_size=3,
        ).map(tuple),
        numbers,
    )
)
def test_a_summary_comes_back(summary: Summary) -> None:
    assert decode_summary(encode_summary(summary)) == summary


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to each value in a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(found for key, inner in items for found in places(inner, (*way, key)))]


def changed(document: Any, way: tuple[Any, ...], to: Any) -> Any:
    if not way:
        return to
    copy = document.copy()
    copy[way[0]] = changed(document[way[0]], way[1:], to)
    return copy


def test_a_field_of_another_type_is_an_error() -> None:
    document = json.loads(encode_event(EXAMPLE, 6))
    for way in places(document):
        for wrong in (1.5, True, {"x": 1}, [[[]]], -1):
            with pytest.raises(StoreCorrupt) as raised:
                decode_event(json.dumps(changed(document, way, wrong)), COMMIT)
            assert raised.value.data["object"] == COMMIT.hex()


def test_a_field_that_is_missing_or_not_known_is_an_error() -> None:
    document = json.loads(encode_event(EXAMPLE, 6))
    for way in places(document):
        found = document
        for key in way:
            found = found[key]
        if isinstance(found, dict):
            for key in found.keys() - LATER:
                with pytest.raises(StoreCorrupt):
                    decode_event(
                        json.dumps(changed(document, way, {k: v for k, v in found.items() if k != key})), COMMIT
                    )
            with pytest.raises(StoreCorrupt):
                decode_event(json.dumps(changed(document, way, {**found, "more": 1})), COMMIT)


@pytest.mark.parametrize("payload", ["", "{", "[]", "null", "7", "[" * 100_000, '{"version":1}'])
def test_what_is_no_event_is_an_error(payload: str) -> None:
    with pytest.raises(StoreCorrupt):
        decode_event(payload, COMMIT)


def test_events_of_the_first_version() -> None:
    """They knew of no steps that are left: nobody had to speak for one."""
    for what, known in (
        (StepBegun("a", "one", 0, None, None, None, None, None, True), {"detached": False}),
        (StepEnded("a", None, True, False), {"spoken_for": True}),
    ):
        document = json.loads(encode_event(attrs.evolve(EXAMPLE, what=what), 6))
        document["version"] = 1
        del document["seen"]["left"]
        for name in LATER & document["what"].keys():
            del document["what"][name]
        event, _ = decode_event(json.dumps(document), COMMIT)
        assert event.what == attrs.evolve(what, **known)
        assert event.seen == attrs.evolve(EXAMPLE.seen, left=())


def test_an_operation_of_the_second_version() -> None:
    """It told nothing of what it left as it was."""
    document = json.loads(encode_event(EXAMPLE, 6))
    document["version"] = 2
    for name in ("left", "again", "rest", "moved", "operation"):
        document["what"]["turned"][0].pop(name, None)
    event, _ = decode_event(json.dumps(document), COMMIT)
    assert isinstance(event.what, Operated)
    (turn,) = event.what.turned
    assert (turn.left, turn.again, turn.rest, turn.moved) == (None, None, (), ())


def test_an_event_of_a_newer_version_says_so() -> None:
    document = {**json.loads(encode_event(EXAMPLE, 6)), "version": VERSION + 1, "more": 1}
    with pytest.raises(StoreCorrupt, match="newer snapd"):
        decode_event(json.dumps(document), COMMIT)


def test_text_that_is_no_unicode_is_refused() -> None:
    event = attrs.evolve(EXAMPLE, what=SessionStarted("half \ud83d", None, None))
    with pytest.raises(InvalidParams) as raised:
        encode_event(event, None)
    assert raised.value.data["field"] == "sessionId"

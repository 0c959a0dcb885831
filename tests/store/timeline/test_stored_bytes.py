"""The bytes that stores and signatures depend on: a class or an attribute may change its name, these do not change."""

from __future__ import annotations

from typing import get_args

import attrs
import pytest

from snapd.model.errors import InvalidParams, StoreCorrupt
from snapd.model.snapshot import REGULAR, Entry, UncapturedChange
from snapd.model.timeline import (
    Commented,
    Edited,
    Effect,
    Event,
    EventPayload,
    FileSummary,
    Informed,
    Intent,
    Kept,
    MessageSent,
    Operated,
    Recorded,
    Replied,
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
    decode_claims,
    decode_event,
    decode_intent,
    decode_summary,
    decode_uncaptured,
    encode_claims,
    encode_event,
    encode_intent,
    encode_summary,
    encode_uncaptured,
)
from snapd.store.timeline.converter import make_converter

COMMIT = b"\1" * 20
SNAPSHOT = SnapshotId(b"\x11" * 20, b"\x22" * 20)
IDS = f'["{"1" * 40}","{"2" * 40}"]'
FILE = Entry(REGULAR, b"\x33" * 20)
BLOB = f'"100644 {"3" * 40}"'
BARE = "not Unicode: \ud83d"

STORED: list[tuple[EventPayload, str, str]] = [
    (SessionStarted("s", "agent", None), "sessionStarted", '{"sessionId":"s","agent":"agent","title":null}'),
    (SessionEnded("s"), "sessionEnded", '{"sessionId":"s"}'),
    (MessageSent("s", "m", "é"), "messageSent", r'{"sessionId":"s","messageId":"m","text":"\u00e9"}'),
    (
        StepBegun("a", "s", 1, "p", "m", "n", "tool", "text"),
        "stepBegun",
        (
            '{"stepId":"a","sessionId":"s","index":1,"parent":"p","messageId":"m","partId":"n","tool":"tool",'
            '"description":"text"}'
        ),
    ),
    (
        StepBegun("a", "s", 1, None, None, None, None, None, True, 4, "ls"),
        "stepBegun",
        (
            '{"stepId":"a","sessionId":"s","index":1,"parent":null,"messageId":null,"partId":null,"tool":null,'
            '"description":null,"detached":true,"began":4,"command":"ls"}'
        ),
    ),
    (StepsLeft(("a", "b")), "stepsLeft", '{"steps":["a","b"]}'),
    (Edited((b"\xff.txt",), ("a",), True), "edited", r'{"paths":["\udcff.txt"],"steps":["a"],"saved":true}'),
    (StepEnded("a", None, False, True), "stepEnded", '{"stepId":"a","claims":null,"changed":false}'),
    (
        StepEnded("a", (b"f",), True, False, (UncapturedChange(b"u", True),), "done"),
        "stepEnded",
        '{"stepId":"a","claims":["f"],"changed":true,"spokenFor":false,"uncaptured":[["u",true]],"description":"done"}',
    ),
    (
        Operated(
            "o",
            "undo",
            "s",
            SNAPSHOT,
            (
                Reversal(
                    "a",
                    "partly",
                    (Effect(b"f", FILE, None),),
                    (b"d",),
                    (),
                    (b"l",),
                    "again",
                    (b"r",),
                    ((b"x", b"y"),),
                ),
                Reversal(None, "applied", (), operation_id="p"),
            ),
        ),
        "operated",
        (
            f'{{"operationId":"o","kind":"undo","sessionId":"s","before":{IDS},"turned":[{{"stepId":"a","state":"partly",'
            f'"effects":[["f",{BLOB},null]],"made":["d"],"removed":[],"left":["l"],"again":"again","rest":["r"],'
            '"moved":[["x","y"]]},{"stepId":null,"state":"applied","effects":[],"made":[],"removed":[],"operation":"p"}],'
            '"undoes":null,"messageId":null,"partId":null,"root":null}'
        ),
    ),
    (
        Operated("o", "revert", None, SNAPSHOT, (), "p", "m", "n", "a", (Effect(b"f", None, FILE),)),
        "operated",
        (
            f'{{"operationId":"o","kind":"revert","sessionId":null,"before":{IDS},"turned":[],"undoes":"p",'
            f'"messageId":"m","partId":"n","root":"a","effects":[["f",null,{BLOB}]]}}'
        ),
    ),
    (
        Operated("o", "restore", None, SNAPSHOT, after=SNAPSHOT, is_base=False),
        "operated",
        (
            f'{{"operationId":"o","kind":"restore","sessionId":null,"before":{IDS},"turned":[],"undoes":null,'
            f'"messageId":null,"partId":null,"root":null,"after":{IDS},"isBase":false}}'
        ),
    ),
    (Recorded("look", SNAPSHOT), "recorded", f'{{"kind":"look","snapshot":{IDS}}}'),
    (
        Recorded("after", SNAPSHOT, True, "o"),
        "recorded",
        f'{{"kind":"after","snapshot":{IDS},"isBase":true,"operationId":"o"}}',
    ),
    (Kept(((b"f", FILE), (b"g", None)), ("a",)), "kept", f'{{"files":[["f",{BLOB}],["g",null]],"steps":["a"]}}'),
    (
        Commented("c", "s", "a", b"f", FILE, 2, 3, "text"),
        "commented",
        f'{{"commentId":"c","sessionId":"s","stepId":"a","path":"f","entry":{BLOB},"start":2,"count":3,"text":"text"}}',
    ),
    (
        Replied("c", None, None, "resolved", "s"),
        "replied",
        '{"commentId":"c","sessionId":null,"state":"resolved","by":"s"}',
    ),
    (
        Informed("s", 4, 5, ((b"f", FILE),)),
        "informed",
        f'{{"sessionId":"s","comments":4,"until":5,"files":[["f",{BLOB}]]}}',
    ),
]


@pytest.mark.parametrize(("what", "name", "stored"), STORED)
def test_what_happened(what: EventPayload, name: str, stored: str) -> None:
    event = Event(7, 5, None, None, what)
    payload = encode_event(event, None)
    assert payload == (
        f'{{"version":12,"seq":7,"previous":null,"milliseconds":5,"head":null,"seen":null,"type":"{name}","what":{stored}}}'
    )
    assert decode_event(payload, COMMIT) == (event, None)


def test_each_kind_of_event_is_above() -> None:
    assert {type(what) for what, _, _ in STORED} == set(get_args(EventPayload))


def test_an_event_with_what_was_seen() -> None:
    event = Event(7, 5, SNAPSHOT, Span(SNAPSHOT, SNAPSHOT, ("a",), ("b",)), SessionEnded("s"))
    payload = encode_event(event, 6)
    assert payload == (
        f'{{"version":12,"seq":7,"previous":6,"milliseconds":5,"head":{IDS},'
        f'"seen":{{"before":{IDS},"after":{IDS},"steps":["a"],"left":["b"]}},'
        '"type":"sessionEnded","what":{"sessionId":"s"}}'
    )
    assert decode_event(payload, COMMIT) == (event, 6)


def test_an_intent() -> None:
    operation = (
        f'{{"operationId":"o","kind":"restore","sessionId":null,"before":{IDS},"turned":[],"undoes":null,'
        '"messageId":null,"partId":null,"root":null}'
    )
    least = Intent(Operated("o", "restore", None, SNAPSHOT), (), (), (), ())
    assert encode_intent(least).decode() == (
        f'{{"version":12,"operation":{operation},"files":[],"made":[],"removed":[],"forced":[]}}'
    )
    most = Intent(
        least.operation,
        (Effect(b"f", None, FILE),),
        (b"d",),
        (b"e",),
        (b"i",),
        ((b"f", b"g"),),
        "a",
        ((b"m", b"n", True),),
        ((b"f", 0o600),),
    )
    assert encode_intent(most).decode() == (
        f'{{"version":12,"operation":{operation},"files":[["f",null,{BLOB}]],"made":["d"],"removed":["e"],"forced":["i"],'
        '"together":[["f","g"]],"step":"a","moves":[["m","n",true]],"permissions":[["f",384]]}'
    )
    assert [decode_intent(encode_intent(each)) for each in (least, most)] == [least, most]


def test_what_the_database_has() -> None:
    summary = Summary((FileSummary(b"\xff", "added", 1, 2, False, ("b",)),), 3)
    assert encode_summary(summary) == r'[[["\udcff","added",1,2,false,["b"],false]],3]'
    assert decode_summary(encode_summary(summary)) == summary
    assert encode_claims((b"\xff",)) == r'["\udcff"]'
    assert decode_claims(encode_claims((b"\xff",))) == (b"\xff",)
    uncaptured = (UncapturedChange(b"u", False),)
    assert encode_uncaptured(uncaptured) == '[["u",false]]'
    assert decode_uncaptured(encode_uncaptured(uncaptured)) == uncaptured


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2" * 40, "2" * 39),
        ("2" * 40, "2" * 42),
        ("2" * 40, "A" * 40),
        ("2" * 40, "2" * 40 + " "),
        ("100644 ", "160000 "),
        ("100644 ", "0100644 "),
        ("100644 ", "100644"),
        ("100644 " + "3" * 40, "100644 " + "B" * 40),
        ('"op"', r'"op\ud83d"'),
        ('"path"', r'"\ud83d"'),
        ('"revert"', '"undone"'),
        ('"operated"', '"operating"'),
        ('"type":"operated",', ""),
    ],
)
def test_what_is_close_to_an_event_is_an_error(old: str, new: str) -> None:
    payload = encode_event(
        Event(7, 5, None, None, Operated("op", "revert", None, SNAPSHOT, effects=(Effect(b"path", FILE, None),))),
        None,
    )
    assert old in payload
    with pytest.raises(StoreCorrupt):
        decode_event(payload.replace(old, new), COMMIT)


@pytest.mark.parametrize("claims", ["{}", "null", '"ab"', "[1]", "[null]", r'["\ud83d"]', '[["a"]]'])
def test_no_claims(claims: str) -> None:
    with pytest.raises(ValueError, match="not "):
        decode_claims(claims)


@pytest.mark.parametrize(
    "uncaptured", ["{}", '["ab"]', '[["a"]]', '[["a",true,1]]', '[["a",1]]', '[{"0":"a","1":true}]']
)
def test_no_uncaptured_changes(uncaptured: str) -> None:
    with pytest.raises(ValueError, match="not "):
        decode_uncaptured(uncaptured)


@pytest.mark.parametrize(
    "summary",
    [
        "{}",
        "[[]]",
        "[[],0,0]",
        "[[],-1]",
        "[[],true]",
        '[[["a","moved",1,2,false,[]]],0]',
        '[[["a","added",1,2,0,[]]],0]',
        '[[["a","added",1,2,false,[null]]],0]',
        '[["adding"],0]',
    ],
)
def test_no_summary(summary: str) -> None:
    with pytest.raises(ValueError, match="not "):
        decode_summary(summary)


@pytest.mark.parametrize(
    ("what", "parameter"),
    [
        (SessionStarted("s", BARE, None), "agent"),
        (SessionStarted("s", None, BARE), "title"),
        (MessageSent("s", BARE, None), "messageId"),
        (MessageSent("s", "m", BARE), "text"),
        (attrs.evolve(STORED[3][0], parent=BARE), "parentStepId"),
        (attrs.evolve(STORED[3][0], part_id=BARE), "partId"),
        (attrs.evolve(STORED[3][0], tool=BARE), "tool"),
        (StepsLeft(("a", BARE)), "stepId"),
        (StepEnded("a", None, False, True, description=BARE), "description"),
        (Operated(BARE, "undo", None, SNAPSHOT), "operationId"),
        (Operated("o", "undo", None, SNAPSHOT, undoes=BARE), "undoes"),
        (Operated("o", "undo", None, SNAPSHOT, root=BARE), "stepId"),
        (Operated("o", "undo", None, SNAPSHOT, (Reversal("a", "applied", (), again=BARE),)), "operationId"),
        (
            Operated("o", "undo", None, SNAPSHOT, (Reversal(None, "applied", (), operation_id=BARE),)),
            "operationId",
        ),
    ],
)
def test_text_that_is_no_unicode_is_named_as_in_requests(what: EventPayload, parameter: str) -> None:
    with pytest.raises(InvalidParams) as raised:
        encode_event(Event(7, 5, None, None, what), None)
    assert raised.value.data["field"] == parameter


@pytest.mark.parametrize("kind", [float, list[str], dict[str, str], object])
def test_a_type_without_a_hook_is_a_mistake(kind: type) -> None:
    with pytest.raises(TypeError, match="no type of the timeline"):
        make_converter({}, {}).structure([], kind)

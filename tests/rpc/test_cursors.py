"""A cursor is good for the question that it was given out for, and every other is refused, in every paged method."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd.wire.methods import METHODS
from tests.rpc.machine import Machine, Raw

PAGED = {
    name: method
    for name, method in METHODS.items()
    if any(field.name == "cursor" for field in attrs.fields(method.params))
}
Params = dict[str, Any]


class Asked:
    """A folder with enough in it that every paged method has a second page.

    Attributes:
        questions: of each paged method two that are answered by other lists; a new method needs its own here.
    """

    def __init__(self, daemon: Machine, folder: Path) -> None:
        self.client: Raw = daemon.raw().open(folder)
        old = self.client.result("snapshot/track")["hash"]
        for session in ("s", "t", "u"):
            self.client.result("session/start", {"sessionId": session})
        for session in ("s", "t"):
            for number in range(3):
                about = {"sessionId": session, "messageId": f"{session}{number}"}
                step = self.client.result("step/begin", about)["stepId"]
                for name in ("a", "b", "c"):
                    (folder / f"{session}{name}").write_text(f"{number}\n")
                self.client.result("step/end", {"stepId": step})
        for name in ("sa", "sb", "tc", "ta"):
            self.client.result("review/comment", {"file": name, "start": 1, "text": name})
        new = self.client.result("snapshot/track")["hash"]
        self.questions: dict[str, list[Params]] = {
            "snapshot/diffFull": [{"from": old}, {"from": old, "to": new, "contents": False}],
            "snapshot/listFiles": [{"hash": new}, {"hash": new, "prefix": "s"}],
            "snapshot/list": [{}, {"counts": False}],
            "session/list": [{}],
            "session/steps": [{"sessionId": "s"}, {"sessionId": "t"}],
            "session/messages": [{"sessionId": "s"}, {"sessionId": "t"}],
            "session/diff": [{"sessionId": "s"}, {"sessionId": "t", "contents": False}],
            "review/list": [{}, {"sessionId": "s"}],
            "review/comments": [{}, {"sessionId": "s"}],
            "session/history": [{}, {"sessionId": "s"}, {"files": ["sa", "tb"], "renames": True}],
        }

    def pages(self, method: str, question: Params) -> list[Params]:
        """All pages of one item each."""
        found = [self.client.result(method, {**question, "limit": 1})]
        while "nextCursor" in found[-1]:
            # each page may have its own progress
            page = {"limit": 1, "cursor": found[-1]["nextCursor"], "workDoneToken": len(found)}
            found.append(self.client.result(method, {**question, **page}))
        return found


@pytest.fixture
def asked(daemon: Machine, folder: Path) -> Asked:
    return Asked(daemon, folder)


def items(page: Params) -> list[Any]:
    (found,) = (value for value in page.values() if isinstance(value, list))
    return found


def other_letters(cursor: str) -> list[str]:
    """What a lenient decoder takes for the same bytes."""
    found = [cursor + "=", cursor + "\n", " " + cursor, cursor.rstrip("=") or "A", cursor.replace("=", "==")]
    last = cursor.rstrip("=")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    found += [last[:-1] + letter + cursor[len(last) :] for letter in letters]
    return [one for one in found if one != cursor]


def forged(cursor: str) -> list[Any]:
    """What nobody was given."""
    chance = random.Random(cursor)
    data = base64.urlsafe_b64decode(cursor)
    changed = [data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :] for at in range(len(data))]
    changed += [b"", data[:-1], data[1:], data + b"\0", data + b"0", data + data, data[:16], data[16:], bytes(16)]
    changed += [data[:16] + position for position in (b"x", b"-1", b"1e9", b"9" * 5000, b"\xff", b"a\0b", b"../..")]
    # the form that a cursor had before
    deep = b"[" * 100_000
    changed += [deep, b"null", b"{}", b"[]", b'["history","%s","x"]' % (b"0" * 40), json.dumps(["a", 1]).encode()]
    texts = [base64.urlsafe_b64encode(one).decode() for one in changed]
    return [*texts, *other_letters(cursor), "", "x", "\u2028", "é", "A" * 100_000]


@pytest.mark.parametrize("method", PAGED)
def test_pages_have_all_in_order(asked: Asked, method: str) -> None:
    for question in asked.questions[method]:
        pages = asked.pages(method, question)
        assert len(pages) > 1
        assert [item for page in pages for item in items(page)] == items(asked.client.result(method, question))


@pytest.mark.parametrize("method", PAGED)
def test_a_cursor_that_was_not_given_out_for_the_question(asked: Asked, method: str) -> None:
    given = {
        page["nextCursor"]: (of, question)
        for of, questions in asked.questions.items()
        for question in questions
        for page in asked.pages(of, question)
        if "nextCursor" in page
    }
    for question in asked.questions[method]:
        own = [cursor for cursor, asked_for in given.items() if asked_for == (method, question)]
        wrong = [cursor for cursor in given if cursor not in own]
        wrong += [forgery for cursor in own[:1] for forgery in forged(cursor)]
        for cursor in wrong:
            answer = asked.client.ask(1, method, {**question, "cursor": cursor})
            assert "error" in answer, (cursor, answer)
            assert answer["error"]["code"] == -32602, (cursor, answer)
            assert answer["error"]["data"]["kind"] == "invalidParams", (cursor, answer)
        for cursor in (1, 1.5, True, [], {}, ["x"], 1 << 53):
            assert asked.client.ask(1, method, {**question, "cursor": cursor})["error"]["code"] == -32602


def test_every_param_but_the_limit_is_part_of_the_question(asked: Asked) -> None:
    question = asked.questions["snapshot/diffFull"][0]
    cursor = asked.client.result("snapshot/diffFull", {**question, "limit": 1})["nextCursor"]
    for other in ({"files": ["sa", "sb"]}, {"contents": False}, {"renames": True}):
        answer = asked.client.ask(1, "snapshot/diffFull", {**question, **other, "cursor": cursor})
        assert answer["error"]["code"] == -32602
    rest = asked.client.result("snapshot/diffFull", {**question, "limit": 2, "cursor": cursor})
    assert len(rest["diffs"]) == 2


def test_steps_by_the_beginning_of_their_names(asked: Asked) -> None:
    client = asked.client
    steps = [step for session in ("s", "t") for step in client.result("session/steps", {"sessionId": session})["steps"]]
    assert client.result("step/find", {"prefix": ""})["steps"] == steps[::-1]
    assert client.result("step/find", {"prefix": "", "limit": 2})["steps"] == steps[:-3:-1]
    assert client.result("step/find", {"prefix": "", "sessionId": "s"})["steps"] == steps[2::-1]
    for step in steps:
        for length in (1, 2, 8, 16):
            prefix = step["stepId"][:length]
            expected = [other for other in steps[::-1] if other["stepId"].startswith(prefix)]
            assert client.result("step/find", {"prefix": prefix})["steps"] == expected
    part = client.result("step/begin", {"sessionId": "u", "parentStepId": steps[0]["stepId"]})["stepId"]
    found = client.result("step/find", {"prefix": "", "parentStepId": steps[0]["stepId"]})["steps"]
    assert [step["stepId"] for step in found] == [part]
    assert client.ask(1, "step/find", {"prefix": "", "sessionId": "x"})["error"]["data"]["kind"] == "unknownSession"
    assert client.ask(1, "step/find", {"prefix": "", "parentStepId": "x"})["error"]["data"]["kind"] == "unknownStep"
    for strange in ("%", "_", "'", "\U0010ffff", "é", "zz"):
        assert client.result("step/find", {"prefix": strange})["steps"] == []

"""The words that stand for a session or a step."""

from __future__ import annotations

from typing import Any

import pytest

from snapd.cli.requests.names import find_session, find_step, latest_session, step_id
from snapd.cli.terminal.naming import beginning, learn, short
from snapd.model.errors import InvalidParams, NothingToUndo, UnknownSession, UnknownStep

STEPS = {
    "claude": ["0123456789abcdef", "0123aaaaaaaaaaaa"],
    "claude-2": ["ffff000000000000"],
    "9999888877776666": [],
}


class Answers:
    """Answers from a table."""

    is_open = True

    def __init__(self, history: list[dict[str, Any]] | None = None) -> None:
        self.history = history or []
        self.asked: list[str] = []

    def request(self, method: str, params: dict[str, Any], report: object = None) -> Any:
        self.asked.append(method)
        params = {name: value for name, value in params.items() if value is not None}
        if method == "session/list":
            return {"sessions": [{"sessionId": name} for name in STEPS]}
        if method == "session/prefixes":
            return {"prefixes": [name[:10] for name in params["ids"]]}
        if method == "step/find":
            of = [params["sessionId"]] if "sessionId" in params else list(STEPS)
            # the one that was begun last comes first
            names = sorted((name for session in of for name in STEPS[session]), key=lambda name: name[::-1])[::-1]
            steps = [{"stepId": name} for name in names if name.startswith(params["prefix"])]
            return {"steps": steps[: params["limit"]]}
        at = int(params.get("cursor", 0))
        return {"entries": self.history[at : at + 1], "nextCursor": str(at + 1) if self.history[at + 1 :] else None}

    def close(self) -> None:
        raise AssertionError("not asked for")


@pytest.mark.parametrize(
    ("word", "name"),
    [("claude", "claude"), ("claude-", "claude-2"), ("9", "9999888877776666"), ("99998888", "9999888877776666")],
)
def test_sessions(word: str, name: str) -> None:
    assert find_session(Answers(), word)["sessionId"] == name


def test_no_such_session_and_several() -> None:
    with pytest.raises(UnknownSession, match="no session 'nobody'"):
        find_session(Answers(), "nobody")
    with pytest.raises(InvalidParams, match="'c' is the beginning of several sessions: claude, claude-2"):
        find_session(Answers(), "c")


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("0123456789abcdef", "0123456789abcdef"),
        ("01234", "0123456789abcdef"),
        ("0123a", "0123aaaaaaaaaaaa"),
        ("f", "ffff000000000000"),
        ("last", "0123456789abcdef"),
    ],
)
def test_steps(word: str, name: str) -> None:
    assert find_step(Answers(), word)["stepId"] == name


def test_no_such_step_and_several() -> None:
    with pytest.raises(UnknownStep, match="no step 'abc'"):
        find_step(Answers(), "abc")
    with pytest.raises(UnknownStep, match="no step 'f'"):
        find_step(Answers(), "f", "claude")
    with pytest.raises(InvalidParams, match="'0123' is the beginning of several steps: 0123456789abcdef, 0123aaaa"):
        find_step(Answers(), "0123")
    for word in ("", "README.md", "0123456789abcdef" * 2 + "0", "ABC"):
        with pytest.raises(InvalidParams, match="expected a step"):
            find_step(Answers(), word)


def test_a_whole_name_needs_no_question() -> None:
    answers = Answers()
    assert step_id(answers, "a" * 32) == "a" * 32
    assert answers.asked == []


@pytest.mark.parametrize("word", ["f", "last", "0123456789abcdef"])
def test_a_step_is_found_with_one_question(word: str) -> None:
    answers = Answers()
    find_step(answers, word)
    assert answers.asked == ["step/find"]


def test_a_name_that_was_not_asked_about() -> None:
    """What no request asked about is shown whole: nobody knows what else begins like it."""
    for name in ("9999888877770000", "claude-with-a-long-name", "deadbeef1"):
        assert short(name) == name


def test_ids_of_an_answer_are_learnt_with_one_question() -> None:
    answers = Answers()
    uuid, turn = "01a2031e-0000-7000-8000-00000000000a", "01a2031e-1111-7000-8000-00000000000b"
    step, part = "beef" * 8, "cafe" * 8
    rows = [{"steps": [part], "sessionId": "claude-with-a-long-name"}, {"message": {"messageId": turn}}]
    learn(answers, {"entries": [{"step": {"stepId": step, "sessionId": uuid}}, *rows]})
    assert answers.asked == ["session/prefixes"]
    assert [short(name) for name in (step, part, uuid)] == [step[:10], part[:10], "01a2031e-0"]
    assert (beginning(turn), short("claude-with-a-long-name")) == ("01a2031e-1", "claude-with-a-long-name")
    learn(answers, {"stepId": step})
    assert answers.asked == ["session/prefixes"]


def test_the_session_of_the_latest_change() -> None:
    step: dict[str, Any] = {"kind": "step", "files": [], "step": {"sessionId": "idle"}}
    user: dict[str, Any] = {"kind": "user", "files": ["f"]}
    restore: dict[str, Any] = {"kind": "restore", "files": ["f"]}
    undo: dict[str, Any] = {"kind": "undo", "files": [], "sessionId": "a"}
    work: dict[str, Any] = {"kind": "step", "files": ["f"], "step": {"sessionId": "b"}}
    assert latest_session(Answers([step, user, restore, undo, work])) == "a"
    assert latest_session(Answers([step, user, work, undo])) == "b"
    with pytest.raises(NothingToUndo):
        latest_session(Answers([step, user, restore]))

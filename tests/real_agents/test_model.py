"""The scripted model, asked as agents ask it. Whether agents understand its answers is what `make agents` finds out."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from .model.request import strings
from .model.script import Call, Conversation, Turn
from .model.server import Model, running

SCRIPT = (
    Conversation("add a file", (Turn("I look.", (Call("look", {"at": "here"}), Call("look", {}))), Turn("I write."))),
    Conversation("a part of it", (Turn("From below."),)),
)
USER, ASSISTANT, TOOL = "user", "assistant", "tool"


@pytest.fixture
def model() -> Iterator[Model]:
    with running() as found:
        found.script = SCRIPT
        yield found


@attrs.frozen
class Spoken:
    """How one dialect asks and answers."""

    path: str
    messages: str
    roles: dict[str, dict[str, Any]]
    tools: list[Any]

    def ask(self, model: Model, *messages: tuple[str, str], tools: bool = True) -> list[Any]:
        """The data of the events that answer these messages."""
        said = [json.loads(json.dumps(self.roles[role]).replace("TEXT", text)) for role, text in messages]
        body = {"model": "m", "stream": True, self.messages: said, **({"tools": self.tools} if tools else {})}
        status, answer = post(model, self.path, body)
        assert status == 200
        data = [line[len("data: ") :] for line in answer.splitlines() if line.startswith("data: ")]
        return [json.loads(each) for each in data if each != "[DONE]"]


def text_part(kind: str) -> list[dict[str, str]]:
    return [{"type": kind, "text": "TEXT"}]


DIALECTS = {
    "anthropic": Spoken(
        "/v1/messages?beta=true",
        "messages",
        {
            USER: {"role": "user", "content": text_part("text")},
            ASSISTANT: {"role": "assistant", "content": [*text_part("text"), {"type": "tool_use", "id": "c"}]},
            TOOL: {"role": "user", "content": [{"type": "tool_result", "content": "TEXT"}, *text_part("text")]},
        },
        [{"name": "look"}],
    ),
    "chat": Spoken(
        "/v1/chat/completions",
        "messages",
        {
            USER: {"role": "user", "content": "TEXT"},
            ASSISTANT: {"role": "assistant", "content": "TEXT", "tool_calls": [{"id": "c"}]},
            TOOL: {"role": "tool", "tool_call_id": "c", "content": "TEXT"},
        },
        [{"type": "function", "function": {"name": "look"}}],
    ),
    "responses": Spoken(
        "/v1/responses",
        "input",
        {
            USER: {"type": "message", "role": "user", "content": text_part("input_text")},
            ASSISTANT: {"type": "message", "role": "assistant", "content": text_part("output_text")},
            TOOL: {"type": "function_call_output", "call_id": "c", "output": "TEXT"},
        },
        [{"type": "web_search"}, {"type": "namespace", "tools": [{"type": "function", "name": "look"}]}],
    ),
    "gemini": Spoken(
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        "contents",
        {
            USER: {"role": "user", "parts": [{"text": "TEXT"}]},
            ASSISTANT: {"role": "model", "parts": [{"text": "TEXT"}, {"functionCall": {"name": "look"}}]},
            TOOL: {"role": "user", "parts": [{"functionResponse": {"name": "look"}}, {"text": "TEXT"}]},
        },
        [{"functionDeclarations": [{"name": "look"}]}],
    ),
}
dialects = pytest.mark.parametrize("spoken", DIALECTS.values(), ids=DIALECTS)


def post(model: Model, path: str, body: Any) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", model.server_port)
    try:
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def text(events: list[Any]) -> str:
    """All the text in events, one piece behind the other."""
    return "".join(strings(events))


def turns(model: Model) -> list[tuple[str, int]]:
    return [(each.said.opening, each.said.number) for each in model.asked if each.said]


@dialects
def test_the_turn_follows_from_the_messages(model: Model, spoken: Spoken) -> None:
    begun = [(USER, "what you have to know"), (USER, "please add a file")]
    assert "I look." in text(spoken.ask(model, *begun))
    looked = [*begun, (ASSISTANT, "I look."), (TOOL, "please add a file"), (TOOL, "it is there")]
    assert "I write." in text(spoken.ask(model, *looked))
    assert "Done." in text(spoken.ask(model, *looked, (ASSISTANT, "I write."), (USER, "go on")))
    assert turns(model) == [("add a file", 0), ("add a file", 1), ("add a file", 2)]


@dialects
def test_asking_again_gives_the_same_answer(model: Model, spoken: Spoken) -> None:
    first = spoken.ask(model, (USER, "add a file"))
    assert spoken.ask(model, (USER, "a part of it")) != first
    assert spoken.ask(model, (USER, "add a file")) == first


@dialects
def test_the_latest_prompt_counts(model: Model, spoken: Spoken) -> None:
    before = [(USER, "add a file"), (ASSISTANT, "I look."), (USER, "now a part of it")]
    assert "From below." in text(spoken.ask(model, *before))
    assert "Done." in text(spoken.ask(model, *before, (ASSISTANT, "From below."), (TOOL, "")))


@dialects
def test_side_requests_get_a_word(model: Model, spoken: Spoken) -> None:
    assert "I look." not in text(spoken.ask(model, (USER, "add a file"), tools=False))
    assert "I look." not in text(spoken.ask(model, (USER, "something else")))
    assert turns(model) == [("", 0), ("", 0)]


@dialects
def test_calls_have_their_input_and_names_in_their_order(model: Model, spoken: Spoken) -> None:
    events = spoken.ask(model, (USER, "add a file"))
    # where the input is a string, it is JSON in JSON
    assert '"at": "here"' in json.dumps(events).replace("\\", "")
    said = text(events)
    assert said.index("t00x0") < said.index("t00x1")


def test_free_text_is_the_input_of_a_tool(model: Model) -> None:
    model.script = (Conversation("patch it", (Turn("I patch.", (Call("patch", "*** Begin\n"),)),)),)
    events = DIALECTS["responses"].ask(model, (USER, "patch it"))
    called = events[-1]["response"]["output"][1]
    assert (called["type"], called["name"], called["input"]) == ("custom_tool_call", "patch", "*** Begin\n")


def test_a_turn_waits_for_a_file(model: Model, tmp_path: Path) -> None:
    go, there, order = tmp_path / "go", tmp_path / "there", []
    model.script = (Conversation("go on", (Turn("It is there.", (), (go,), (there,)),)),)

    def ask() -> None:
        assert "It is there." in text(DIALECTS["chat"].ask(model, (USER, "go on")))
        order.append("answered")

    asking = threading.Thread(target=ask)
    asking.start()
    while not go.exists():
        pass
    asking.join(0.1)
    order.append("there")
    there.touch()
    asking.join()
    assert order == ["there", "answered"]


def test_what_no_model_answers_is_kept(model: Model) -> None:
    assert post(model, "/v1/telemetry", {})[0] == 404
    assert [(each.path, each.said) for each in model.asked] == [("/v1/telemetry", None)]

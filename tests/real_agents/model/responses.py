"""OpenAI's newer dialect: `POST /v1/responses`. Codex speaks it, and needs no more events than there are here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .request import Dialect, Event, Json, Message, Request, text_of
from .script import Reply

_USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "total_tokens": 120,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


_SERVER_TOOL = re.compile("(?P<server>mcp__.+)__(?P<tool>.+)")
"""A tool of an MCP server, which Codex has in a namespace."""


def _read(body: Json, _path: re.Match[str]) -> Request:
    return Request(body["model"], tuple(_messages(body["input"])), frozenset(_tools(body.get("tools") or ())))


def _messages(items: Json) -> list[Message]:
    messages: list[Message] = []
    for item in items:
        kind, text = item.get("type", "message"), text_of(item.get("content"))
        if kind.endswith("_output"):
            messages.append(Message("tool", ""))
        elif kind == "message" and item["role"] != "assistant":
            messages.append(Message("user", text))
        # one answer is several items here: reasoning, what it says, its calls
        elif messages and messages[-1].role == "assistant":
            messages[-1] = Message("assistant", messages[-1].text + text)
        else:
            messages.append(Message("assistant", text))
    return messages


def _tools(tools: Json) -> Iterator[str]:
    for tool in tools:
        if tool["type"] == "namespace":
            yield from _tools(tool["tools"])
        # those that the service itself runs, such as a search, have a type alone
        elif "name" in tool:
            yield tool["name"]


def _answer(request: Request, reply: Reply) -> Iterator[Event]:
    for number, (name, data) in enumerate(_events(request, reply)):
        yield Event(name, {"type": name, "sequence_number": number, **data})


def _events(request: Request, reply: Reply) -> Iterator[tuple[str, Json]]:
    said = [{"type": "output_text", "text": reply.turn.text, "annotations": []}]
    message = {"type": "message", "id": reply.name("msg_"), "role": "assistant", "content": said}
    items: list[Json] = [{**message, "status": "completed"}]
    for number, call in enumerate(reply.turn.calls):
        names = {"id": reply.name("fc_", number), "call_id": reply.name("call_", number), "name": call.tool}
        if (server := _SERVER_TOOL.fullmatch(call.tool)) is not None:
            names |= {"name": server["tool"], "namespace": server["server"]}
        if isinstance(call.input, str):
            items.append({"type": "custom_tool_call", **names, "input": call.input, "status": "completed"})
        else:
            arguments = json.dumps(call.input)
            items.append({"type": "function_call", **names, "arguments": arguments, "status": "completed"})
    base = {"id": reply.name("resp_"), "object": "response", "created_at": 0, "model": request.model}
    yield "response.created", {"response": {**base, "status": "in_progress", "output": []}}
    for index, item in enumerate(items):
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": {**base, "status": "completed", "output": items, "usage": _USAGE}}


RESPONSES = Dialect(re.compile(r"/v1/responses"), _read, _answer)

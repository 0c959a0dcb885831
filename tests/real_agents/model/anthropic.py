"""Anthropic's dialect: `POST /v1/messages`. Claude Code speaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .request import Dialect, Event, Json, Message, Request, pieces, text_of
from .script import Reply

_USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def _read(body: Json, _path: re.Match[str]) -> Request:
    tools = frozenset(tool["name"] for tool in body.get("tools") or ())
    return Request(body["model"], tuple(map(_message, body["messages"])), tools)


def _message(item: Json) -> Message:
    content = item["content"]
    if item["role"] == "assistant":
        return Message("assistant", text_of(content))
    has_result = isinstance(content, list) and any(part.get("type") == "tool_result" for part in content)
    return Message("tool" if has_result else "user", text_of(content))


def _answer(request: Request, reply: Reply) -> Iterator[Event]:
    for name, data in _events(request, reply):
        yield Event(name, {"type": name, **data})


def _events(request: Request, reply: Reply) -> Iterator[tuple[str, Json]]:
    message = {"id": reply.name("msg_"), "type": "message", "role": "assistant", "model": request.model, "content": []}
    yield "message_start", {"message": {**message, "stop_reason": None, "stop_sequence": None, "usage": _USAGE}}
    yield from _block(0, {"type": "text", "text": ""}, "text_delta", "text", reply.turn.text)
    for number, call in enumerate(reply.turn.calls):
        block = {"type": "tool_use", "id": reply.name("toolu_", number), "name": call.tool, "input": {}}
        yield from _block(number + 1, block, "input_json_delta", "partial_json", json.dumps(call.input))
    ended = {"stop_reason": "tool_use" if reply.turn.calls else "end_turn", "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": _USAGE}
    yield "message_stop", {}


def _block(index: int, empty: Json, kind: str, field: str, value: str) -> Iterator[tuple[str, Json]]:
    yield "content_block_start", {"index": index, "content_block": empty}
    for piece in pieces(value):
        yield "content_block_delta", {"index": index, "delta": {"type": kind, field: piece}}
    yield "content_block_stop", {"index": index}


ANTHROPIC = Dialect(re.compile(r"/v1/messages"), _read, _answer)

"""OpenAI's older dialect: `POST /v1/chat/completions`. OpenCode and Qwen Code speak it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .request import Dialect, Event, Json, Message, Request, pieces, text_of
from .script import Reply

_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def _read(body: Json, _path: re.Match[str]) -> Request:
    spoken = [item for item in body["messages"] if item["role"] in ("user", "assistant", "tool")]
    messages = (Message(item["role"], text_of(item.get("content"))) for item in spoken)
    tools = frozenset(tool["function"]["name"] for tool in body.get("tools") or ())
    return Request(body["model"], tuple(messages), tools)


def _answer(request: Request, reply: Reply) -> Iterator[Event]:
    base = {"id": reply.name("chatcmpl-"), "object": "chat.completion.chunk", "created": 0, "model": request.model}
    for delta in _deltas(reply):
        yield Event("", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    reason = "tool_calls" if reply.turn.calls else "stop"
    yield Event("", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    yield Event("", {**base, "choices": [], "usage": _USAGE})
    yield Event("", "[DONE]")


def _deltas(reply: Reply) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    for piece in pieces(reply.turn.text):
        yield {"content": piece}
    for index, call in enumerate(reply.turn.calls):
        begun = {"index": index, "id": reply.name("call_", index), "type": "function"}
        yield {"tool_calls": [{**begun, "function": {"name": call.tool, "arguments": ""}}]}
        for piece in pieces(json.dumps(call.input)):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


CHAT = Dialect(re.compile(r"/v1/chat/completions"), _read, _answer)

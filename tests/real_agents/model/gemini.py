"""Gemini's dialect: `POST /v1beta/models/NAME:streamGenerateContent`. Gemini CLI speaks it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .request import Dialect, Event, Json, Message, Request, text_of
from .script import Reply

_USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}


def _read(body: Json, path: re.Match[str]) -> Request:
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())]
    return Request(path["model"], tuple(map(_message, body["contents"])), frozenset(one["name"] for one in declared))


def _message(item: Json) -> Message:
    text = text_of(item["parts"])
    if item["role"] == "model":
        return Message("assistant", text)
    return Message("tool" if any("functionResponse" in part for part in item["parts"]) else "user", text)


def _answer(request: Request, reply: Reply) -> Iterator[Event]:
    parts: list[Json] = [{"text": reply.turn.text}]
    for number, call in enumerate(reply.turn.calls):
        called = {"id": reply.name("call_", number), "name": call.tool, "args": call.input}
        parts.append({"functionCall": called, "thoughtSignature": "c2NyaXB0ZWQ="})
    for part in parts:
        candidate: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
        ended = {"finishReason": "STOP"} if part is parts[-1] else {}
        yield Event(
            "", {"candidates": [{**candidate, **ended}], "usageMetadata": _USAGE, "modelVersion": request.model}
        )


GEMINI = Dialect(re.compile(r"/v1beta/models/(?P<model>[^/:]+):streamGenerateContent"), _read, _answer)

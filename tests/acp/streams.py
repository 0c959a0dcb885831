"""Conversations that were captured from real agents, and lines of our own in their form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import attrs

PAYLOADS = Path(__file__).parent / "payloads"
NAMES = sorted(path.stem for path in PAYLOADS.glob("*.jsonl"))

Side = Literal["client", "agent"]


@attrs.frozen
class Line:
    """One line of a conversation.

    Attributes:
        side: who says it.
        data: its bytes, with the line end.
    """

    side: Side
    data: bytes

    @property
    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.data)
        return found


def captured(name: str, project: str) -> list[Line]:
    """A captured conversation, as it went over the pipes, in a project of the test's."""
    lines = []
    for row in (PAYLOADS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        message = json.loads(row.replace("${PROJECT}", project))
        side = message.pop("from")
        del message["at"]
        lines.append(Line(side, line(message)))
    return lines


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def said(side: Side, **fields: Any) -> Line:
    return Line(side, line({"jsonrpc": "2.0", **fields}))


def request(request_id: Any, method: str, **params: Any) -> Line:
    return said("client", id=request_id, method=method, params=params)


def result(request_id: Any, **fields: Any) -> Line:
    return said("agent", id=request_id, result=fields)


def update(session: str, what: str, /, **fields: Any) -> Line:
    params = {"sessionId": session, "update": {"sessionUpdate": what, **fields}}
    return said("agent", method="session/update", params=params)


def prompt(request_id: Any, session: str, text: str = "go on", /, **fields: Any) -> Line:
    return request(request_id, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}], **fields)


def opening(session: str, cwd: str, version: int = 1, start: int = 1) -> list[Line]:
    return [
        request(start, "initialize", protocolVersion=version),
        result(start, protocolVersion=version, agentInfo={"name": "some-claude-acp"}),
        request(start + 1, "session/new", cwd=cwd, mcpServers=[]),
        result(start + 1, sessionId=session),
    ]

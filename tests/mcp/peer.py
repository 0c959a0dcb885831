"""A small MCP client, so that the server is not its own judge: lines of JSON, in any of the three revisions."""

from __future__ import annotations

import json
import os
import select
from itertools import count
from typing import TYPE_CHECKING, Any

from tests.cli.reference.schema import problems

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 60.0
OLD, MIDDLE, NEW = "2025-06-18", "2025-11-25", "2026-07-28"
VERSIONS = (OLD, MIDDLE, NEW)
INFO = {"name": "test", "version": "1"}


class Peer:
    """The client's side of a connection.

    Args:
        read_fd: what the server says.
        write_fd: what it is told.
        version: the revision to speak.
        ask: plays the person: gives the result of an `elicitation/create` for its params; None for a client that
            shows no forms.
    """

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        version: str = MIDDLE,
        ask: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self.version = version
        self.told: list[dict[str, Any]] = []
        """The notifications that came."""
        self.asked: list[dict[str, Any]] = []
        """The params of the questions that came."""
        self.schemas: dict[str, Any] = {}
        self.read_fd = read_fd
        self.write_fd = write_fd
        self._ask = ask
        self._ids = count(1)
        self.buffer = b""

    # -- lines

    def send(self, message: Any) -> None:
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        data = memoryview(line + b"\n")
        while data:
            assert _is_ready(self.write_fd, select.POLLOUT), "the server does not read"
            data = data[os.write(self.write_fd, data[: 1 << 16]) :]

    def read(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while b"\n" not in self.buffer:
            assert _is_ready(self.read_fd, select.POLLIN), "the server says nothing"
            chunk = os.read(self.read_fd, 1 << 16)
            if not chunk:
                assert not self.buffer, self.buffer
                return None
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def hang_up(self) -> None:
        os.close(self.write_fd)
        self.write_fd = -1

    def close(self) -> None:
        for descriptor in {self.read_fd, self.write_fd} - {-1}:
            os.close(descriptor)
        self.read_fd = self.write_fd = -1

    # -- requests

    def connect(self) -> dict[str, Any]:
        """Shakes hands, or finds out what the server is; gives its answer."""
        if self.version == NEW:
            found: dict[str, Any] = self.result("server/discover")
            assert NEW in found["supportedVersions"]
            return found
        params = {"protocolVersion": self.version, "capabilities": self._capabilities(), "clientInfo": INFO}
        result: dict[str, Any] = self.result("initialize", params)
        assert result["protocolVersion"] == self.version
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def ask(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Sends a request; gives its id."""
        identity = next(self._ids)
        given = {**(params or {})}
        if self.version == NEW:
            given["_meta"] = {**self._meta(), **given.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": given})
        return identity

    def answer(self, identity: int | str | None) -> dict[str, Any]:
        """Reads on to the answer of a request; answers questions meanwhile."""
        while True:
            message = self.read()
            assert message is not None, "the server has ended instead of an answer"
            if "method" not in message:
                assert message["id"] == identity, message
                assert ("result" in message) != ("error" in message)
                return message
            self._hear(message)

    def error(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The error that answers a request."""
        answer = self.answer(self.ask(method, params))
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def result(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a request."""
        return self.checked(self.answer(self.ask(method, params)))

    def checked(self, answer: dict[str, Any]) -> Any:
        assert "result" in answer, answer
        if self.version == NEW:
            assert answer["result"]["resultType"] in ("complete", "input_required")
        else:
            assert "resultType" not in answer["result"]
        return answer["result"]

    # -- tools

    def begin(self, tool: str, **arguments: Any) -> int:
        """Begins a call; gives its id."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call, which is checked against the schema; asks the person where the server wants that."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        result = self.result("tools/call", params)
        while result.get("resultType") == "input_required":
            assert self._ask is not None, "a client without forms was asked"
            answers = {}
            for name, question in result["inputRequests"].items():
                assert question["method"] == "elicitation/create"
                answers[name] = self._answer_of(question["params"])
            again = {"inputResponses": answers, "requestState": result["requestState"]}
            result = self.result("tools/call", {**params, **again})
        self.check(tool, result)
        return dict(result)

    def done(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of a call that succeeds."""
        result = self.call(tool, **arguments)
        assert result["isError"] is False, result
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def failed(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that fails."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True, result
        error: dict[str, Any] = result["structuredContent"]["error"]
        assert result["content"][0]["text"] == f"{error['kind']}: {error['message']}\nhint: {error['hint']}"
        return error

    def check(self, tool: str, result: dict[str, Any]) -> None:
        """Checks a result against the tool's own schema."""
        if not self.schemas:
            self.schemas = {each["name"]: each["outputSchema"] for each in self.result("tools/list")["tools"]}
        (content,) = result["content"]
        assert content["type"] == "text"
        assert content["text"]
        schema = dict(self.schemas[tool])
        whole, failure = schema.pop("anyOf")
        structured = result["structuredContent"]
        schema |= failure if "error" in structured else whole
        assert problems(structured, schema, schema) == []

    def _hear(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            self.told.append(message)
            return
        assert message["method"] == "elicitation/create"
        assert self.version != NEW, "since 2026-07-28 the server sends no requests"
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": self._answer_of(message["params"])})

    def _answer_of(self, params: dict[str, Any]) -> dict[str, Any]:
        assert self._ask is not None, "a client without forms was asked"
        self.asked.append(params)
        return self._ask(params)

    def _meta(self) -> dict[str, Any]:
        prefix = "io.modelcontextprotocol"
        return {
            f"{prefix}/protocolVersion": NEW,
            f"{prefix}/clientInfo": INFO,
            f"{prefix}/clientCapabilities": self._capabilities(),
        }

    def _capabilities(self) -> dict[str, Any]:
        if self._ask is None:
            return {}
        return {"elicitation": {} if self.version == OLD else {"form": {}, "url": {}}}


def _is_ready(descriptor: int, what: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, what)
    return bool(poll.poll(PATIENCE * 1000))

"""A client that counts: each request gets one answer, each notification comes once and in order."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any

import attrs
from snapd_client import to_uri

from .figures import Figures
from .problems import Broken, Diary

PATIENCE = 120.0
"""Seconds after which an answer is taken for lost."""


class Gone(Exception):
    """The daemon is not there any more."""


class Refused(Exception):
    """An error was answered."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        super().__init__(f"{method}: {error}")
        self.error = error
        self.kind: str = error.get("data", {}).get("kind", str(error["code"]))


@attrs.define(eq=False)
class Tape:
    """What the daemon told, by workspace and number: the same to all who listen; what a run counts, and its diary."""

    figures: Figures = attrs.field(factory=Figures)
    diary: Diary = attrs.field(factory=Diary)
    _told: dict[str, dict[int, str]] = attrs.field(factory=dict)
    _floor: dict[str, int] = attrs.field(factory=dict)

    def hear(self, heard: dict[str, int], who: str, method: str, params: dict[str, Any]) -> None:
        uri, number = params["workspaceUri"], params["seq"]
        self.figures.notifications += 1
        if uri in heard and number != heard[uri] + 1:
            self.diary.problem(f"{who} was told {number} after {heard[uri]} of {uri}")
        heard[uri] = number
        if number <= self._floor.get(uri, 0):
            self.diary.problem(f"{number} was told of {uri} in an earlier life of the daemon")
        self.compare(uri, number, method, params)

    def compare(self, uri: str, number: int, method: str, params: dict[str, Any]) -> None:
        text = method + json.dumps(params, sort_keys=True)
        known = self._told.setdefault(uri, {}).setdefault(number, text)
        if known != text:
            self.diary.problem(f"{number} of {uri} is {known} to one and {text} to another")

    def first(self, uri: str) -> int:
        """The first number that was told of a workspace in this life of the daemon."""
        return min(self._told[uri])

    def new_life(self) -> None:
        """The daemon was killed."""
        for uri, told in self._told.items():
            self._floor[uri] = max([self._floor.get(uri, 0), *told])
        self._told.clear()


class Client:
    """One connection."""

    def __init__(self, name: str, tape: Tape) -> None:
        self.name = name
        self._tape = tape
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._heard: dict[str, int] = {}
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._task: asyncio.Task[None]
        self.is_open = False
        self.has_hung_up = False
        """Whether it was us who ended the connection."""

    async def open(self, socket: str, folders: Sequence[str], settings: dict[str, Any] | None = None) -> Client:
        self._reader, self._writer = await asyncio.open_unix_connection(socket, limit=1 << 26)
        self.is_open = True
        self._task = asyncio.create_task(self._read())
        options = {} if settings is None else {"initializationOptions": settings}
        await self.ask("initialize", initialize_params(folders) | options)
        self.tell("initialized", {})
        return self

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    async def ask(self, method: str, params: Any) -> Any:
        """The result of a request.

        Raises:
            Refused: an error was answered.
            Gone: the connection ended before the answer.
        """
        if not self.is_open:
            raise Gone
        self._number += 1
        number = self._number
        self._tape.figures.requests += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        self._tape.diary.note(f"{self.name} -> {number} {method} {json.dumps(params)[:200]}")
        self._send({"id": number, "method": method, "params": params})
        try:
            message = await asyncio.wait_for(answer, PATIENCE)
        except TimeoutError:
            raise Broken(f"no answer to {method} of {self.name} in {PATIENCE} s") from None
        if "error" in message:
            self._tape.diary.note(f"{self.name} <- {number} {message['error']}")
            raise Refused(method, message["error"])
        self._tape.diary.note(f"{self.name} <- {number} {json.dumps(message['result'])[:200]}")
        return message["result"]

    def close(self) -> None:
        """Hangs up without a word."""
        self.has_hung_up = True
        self.is_open = False
        self._task.cancel()
        self._writer.transport.abort()
        self._lose()

    async def hang_up(self) -> None:
        """Hangs up, and waits until the daemon has let go of the connection, with all that follows from it."""
        self.has_hung_up = True
        self._writer.write_eof()
        await asyncio.wait_for(self._task, PATIENCE)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _read(self) -> None:
        try:
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                message = json.loads(await self._reader.readexactly(int(head.split(b":")[1])))
                self._take(message)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.is_open = False
            self._writer.transport.abort()
            self._lose()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            params = message.get("params") or {}
            if "seq" in params:
                self._tape.hear(self._heard, self.name, message["method"], params)
            return
        answer = self._pending.pop(message["id"], None)
        if answer is None:
            self._tape.diary.problem(f"an answer to no request, or a second one: {message}")
        elif ("result" in message) == ("error" in message):
            self._tape.diary.problem(f"no answer: {message}")
        elif not answer.done():
            answer.set_result(message)

    def _lose(self) -> None:
        pending, self._pending = self._pending, {}
        for answer in pending.values():
            if not answer.done():
                answer.set_exception(Gone())


def initialize_params(folders: Sequence[str]) -> dict[str, Any]:
    return {
        "processId": None,
        "capabilities": {},
        "rootUri": None,
        "workspaceFolders": [{"uri": to_uri(folder), "name": "w"} for folder in folders],
    }

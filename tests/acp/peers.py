"""`snapd acp` as a process, with a test at both of its ends."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.acp.streams import Line
from tests.cli.running import Home

WAIT = 60.0
FAKE = str(Path(__file__).with_name("fake_agent.py"))


class Stream:
    """What one side hears, line by line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = bytearray()

    def line(self) -> bytes:
        """The next line; what is left at the end."""
        while (at := self._kept.find(b"\n")) < 0:
            if not self._more():
                return self._cut(len(self._kept))
        return self._cut(at + 1)

    def take(self, size: int) -> bytes:
        """So many bytes."""
        while len(self._kept) < size:
            assert self._more(), self._kept
        return self._cut(size)

    def rest(self) -> bytes:
        """Everything until the end."""
        while self._more():
            pass
        return self._cut(len(self._kept))

    def _cut(self, size: int) -> bytes:
        found = bytes(self._kept[:size])
        del self._kept[:size]
        return found

    def _more(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        assert poll.poll(WAIT * 1000), f"nothing came after {bytes(self._kept[-200:])!r}"
        try:
            data = os.read(self._descriptor, 1 << 16)
        except ConnectionResetError:
            return False
        self._kept += data
        return bool(data)


class Proxied:
    """An editor, the proxy, and an agent; the test speaks for the first and the last.

    Args:
        home: whose proxy it is.
        cwd: where it runs.
        code: the exit code of the agent.
        agent: another agent's command; then nobody speaks for it here.
        env: what the proxy's environment has besides.
        options: of the proxy.
    """

    def __init__(
        self,
        home: Home,
        cwd: str,
        *options: str,
        code: int = 0,
        agent: list[str] | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        path = home.at("agent.sock")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            listening.settimeout(WAIT)
            words = agent or [sys.executable, "-S", "-E", FAKE, path, str(code)]
            pipe = subprocess.PIPE
            self.process = home.popen(
                cwd, "acp", *options, "--", *words, stdin=pipe, stdout=pipe, stderr=pipe, env=env or {}
            )
            self.agent = None if agent else listening.accept()[0]
            os.unlink(path)
        if self.agent is not None:
            self.at_agent = Stream(self.agent.fileno())
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to_proxy = self.process.stdin
        self.at_editor = Stream(self.process.stdout.fileno())

    @property
    def agent_pid(self) -> int:
        assert self.agent is not None
        option = self.agent.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid: int = struct.unpack("3i", option)[0]
        return pid

    def editor_says(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._to_proxy.fileno(), left) :]

    def agent_says(self, data: bytes) -> None:
        assert self.agent is not None
        self.agent.sendall(data)

    def say(self, line: Line) -> bytes:
        """Says a line, and gives what arrives at the other side."""
        if line.side == "client":
            self.editor_says(line.data)
            return self.at_agent.line()
        self.agent_says(line.data)
        return self.at_editor.line()

    def command(self, line: Line) -> tuple[str, Any]:
        """Says a prompt that the proxy answers, and agrees to what it asks; gives the text, and the answer."""
        self.editor_says(line.data)
        told = ""
        while "result" not in (message := json.loads(self.at_editor.line())):
            if message["method"] == "session/request_permission":
                agreed = {"outcome": {"outcome": "selected", "optionId": "allow"}}
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": agreed}
                self.editor_says(json.dumps(answer).encode() + b"\n")
            elif message["params"]["update"]["sessionUpdate"] == "agent_message_chunk":
                told = message["params"]["update"]["content"]["text"]
        return told, message

    def hang_up(self) -> None:
        """Ends the agent, with its exit code."""
        assert self.agent is not None
        self.agent.close()

    def leave(self) -> None:
        """The editor closes the stream to the proxy."""
        self._to_proxy.close()

    def end(self) -> tuple[int, bytes]:
        """Waits for the proxy's end; gives its exit code and what it said on standard error."""
        code = self.process.wait(WAIT)
        assert self.process.stderr is not None
        told = self.process.stderr.read()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr, self.agent):
            if stream is not None:
                stream.close()
        assert b"Traceback" not in told, told.decode()
        return code, told


def until(wanted: Any) -> None:
    """Waits until something holds."""
    deadline = time.monotonic() + WAIT
    while not wanted():
        assert time.monotonic() < deadline
        time.sleep(0.01)

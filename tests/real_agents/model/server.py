"""The server of a scripted model: on a port of its own on loopback, in a thread of this process."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs

from .anthropic import ANTHROPIC
from .chat import CHAT
from .gemini import GEMINI
from .request import Event, Json
from .responses import RESPONSES
from .script import Conversation, Reply, reply

DIALECTS = (ANTHROPIC, CHAT, RESPONSES, GEMINI)
_PATIENCE = 30.0
"""How long a turn waits for a file, seconds."""


@attrs.frozen
class Asked:
    """A request that came.

    Attributes:
        path: what was asked.
        body: all of it; None where the server has no answer.
        said: what answered it; None where nothing did.
    """

    path: str
    body: Json
    said: Reply | None


class Model(ThreadingHTTPServer):
    """Answers from a script.

    Attributes:
        script: may be another one for the next run.
        asked: what came, in order.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: tuple[Conversation, ...] = ()
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        # an agent that is done does not wait for the end of an answer
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def running() -> Iterator[Model]:
    """A model that answers until the end of the block."""
    model = Model()
    thread = threading.Thread(target=model.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield model
    finally:
        model.shutdown()
        thread.join()
        model.server_close()


def _wait_for(files: tuple[Path, ...]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not all(file.exists() for file in files):
        # then the agent goes on all the same, and what it leaves is found to be wrong
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Says nothing: `asked` has it all."""

    def do_HEAD(self) -> None:
        self._refuse()

    def do_GET(self) -> None:
        self._refuse()

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        for dialect in DIALECTS:
            if found := dialect.path.fullmatch(path):
                body = json.loads(sent)
                request = dialect.read(body, found)
                said = reply(self.server.script, request)
                self.server.asked.append(Asked(self.path, body, said))
                for file in said.turn.lets:
                    file.touch()
                _wait_for(said.turn.after)
                self._stream(dialect.answer(request, said))
                return
        self._refuse()

    def _refuse(self) -> None:
        self.server.asked.append(Asked(self.path, None, None))
        self.send_error(404)

    def _stream(self, events: Iterable[Event]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            data = event.data if isinstance(event.data, str) else json.dumps(event.data)
            text = f"event: {event.name}\ndata: {data}\n\n" if event.name else f"data: {data}\n\n"
            chunk = text.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")

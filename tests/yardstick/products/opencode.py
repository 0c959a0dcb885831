"""OpenCode and its `/undo`, and Kilo, which is made from it: by the HTTP API that their interfaces use."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, ClassVar

from tests.real_agents.agents.agent import Agent
from tests.real_agents.agents.opencode import OpenCode
from tests.yardstick.place import LIMIT, end_group
from tests.yardstick.scenario import Redo, Turn, Undo

from .agent import AgentProduct
from .product import Gate, NotOffered, Refused, wait_until

_URL = re.compile(r"http://127\.0\.0\.1:\d+")
_PAGE = "https://opencode.ai/docs/snapshots/"
_KILO = "https://kilo.ai/docs/code-with-ai/features/checkpoints"


class OpenCodeServer(AgentProduct):
    """A server in the place, and a session in it for each of the scenario's."""

    name = "opencode"
    title = "OpenCode"
    undo_with = "`/undo`: `POST /session/ID/revert` with the message; `/redo`: `unrevert`"
    agent: ClassVar[Agent] = OpenCode()
    stores = ("home/.local/share/opencode/snapshot",)
    excluded: ClassVar[dict[str, str]] = {"no-git": _PAGE, "ignored": _PAGE, "large": _PAGE}

    def open(self) -> None:
        super().open()
        self._sessions: dict[str, str] = {}
        self._starts = 0
        self._start()

    def _start(self) -> None:
        self._starts += 1
        self._log = self.place.above / "run" / f"server-{self._starts}"
        with self._log.open("wb") as log:
            self._server = subprocess.Popen(
                [self.agent.name, "serve", "--port", "0", "--hostname", "127.0.0.1"],
                cwd=self.place.start,
                env=self.place.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                text=True,
            )
        wait_until(lambda: _URL.search(self._log.read_text()), "its start")
        found = _URL.search(self._log.read_text())
        self._url = found[0] if found else ""

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Connection": "close"}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                said = answer.read()
        except urllib.error.HTTPError as error:
            raise Refused(error.read().decode(errors="replace")) from None
        except TimeoutError:
            raise subprocess.TimeoutExpired([method, path], LIMIT) from None
        return json.loads(said) if said else None

    def turn(self, turn: Turn, gate: Gate) -> None:
        self.prepare(turn, gate)
        if turn.session not in self._sessions:
            self._sessions[turn.session] = self._ask("POST", "/session", {"title": turn.session})["id"]
        part = {"type": "text", "text": turn.prompt}
        try:
            self._ask("POST", f"/session/{self._sessions[turn.session]}/message", {"parts": [part]})
        except (OSError, http.client.HTTPException):
            if not turn.killed:
                raise
            self._start()

    def kill(self) -> None:
        end_group(self._server)

    def restart(self) -> None:
        self._server.terminate()
        self._server.wait(LIMIT)
        self._start()

    def undo(self, undo: Undo) -> None:
        if undo.way == "only":
            raise NotOffered("one turn alone: `/undo` goes back to before a message")
        session = self._sessions[undo.session]
        prompt = self.chosen(undo)[0].prompt
        asked = [each for each in self._ask("GET", f"/session/{session}/message") if each["info"]["role"] == "user"]
        found = next(each for each in asked if any(part.get("text") == prompt for part in each["parts"]))
        self._ask("POST", f"/session/{session}/revert", {"messageID": found["info"]["id"]})

    def redo(self, redo: Redo) -> None:
        self._ask("POST", f"/session/{self._sessions[redo.session]}/unrevert")

    def close(self) -> None:
        end_group(self._server)
        super().close()


class _KiloAgent(OpenCode):
    name = "kilo"
    program = "node_modules/@kilocode/cli-linux-x64/bin/kilo"
    most_mib = 300

    def settings(self, home: Path, url: str) -> dict[str, str]:
        ((_, text),) = super().settings(home, url).items()
        return {".config/kilo/kilo.json": text, ".config/kilo/opencode.json": text}

    def environment(self, home: Path, url: str) -> dict[str, str]:
        made = super().environment(home, url)
        return {**made, **{name.replace("OPENCODE", "KILO"): value for name, value in made.items()}}


class Kilo(OpenCodeServer):
    """Kilo's command line, which has OpenCode's server."""

    name = "kilo"
    title = "Kilo"
    agent = _KiloAgent()
    stores = ("home/.local/share/kilo/snapshot",)
    excluded: ClassVar[dict[str, str]] = {"no-git": _KILO, "ignored": _KILO, "person": _KILO}

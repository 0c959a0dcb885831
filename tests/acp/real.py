"""The real thing below a conversation: a workspace that this process has open, and a folder on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snapd.acp.messages import request_key
from snapd.backend import Backend, open_local
from snapd.locations import Locations
from tests.acp.ledger import Talk
from tests.acp.streams import Line, opening, prompt, request, result, said, update
from tests.support.git import run_git

Decision = Callable[["Work"], dict[str, Any]]
"""What an editor answers to a question, with what happens in the folder before."""


def allow(_: Work) -> dict[str, Any]:
    return {"result": {"outcome": {"outcome": "selected", "optionId": "allow"}}}


class OwnDaemon:
    """In place of `snapd.acp.recording.Daemon`: opens folders in this process."""

    def __init__(self, base: Path) -> None:
        self._locations = Locations(
            str(base / "config.toml"), str(base / "data"), str(base / "run"), str(base / "home")
        )

    def folder_of(self, directory: str) -> str:
        return directory

    def open(self, folder: str) -> Backend:
        return open_local(self._locations, None, folder, {})


class Work:
    """A session in which an agent really writes."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "project"
        self.folder.mkdir()
        self.daemon = OwnDaemon(base)
        self.talk = Talk(self.daemon)
        self.backend = self.daemon.open(str(self.folder))
        self._ids = iter(range(100, 10_000))
        self._calls = iter(range(10_000))
        self.questions: list[dict[str, Any]] = []
        """What the last command asked."""
        self.ended: dict[str, Any] = {}
        """The answer to the last command."""
        self.say(*opening("S", str(self.folder)))
        self.talk.inserted.clear()

    def reconnect(self) -> None:
        """Another connection of the editor's, which loads the session."""
        self.talk.close()
        self.talk = Talk(self.daemon)
        self.say(request(1, "session/load", sessionId="S", cwd=str(self.folder)), result(1))
        self.talk.inserted.clear()

    def close(self) -> None:
        self.talk.close()
        self.backend.close()

    def say(self, *lines: Line) -> None:
        self.talk.say_all(*lines)

    def ask(self, method: str, **params: Any) -> Any:
        return self.backend.request(method, params)

    def write(self, name: str, text: str | None) -> None:
        path = self.folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)

    def files(self) -> dict[str, str]:
        return {
            os.path.relpath(path, self.folder): path.read_text() for path in self.folder.rglob("*") if path.is_file()
        }

    def turn(self, typed: str, *edits: dict[str, str | None], kind: str = "edit") -> None:
        """A prompt, and a call for each of some edits."""
        number = next(self._ids)
        self.say(prompt(number, "S", typed))
        for edit in edits:
            name = f"t{next(self._calls)}"
            self.say(
                update("S", "tool_call", toolCallId=name, kind=kind, status="pending", title=f"Edit {'*'.join(edit)}")
            )
            for file, text in edit.items():
                self.write(file, text)
            places = [{"path": str(self.folder / file)} for file in edit]
            self.say(update("S", "tool_call_update", toolCallId=name, status="completed", locations=places))
        self.say(result(number, stopReason="end_turn"))

    def runs_git(self, typed: str, *commands: str) -> None:
        """A prompt, and one call that runs commands of git."""
        number = next(self._ids)
        call = f"git{number}"
        self.say(prompt(number, "S", typed))
        self.say(update("S", "tool_call", toolCallId=call, kind="execute", status="pending", title="Git"))
        for command in commands:
            run_git(self.folder, *command.split())
        self.say(update("S", "tool_call_update", toolCallId=call, status="completed"))
        self.say(result(number, stopReason="end_turn"))

    def command(self, typed: str, *decisions: Decision) -> str:
        """What the proxy answers.

        Args:
            typed: the command.
            decisions: on each question, in turn; those that are not given agree.
        """
        number = next(self._ids)
        line = prompt(number, "S", typed)
        assert self.talk.say(line) is None
        self.questions.clear()
        left = iter(decisions)
        while True:
            told = [json.loads(each) for each in b"".join(self.talk.inserted).splitlines()]
            self.talk.inserted.clear()
            if told[-1].get("method") != "session/request_permission":
                break
            self.questions.append(told[-1]["params"])
            decision = next(left, allow)
            assert self.talk.say(said("client", id=told[-1]["id"], **decision(self))) is None
        self.ended, *chunks = told[::-1]
        assert request_key(self.ended) == request_key(line.message)
        update_ = chunks[0]["params"]["update"]
        assert update_["sessionUpdate"] == "agent_message_chunk"
        text: str = update_["content"]["text"]
        return text

    def steps(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("session/steps", sessionId="S")["steps"]
        return found

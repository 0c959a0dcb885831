"""Cline's command line, and its `/undo`."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.real_agents.agents.agent import Agent, Start
from tests.real_agents.model.script import Call
from tests.real_agents.scenarios.actions import Action, Edit, Read, Shell, Write
from tests.yardstick.scenario import Turn, Undo

from .agent import AgentProduct
from .product import Gate, Hung, NotOffered, Refused, wait_until
from .terminal import Terminal

_MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
"""Before what is chosen, what is typed, and a prompt."""
_READY = "Auto-approve all enabled"
_BUSY = "(esc to cancel)"
_UNDO = "Restore to a previous checkpoint"
_LIST = "Restore to Checkpoint"
_NONE = "No checkpoint"
_ALL = f"{_MARK} Restore chat and workspace"
_DONE = "Restored to checkpoint"
_FAILED = "Checkpoint restore failed"
_FRAMED = re.compile(rf"│ ((?:{_NONE}|{_FAILED}).*?) *│")


class _ClineAgent(Agent):
    name = "cline"
    program = "node_modules/@cline/cli-linux-x64/bin/cline"
    most_mib = 200
    tools: ClassVar[Mapping[type[Action], str]] = {Write: "editor", Edit: "editor", Shell: "run_commands"}

    def settings(self, home: Path, url: str) -> dict[str, str]:
        name = "openai-compatible"
        settings = {"provider": name, "apiKey": "dummy", "model": "scripted", "baseUrl": f"{url}/v1"}
        provider = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        providers = {"version": 1, "lastUsedProvider": name, "modes": {}, "providers": {name: provider}}
        # it advertises these once, and takes the first key for an answer
        notices = {"shown": {"cline-cli-cline-pass-intro": True, "cline-cli-desktop-launch": True}}
        files = {"providers": providers, "cli-notices": notices}
        return {f".cline/data/settings/{file}.json": json.dumps(known) for file, known in files.items()}

    def with_tools(self, settings: dict[str, str], snapd: str) -> dict[str, str]:
        raise NotImplementedError("no scenario gives Cline the tools of snapd")

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {"CLINE_NO_AUTO_UPDATE": "1"}

    def arguments(self, start: Start) -> list[str]:
        raise NotImplementedError("its undo is only in its terminal interface")

    def call(self, action: Action, project: Path) -> Call:
        if isinstance(action, Shell):
            return Call("run_commands", {"commands": [action.command]})
        if isinstance(action, Read):
            return Call("read_files", {"files": [{"path": str(project / action.file)}]})
        if isinstance(action, Edit):
            changed = {"old_text": action.old, "new_text": action.new}
            return Call("editor", {"path": str(project / action.file), **changed})
        assert isinstance(action, Write), action
        return Call("editor", {"path": str(project / action.file), "new_text": action.text})


class ClineCli(AgentProduct):
    """In its full-screen interface, one terminal for each session; what it keeps is in the project's own git."""

    name = "cline"
    title = "Cline"
    undo_with = "`/undo`, “Restore chat and workspace”"
    stores = ("project/.git/objects",)
    agent = _ClineAgent()

    def open(self) -> None:
        super().open()
        self._terminals: dict[str, Terminal] = {}

    def _terminal(self, session: str, *, again: bool = False) -> Terminal:
        if session not in self._terminals:
            saved = max((path.name for path in self.place.home.glob(".cline/data/sessions/*")), default="")
            # with a folder for its data, it has no server for all sessions, which would outlive it
            data = str(self.place.home / ".cline" / "data")
            command = ["cline", "--tui", "--data-dir", data, *(["--id", saved] if again else [])]
            self._terminals[session] = Terminal(self.place, session, command)
            self._terminals[session].wait_for(_READY)
        return self._terminals[session]

    def turn(self, turn: Turn, gate: Gate) -> None:
        self.prepare(turn, gate)
        terminal = self._terminal(turn.session)
        asked = len(self.model.asked)
        self._type(terminal, turn.prompt, "")
        # right after a text, Enter counts as a part of it
        for _ in range(20):
            terminal.press("Enter")
            with contextlib.suppress(Hung):
                wait_until(lambda: len(self.model.asked) > asked, "", 3.0)
                break
        wait_until(lambda: self._is_over(terminal, turn), f"turn {turn.number}\n{terminal.screen()}")
        if not terminal.is_open():
            del self._terminals[turn.session]
            self._terminal(turn.session, again=True)

    def _is_over(self, terminal: Terminal, turn: Turn) -> bool:
        screen = terminal.screen()
        return (turn.answer in screen and _BUSY not in screen) or not terminal.is_open()

    def _type(self, terminal: Terminal, text: str, seen: str) -> None:
        """Types a text where there may be another: it hears no keys for a while when it starts, or closes a dialog."""
        for _ in range(20):
            terminal.press("C-u")
            with contextlib.suppress(Hung):
                terminal.type(text, 2.0)
                wait_until(lambda: f"{_MARK} {text}\n" in terminal.screen() and seen in terminal.screen(), "", 2.0)
                return
        raise Hung(f"{text}\n{terminal.screen()}")

    def kill(self) -> None:
        (terminal,) = self._terminals.values()
        terminal.kill()

    def restart(self) -> None:
        ((session, terminal),) = self._terminals.items()
        self._type(terminal, "/quit", "Exit Cline")
        terminal.press("Enter")
        wait_until(lambda: not terminal.is_open(), "its end")
        del self._terminals[session]
        self._terminal(session, again=True)

    def undo(self, undo: Undo) -> None:
        if undo.way == "only":
            raise NotOffered("one turn alone: `/undo` goes back to before a prompt")
        prompt = self.chosen(undo)[0].prompt
        terminal = self._terminal(undo.session)
        # what it said of the undo before goes away by itself
        wait_until(lambda: _DONE not in terminal.screen(), _DONE)
        self._type(terminal, "/undo", _UNDO)
        terminal.press("Enter")
        if terminal.wait_for(_LIST, _NONE, _FAILED) != _LIST:
            raise Refused(_words(terminal.screen()))
        if prompt not in terminal.screen().partition(_LIST)[2]:
            terminal.press_until("Escape", _LIST, gone=True)
            raise Refused("the list of checkpoints has none of this turn")
        terminal.press_until("Up", f" {_MARK} {prompt}")
        terminal.press_until("Enter", f'Restore to: "{prompt}')
        terminal.press_until("Down", _ALL)
        terminal.press_until("Enter", _ALL, gone=True)
        if terminal.wait_for(_DONE, _FAILED) == _FAILED:
            raise Refused(_words(terminal.screen()))

    def close(self) -> None:
        for terminal in self._terminals.values():
            terminal.close()
        super().close()


def _words(screen: str) -> str:
    """What it says of an undo that it has not done: in a frame over the conversation, or as the last of it."""
    if framed := _FRAMED.search(screen):
        return framed[1]
    _, mark, after = screen.rpartition(_FAILED)
    return " ".join((mark + after.partition("\n\n")[0].partition("\n\N{BOX DRAWINGS LIGHT HORIZONTAL}")[0]).split())

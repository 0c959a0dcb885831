"""Claude Code, and its `/rewind`."""

from __future__ import annotations

import contextlib
import json
from typing import ClassVar

from tests.real_agents.agents.claude import Claude
from tests.yardstick.scenario import Turn, Undo

from .agent import AgentProduct
from .product import Gate, NotOffered, Refused, wait_until
from .terminal import Terminal

_PAGE = "https://code.claude.com/docs/en/checkpointing"
_MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
"""Before what is chosen, and before a prompt."""
_MENU = "Restore the code and/or conversation"
_READY = "bypass permissions on"
_CHOICES = "Restore to the point before you sent"
_WARNING = "\N{WARNING SIGN}"


class ClaudeCode(AgentProduct):
    """In its full-screen interface, one terminal for each session."""

    name = "claude"
    title = "Claude Code"
    undo_with = "`/rewind`, “Restore code and conversation”"
    agent = Claude()
    own = (".claude",)
    stores = ("home/.claude/file-history",)
    excluded: ClassVar[dict[str, str]] = {"shell": _PAGE, "person": _PAGE, "sessions": _PAGE}

    def open(self) -> None:
        super().open()
        self._terminals: dict[str, Terminal] = {}
        self.place.environment["IS_SANDBOX"] = "1"

    def settings(self) -> dict[str, str]:
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "autoUpdates": False,
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": {str(folder): trusted for folder in (self.place.project, self.place.start)},
        }
        return {".claude.json": json.dumps(known)}

    def _terminal(self, session: str, *more: str) -> Terminal:
        if session not in self._terminals:
            command = ["claude", "--permission-mode", "bypassPermissions", *more]
            made = self._terminals[session] = Terminal(self.place, session, command)
            # it asks whether it really may do all, the first time
            if made.wait_for(f"{_MARK} No, exit", _READY) != _READY:
                made.press_until("Down", f"{_MARK} Yes")
                made.press_until("Enter", "Yes, I accept", gone=True)
                made.wait_for(_READY)
        return self._terminals[session]

    def turn(self, turn: Turn, gate: Gate) -> None:
        self.prepare(turn, gate)
        terminal = self._terminal(turn.session)
        terminal.press("C-u")
        terminal.type(turn.prompt)
        terminal.press_until("Enter", f"{_MARK} {turn.prompt}\n\n")
        wait_until(lambda: turn.answer in terminal.screen() or not terminal.is_open(), f"turn {turn.number}")
        if not terminal.is_open():
            del self._terminals[turn.session]
            self._terminal(turn.session, "--continue")

    def kill(self) -> None:
        (terminal,) = self._terminals.values()
        terminal.kill()

    def restart(self) -> None:
        ((session, terminal),) = self._terminals.items()
        terminal.press("C-u")
        terminal.type("/exit")
        terminal.press("Enter")
        wait_until(lambda: not terminal.is_open(), "its end")
        del self._terminals[session]
        self._terminal(session, "--continue")

    def undo(self, undo: Undo) -> None:
        if undo.way == "only":
            raise NotOffered("one turn alone: `/rewind` goes back to before a prompt")
        turn = self.chosen(undo)[0]
        terminal = self._terminal(undo.session)
        terminal.press("C-u")
        terminal.type("/rewind")
        terminal.press_until("Enter", _MENU)
        # in the conversation above, a prompt begins its line
        terminal.press_until("Up", f"  {_MARK} {turn.prompt}")
        terminal.press_until("Enter", _CHOICES)
        words = _words(terminal.screen())
        if "Restore code" not in terminal.screen():
            terminal.press_until("Escape", _MENU, gone=True)
            raise Refused(words)
        terminal.press_until("Up", f"{_MARK} 1. Restore code and conversation")
        terminal.press_until("Enter", _CHOICES, gone=True)
        if _WARNING in words:
            raise Refused(words)

    def close(self) -> None:
        for terminal in self._terminals.values():
            with contextlib.suppress(OSError):
                terminal.close()
        super().close()


def _words(screen: str) -> str:
    """What the dialog says of the files: a line above the choices, and a warning below them."""
    above = [line.strip() for line in screen.splitlines() if "The code will be" in line]
    return " ".join([*above, *(screen[screen.index(_WARNING) :].split() if _WARNING in screen else [])])

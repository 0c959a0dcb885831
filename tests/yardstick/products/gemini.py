"""Gemini CLI with its `/rewind` and its `/restore`, and Qwen Code, which is made from it and has the latter."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable
from typing import ClassVar

from tests.real_agents.agents.agent import Agent
from tests.real_agents.agents.gemini import Gemini
from tests.real_agents.agents.qwen import Qwen
from tests.yardstick.oracle import copy_tree
from tests.yardstick.place import LIMIT, Place, wait_until_still
from tests.yardstick.scenario import Turn, Undo

from .agent import AgentProduct
from .product import Gate, Hung, NotOffered, Refused, wait_until
from .terminal import Terminal

_REWIND = "https://geminicli.com/docs/cli/rewind/"
_RESTORE = "https://geminicli.com/docs/cli/checkpointing/"
_QWEN = "https://qwenlm.github.io/qwen-code-docs/en/users/features/checkpointing/"
_ONCE = "llow once"
_EMPTY = "Type your message"
_RESTORED = "Restored project to the state before the tool call"
_FEEDBACK = re.compile(r"((?:Smart revert|Cannot revert|Error reading|An unexpected error).*)")


def beside(place: Place) -> list[str]:
    """The arguments that let it write in the whole project, where it is started in a subfolder."""
    return [] if place.start == place.project else ["--include-directories", str(place.project)]


class GeminiCli(AgentProduct):
    """In its full-screen interface; the person allows each call once."""

    name = "gemini"
    title = "Gemini CLI, `/rewind`"
    undo_with = "`/rewind`, “Rewind conversation and revert code changes”"
    agent: ClassVar[Agent] = Gemini()
    stores = ("home/.gemini/history", "home/.gemini/tmp/*/checkpoints")
    excluded: ClassVar[dict[str, str]] = {"shell": _REWIND, "person": _REWIND}
    # tools whose calls have a checkpoint before the person allows them
    _saved: ClassVar[str] = ""
    _arguments: ClassVar[tuple[str, ...]] = ()

    def open(self) -> None:
        super().open()
        self._terminals: dict[str, Terminal] = {}
        self._known = 0
        # the first checkpoint of each turn
        self._first: dict[int, str] = {}

    def settings(self) -> dict[str, str]:
        ((name, text),) = super().settings().items()
        known = json.loads(text)
        known["general"]["checkpointing"] = {"enabled": bool(self._saved)}
        return {name: json.dumps(known)}

    def terminal(self, session: str) -> Terminal:
        """The session's terminal, which is opened where it is not."""
        if session not in self._terminals:
            command = [self.agent.name, *self._arguments, *beside(self.place)]
            self._terminals[session] = Terminal(self.place, session, command)
            self._terminals[session].wait_for(_EMPTY)
        return self._terminals[session]

    def checkpoints(self) -> list[str]:
        """Those that there are, oldest first."""
        return sorted(path.stem for path in self.place.home.glob(".*/tmp/*/checkpoints/*.json"))

    def turn(self, turn: Turn, gate: Gate) -> None:
        self.prepare(turn, gate)
        terminal = self.terminal(turn.session)
        before, asked = set(self.checkpoints()), len(self.model.asked)
        self.enter(terminal, turn.prompt, lambda: len(self.model.asked) > asked)
        deadline = time.monotonic() + LIMIT
        while turn.answer not in terminal.screen():
            if not terminal.is_open():
                del self._terminals[turn.session]
                break
            if _ONCE in terminal.screen():
                self._allow(terminal)
            if time.monotonic() > deadline:
                raise Hung(f"turn {turn.number}\n{terminal.screen()}")
            time.sleep(0.05)
        if new := sorted(set(self.checkpoints()) - before):
            self._first[turn.number] = new[0]

    def _allow(self, terminal: Terminal) -> None:
        asked = len(self.model.asked)
        if self._saved and re.search(rf"\? +({self._saved})", terminal.screen()):
            # a person takes longer to read what is asked
            with contextlib.suppress(Hung):
                wait_until(lambda: len(self.checkpoints()) > self._known, "a checkpoint", 10.0)
            self._known = len(self.checkpoints())
        terminal.press("Enter")
        with contextlib.suppress(Hung):
            wait_until(lambda: len(self.model.asked) > asked or _ONCE not in terminal.screen(), "the call", 2.0)

    def enter(self, terminal: Terminal, text: str, is_done: Callable[[], bool]) -> None:
        """Types a text, and presses Enter until something is seen: right after a text, Enter counts as a part of it."""
        terminal.press("C-u")
        terminal.type(text)
        self._press_enter(terminal, is_done)

    def _press_enter(self, terminal: Terminal, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT
        while not is_done():
            time.sleep(0.2)
            terminal.press("Enter")
            with contextlib.suppress(Hung):
                wait_until(is_done, "", 3.0)
            if time.monotonic() > deadline:
                raise Hung(f"Enter is pressed, and not taken:\n{terminal.screen()}")

    def kill(self) -> None:
        next(iter(self._terminals.values())).kill()

    def restart(self) -> None:
        ((session, terminal),) = self._terminals.items()
        self.enter(terminal, "/quit", lambda: not terminal.is_open())
        del self._terminals[session]

    def undo(self, undo: Undo) -> None:
        if undo.way == "only":
            raise NotOffered("one turn alone: it goes back to before a prompt")
        self.go_back(self.chosen(undo)[0])

    def go_back(self, turn: Turn) -> None:
        """Takes back a turn, and all that followed in its session."""
        is_new = turn.session not in self._terminals
        terminal = self.terminal(turn.session)
        if is_new:
            self._resume(terminal)
        self.enter(terminal, "/rewind", lambda: "Stay at current position" in terminal.screen())
        terminal.press_until("Up", f"● {turn.prompt}")
        terminal.press_until("Enter", "Confirm Rewind")
        if "revert code changes" not in terminal.screen():
            terminal.press_until("Escape", "Confirm Rewind", gone=True)
            raise Refused("No code changes to revert.")
        terminal.press_until("Enter", "Confirm Rewind", gone=True)
        terminal.wait_for("workspace (/directory)")
        if words := _FEEDBACK.findall(terminal.screen()):
            raise Refused(" ".join(words))

    def _resume(self, terminal: Terminal) -> None:
        """Opens the conversation in a new terminal: with `--resume`, only chance decides whether its diffs survive."""
        wait_until(lambda: "Initializing" not in terminal.screen(), "the start")
        wait_until_still(lambda: (terminal.screen(), self.place.written()), 2.0)
        self.enter(terminal, "/resume", lambda: "Chat Sessions" in terminal.screen())
        terminal.press_until("Enter", "Chat Sessions", gone=True)
        wait_until_still(lambda: (terminal.screen(), self.place.written()), 2.0)

    def close(self) -> None:
        for terminal in self._terminals.values():
            terminal.close()
        super().close()


class GeminiRestore(GeminiCli):
    """With checkpoints on, which its user has to set."""

    name = "gemini-restore"
    title = "Gemini CLI, `/restore`"
    undo_with = "`/restore` to the first checkpoint of the turn"
    excluded: ClassVar[dict[str, str]] = {"shell": _RESTORE}
    _saved = "Edit|WriteFile"

    def go_back(self, turn: Turn) -> None:
        terminal = self.terminal(turn.session)  # `/resume` would not help: each start deletes all checkpoints
        if turn.number not in self._first:
            raise Refused(f"no checkpoint: `/restore` lists {len(self.checkpoints())}, and none of this turn")
        seen = (_RESTORED, "✕", "Could not", "Error")
        name = self._first[turn.number]
        self._type_restore(terminal, name)
        # a second Enter would allow the call that it makes again
        self._press_enter(terminal, lambda: any(each in terminal.screen() for each in (_EMPTY, *seen)))
        terminal.wait_for(*seen)
        if _RESTORED not in terminal.screen():
            lines = [line.strip() for line in terminal.screen().splitlines()]
            raise Refused(" ".join(line for line in lines if any(each in line for each in seen[1:])))
        # it makes the same call again: asks whether it may, or does not ask
        wait_until_still(lambda: (terminal.screen(), copy_tree(self.place.project)), 2.0)
        if _ONCE in terminal.screen():
            terminal.press_until("Escape", _ONCE, gone=True)

    def _type_restore(self, terminal: Terminal, name: str) -> None:
        """Types the command, and closes the list of names beside it: Enter would take what is marked in the list."""
        deadline = time.monotonic() + LIMIT
        while True:
            terminal.press("C-u")
            terminal.type(f"/restore {name}")
            # in a program that has just started, the command and its list come later
            with contextlib.suppress(Hung):
                wait_until(lambda: terminal.screen().count(name) > 1, "", 5.0)
                break
            if name not in self.checkpoints() or time.monotonic() > deadline:
                break
        terminal.press("Escape")
        with contextlib.suppress(Hung):
            wait_until(lambda: terminal.screen().count(name) == 1, "", 5.0)


class QwenCode(GeminiRestore):
    """Qwen Code; the setting for checkpoints has no effect in this version, but the argument has."""

    name = "qwen"
    title = "Qwen Code"
    agent = Qwen()
    stores = ("home/.qwen/history", "home/.qwen/tmp/*/checkpoints")
    excluded: ClassVar[dict[str, str]] = {"shell": _QWEN}
    # the tool `edit` has none: its program looks for `replace`, as Gemini CLI calls it
    _saved = "WriteFile"
    _arguments = ("--checkpointing",)

"""What one session of the agent does, as steps: a step for each prompt, a part of it for each call that can write."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import attrs

from .notices import shortened
from .recording import Step

if TYPE_CHECKING:
    from .messages import ToolNews
    from .recording import Recording

_READING = frozenset({"read", "search", "think", "fetch", "switch_mode"})
"""The kinds of tools that write no file. What is of no kind, or of one that only a newer protocol knows, may write."""
_NAMING = frozenset({"edit"})
"""The kinds that say which files they write. What a command touches is no list of what it wrote."""
_OVER = frozenset({"completed", "failed", "cancelled"})
_RUNNING = "execute"
"""The kind that runs a command."""
_LONGEST = 200
"""Characters of a description."""


@attrs.define(eq=False)
class Turn:
    """One prompt and what follows from it.

    Attributes:
        message_id: the name of the prompt.
        text: what the person wrote.
        step: the step of the whole turn.
        accepted: whether the agent works on it, where that is not what its answer says.
    """

    message_id: str
    text: str
    step: Step
    accepted: bool = False


@attrs.define(eq=False)
class Call:
    """One call of a tool.

    Attributes:
        kind: of the tool.
        files: what it says that it touches.
        step: its step; None for a call that cannot write and has no parts.
        parent: the call that it is a part of.
        turn: the turn in which it began.
    """

    kind: str | None = None
    title: str | None = None
    tool: str | None = None
    files: tuple[str, ...] = ()
    command: str | None = None
    step: Step | None = None
    parent: str | None = None
    turn: Turn | None = None
    over: bool = False


class Turns:
    """The turns and calls of one session. Not safe to use from several threads.

    Args:
        name: of the session.
        directory: the one that the agent works in, absolute.
        recording: of the folder around it.
    """

    def __init__(self, name: str, directory: str, recording: Recording) -> None:
        self.name = name
        self.directory = directory
        self.recording = recording
        self.replays = False
        """Whether the agent tells what was long ago: nothing of it happens now."""
        self.knows_commands = False
        """Whether the editor was told which commands there are."""
        self.offers = False
        """Whether ours were among them."""
        self.current: Turn | None = None
        self._waiting: list[Turn] = []
        self._last: Turn | None = None
        self._calls: dict[str, Call] = {}
        self._prompts: dict[str, str] = {}

    def prompt_of(self, message_id: str) -> str | None:
        """The beginning of a prompt, for people, as far as it was remembered."""
        return self._prompts.get(message_id)

    def remember(self, message_id: str, text: str) -> bool:
        """Remembers a prompt for people; gives whether it says something."""
        shown = shortened(text)
        if shown is not None:
            self._prompts[message_id] = shown
        return shown is not None

    # -- turns

    def prompt(self, text: str, message_id: str | None) -> Turn:
        """A person's prompt. Its step begins at once, or as soon as the turns before it are over.

        Args:
            text: what the person wrote.
            message_id: the editor's name for it; else one is made up.
        """
        name = message_id or secrets.token_hex(8)
        turn = Turn(name, text, Step(self.name, {"messageId": name}))
        if self.current is None:
            self._begin(turn)
        else:
            self._waiting.append(turn)
        return turn

    def accept(self, turn: Turn) -> None:
        """The agent took a prompt in, maybe into the turn that is going on."""
        turn.accepted = True
        if turn in self._waiting:
            while self.current is not turn:
                self._close()

    def finish(self, turn: Turn) -> None:
        """The agent is done with a prompt, or refused it."""
        if turn is self.current:
            self._close()
        elif turn in self._waiting:
            self._waiting.remove(turn)

    def works(self) -> None:
        """The agent says that it is at work."""
        if self.current is not None:
            self.current.accepted = True

    def on_idle(self) -> None:
        """The agent says that it is idle: a turn that it had taken up is over."""
        if self.current is not None and self.current.accepted:
            self._close()

    def end(self) -> None:
        """The session is over."""
        self._waiting.clear()
        if self.current is not None:
            self._close()
        self._end_calls(list(self._calls))
        self.recording.end_session(self.name)

    def _begin(self, turn: Turn) -> None:
        """Begins a turn, with which the one before it ends."""
        self.current = turn
        says_something = self.remember(turn.message_id, turn.text)
        self.recording.prompt(turn.step, turn.text if says_something else "")

    def _close(self) -> None:
        turn, self.current = self.current, None
        assert turn is not None
        # a subagent may outlive the turn that started it, but not the one after
        self._end_calls([name for name, call in self._calls.items() if call.parent is None or call.turn is not turn])
        self._calls = {name: call for name, call in self._calls.items() if not call.over}
        self._last = turn
        if self._waiting:
            self._begin(self._waiting.pop(0))
        else:
            self.recording.end_turn(turn.step)

    # -- calls

    def update_call(self, news: ToolNews, *, creates: bool) -> Step | None:
        """Takes in what the agent says of a call, which begins and ends its step.

        Args:
            news: what it says.
            creates: whether that may be the first word about the call.

        Returns:
            The step of the call; None if it has none.
        """
        call = self._calls.get(news.call_id)
        if call is None:
            if not (creates or news.kind):
                return None
            call = self._calls[news.call_id] = Call(turn=self.current)
        call.kind = news.kind or call.kind
        if news.title is not None:
            call.title = _short(news.title)
        call.tool = news.tool or call.tool
        call.parent = news.parent or call.parent
        call.files = news.files or call.files
        call.command = news.command or call.command
        is_over = news.status in _OVER
        if call.step is None and not call.over and call.kind not in _READING and not (is_over and self.current is None):
            self._begin_call(news.call_id, call, self._group(call))
        if is_over:
            self._end_calls([news.call_id])
        return call.step

    def _group(self, call: Call) -> Step | None:
        """The step of the subagent that makes a call, which begins with its first call; None for the agent itself."""
        above = self._calls.get(call.parent) if call.parent is not None else None
        if above is None or above is call:
            return None
        if above.step is None:
            assert call.parent is not None
            self._begin_call(call.parent, above, None)
        return above.step

    def _begin_call(self, call_id: str, call: Call, group: Step | None) -> None:
        turn = self.current or self._last
        told = {
            "messageId": None if turn is None else turn.message_id,
            "callId": call_id,
            "tool": _short(call.tool or call.kind or "other"),
            "description": call.title,
            "command": call.command if call.kind == _RUNNING else None,
        }
        params = {name: value for name, value in told.items() if value}
        call.step = Step(self.name, params, group or (None if turn is None else turn.step))
        self.recording.begin(call.step)
        if call.over:
            # a subagent whose call was over at once, and which goes on by itself: its calls are parts all the same
            self.recording.end(call.step, [])

    def _end_calls(self, names: list[str]) -> None:
        for name in names:
            call = self._calls[name]
            if not call.over and call.step is not None:
                files = list(call.files) if call.kind in _NAMING and call.files else None
                self.recording.end(call.step, files, call.title, self.directory)
            call.over = True


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"

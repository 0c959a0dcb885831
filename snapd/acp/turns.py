"""Maps one session of the agent to steps: one for each prompt, and a part of it for each call that can write."""

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
"""The kinds of tools that write no files. Tools without a kind or of an unknown kind may write."""
_NAMING = frozenset({"edit"})
"""The kinds that report the files that they write; the files that a command touches are not such a report."""
_OVER = frozenset({"completed", "failed", "cancelled"})
_READS = "read"
_RUNNING = "execute"
_LONGEST = 200


@attrs.define(eq=False)
class Turn:
    """A prompt and the work on it; `accepted` means that the agent has begun, if its answer does not end the turn."""

    message_id: str
    text: str
    step: Step
    accepted: bool = False


@attrs.define(eq=False)
class Call:
    """One call of a tool; `step` is None if it cannot write and has no parts, `turn` is that in which it began."""

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
    """The turns and calls of one session. Not thread-safe."""

    def __init__(self, name: str, directory: str, recording: Recording) -> None:
        self.name = name
        self.directory = directory
        self.recording = recording
        self.replays = False
        """Whether the agent replays history: nothing is recorded then."""
        self.knows_commands = False
        """Whether the editor has received the list of commands."""
        self.offers = False
        """Whether that list contained ours."""
        self.current: Turn | None = None
        self._waiting: list[Turn] = []
        self._last: Turn | None = None
        self._calls: dict[str, Call] = {}
        self._prompts: dict[str, str] = {}

    def prompt_of(self, message_id: str) -> str | None:
        """The beginning of a prompt, shortened for display, if it was remembered."""
        return self._prompts.get(message_id)

    def remember(self, message_id: str, text: str) -> bool:
        """Remembers a prompt for display; returns whether it has text."""
        shown = shortened(text)
        if shown is not None:
            self._prompts[message_id] = shown
        return shown is not None

    # -- turns

    def prompt(self, text: str, message_id: str | None) -> Turn:
        """Starts a turn when the previous ones end; without the editor's `message_id`, it generates one."""
        name = message_id or secrets.token_hex(8)
        turn = Turn(name, text, Step(self.name, {"messageId": name}))
        if self.current is None:
            self._begin(turn)
        else:
            self._waiting.append(turn)
        return turn

    def accept(self, turn: Turn) -> None:
        """The agent accepted a prompt, possibly as part of the running turn."""
        turn.accepted = True
        if turn in self._waiting:
            while self.current is not turn:
                self._close()

    def finish(self, turn: Turn) -> None:
        """The agent finished or refused a prompt."""
        if turn is self.current:
            self._close()
        elif turn in self._waiting:
            self._waiting.remove(turn)

    def works(self) -> None:
        """The agent reports that it is working."""
        if self.current is not None:
            self.current.accepted = True

    def on_idle(self) -> None:
        """The agent reports that it is idle, which ends an accepted turn."""
        if self.current is not None and self.current.accepted:
            self._close()

    def end(self) -> None:
        """Ends the session."""
        self._waiting.clear()
        if self.current is not None:
            self._close()
        self._end_calls(list(self._calls))
        self.recording.end_session(self.name)

    def _begin(self, turn: Turn) -> None:
        """Begins a turn, which ends the one before it."""
        self.current = turn
        says_something = self.remember(turn.message_id, turn.text)
        self.recording.prompt(turn.step, turn.text if says_something else "")

    def _close(self) -> None:
        turn, self.current = self.current, None
        assert turn is not None
        # a subagent may outlive its turn, but not the next one
        self._end_calls([name for name, call in self._calls.items() if call.parent is None or call.turn is not turn])
        self._calls = {name: call for name, call in self._calls.items() if not call.over}
        self._last = turn
        if self._waiting:
            self._begin(self._waiting.pop(0))
        else:
            self.recording.end_turn(turn.step)

    # -- calls

    def update_call(self, news: ToolNews, *, creates: bool) -> Step | None:
        """Begins or ends a call's step and returns it, if any; `creates` means that this may be its first report."""
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
            if call.kind == _READS and call.files and not call.over:
                self.recording.read(self.name, call.files, self.directory)
            self._end_calls([news.call_id])
        return call.step

    def _group(self, call: Call) -> Step | None:
        """The step of the subagent that makes a call, begun with its first call; None for the main agent."""
        above = self._calls.get(call.parent) if call.parent is not None else None
        if above is None or above is call:
            return None
        if above.step is None:
            assert call.parent is not None
            self._begin_call(call.parent, above, None)
        return above.step

    def _begin_call(self, call_id: str, call: Call, group: Step | None) -> None:
        turn = self.current or self._last
        fields = {
            "messageId": None if turn is None else turn.message_id,
            "callId": call_id,
            "tool": _short(call.tool or call.kind or "other"),
            "description": call.title,
            "command": call.command if call.kind == _RUNNING else None,
        }
        params = {name: value for name, value in fields.items() if value}
        call.step = Step(self.name, params, group or (None if turn is None else turn.step))
        self.recording.begin(call.step)
        if call.over:
            # a background subagent, whose own call has ended: its calls still are its parts
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

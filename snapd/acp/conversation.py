"""Interprets the lines between editor and agent and decides what to do with each, without pipes or threads."""

from __future__ import annotations

import re
import secrets
import threading
from functools import partial
from typing import TYPE_CHECKING

import attrs

from snapd.wire.words import AGENTS

from . import messages
from .commands import OFFERS, Question, answer, carry_out, command_in
from .messages import part, text, tool_news
from .notices import refusal
from .recording import Recording
from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.backend import Backend

    from .commands import Command
    from .messages import Message
    from .recording import Daemon, Step
    from .turns import Turn

    Then = Callable[[], None] | None


@attrs.frozen
class Verdict:
    """What to do with a line: wait for `hold`, pass it on as `change` makes it (None: nothing), then call `then`."""

    line: bytes | None
    hold: Then = None
    change: Callable[[bytes], bytes] | None = None
    then: Then = None


class Conversation:
    """The sessions of one connection. Thread-safe.

    `agent` is the name of the agent's program, used until the agent states its own name. `tell_editor` sends a line of
    ours to the editor: it calls the given function when the line's turn has come, which may return None for no line.
    """

    def __init__(self, daemon: Daemon, agent: str, tell_editor: Callable[[Callable[[], bytes | None]], None]) -> None:
        self._daemon = daemon
        self._agent = known_agent(agent) or agent
        self._send_to_editor = tell_editor
        self._lock = threading.RLock()
        self._version = 1
        self.recordings: dict[str, Recording] = {}
        self._sessions: dict[str, Turns] = {}
        self._answers: dict[str, Callable[[Message], Then]] = {}
        """Handlers of the agent's answers to the editor's requests, by request key; each returns what to do next."""
        self._questions: dict[str, Callable[[Message], None]] = {}
        """Handlers of the editor's answers to our own requests, by request key."""
        self._requests: dict[str, Callable[[Message], Callable[[Message], Then] | None]] = {
            "initialize": self._initialize,
            "session/new": self._open,
            "session/fork": self._open,
            "session/load": self._reopen,
            "session/resume": self._reopen,
            "session/close": self._close,
            "session/delete": self._close,
        }
        self._updates: dict[str, Callable[[Turns, Message], None]] = {
            "tool_call": partial(self._tool, creates=True),
            "tool_call_update": self._tool,
            "state_update": self._state,
        }

    def from_editor(self, line: bytes) -> Verdict:
        """Handles a line from the editor."""
        message = messages.parse(line)
        if message is None or "id" not in message:
            return Verdict(line)
        method = text(message, "method") or ""
        with self._lock:
            if not method and (decided := self._questions.pop(messages.request_key(message), None)) is not None:
                decided(message)
                return Verdict(None)
            if method == "session/prompt":
                return self._prompt(message, line)
            answered = self._requests[method](part(message, "params")) if method in self._requests else None
            if answered is not None:
                self._answers[messages.request_key(message)] = answered
        return Verdict(line)

    def from_agent(self, line: bytes) -> Verdict:
        """Handles a line from the agent."""
        message = messages.parse(line)
        if message is None:
            return Verdict(line)
        params = part(message, "params")
        with self._lock:
            if "method" not in message:
                answered = self._answers.pop(messages.request_key(message), None)
                return Verdict(line, then=answered(message) if answered is not None else None)
            turns = self._sessions.get(text(params, "sessionId") or "")
            if turns is None:
                return Verdict(line)
            if message["method"] == "session/request_permission":
                step = self._update_call(turns, messages.asked_for(params), creates=True)
                return Verdict(line, None if step is None else partial(turns.recording.hold, step))
            if message["method"] == "session/update":
                return Verdict(self._updated(turns, message, line))
        return Verdict(line)

    def close(self) -> None:
        """Ends all open turns and waits a moment until that is recorded."""
        with self._lock:
            for turns in self._sessions.values():
                turns.end()
            self._sessions.clear()
            recordings = list(self.recordings.values())
        for recording in recordings:
            recording.close()

    # -- the editor's requests and their answers

    def _initialize(self, _: Message) -> Callable[[Message], Then]:
        def answered(message: Message) -> None:
            result = part(message, "result")
            version = result.get("protocolVersion")
            self._version = version if isinstance(version, int) else 1
            name = text(part(result, "agentInfo"), "name") or text(part(result, "info"), "name")
            self._agent = known_agent(name or "") or self._agent

        return answered

    def _open(self, params: Message) -> Callable[[Message], Then] | None:
        """A new session, whose id is in the answer."""
        directory = text(params, "cwd")
        if directory is None:
            return None

        def answered(message: Message) -> Then:
            name = text(part(message, "result"), "sessionId")
            return None if name is None else self._start(self._session(name, directory))

        return answered

    def _reopen(self, params: Message) -> Callable[[Message], Then] | None:
        """An earlier session, whose history may be replayed before the answer."""
        name, directory = text(params, "sessionId"), text(params, "cwd")
        if name is None or directory is None:
            return None
        is_new = name not in self._sessions
        turns = self._session(name, directory)
        turns.replays = True

        def answered(message: Message) -> Then:
            turns.replays = False
            if "error" not in message:
                return self._start(turns)
            if is_new:
                self._sessions.pop(name, None)
            return None

        return answered

    def _close(self, params: Message) -> Callable[[Message], Then]:
        name = text(params, "sessionId") or ""

        def answered(message: Message) -> None:
            if "error" not in message and (turns := self._sessions.pop(name, None)) is not None:
                turns.end()

        return answered

    def _prompt(self, message: Message, line: bytes) -> Verdict:
        params = part(message, "params")
        turns = self._sessions.get(text(params, "sessionId") or "")
        if turns is None:
            return Verdict(line)
        words = messages.prompt_text(params.get("prompt"))
        command = command_in(words) if turns.offers else None
        if command is not None:
            self._run_command(turns, command, message)
            return Verdict(None)
        turn = turns.prompt(words, text(params, "messageId"))
        self._answers[messages.request_key(message)] = partial(self._prompted, turns, turn)
        if turns.current is not turn:
            # it begins with the snapshot at the end of the turn for which it waits
            return Verdict(line)
        recording, step = turns.recording, turn.step
        return Verdict(
            line,
            hold=partial(recording.hold, step),
            change=lambda data: messages.with_news(data, message, step.news),
            then=lambda: recording.acknowledge(step),
        )

    def _prompted(self, turns: Turns, turn: Turn, message: Message) -> None:
        if "error" in message or messages.ends_with_answer(self._version):
            turns.finish(turn)
        else:
            turns.accept(turn)

    # -- the agent's notifications

    def _updated(self, turns: Turns, message: Message, line: bytes) -> bytes:
        update = part(message, "params", "update")
        kind = text(update, "sessionUpdate") or ""
        if kind == "available_commands_update" and turns.recording.refusal is None:
            turns.offers = turns.knows_commands = True
            return messages.with_commands(line, message, messages.offered(OFFERS, self._version))
        if kind in self._updates and not turns.replays:
            self._updates[kind](turns, update)
        return line

    def _tool(self, turns: Turns, update: Message, *, creates: bool = False) -> None:
        # version 2 has no `tool_call`: the first update announces the call
        self._update_call(turns, update, creates=creates or not messages.ends_with_answer(self._version))

    def _update_call(self, turns: Turns, call: Message, *, creates: bool) -> Step | None:
        news = tool_news(call)
        return None if news is None or turns.replays else turns.update_call(news, creates=creates)

    def _state(self, turns: Turns, update: Message) -> None:
        state = text(update, "state")
        if state == "idle":
            turns.on_idle()
        elif state is not None:
            turns.works()

    # -- sessions

    def _session(self, name: str, directory: str) -> Turns:
        known = self._sessions.get(name)
        folder = self._daemon.folder_of(directory)
        if known is not None and known.recording.folder == folder:
            return known
        if known is not None:
            known.end()
        recording = self.recordings.get(folder)
        if recording is None:
            recording = self.recordings[folder] = Recording(folder, self._daemon.open)
        turns = self._sessions[name] = Turns(name, directory, recording)
        return turns

    def _start(self, turns: Turns) -> Callable[[], None]:
        """Returns a function that starts recording, to be called once the editor has the session's id."""

        def commands() -> bytes | None:
            with self._lock:
                if turns.knows_commands:
                    # the agent has announced its commands, with ours added
                    return None
                turns.offers = turns.knows_commands = True
                return messages.commands_update(turns.name, messages.offered(OFFERS, self._version))

        return partial(turns.recording.start, turns.name, self._agent, partial(self._send_to_editor, commands))

    # -- commands

    def _run_command(self, turns: Turns, command: Command, prompt: Message) -> None:
        is_busy = turns.current is not None
        self._work(turns, prompt, lambda result: answer(result, turns, command, is_busy=is_busy))

    def _work(self, turns: Turns, prompt: Message, make: Callable[[Backend], str | Question]) -> None:
        def work(backend: Backend) -> None:
            reply = make(backend)
            if isinstance(reply, str):
                self._reply(prompt, reply)
                return
            name = f"snapd-{secrets.token_hex(8)}"
            offers_git = reply.with_git is not None
            line = messages.permission(turns.name, name, reply.title, reply.text, self._version, offers_git=offers_git)
            with self._lock:
                self._questions[messages.request_key({"id": name})] = partial(self._decided, turns, prompt, name, reply)
            self._send_to_editor(lambda: line)

        # do not block the recording while the user decides
        turns.recording.ask(work, lambda error: self._reply(prompt, refusal(error)))

    def _reply(self, prompt: Message, message: str, reason: str = "end_turn") -> None:
        names = (secrets.token_hex(8), secrets.token_hex(8))
        lines = b"".join(messages.answers(prompt, message, self._version, names, reason))
        self._send_to_editor(lambda: lines)

    def _decided(self, turns: Turns, prompt: Message, name: str, question: Question, message: Message) -> None:
        outcome = part(message, "result", "outcome")
        options = {messages.ALLOW: question, messages.ALLOW_WITH_GIT: question.with_git}
        selected = text(outcome, "optionId") if text(outcome, "outcome") == "selected" else None
        agreed = None if selected is None else options.get(selected)
        if messages.ends_with_answer(self._version):
            line = messages.call_over(turns.name, name, is_done=agreed is not None)
            self._send_to_editor(lambda: line)
        if agreed is not None and turns.current is None:
            self._work(turns, prompt, lambda result: carry_out(result, turns, agreed))
            return
        why = ": the agent is working again" if agreed else ": the editor cannot ask" if "error" in message else ""
        reason = "cancelled" if text(outcome, "outcome") == "cancelled" else "end_turn"
        self._reply(prompt, f"Nothing was changed{why}.", reason)


def known_agent(message: str) -> str | None:
    """Returns snapd's name of an agent, from the name of its program or its own; None for an unknown agent."""
    words = re.split(r"[^a-z0-9]+", message.lower())
    return next((name for name in AGENTS if name in words), None)

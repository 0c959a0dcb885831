"""Runs the agent, carries the bytes between editor and agent, and ends both sides in order."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from snapd.environment import RECORDED

from .conversation import Conversation, Verdict
from .messages import Piece, Writer, pieces
from .recording import Daemon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
LEAVE_SECONDS = 5.0
"""How long an agent may take to exit once its input is closed or it got a signal."""
_DRAIN_SECONDS = 1.0
"""How long processes that the agent left behind may still write."""
_BY_SIGNAL = 128


def run(words: Sequence[str], daemon: Daemon, editor: tuple[int, int] = (0, 1)) -> int:
    """Runs an agent for an editor, whose descriptors to read and write are given; for the main thread, due to signals.

    Returns the agent's exit code, or 128 plus the number of the signal that ended it.
    """
    program = shutil.which(words[0])
    if program is None:
        print(f"snapd: {words[0]}: command not found\nhint: check its name, and PATH", file=sys.stderr)
        return _NOT_FOUND
    try:
        agent = Agent(program, words)
    except OSError as error:
        hint = "check that the file is executable and that its interpreter exists"
        print(f"snapd: {words[0]}: {error.strerror}\nhint: {hint}", file=sys.stderr)
        return _NOT_EXECUTABLE
    return _Proxy(agent, daemon, os.path.basename(words[0]), editor).run()


class _Proxy:
    def __init__(self, agent: Agent, daemon: Daemon, name: str, editor: tuple[int, int]) -> None:
        self._agent = agent
        self._daemon = daemon
        self._editor = editor[0]
        self._to_editor = Writer(editor[1])
        self._to_agent = Writer(agent.input.fileno(), agent.input.close)
        self._editor_is_gone = False
        self._conversation = Conversation(daemon, name, self._send_to_editor)
        # safe to use in a signal handler
        self._happened: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._ended: int | None = None

    def run(self) -> int:
        """Runs until both sides have ended."""
        before = {}
        for number in _PASSED_ON:
            # an ignored signal stays ignored, for the agent too: nohup
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, lambda number, _: self._happened.put(number))
        try:
            self._thread(self._daemon.start, "snapd-acp-daemon")
            speaking = self._thread(self._from_agent, "snapd-acp-agent")
            self._thread(self._from_editor, "snapd-acp-editor")
            self._thread(self._wait, "snapd-acp-end")
            code = self._until_the_end()
            self._drain(speaking)
            self._conversation.close()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return code

    def _thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        # daemon threads, as a blocking read cannot be interrupted
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def _wait(self) -> None:
        self._ended = self._agent.wait()
        self._happened.put(None)

    def _until_the_end(self) -> int:
        """Waits for the agent to exit, after a signal or the end of the editor's input; returns the exit code."""
        patience: float | None = None
        next_signals = [signal.SIGTERM, signal.SIGKILL]
        while self._ended is None:
            try:
                what = self._happened.get(timeout=patience)
            except queue.Empty:
                self._agent.signal(next_signals.pop(0) if next_signals else signal.SIGKILL)
                continue
            if what:
                self._agent.signal(what)
                next_signals = [signal.SIGKILL]
            patience = LEAVE_SECONDS
        return self._ended

    def _drain(self, speaking: threading.Thread) -> None:
        """Passes on the agent's last output, then ends the processes that it left behind."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            speaking.join(_DRAIN_SECONDS)
            if not speaking.is_alive():
                return
            logger.info("the agent has ended, and left a process behind: signal %s", number)
            self._agent.signal(number)
        speaking.join(_DRAIN_SECONDS)

    # -- the two streams

    def _from_editor(self) -> None:
        try:
            for piece in pieces(self._editor):
                self._carry(piece, self._conversation.from_editor, self._to_agent)
        except OSError as error:
            logger.info("the editor's stream has ended: %s", error)
        self._leave()

    def _from_agent(self) -> None:
        with self._agent.output as output:
            for piece in pieces(output.fileno()):
                try:
                    self._carry(piece, self._conversation.from_agent, self._to_editor)
                except OSError as error:
                    # keep recording until the agent ends
                    logger.info("the editor is gone: %s", error)
                    self._leave()

    def _carry(self, piece: Piece, understand: Callable[[bytes], Verdict], to: Writer) -> None:
        if not piece.whole:
            to.write(piece)
            return
        try:
            verdict = understand(piece.data)
            if verdict.hold is not None:
                verdict.hold()
        except Exception:
            # a bug of ours must not end the conversation
            logger.exception("a message was passed on without being understood")
            verdict = Verdict(piece.data)
        if verdict.line is not None:
            to.write(Piece(verdict.line if verdict.change is None else verdict.change(verdict.line)))
        if verdict.then is not None:
            verdict.then()

    def _send_to_editor(self, make: Callable[[], bytes | None]) -> None:
        try:
            self._to_editor.insert(make)
        except OSError as error:
            logger.info("the editor is gone: %s", error)

    def _leave(self) -> None:
        if not self._editor_is_gone:
            self._editor_is_gone = True
            self._happened.put(0)
            self._to_agent.close()


class Agent:
    """A running command with pipes, in a process group: signals reach children too, as a launcher may exit early."""

    def __init__(self, program: str, words: Sequence[str]) -> None:
        # a new session has a new process group
        self._process = subprocess.Popen(
            words,
            executable=program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, RECORDED: "acp"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.input = self._process.stdin
        self.output = self._process.stdout

    def wait(self) -> int:
        """Waits for its end; returns its exit code, or 128 plus the number of the signal that ended it."""
        code = self._process.wait()
        return code if code >= 0 else _BY_SIGNAL - code

    def signal(self, number: int) -> None:
        """Signals the agent and its child processes; does nothing if none is left."""
        # the group id is that of its first process, and stays while any of them lives
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

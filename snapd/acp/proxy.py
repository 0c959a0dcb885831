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
from .lines import Piece, Writer, pieces
from .recording import Daemon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
LEAVE_SECONDS = 5.0
"""How long an agent has to end, once nobody speaks to it any more or a signal has told it to."""
_DRAIN_SECONDS = 1.0
"""How long what an agent left behind may still speak."""
_BY_SIGNAL = 128


def run(words: Sequence[str], daemon: Daemon, editor: tuple[int, int] = (0, 1)) -> int:
    """Runs an agent for an editor. For the main thread: signals that come meanwhile are passed on to the agent.

    Args:
        words: the agent's command.
        daemon: records.
        editor: the descriptors from which the editor is read, and to which it is written.

    Returns:
        The agent's exit code, or 128 and the number of the signal that ended it.
    """
    program = shutil.which(words[0])
    if program is None:
        print(f"snapd: {words[0]}: command not found\nhint: check its name, and PATH", file=sys.stderr)
        return _NOT_FOUND
    try:
        agent = Agent(program, words)
    except OSError as error:
        hint = "check that the file may be executed, and what runs it"
        print(f"snapd: {words[0]}: {error.strerror}\nhint: {hint}", file=sys.stderr)
        return _NOT_EXECUTABLE
    return _Proxy(agent, daemon, os.path.basename(words[0]), editor).run()


class _Proxy:
    """Two streams and the two ends of each.

    Args:
        agent: the agent, which runs.
        daemon: records.
        name: of the agent's program.
        editor: as of `run`.
    """

    def __init__(self, agent: Agent, daemon: Daemon, name: str, editor: tuple[int, int]) -> None:
        self._agent = agent
        self._daemon = daemon
        self._editor = editor[0]
        self._to_editor = Writer(editor[1])
        self._to_agent = Writer(agent.input.fileno(), agent.input.close)
        self._editor_is_gone = False
        self._conversation = Conversation(daemon, name, self._send_to_editor)
        # a signal handler may put into this kind of queue at any time
        self._happened: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._ended: int | None = None

    def run(self) -> int:
        """Until both sides are over."""
        before = {}
        for number in _PASSED_ON:
            # what is ignored stays so, for the agent too: nohup
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
        # nobody waits for these at the end: a read that waits for input cannot be broken off
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def _wait(self) -> None:
        self._ended = self._agent.wait()
        self._happened.put(None)

    def _until_the_end(self) -> int:
        """Waits for the agent's end, which a signal or the end of the editor brings about; gives the exit code."""
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
        """Passes on the agent's last words; ends what it left behind, which would speak to nobody."""
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
                    # what the agent does until it ends is recorded all the same
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
            # a defect of ours is no reason to break off somebody's conversation
            logger.exception("a message was passed on without being understood")
            verdict = Verdict(piece.data)
        if verdict.line is not None:
            to.write(Piece(verdict.line))
        if verdict.then is not None:
            verdict.then()

    def _send_to_editor(self, make: Callable[[], bytes | None]) -> None:
        try:
            self._to_editor.insert(make)
        except OSError as error:
            logger.info("the editor is gone: %s", error)

    def _leave(self) -> None:
        """Tells the agent, once, that the editor is gone."""
        if not self._editor_is_gone:
            self._editor_is_gone = True
            self._happened.put(0)
            self._to_agent.close()


class Agent:
    """A command with pipes for its input and output, in a process group of its own.

    A launcher may start the real program and leave it behind, so the group is signalled as a whole. Its standard error
    is ours.

    Args:
        program: the path of what is run.
        words: the command, its name first.

    Attributes:
        input: where it reads what the editor says.
        output: where it speaks.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, program: str, words: Sequence[str]) -> None:
        # a session of its own makes a group of its own
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
        """Waits for its end; gives its exit code, or 128 and the number of the signal that ended it."""
        code = self._process.wait()
        return code if code >= 0 else _BY_SIGNAL - code

    def signal(self, number: int) -> None:
        """Signals the agent and what it has started; nothing happens where nobody of them is left."""
        # the group has the number of its first process, and keeps it while one of them is there
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

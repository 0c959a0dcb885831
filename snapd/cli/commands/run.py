"""`snapd run`: runs any command as a session, so that its changes can be undone although it does not know snapd."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from snapd_client import ClientError

from snapd.cli.requests.connection import connected
from snapd.cli.requests.folder import folder_of
from snapd.cli.terminal.output import print_error, printable
from snapd.core.errors import InvalidParams, SnapdError
from snapd.launch import ensure_daemon
from snapd.locations import Locations

from .hooked import Hooked
from .recorder import Recorder
from .summary import tell_bursts, tell_hooked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from types import FrameType

    from snapd_client import Client

    from snapd.agents.one_run import OneRun
    from snapd.agents.table import Agent
    from snapd.backend import Backend

_Recording = TypeVar("_Recording", Hooked, Recorder)

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_BY_SIGNAL = 128
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_FORWARDED = (*_FROM_TERMINAL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_ANSWER_SECONDS = 60.0
"""How long the daemon may take to open the folder, and to end a step: what the command changed since the last one."""


def run(options: argparse.Namespace) -> int:
    """Runs the command; its exit code is that of the command, or 128 and the number of the signal that ended it.

    If snapd cannot record the command, the command runs all the same, unless `--require` is given.
    """
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise InvalidParams("expected a command after --", hint="for example: snapd run -- claude", field="COMMAND")
    folder = folder_of(options)
    os.chdir(options.directory)
    program = shutil.which(words[0])
    if program is None:
        print(f"snapd: {printable(words[0])}: command not found\nhint: check its name, and PATH", file=sys.stderr)
        return _NOT_FOUND
    hooks = _hooks(options, folder, words)
    try:
        recording = _by_hooks(options, folder, hooks) if hooks is not None else _by_bursts(options, folder, words)
    except (SnapdError, ClientError, OSError) as error:
        if options.require:
            raise
        print_error(error, "the steps of this command are not recorded: ")
        with _Child() as child:
            return child.run(program, words)
    try:
        with _Child() as child:
            if isinstance(recording, Hooked):
                assert hooks is not None
                code = child.run(program, hooks.words, hooks.variables)
                tell_hooked(options, recording, hooks)
            else:
                code = child.run(program, words)
                tell_bursts(options, recording, _agent_without_hooks(options, words))
    finally:
        recording.close()
        if hooks is not None:
            hooks.close()
    return code


def _hooks(options: argparse.Namespace, folder: str, words: list[str]) -> OneRun | None:
    """The command with hooks of its own, which tell its steps better than bursts do; None if it has none."""
    if _wants_bursts(options):
        return None
    from snapd.agents.one_run import with_hooks
    from snapd.agents.program import program

    try:
        return with_hooks(words, program(), os.environ, folder)
    except OSError as error:
        print_error(error, "the agent is not given hooks: ")
        return None


def _agent_without_hooks(options: argparse.Namespace, words: list[str]) -> Agent | None:
    """The agent of a command that could not be given hooks; None where options asked for bursts."""
    if _wants_bursts(options):
        return None
    from snapd.agents.one_run import agent_of

    return agent_of(words)


def _wants_bursts(options: argparse.Namespace) -> bool:
    """Whether options say what hooks choose by themselves: the folder, the daemon, the session."""
    return bool(options.agent or options.title or options.socket or options.here)


def _by_hooks(options: argparse.Namespace, folder: str, hooks: OneRun) -> Hooked:
    """Begins to record what the agent's hooks tell.

    Raises:
        SnapdError, ClientError, OSError: nothing is recorded.
    """
    return _started(
        options, folder, lambda found, client, ensure: Hooked(found, client, ensure, hooks.agent.name), Hooked.start
    )


def _by_bursts(options: argparse.Namespace, folder: str, words: list[str]) -> Recorder:
    """Begins to record bursts of changes; raises as `_by_hooks` does."""
    agent, title = options.agent or os.path.basename(words[0]), options.title or shlex.join(words)
    return _started(
        options,
        folder,
        lambda found, client, ensure: Recorder(found, client, ensure, options.quiet),
        lambda recorder: recorder.start(agent, title),
    )


def _started(
    options: argparse.Namespace,
    folder: str,
    make: Callable[[Backend, Client, Callable[[], None]], _Recording],
    start: Callable[[_Recording], None],
) -> _Recording:
    locations = Locations.from_environment(os.environ)
    path = os.path.abspath(options.socket) if options.socket else locations.socket
    found, client = connected(locations, path, folder, _ANSWER_SECONDS)
    recording = make(found, client, lambda: ensure_daemon(locations, path).close())
    try:
        # the first snapshot takes as long as it takes: a daemon that has answered so far is alive
        client.timeout = None
        start(recording)
    except BaseException:
        recording.close()
        raise
    client.timeout = _ANSWER_SECONDS
    return recording


class _Child:
    """A command that has the terminal of this process, and its process group: what is typed there reaches both.

    Ctrl-C and its like are the command's business; a signal that somebody sends to this process is passed on.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: list[int] = []
        self._handlers: dict[int, Any] = {}
        self._signals = self._told = self._before = -1

    def __enter__(self) -> _Child:
        self._signals, self._told = os.pipe()
        os.set_blocking(self._told, False)
        self._before = signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)
        # without a handler of its own, nothing is written
        self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _FORWARDED:
            # what is ignored stays so, for the command too: nohup
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before)
        os.close(self._signals)
        os.close(self._told)

    def run(self, program: str, words: list[str], variables: Mapping[str, str] = MappingProxyType({})) -> int:
        """Runs it to its end, with these variables beside those of this process; gives the exit code."""
        try:
            self._process = subprocess.Popen(words, executable=program, env={**os.environ, **variables})
        except OSError as error:
            hint = "check that the file may be executed, and what runs it"
            print(f"snapd: {printable(words[0])}: {error.strerror}\nhint: {hint}", file=sys.stderr)
            return _NOT_EXECUTABLE
        for number in self._waiting:
            self._process.send_signal(number)
        code = self._wait(self._process)
        return code if code >= 0 else _BY_SIGNAL - code

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """Until it has ended: each signal, that of its end too, has a byte written, so that none comes unnoticed.

        One that came just before `waitpid` would be passed on when that returns.
        """
        while (code := process.poll()) is None:
            os.read(self._signals, 4096)
        return code

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if number in _FROM_TERMINAL and _in_foreground():
            # the terminal has sent it to the command too
            return
        if self._process is None:
            self._waiting.append(number)
        else:
            self._process.send_signal(number)


def _in_foreground() -> bool:
    """Whether what is typed at the terminal reaches this process."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)

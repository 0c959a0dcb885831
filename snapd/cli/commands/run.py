"""`snapd run`: runs any command as a session, so that its changes can be undone although it does not know snapd."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from snapd_client import ClientError

from snapd.cli.requests.connection import connected
from snapd.cli.requests.folder import folder_of
from snapd.cli.requests.names import find_step, short
from snapd.cli.terminal.layout import fit_name, terminal_width
from snapd.cli.terminal.output import Painter, counts, print_error, printable
from snapd.cli.terminal.reasons import sharing
from snapd.cli.terminal.uncaptured import not_in_snapshots
from snapd.core.errors import InvalidParams, SnapdError
from snapd.launch import ensure_daemon
from snapd.locations import Locations

from .recorder import Recorder

if TYPE_CHECKING:
    import argparse
    from types import FrameType

    from snapd.backend import Backend

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_BY_SIGNAL = 128
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_FORWARDED = (*_FROM_TERMINAL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FILES = 3
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
    try:
        recorder = _record(options, folder, words)
    except (SnapdError, ClientError, OSError) as error:
        if options.require:
            raise
        print_error(error, "the steps of this command are not recorded: ")
        with _Child() as child:
            return child.run(program, words)
    try:
        with _Child() as child:
            code = child.run(program, words)
            _finish(options, recorder)
    finally:
        recorder.close()
    return code


def _record(options: argparse.Namespace, folder: str, words: list[str]) -> Recorder:
    """Begins to record.

    Raises:
        SnapdError, ClientError, OSError: nothing is recorded.
    """
    locations = Locations.from_environment(os.environ)
    path = os.path.abspath(options.socket) if options.socket else locations.socket
    found, client = connected(locations, path, folder, _ANSWER_SECONDS)
    recorder = Recorder(found, client, lambda: ensure_daemon(locations, path).close(), options.quiet)
    try:
        # the first snapshot takes as long as it takes: a daemon that has answered so far is alive
        client.timeout = None
        recorder.start(options.agent or os.path.basename(words[0]), options.title or shlex.join(words))
    except BaseException:
        recorder.close()
        raise
    client.timeout = _ANSWER_SECONDS
    return recorder


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

    def run(self, program: str, words: list[str]) -> int:
        """Runs it to its end; gives the exit code."""
        try:
            self._process = subprocess.Popen(words, executable=program)
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


def _finish(options: argparse.Namespace, recorder: Recorder) -> None:
    """Ends the session, and prints what was recorded."""
    try:
        every = recorder.finish()
        steps = [step for step in every if step.get("files")]
        shared = _shared(recorder.backend, steps)
    except (ClientError, SnapdError, OSError) as error:
        print_error(error, "the session could not be ended: ")
        return
    if recorder.trouble is not None:
        print_error(recorder.trouble, "some changes may not be recorded: ")
    painter = Painter(options, sys.stderr)
    name = short(recorder.session_id)
    lost = not_in_snapshots(every)
    if not steps:
        print(painter.paint(f"snapd: session {name}: nothing changed", "dim"), file=sys.stderr)
        if lost is not None:
            print(f"  {painter.paint(lost, 'yellow')}", file=sys.stderr)
        return
    said = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    print(f"snapd: session {painter.paint(name, 'yellow')}: {said}", file=sys.stderr)
    for step in steps:
        print(f"  {painter.paint('●', 'cyan')} {_step(painter, step)}", file=sys.stderr)
    for line in [*shared, *filter(None, [lost])]:
        print(f"  {painter.paint(line, 'yellow')}", file=sys.stderr)
    note = "all that changed meanwhile counts as the command's, except what you saved in a connected editor"
    for line in (note, f"snapd undo --session {name} undoes the last step, and with --all all of them"):
        print(painter.paint(line, "dim"), file=sys.stderr)


def _shared(found: Backend, steps: list[dict[str, Any]]) -> list[str]:
    """Says which files other steps may have written, too, and which steps these are."""
    files: dict[str, dict[str, None]] = {}
    for step in steps:
        for row in step["files"]:
            for other in row.get("sharedWith", ()):
                files.setdefault(other, {})[printable(row["file"])] = None
    lines = []
    for other, names in files.items():
        agent = find_step(found, other).get("agent")
        shown = ", ".join(list(names)[:_FILES]) + (f" and {len(names) - _FILES} more" if len(names) > _FILES else "")
        lines.append(f"{shown}: {sharing(other, agent)}; an undo leaves what is shared")
    return lines


def _step(painter: Painter, step: dict[str, Any]) -> str:
    files = step["files"]
    total = {key: sum(row[key] for row in files) for key in ("additions", "deletions")}
    room = (terminal_width() - 40) // min(len(files), _FILES)
    names = ", ".join(fit_name(printable(row["file"]), max(8, room)) for row in files[:_FILES])
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    return f"{step['stepId'][:8]}  {counts(painter, {'binary': False, **total})}  {names}{more}"

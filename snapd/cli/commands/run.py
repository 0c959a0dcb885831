"""`snapd run`: runs any command as a session, so that its changes can be undone although it does not know snapd."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from snapd_client import ClientError

from snapd.cli.parsing.command import Command, common
from snapd.cli.requests.connection import connected, folder_of
from snapd.cli.requests.names import find_step
from snapd.cli.terminal.layout import fit_name, terminal_width
from snapd.cli.terminal.naming import git_line, learn, short
from snapd.cli.terminal.output import Painter, counts, print_error, printable
from snapd.cli.terminal.reasons import format_uncaptured, sharing
from snapd.model.errors import InvalidParams, SnapdError

from .recorder import HookSessions, Recorder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from snapd_client.protocol import Step

    from snapd.agents.one_run import OneRun
    from snapd.agents.table import Agent
    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_BY_SIGNAL = 128
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_FORWARDED = (*_FROM_TERMINAL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_ANSWER_SECONDS = 60.0
"""How long the daemon may take to open the folder, or to end a step by capturing the changes since the last one."""
_FILES = 3
_BURSTS = (
    "steps are bursts of changes; all that changed meanwhile counts as the command's, except what you saved in a "
    "connected editor"
)


def _arguments(parser: Parser) -> None:
    common(parser, alone=False)
    parser.argument("--agent", "NAME", "the agent of the session (default: the name of the command)")
    parser.argument("--title", "TEXT", "the title of the session (default: the command)")
    parser.argument(
        "--quiet",
        "SECONDS",
        "end a step when nothing has changed for this long (default: 2)",
        type=_seconds,
        default=2.0,
    )
    parser.flag("--require", help="do not run the command if its steps cannot be recorded")
    parser.argument("words", "COMMAND", "the command and its arguments", nargs=argparse.REMAINDER)


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("expected seconds, more than 0")
    return number


@Command(
    "run",
    "connect agents",
    _arguments,
    usage="snapd run [options] -- COMMAND ...",
    without_json="standard output and standard error are those of the command that it runs; 'snapd log --json' "
    "prints its steps",
    example="run -- sh -c \"echo 'VAT = 0.2' > src/vat.py\"",
)
def run(options: argparse.Namespace) -> int:
    """Run a command and record its changes as steps of a session.

    Run a command and record what it does as steps of a session. An agent that can be given hooks for one run
    gets them: its tool calls are the steps, and what else changes is yours. Of any other command, and with
    --agent, --title, --here or --socket, each burst of changes is a step. Then all that changes meanwhile
    counts as the command's, except what you save in an editor that is connected to snapd.
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
        recording = _begun(options, folder, words, hooks)
    except (SnapdError, ClientError, OSError) as error:
        if options.require:
            raise
        print_error(error, "the steps of this command are not recorded: ")
        with _Child() as child:
            return child.run(program, words)
    try:
        with _Child() as child:
            if isinstance(recording, HookSessions):
                assert hooks is not None
                code = child.run(program, hooks.words, hooks.variables)
                print_hook_session(options, recording, hooks)
            else:
                code = child.run(program, words)
                print_bursts(options, recording, _agent_without_hooks(options, words))
    finally:
        recording.backend.close()
        if hooks is not None:
            hooks.close()
    return code


def _hooks(options: argparse.Namespace, folder: str, words: list[str]) -> OneRun | None:
    """Returns the command's own hooks, which separate steps better than bursts do; None if it has none."""
    if _wants_bursts(options):
        return None
    from snapd.agents.one_run import with_hooks
    from snapd.agents.styles import program

    try:
        return with_hooks(words, program(), os.environ, folder)
    except OSError as error:
        print_error(error, "the agent is not given hooks: ")
        return None


def _agent_without_hooks(options: argparse.Namespace, words: list[str]) -> Agent | None:
    """Returns the agent of a command that could not be given hooks; None if options asked for bursts."""
    if _wants_bursts(options):
        return None
    from snapd.agents.one_run import agent_of

    return agent_of(words)


def _wants_bursts(options: argparse.Namespace) -> bool:
    """Whether options set what hooks choose themselves: the folder, the daemon, the session."""
    return bool(options.agent or options.title or options.socket or options.here)


def _begun(options: argparse.Namespace, folder: str, words: list[str], hooks: OneRun | None) -> HookSessions | Recorder:
    result, client = connected(options.socket, folder, _ANSWER_SECONDS)
    try:
        # no limit for the first snapshot: the daemon has answered, so it is alive
        client.timeout = None
        if hooks is not None:
            hooked = HookSessions(result, hooks.agent.name)
            hooked.start()
            return hooked
        recorder = Recorder(result, client, options.quiet)
        recorder.start(options.agent or os.path.basename(words[0]), options.title or shlex.join(words))
        return recorder
    except BaseException:
        result.close()
        raise
    finally:
        client.timeout = _ANSWER_SECONDS


class _Child:
    """A command in our terminal and process group, to which Ctrl-C is left; a signal sent to us alone is passed on."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: list[int] = []
        self._handlers: dict[int, Any] = {}
        self._signals = self._wakeup = self._before = -1

    def __enter__(self) -> _Child:
        self._signals, self._wakeup = os.pipe()
        os.set_blocking(self._wakeup, False)
        self._before = signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        # without a handler, no byte is written
        self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _FORWARDED:
            # an ignored signal stays ignored, also for the command, as with nohup
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before)
        os.close(self._signals)
        os.close(self._wakeup)

    def run(self, program: str, words: list[str], variables: Mapping[str, str] = MappingProxyType({})) -> int:
        """Runs it to its end, with these additional environment variables; returns the exit code."""
        try:
            self._process = subprocess.Popen(words, executable=program, env={**os.environ, **variables})
        except OSError as error:
            hint = "check that the file is executable and that its interpreter exists"
            print(f"snapd: {printable(words[0])}: {error.strerror}\nhint: {hint}", file=sys.stderr)
            return _NOT_EXECUTABLE
        for number in self._waiting:
            self._process.send_signal(number)
        code = self._wait(self._process)
        return code if code >= 0 else _BY_SIGNAL - code

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """Waits for the end. Each signal, including SIGCHLD, writes a byte, so that none is missed.

        A signal that came just before `waitpid` would only be passed on when that returns.
        """
        while (code := process.poll()) is None:
            os.read(self._signals, 4096)
        return code

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if number in _FROM_TERMINAL and _in_foreground():
            # the terminal has sent it to the command, too
            return
        if self._process is None:
            self._waiting.append(number)
        else:
            self._process.send_signal(number)


def _in_foreground() -> bool:
    """Whether keyboard signals of the terminal reach this process."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


def print_bursts(options: argparse.Namespace, recorder: Recorder, agent: Agent | None) -> None:
    """Ends the session of bursts, and prints it; `agent` is one whose hooks would have recorded more, if any."""
    try:
        every = recorder.finish()
        shared = _shared_files(recorder.backend, every)
        learn(recorder.backend, [every, {"sessionId": recorder.session_id}])
    except (ClientError, SnapdError, OSError) as error:
        print_error(error, "the session could not be ended: ")
        return
    if recorder.trouble is not None:
        print_error(recorder.trouble, "some changes may not be recorded: ")
    painter = Painter(options, sys.stderr)
    changed = _print_session(painter, recorder.session_id, every, shared)
    if not changed:
        _warn_ignored(recorder.backend)
        return
    lines = [_BURSTS, _undo_hint(recorder.session_id)]
    if agent is not None:
        lines.append(f"after 'snapd agent install {agent.name}', steps are the tool calls of {agent.title}")
    _print_dim(painter, *lines)


def print_hook_session(options: argparse.Namespace, hooked: HookSessions, hooks: OneRun) -> None:
    """Prints what the agent's hooks recorded."""
    title = hooks.agent.title
    try:
        sessions = hooked.finish()
        shared = {name: _shared_files(hooked.backend, steps) for name, steps in sessions.items()}
        learn(hooked.backend, [sessions, {"sessionId": list(sessions), "hash": hooked.base}])
    except (ClientError, SnapdError, OSError) as error:
        print_error(error, "what was recorded cannot be told: ")
        return
    painter = Painter(options, sys.stderr)
    if not sessions and hooked.base == hooked.end:
        print(painter.paint("snapd: nothing changed", "dim"), file=sys.stderr)
        _warn_ignored(hooked.backend)
        return
    if not sessions:
        print(f"snapd: no step was recorded: the hooks of {title} told of none", file=sys.stderr)
        _print_dim(painter, f"what changed meanwhile counts as yours; 'snapd diff {short(hooked.base)}' shows it")
        return
    for name, steps in sessions.items():
        _print_session(painter, name, steps, shared[name])
    source = "its installed hooks" if hooks.installed else "hooks for this run"
    _print_dim(
        painter,
        f"steps are the tool calls of {title}, told by {source}; what else changed meanwhile counts as yours",
        *map(_undo_hint, sessions),
    )


def _print_session(painter: Painter, session_id: str, every: list[Any], shared: list[str]) -> bool:
    """Prints the steps of a session; returns whether any changed something."""
    steps = [step for step in every if step.get("files") or "git" in step]
    name = short(session_id)
    lost = format_uncaptured(every)
    if not steps:
        print(painter.paint(f"snapd: session {name}: nothing changed", "dim"), file=sys.stderr)
        if lost is not None:
            print(f"  {painter.paint(lost, 'yellow')}", file=sys.stderr)
        return False
    text = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    print(f"snapd: session {painter.paint(name, 'yellow')}: {text}", file=sys.stderr)
    for step in steps:
        print(f"  {painter.paint('●', 'cyan')} {_step_line(painter, step)}", file=sys.stderr)
    for line in [*shared, *filter(None, [lost])]:
        print(f"  {painter.paint(line, 'yellow')}", file=sys.stderr)
    return True


def _warn_ignored(backend: Backend) -> None:
    """Warns if the command ran in a folder that snapshots ignore."""
    here = os.getcwd()
    try:
        ignored = backend.request("snapshot/status", {"file": os.path.join(here, "new")}).get("ignored")
    except (ClientError, SnapdError, OSError) as error:
        print_error(error)
        return
    if ignored:
        print(f"snapd: {printable(here)} is ignored: no snapshot has what is written there", file=sys.stderr)


def _print_dim(painter: Painter, *lines: str) -> None:
    for line in lines:
        print(painter.paint(line, "dim"), file=sys.stderr)


def _undo_hint(session_id: str) -> str:
    return f"snapd undo --session {short(session_id)} undoes the last step, and with --all all of them"


def _shared_files(backend: Backend, steps: list[Step]) -> list[str]:
    """Returns a line for each other step that may also have written files of these steps."""
    files: dict[str, dict[str, None]] = {}
    for step in steps:
        for row in step.get("files", ()):
            for other in row.get("sharedWith", ()):
                files.setdefault(other, {})[printable(row["file"])] = None
    lines = []
    for other, names in files.items():
        agent = find_step(backend, other).get("agent")
        shown = ", ".join(list(names)[:_FILES]) + (f" and {len(names) - _FILES} more" if len(names) > _FILES else "")
        lines.append(f"{shown}: {sharing(other, agent)}; an undo leaves what is shared")
    return lines


def _step_line(painter: Painter, step: Any) -> str:
    files = step["files"]
    git = f"  git: {git_line(step['git'])}" if "git" in step else ""
    if not files:
        return f"{short(step['stepId'])}{git}"
    total = {key: sum(row[key] for row in files) for key in ("additions", "deletions")}
    room = (terminal_width() - 40) // min(len(files), _FILES)
    names = ", ".join(fit_name(printable(row["file"]), max(8, room)) for row in files[:_FILES])
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    return f"{short(step['stepId'])}  {counts(painter, {'binary': False, **total})}  {names}{more}{git}"

"""Starts snapd processes at a tenth of the cost: by forking a process that has imported snapd already.

The zygote imports the command line and the daemon once, and waits. `start` sends it arguments, environment, directory,
umask and standard streams; it forks, and the child takes them over as after an exec and runs the `main` of
`python -m snapd`. Everything that a process is, it is: process id, signals, descriptors, exit status. It lacks a start
of the interpreter of its own, so whatever that start depends on gets a real one: see `_can_fork`. The zygote has one
thread, opens nothing, and touches no file before it forks.
"""

from __future__ import annotations

import atexit
import gc
import inspect
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MOST_BYTES = 1 << 17
"""Of one message: more than arguments and environment of any test take."""
_LOCALE = "C.UTF-8"
_UNKNOWN = 1 << 8
"""The status of an orphan, which init alone knows: exit code 1."""
_OPTIONS = frozenset({"stdin", "stdout", "stderr", "bufsize", "start_new_session"})
_ROOT = Path(__file__).parents[2]


def start(
    arguments: Sequence[str | bytes],
    env: Mapping[str, str],
    cwd: str | None = None,
    *,
    watched: bool = False,
    orphaned: bool = False,
    **how: Any,
) -> subprocess.Popen[bytes]:
    """Starts a snapd command.

    Args:
        arguments: without the program's name.
        env: its whole environment.
        cwd: its working directory.
        watched: whether the loop of a daemon is watched; see `tests.rpc.watched`.
        orphaned: whether nobody has to wait for it: a real process is not, and its parent must not wait for it.
        how: as for `subprocess.Popen`.
    """
    words = [os.fsdecode(argument) for argument in arguments]
    if _can_fork(env, how):
        return _Forked(words, cwd=cwd or os.getcwd(), env=env, watched=watched, orphaned=orphaned, **how)
    return subprocess.Popen([*command(watched=watched), *words], cwd=cwd, env=env, **how)


def command(*, watched: bool = False) -> list[str]:
    """What starts a snapd process anew, without its arguments."""
    return [sys.executable, str(_ROOT / "tests/rpc/watched.py")] if watched else [sys.executable, "-m", "snapd"]


def _can_fork(env: Mapping[str, str], how: Mapping[str, Any]) -> bool:
    """Whether nothing asks for a start of the interpreter: variables that it reads, or code to run before it."""
    if not hasattr(os, "pidfd_open"):
        return False
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or _LOCALE
    like_here = _of_python(env).items() <= _of_python(os.environ).items()
    return like_here and locale in ("C", "POSIX", _LOCALE) and _OPTIONS.issuperset(how)


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in env.items() if name.startswith("PYTHON")}


class _Forked(subprocess.Popen[bytes]):
    """A child of the zygote. The zygote keeps its exit status until somebody here waits for it."""

    def __init__(self, args: list[str], *, watched: bool, orphaned: bool, **how: Any) -> None:
        self._watched, self._orphaned = watched, orphaned
        super().__init__(args, **how)

    def _execute_child(self, *arguments: Any) -> None:
        given = inspect.signature(super()._execute_child).bind(*arguments).arguments  # type: ignore[misc]
        pipes = [given[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        question = {
            "arguments": given["args"],
            "env": dict(given["env"]),
            "cwd": given["cwd"],
            "umask": _umask(),
            "session": given["start_new_session"],
            "watched": self._watched,
            "orphaned": self._orphaned,
        }
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        try:
            self.pid = _zygote().ask(question, [own if pipe == -1 else pipe for own, pipe in enumerate(pipes)])
            self._child_created = True
        finally:
            self._close_pipe_fds(*(given[name] for name in ends))  # type: ignore[attr-defined]

    def _try_wait(self, flags: int) -> tuple[int, int]:
        try:
            ended = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return self.pid, _UNKNOWN
        try:
            poll = select.poll()
            poll.register(ended, select.POLLIN)
            if not poll.poll(0 if flags & os.WNOHANG else None):
                return 0, 0
        finally:
            os.close(ended)
        return self.pid, _zygote().ask({"wait": self.pid}, [])

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                if self.returncode is None and (found := self._try_wait(os.WNOHANG))[0]:
                    self.returncode = os.waitstatus_to_exitcode(found[1])
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def _umask() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask:"))
    return int(line.split()[1], 8)


class _Zygote:
    """The process that forks, as seen from a test."""

    def __init__(self) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.zygote", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={"PATH": os.environ["PATH"], "LC_ALL": _LOCALE, **_of_python(os.environ)},
                cwd=_ROOT,
                start_new_session=True,
            )
        self._turn = threading.Lock()
        self._asked = 0

    def ask(self, question: dict[str, Any], descriptors: list[int]) -> int:
        with self._turn:
            self._asked += 1
            socket.send_fds(self._connection, [json.dumps({**question, "number": self._asked}).encode()], descriptors)
            while True:
                # a command whose time is over leaves its answer here for the next one
                number, answer = map(int, self._connection.recv(_MOST_BYTES).split())
                if number == self._asked:
                    return answer

    def end(self) -> None:
        self._connection.close()
        self._process.wait()


_started: list[_Zygote] = []


def _zygote() -> _Zygote:
    """The one of this process; starts it."""
    if not _started:
        _started.append(_Zygote())
        atexit.register(_started[0].end)
    return _started[0]


def _serve(connection: socket.socket) -> Callable[[], int] | None:
    """Forks until nobody asks any more.

    Returns:
        In a child, what it is to run; None in the zygote.
    """
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
        if not data:
            return None
        question = json.loads(data)
        if "wait" in question:
            connection.send(b"%d %d" % (question["number"], _status(question["wait"])))
        elif _fork(connection, question["number"], orphaned=question["orphaned"]) == 0:
            connection.close()
            return _become(question, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _status(pid: int) -> int:
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return _UNKNOWN


def _fork(connection: socket.socket, number: int, *, orphaned: bool) -> int:
    """Forks, and answers the question of this number with the new process's id; gives 0 in it."""
    between = os.fork() if orphaned else 0
    if between:
        os.waitpid(between, 0)
        return between
    child = os.fork()
    if child:
        connection.send(b"%d %d" % (number, child))
        if orphaned:
            os._exit(0)
    return child


def _become(question: dict[str, Any], descriptors: list[int]) -> Callable[[], int]:
    """Makes a forked process what an exec would have left, and gives its main function."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if question["session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, errors="surrogateescape", closefd=False)  # noqa: SIM115 - until the end
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(question["env"])
    time.tzset()
    os.umask(question["umask"])
    os.chdir(question["cwd"])
    sys.path[0] = question["cwd"]
    sys.argv = [str(_ROOT / "snapd/__main__.py"), *question["arguments"]]
    module = "tests.rpc.watched" if question["watched"] else "snapd.cli.main"
    run: Callable[[], int] = import_module(module).main
    return run


def _import_all() -> None:
    from snapd.classes_later import classes_later
    from snapd.cli.parsing.parser import build_parser
    from snapd.cli.parsing.usage import subcommands

    others = ("snapd.daemon", "snapd.web.server", "tests.rpc.watched")
    with classes_later():
        for module in others:
            import_module(module)
    # imports all commands, and keeps the parsers
    subcommands(build_parser())
    # a collection in a child would copy all of it
    gc.freeze()


if __name__ == "__main__":
    # a Ctrl-C is for the tests
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_all()
    job = _serve(socket.socket(fileno=int(sys.argv[1])))
    if job is not None:
        sys.exit(job())

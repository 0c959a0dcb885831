"""Runs the git program where it speaks to other machines.

It gets a configuration of snapd's own: that of the user, of the system and of the project may name programs to run for
all kinds of reasons. Only what is needed to be let in is the user's: credential helpers, and how to run ssh.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, BinaryIO

import attrs

from snapd.model.errors import IoError

from .address import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from snapd.model.call import Call


_CHUNK = 1 << 16

_KEPT = ("HOME", "LOGNAME", "PATH", "TMPDIR", "USER", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
_LETS_IN = (
    *("DISPLAY", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
    *("GNUPGHOME", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_AUTH_SOCK", "SSL_CERT_DIR"),
    *("SSL_CERT_FILE", "WAYLAND_DISPLAY", "all_proxy", "http_proxy", "https_proxy", "no_proxy", "ALL_PROXY"),
    *("HTTPS_PROXY", "NO_PROXY"),
)
_OURS = (
    ("core.hooksPath", os.devnull),
    ("fetch.fsckObjects", "true"),
    ("fetch.unpackLimit", "1"),
    ("gc.auto", "0"),
    ("http.followRedirects", "initial"),
    ("maintenance.auto", "false"),
    ("protocol.version", "2"),
    ("push.gpgSign", "false"),
    ("transfer.unpackLimit", "1"),
)
PATIENCE = 0.1
_MOST_SAID = 1 << 16
_BLOCK = 512
_KIB = 1024


def _feed(file: IO[bytes], data: bytes) -> None:
    """Gives a process its input, and closes the pipe."""
    # without a reader, it has ended without the rest, and says why
    with suppress(BrokenPipeError), file:
        file.write(data)


class Drain(threading.Thread):
    """Reads what a process puts out, to its end, and keeps the beginning.

    Args:
        file: the pipe, which is closed at its end.
        most: the bytes that are kept; None for all.

    Attributes:
        is_over: whether there was more.
    """

    def __init__(self, file: IO[bytes], most: int | None) -> None:
        super().__init__(daemon=True)
        self._file = file
        self._most = most
        self._kept = bytearray()
        self.is_over = False

    @property
    def kept(self) -> bytes:
        """What was read and kept."""
        return bytes(self._kept)

    def run(self) -> None:
        """Works until the other end is closed."""
        with self._file:
            # what is there, without waiting until there is more
            while data := self._file.read1(_CHUNK):  # type: ignore[attr-defined]
                self._kept += data
                if self._most is not None and len(self._kept) > self._most:
                    del self._kept[self._most :]
                    self.is_over = True


@attrs.frozen
class Finished:
    """What a git command left behind.

    Attributes:
        code: its exit code.
        out: its standard output; nothing if that went into a file.
        said: the beginning of its standard error, as text.
        is_cut: whether it was ended because its output was over the bounds.
    """

    code: int
    out: bytes
    said: str
    is_cut: bool = False


@attrs.frozen
class Bounds:
    """The most that a command may use where it speaks to somebody who may send anything, for as long as they want.

    Attributes:
        output_bytes: its standard output.
        file_bytes: one file that it writes, such as a pack.
        object_bytes: one object in memory.
        memory_bytes: the memory of one process.
        seconds: the processor time of one process.
    """

    output_bytes: int = 64 << 20
    file_bytes: int = 16 << 30
    object_bytes: int = 1 << 30
    memory_bytes: int = 4 << 30
    seconds: int = 3600

    @property
    def words(self) -> list[str]:
        """A command that runs the one that follows it with less: where a limit is lower already, that one holds."""
        limits = {"f": self.file_bytes // _BLOCK, "d": self.memory_bytes // _KIB, "t": self.seconds}
        script = "".join(f"ulimit -{name} {most} 2>/dev/null; " for name, most in limits.items())
        return ["/bin/sh", "-c", f'{script}exec "$@"', "sh"]

    @property
    def environment(self) -> dict[str, str]:
        """What git reads of it."""
        return {"GIT_ALLOC_LIMIT": str(self.object_bytes)}


@attrs.frozen
class GitProgram:
    """The git program.

    Args:
        environment: of this process.
        settings: names and values of the user's configuration that let git in at other machines.
        protocols: what git may speak. Give none where it is to ask nobody: in a partial clone, it would fetch what is
            missing there, by the programs that the project's configuration names.
    """

    environment: Mapping[str, str]
    settings: Sequence[tuple[str, str]] = ()
    protocols: Sequence[str] = PROTOCOLS

    def run(
        self,
        git_dir: str,
        words: Sequence[str],
        call: Call,
        *,
        data: bytes = b"",
        source: BinaryIO | None = None,
        into: str | None = None,
        bounds: Bounds | None = None,
    ) -> Finished:
        """Runs a command in a repository.

        Args:
            git_dir: the repository.
            words: the command and its arguments.
            call: the request; once it is cancelled, git and what it started is ended.
            data: its standard input.
            source: an open file that is its standard input instead, from where its descriptor stands.
            into: the file that gets its standard output; None to return that.
            bounds: the most that it may use; None for a command that speaks with nobody.

        Raises:
            IoError: git cannot be run.
            Cancelled: the request was cancelled.
        """
        with ExitStack() as opened:
            out = subprocess.PIPE if into is None else opened.enter_context(open(into, "wb"))
            command = ["git", f"--git-dir={git_dir}", *words]
            environment = self._environment() | (bounds.environment if bounds is not None else {})
            process = start(command, git_dir, environment, bounds, "install git", source or subprocess.PIPE, out)
            given = None if source is not None else data
            return finished(process, given, call, None if bounds is None else bounds.output_bytes)

    def _environment(self) -> dict[str, str]:
        kept = {name: self.environment[name] for name in (*_KEPT, *_LETS_IN) if name in self.environment}
        settings = [*self.settings, *_OURS]
        numbered = {
            f"GIT_CONFIG_{part}_{at}": text
            for at, (name, value) in enumerate(settings)
            for part, text in (("KEY", name), ("VALUE", value))
        }
        if not any(name in kept for name in ("GIT_SSH", "GIT_SSH_COMMAND")) and not any(
            name.lower() == "core.sshcommand" for name, _ in settings
        ):
            kept["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
        return {
            **kept,
            **numbered,
            "GIT_CONFIG_COUNT": str(len(settings)),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ALLOW_PROTOCOL": ":".join(self.protocols) or "none",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_PROTOCOL_FROM_USER": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }


def start(
    command: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    bounds: Bounds | None,
    remedy: str,
    source: int | BinaryIO = subprocess.PIPE,
    out: int | BinaryIO = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Starts a program for `finished`.

    Args:
        command: the program and its arguments.
        cwd: where it runs.
        environment: its whole environment.
        bounds: the most that it may use; None for a command that speaks with nobody.
        remedy: what to do if there is no such program.
        source: its standard input.
        out: its standard output.

    Raises:
        IoError: it cannot be run.
    """
    try:
        return subprocess.Popen(
            [*(bounds.words if bounds is not None else ()), *command],
            cwd=cwd,
            env=environment,
            stdin=source,
            stdout=out,
            stderr=subprocess.PIPE,
            # no terminal that could be asked for a password, and one group to end as a whole
            start_new_session=True,
        )
    except OSError as error:
        raise IoError(
            f"{command[0]} cannot be run: {os.strerror(error.errno or 0)}",
            hint=f"{remedy}, or put it on the PATH of the daemon",
            errno=errno.errorcode.get(error.errno or 0, "EIO"),
            path=command[0],
        ) from error


def finished(process: subprocess.Popen[bytes], data: bytes | None, call: Call, most: int | None) -> Finished:
    """Waits for a process; ends it once the request is cancelled, or its output is over the bounds.

    Args:
        process: leads a session of its own, so that those that it started end with it.
        data: its standard input; None if it has that from elsewhere.
        call: the request.
        most: of its standard output, bytes; None for all.

    Raises:
        Cancelled: the request was cancelled.
    """
    assert process.stderr is not None
    pipes: list[threading.Thread] = [said := Drain(process.stderr, _MOST_SAID)]
    if process.stdin is not None:
        pipes.insert(0, threading.Thread(target=_feed, args=(process.stdin, data or b""), daemon=True))
    out = None
    if process.stdout is not None:
        pipes.append(out := Drain(process.stdout, most))
    try:
        for pipe in pipes:
            pipe.start()
        while (alive := [pipe for pipe in pipes if pipe.is_alive()]) and not (out is not None and out.is_over):
            alive[-1].join(PATIENCE)
            call.check()
    except BaseException:
        _end(process, pipes)
        raise
    if out is not None and out.is_over:
        _end(process, pipes)
    code = process.wait()
    kept = b"" if out is None else out.kept
    return Finished(code, kept, said.kept.decode("utf-8", "replace").strip(), out is not None and out.is_over)


def _end(process: subprocess.Popen[bytes], pipes: Sequence[threading.Thread]) -> None:
    """Ends a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # it has ended meanwhile; or on macOS, all that is left of the group are zombies
        process.kill()
    for pipe in pipes:
        if pipe.is_alive():
            pipe.join()
    process.wait()

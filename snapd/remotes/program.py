"""Runs the git program to contact other machines.

Git gets a configuration of snapd's own, because that of the user, the system and the project may name programs to run.
Only what it needs to authenticate is the user's: credential helpers, and how to run ssh.
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
    """Writes the input of a process and closes the pipe."""
    # the process may have ended early; its output has the reason
    with suppress(BrokenPipeError), file:
        file.write(data)


class Drain(threading.Thread):
    """Reads a pipe to its end and closes it; keeps the first `most` bytes (None for all). `is_over`: there was more."""

    def __init__(self, file: IO[bytes], most: int | None) -> None:
        super().__init__(daemon=True)
        self._file = file
        self._most = most
        self._kept = bytearray()
        self.is_over = False

    @property
    def kept(self) -> bytes:
        """The first bytes that were read."""
        return bytes(self._kept)

    def run(self) -> None:
        """Reads until the other end is closed."""
        with self._file:
            # returns what is available without waiting for more
            while data := self._file.read1(_CHUNK):  # type: ignore[attr-defined]
                self._kept += data
                if self._most is not None and len(self._kept) > self._most:
                    del self._kept[self._most :]
                    self.is_over = True


@attrs.frozen
class Finished:
    """The result of a process; `stderr` is the beginning of its standard error.

    `is_cut` says whether it was killed because its output was over the bounds.
    """

    code: int
    out: bytes
    stderr: str
    is_cut: bool = False


@attrs.frozen
class Bounds:
    """Limits for a command that receives data from another machine.

    `file_bytes` limits each file that it writes, and `object_bytes` one object in memory; `memory_bytes` and `seconds`
    (processor time) apply to each process.
    """

    output_bytes: int = 64 << 20
    file_bytes: int = 16 << 30
    object_bytes: int = 1 << 30
    memory_bytes: int = 4 << 30
    seconds: int = 3600

    @property
    def words(self) -> list[str]:
        """A command prefix that applies these limits, unless lower ones are in force."""
        limits = {"f": self.file_bytes // _BLOCK, "d": self.memory_bytes // _KIB, "t": self.seconds}
        script = "".join(f"ulimit -{name} {most} 2>/dev/null; " for name, most in limits.items())
        return ["/bin/sh", "-c", f'{script}exec "$@"', "sh"]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make git apply the limits."""
        return {"GIT_ALLOC_LIMIT": str(self.object_bytes)}


@attrs.frozen
class GitProgram:
    """The git program.

    `settings` are the user's settings for authentication at other machines. `protocols` are those that git may use:
    give none where it must contact nobody, because in a partial clone it would fetch missing objects with programs that
    the project's configuration names.
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
        """Runs a git command in a repository; a cancelled request kills it with all its children.

        Its standard input is `data`, or the rest of the open file `source`. `into` is a file for its standard output;
        None returns that. Give `bounds` to a command that receives data from another machine.
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
    """Starts a program in a session of its own, for `finished`; `remedy` is the hint of the `IoError` if it cannot."""
    try:
        return subprocess.Popen(
            [*(bounds.words if bounds is not None else ()), *command],
            cwd=cwd,
            env=environment,
            stdin=source,
            stdout=out,
            stderr=subprocess.PIPE,
            # no terminal to ask for a password, and one process group to kill
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
    """Waits for a process of `start`; kills it if the request is cancelled or it prints over `most` bytes."""
    assert process.stderr is not None
    pipes: list[threading.Thread] = [stderr := Drain(process.stderr, _MOST_SAID)]
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
    return Finished(code, kept, stderr.kept.decode("utf-8", "replace").strip(), out is not None and out.is_over)


def _end(process: subprocess.Popen[bytes], pipes: Sequence[threading.Thread]) -> None:
    """Kills a process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # it has ended, or on macOS only zombies are left of the group
        process.kill()
    for pipe in pipes:
        if pipe.is_alive():
            pipe.join()
    process.wait()

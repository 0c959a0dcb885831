"""Runs the git program where it speaks to other machines.

It gets a configuration of snapd's own: that of the user, of the system and of the project may name programs to run for
all kinds of reasons. Only what is needed to be let in is the user's: credential helpers, and how to run ssh.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import tempfile
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, BinaryIO

import attrs

from snapd.core.errors import IoError, os_errors

from .address import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from snapd.core.call import Call

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
_PATIENCE = 0.1


@attrs.frozen
class Finished:
    """What a git command left behind.

    Attributes:
        code: its exit code.
        out: its standard output; nothing if that went into a file.
        said: its standard error, as text.
    """

    code: int
    out: bytes
    said: str


@attrs.frozen
class GitProgram:
    """The git program.

    Args:
        environment: of this process.
        settings: names and values of the user's configuration that let git in at other machines.
    """

    environment: Mapping[str, str]
    settings: Sequence[tuple[str, str]] = ()

    def run(
        self, git_dir: str, words: Sequence[str], call: Call, *, data: bytes = b"", into: str | None = None
    ) -> Finished:
        """Runs a command in a repository.

        Args:
            git_dir: the repository.
            words: the command and its arguments.
            call: the request; once it is cancelled, git and what it started is ended.
            data: its standard input.
            into: the file that gets its standard output; None to return that.

        Raises:
            StorageFull, IoError: git cannot be run.
            Cancelled: the request was cancelled.
        """
        with ExitStack() as opened:
            out = subprocess.PIPE if into is None else opened.enter_context(open(into, "wb"))
            # a file, since `communicate` does not go on with what it has not written when its time is over
            given = opened.enter_context(tempfile.TemporaryFile())
            with os_errors(git_dir):
                given.write(data)
                given.seek(0)
            try:
                process = self._start(git_dir, words, given, out)
            except OSError as error:
                raise IoError(
                    f"git cannot be run: {os.strerror(error.errno or 0)}",
                    hint="install git, or put it on the PATH of the daemon",
                    errno=errno.errorcode.get(error.errno or 0, "EIO"),
                    path="git",
                ) from error
            return _finished(process, call)

    def _start(
        self, git_dir: str, words: Sequence[str], given: IO[bytes], out: int | BinaryIO
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["git", f"--git-dir={git_dir}", *words],
            cwd=git_dir,
            env=self._environment(),
            stdin=given,
            stdout=out,
            stderr=subprocess.PIPE,
            # no terminal that could be asked for a password, and one group to end as a whole
            start_new_session=True,
        )

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
            "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_PROTOCOL_FROM_USER": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }


def _finished(process: subprocess.Popen[bytes], call: Call) -> Finished:
    """Waits for a process; ends it once the request is cancelled."""
    try:
        while True:
            try:
                out, said = process.communicate(timeout=_PATIENCE)
                break
            except subprocess.TimeoutExpired:
                call.check()
    except BaseException:
        _end(process)
        raise
    return Finished(process.returncode, out or b"", said.decode("utf-8", "replace").strip())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # it has ended meanwhile; or on macOS, all that is left of the group are zombies
        process.kill()
    process.communicate()

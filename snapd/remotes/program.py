"""Runs the git program where it speaks to other machines.

It gets a configuration of snapd's own: that of the user, of the system and of the project may name programs to run for
all kinds of reasons. Only what is needed to be let in is the user's: credential helpers, and how to run ssh.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import attrs

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
        out: its standard output, as text.
        said: its standard error, as text.
    """

    code: int
    out: str
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

    def run(self, git_dir: str, words: Sequence[str], call: Call) -> Finished:
        """Runs a command in a repository.

        Args:
            git_dir: the repository.
            words: the command and its arguments.
            call: the request; once it is cancelled, git and what it started is ended.

        Raises:
            FileNotFoundError, PermissionError: git cannot be run.
            Cancelled: the request was cancelled.
        """
        process = subprocess.Popen(
            ["git", f"--git-dir={git_dir}", *words],
            cwd=git_dir,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # no terminal that could be asked for a password, and one group to end as a whole
            start_new_session=True,
        )
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
        return Finished(process.returncode, out.decode("utf-8", "replace"), said.decode("utf-8", "replace").strip())

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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # it has ended meanwhile; or on macOS, all that is left of the group are zombies
        process.kill()
    process.communicate()

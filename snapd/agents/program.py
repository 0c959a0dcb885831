"""The command that agents run at each event."""

from __future__ import annotations

import os
import shlex
import shutil
import sys


def program() -> str:
    """The absolute path of the `snapd` program that this process is.

    Where the PATH leads to this very program, the path found there: it stays when the program is installed anew.
    """
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) != "snapd" or not os.access(started, os.X_OK):
        # started as a module, or by another program
        started = os.path.join(os.path.dirname(sys.executable), "snapd")
    on_path = shutil.which("snapd")
    if on_path is not None and (os.path.realpath(on_path) == os.path.realpath(started) or not os.path.exists(started)):
        return os.path.abspath(on_path)
    return started


def hook_command(path: str, called: str) -> str:
    """The command line of a hook, for a shell.

    Args:
        path: of the program.
        called: the name of the agent, or empty.
    """
    return f"{shlex.quote(path)} hook {called}".rstrip()


def program_of(command: object) -> str | None:
    """The program of a command line that is a hook of snapd's; None if it is none."""
    if not isinstance(command, str) or "hook" not in command:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) in (2, 3) and os.path.basename(words[0]) == "snapd" and words[1] == "hook":
        return words[0]
    return None

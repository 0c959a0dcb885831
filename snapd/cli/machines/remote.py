"""What the commands about remotes share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.filenames import printable

if TYPE_CHECKING:
    import argparse


def remote_of(options: argparse.Namespace) -> str:
    """The address of a remote; a folder is given as an absolute path, for the daemon is elsewhere."""
    remote: str = options.remote
    is_path = remote in (".", "..") or remote.startswith(("./", "../"))
    return os.path.abspath(os.path.join(options.directory, remote)) if is_path else remote


def readers_of(result: dict[str, Any]) -> str:
    """Who can read what goes to the remote of an answer, as far as its address says."""
    remote = printable(result["remote"])
    if remote.startswith("/"):
        where = "this folder"
    else:
        host = remote.partition("://")[2].partition("/")[0].rpartition("@")[2] if "://" in remote else ""
        host = host or (remote.partition(":")[0].rpartition("@")[2] if ":" in remote else "")
        where = f"this repository on {host}" if host else "this repository"
    return f"Whoever can read {where} can read all of it."


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

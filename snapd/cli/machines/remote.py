"""What the commands about remotes share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def remote_of(options: argparse.Namespace) -> str:
    """The address of a remote; a folder is given as an absolute path, for the daemon is elsewhere."""
    remote: str = options.remote
    is_path = remote in (".", "..") or remote.startswith(("./", "../"))
    return os.path.abspath(os.path.join(options.directory, remote)) if is_path else remote


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

"""`snapd revert` and `snapd restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.requests.connection import backend, in_folder, resolve
from snapd.cli.requests.operation import operate

if TYPE_CHECKING:
    import argparse


def revert(options: argparse.Namespace) -> int:
    """Brings some files back."""
    with backend(options) as found:
        files = [in_folder(options, path) for path in options.files]
        params = {"patches": [{"hash": resolve(found, options.hash), "files": files}]}
        return operate(options, found, "snapshot/revert", params, sure=options.yes)


def restore(options: argparse.Namespace) -> int:
    """Makes the folder what a snapshot was."""
    with backend(options) as found:
        params = {"hash": resolve(found, options.hash)}
        return operate(options, found, "snapshot/restore", params, sure=options.yes)

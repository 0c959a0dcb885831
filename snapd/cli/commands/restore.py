"""`snapd revert` and `snapd restore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.requests.connection import ask, backend, in_folder
from snapd.cli.requests.folder import folder_of
from snapd.cli.requests.operation import operate
from snapd.cli.requests.similar import meant_file
from snapd.cli.requests.snapshots import find_snapshot
from snapd.cli.terminal.filenames import shell_name
from snapd.core.errors import InvalidParams

from .keep import revert_pending

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend


def revert(options: argparse.Namespace) -> int:
    """Brings some files back, or reverts pending changes hunk by hunk."""
    if options.patch:
        return revert_pending(options)
    if not options.files:
        raise InvalidParams(
            "expected a snapshot and the files to bring back from it",
            hint="'snapd snapshots' lists the snapshots; 'snapd revert -p' asks about what agents changed",
            field="FILE",
        )
    with backend(options) as found:
        tree = find_snapshot(found, options.hash)
        for path in options.files:
            _check_known(options, found, tree, path)
        params = {"patches": [{"hash": tree, "files": [in_folder(options, path) for path in options.files]}]}
        return operate(options, found, "snapshot/revert", params, sure=options.yes)


def restore(options: argparse.Namespace) -> int:
    """Makes the folder what a snapshot was."""
    with backend(options) as found:
        params = {"hash": find_snapshot(found, options.hash)}
        return operate(options, found, "snapshot/restore", params, sure=options.yes)


def _check_known(options: argparse.Namespace, found: Backend, tree: str, path: str) -> None:
    """Makes sure that a path exists somewhere: a name that was mistyped would be reported as unchanged.

    Raises:
        InvalidParams: neither the snapshot nor the folder has it.
    """
    file = in_folder(options, path)
    # a name that is no UTF-8 is not mistyped
    if file.startswith("file:") or os.path.lexists(file):
        return
    if ask(found, "snapshot/fileExists", {"hash": tree, "file": file})["exists"]:
        return
    name = os.path.relpath(file, folder_of(options))
    if not ask(found, "snapshot/listFiles", {"hash": tree, "prefix": f"{name}/", "limit": 1})["files"]:
        raise InvalidParams(
            f"{shell_name(path)}: neither the snapshot nor the folder has it",
            hint=f"{meant_file(found, tree, name)}check the name; 'snapd files {tree}' lists what the snapshot has",
            field="FILE",
        )

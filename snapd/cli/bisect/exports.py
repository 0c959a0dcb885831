"""Brings one folder from snapshot to snapshot; after the first one, each costs what differs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.requests.connection import ask
from snapd.core.paths import absolute, from_uri, to_uri

if TYPE_CHECKING:
    from snapd.backend import Backend
    from snapd.worktree.export.scratch import Scratch


class Exports:
    """The exports into one folder.

    Args:
        found: who answers.
        root: the workspace, absolute and canonical.
        scratch: the folder.
        reuse: whether what commands made in it stays, as far as no snapshot has it.
    """

    def __init__(self, found: Backend, root: bytes, scratch: Scratch, *, reuse: bool) -> None:
        self._found = found
        self._root = root
        self._scratch = scratch
        self._reuse = reuse
        self._tree: str | None = None

    def bring(self, tree: str) -> bytes:
        """Has the folder be a snapshot; gives its path.

        Args:
            tree: the hash of the snapshot.

        Raises:
            SnapdError: it could not be exported; the folder is of no use any more.
        """
        about = {"hash": tree, "directory": to_uri(self._scratch.path)}
        if self._tree is None:
            ask(self._found, "snapshot/export", about)
            self._scratch.note(None)
        else:
            patch = ask(self._found, "snapshot/patch", {"hash": self._tree, "to": tree})
            wrong = self._scratch.clear(map(self._relative, patch["files"]), keep=self._reuse)
            names = [absolute(self._root, path) for path in sorted(wrong)]
            ask(self._found, "snapshot/export", {**about, "files": names})
            self._scratch.note(wrong)
        self._tree = tree
        return self._scratch.path

    def _relative(self, name: str) -> bytes:
        """The path of a file in a patch, which is absolute, or a URI where it is not UTF-8."""
        path = from_uri(name, "files") if name.startswith("file:/") else os.fsencode(name)
        return path[len(self._root.rstrip(b"/")) + 1 :]

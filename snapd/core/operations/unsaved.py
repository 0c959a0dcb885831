"""Knows which files have unsaved text in an editor: overwriting such a file can lose more than the disk shows."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from snapd.core.model import RelPath


class Unsaved:
    """The files with unsaved text in any editor, in all folders. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[Hashable, set[bytes]] = {}

    def mark(self, editor: Hashable, path: bytes, unsaved: bool) -> None:
        """Notes whether an editor has unsaved text of a file.

        Args:
            editor: identifies the editor.
            path: absolute, with all symlinks resolved.
            unsaved: whether the editor has unsaved text.
        """
        with self._lock:
            paths = self._of.setdefault(editor, set())
            if unsaved:
                paths.add(path)
            else:
                paths.discard(path)
            if not paths:
                del self._of[editor]

    def drop(self, editor: Hashable) -> None:
        """Forgets an editor that is gone."""
        with self._lock:
            self._of.pop(editor, None)

    def below(self, root: bytes) -> frozenset[RelPath]:
        """Lists the files in a folder that have unsaved text in any editor."""
        prefix = root.rstrip(b"/") + b"/"
        with self._lock:
            return frozenset(
                path[len(prefix) :] for paths in self._of.values() for path in paths if path.startswith(prefix)
            )

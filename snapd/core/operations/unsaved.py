"""Which files have text in an editor that is not saved: what is on the disk is then not all that there is to lose."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from snapd.core.model import RelPath


class Unsaved:
    """The files with unsaved text, of all editors, wherever they lie. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[Hashable, set[bytes]] = {}

    def mark(self, editor: Hashable, path: bytes, unsaved: bool) -> None:
        """Says whether an editor has unsaved text of a file.

        Args:
            editor: whoever it is.
            path: absolute, without symlinks on the way.
            unsaved: whether it has.
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
        """An editor is gone, and with it what it had."""
        with self._lock:
            self._of.pop(editor, None)

    def below(self, root: bytes) -> frozenset[RelPath]:
        """The files in a folder of which some editor has unsaved text."""
        prefix = root.rstrip(b"/") + b"/"
        with self._lock:
            return frozenset(
                path[len(prefix) :] for paths in self._of.values() for path in paths if path.startswith(prefix)
            )

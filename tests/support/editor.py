"""An editor at work in a workspace, as the core hears of it."""

from __future__ import annotations

import os
from pathlib import Path

from snapd.core.operations.editors import (
    DocumentChanged,
    DocumentClosed,
    DocumentOpened,
    DocumentSaved,
    FileOnDisk,
    Report,
)

from .workspace import Bench


class Editor:
    """One document that somebody types into. What it reports arrives when `deliver` is called, like messages do.

    Args:
        bench: the workspace.
        name: of the file.
    """

    def __init__(self, bench: Bench, name: str) -> None:
        self._bench = bench
        self._path = Path(bench.path(name))
        self._waiting: list[Report] = []
        self.text = self._path.read_bytes() if self._path.exists() else b""
        self.is_dirty = False
        self._waiting.append(DocumentOpened(self.text))

    def type(self, text: bytes, *, at_once: bool = False) -> None:
        """Changes the text, without saving it; perhaps the report arrives at once."""
        self.text = text
        self.is_dirty = True
        self._waiting.append(DocumentChanged(text))
        if at_once:
            self.deliver()

    def save(self, *, at_once: bool = False) -> None:
        """Writes the file, then reports that; perhaps the report arrives at once."""
        self.write()
        self.has_written()
        if at_once:
            self.deliver()

    def write(self) -> None:
        """Writes the file."""
        self._path.write_bytes(self.text)

    def has_written(self) -> None:
        """Reports that it wrote the file."""
        self.is_dirty = False
        self._waiting.append(DocumentSaved())

    def read_again(self) -> None:
        """Reads the file again, because somebody wrote it."""
        assert not self.is_dirty
        self.text = self._path.read_bytes()
        self._waiting.append(DocumentChanged(self.text))

    def reload(self) -> None:
        """Reads the file again, as an editor does that has nothing unsaved, some time after somebody wrote it."""
        self.deliver()
        self.read_again()
        self.deliver(changed_ago=1.0)

    def close(self) -> None:
        """Closes the document without saving it."""
        self.is_dirty = False
        self._waiting.append(DocumentClosed())

    def deliver(self, changed_ago: float = 0.0) -> None:
        """Has the reports arrive, all at once."""
        if not self._waiting:
            return
        reports, self._waiting = self._waiting, []
        path = os.fsencode(self._path)
        changed_at = self._path.stat().st_ctime_ns if self._path.exists() else 0
        disk = FileOnDisk(self._utf8(), changed_at, changed_ago)
        if self._bench.workspaces.editors.take(self, path, reports, disk):
            self._bench.workspace.check_edits(path)

    def _utf8(self) -> bytes | None:
        try:
            data = self._path.read_bytes()
            data.decode()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return data

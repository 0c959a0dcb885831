"""Knows what people have open in their editors: which files have unsaved text, and what was typed into a file.

Overwriting a file with unsaved text can lose more than the disk shows. And what an editor saves was typed by a person,
whatever agents do in the same folder meanwhile.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from snapd.core.model import RelPath

_BOM = b"\xef\xbb\xbf"
_FRESH_SECONDS = 0.05
"""An editor that reads a file again reports it at least this long after the file changed: it waits for quiet first."""
_MOST_BYTES = 4 << 20
"""Longer texts are not kept; what was typed into them is taken from the disk when they are saved."""


@attrs.frozen
class FileOnDisk:
    """A file as it was when a report of an editor was processed.

    Attributes:
        data: its bytes; None if it does not exist, cannot be read, or is no text in UTF-8.
        changed_ago: the seconds between its last change (ctime) and the first report; negative if it changed later.
    """

    data: bytes | None
    changed_ago: float

    @property
    def is_fresh(self) -> bool:
        """Whether it may have changed after the reports were sent."""
        return self.changed_ago <= _FRESH_SECONDS


@attrs.frozen
class Opened:
    """An editor opened a document with this text, in UTF-8."""

    text: bytes


@attrs.frozen
class Changed:
    """The text of a document changed, to this one; None if the editor does not give the whole text."""

    text: bytes | None


@attrs.frozen
class Saved:
    """An editor saved a document."""


@attrs.frozen
class Closed:
    """An editor closed a document; unsaved text is gone."""


Report = Opened | Changed | Saved | Closed


@attrs.define(eq=False)
class _Document:
    """An open document.

    Attributes:
        shown: its text when the editor was last known to show the file as it was on disk; None if it never was.
        shown_at: when that was, by `time.monotonic`.
        text: its text now; None if unknown.
        was_on_disk: whether the file had this text when the editor reported it.
        is_unsaved: whether it has text that is on no disk.
        is_typed: whether it had some since `shown_at`, so that somebody must have typed it.
        saved: whether the editor has saved it, and nobody has looked at the file since.
        saved_text: the text that it saved; None if unknown.
        is_exact: whether the bytes of the file are those of the text, because its encoding is UTF-8.
    """

    shown: bytes | None = None
    shown_at: float = 0.0
    text: bytes | None = None
    was_on_disk: bool = False
    is_unsaved: bool = False
    is_typed: bool = False
    saved: bool = False
    saved_text: bytes | None = None
    is_exact: bool = False

    def take(self, report: Report, disk: FileOnDisk, to_come: tuple[Report, ...]) -> None:
        """Takes a report into account.

        Args:
            report: of the editor.
            disk: the file, as it is after all reports that have come so far.
            to_come: the later ones of these reports.
        """
        match report:
            case Opened(text):
                self.text = _kept(text)
                # if the file has another text, it was saved since, or the editor restored unsaved text
                was_saved = Saved() in to_come or self._agrees_with_any(disk, to_come)
                self.was_on_disk = self._agrees(disk, text)
                self.is_unsaved = disk.data is not None and not (self.was_on_disk or was_saved)
                if self.was_on_disk or was_saved or disk.is_fresh:
                    self.show(self.text)
                else:
                    self.is_typed = self.is_unsaved
            case Changed(text):
                self._change(text, disk, to_come)
            case Saved():
                # an editor can save what it just read: nobody typed that
                if self.is_typed or self.text != self.shown:
                    self.saved, self.saved_text = True, self.text
                self.is_unsaved = False
            case Closed():
                self.is_unsaved = False

    def _change(self, text: bytes | None, disk: FileOnDisk, to_come: tuple[Report, ...]) -> None:
        was_clean = not (self.is_typed or self.saved)
        if was_clean and self.was_on_disk and self.text != self.shown:
            # had somebody saved this text, the editor would have reported that by now: it read the file again
            self.show(self.text)
        self.text = None if text is None else _kept(text)
        self.was_on_disk = self._agrees(disk, text)
        self.is_unsaved = not self.was_on_disk
        if self.was_on_disk:
            # the editor read the file again, maybe after somebody discarded what they had typed; a save is fresh
            if not disk.is_fresh and Saved() not in to_come:
                self.show(self.text)
        elif (self.text is None or self.text != self.shown) and not self._agrees_with_any(disk, to_come):
            self.is_typed = True

    def show(self, text: bytes | None) -> None:
        """Notes that the editor shows the file as it is on disk."""
        self.shown, self.shown_at = text, monotonic()
        self.is_typed = False

    def _agrees(self, disk: FileOnDisk, text: bytes | None) -> bool:
        if disk.data is None or text is None:
            return False
        is_same = disk.data.removeprefix(_BOM) == text.removeprefix(_BOM)
        # the other encodings whose bytes are valid UTF-8 have control characters: UTF-16 and ISO 2022
        self.is_exact = self.is_exact or is_same or not any(byte in disk.data for byte in (b"\0", b"\x1b"))
        return is_same

    def _agrees_with_any(self, disk: FileOnDisk, reports: tuple[Report, ...]) -> bool:
        return any(self._agrees(disk, report.text) for report in reports if isinstance(report, Changed))


@attrs.frozen
class Typed:
    """What somebody typed into a document since its file was last looked at.

    Attributes:
        path: of the file, in the folder.
        before: the text on which that was typed; None if unknown.
        before_at: when the editor was last known to show that text, by `time.monotonic`.
        saved: the text that the editor saved, or is about to save; None if unknown.
        is_saved: whether the editor reported that it saved.
        is_exact: whether the bytes of the file are those of the text.
        document: for `Editors.settle`.
    """

    path: RelPath
    before: bytes | None
    before_at: float
    saved: bytes | None
    is_saved: bool
    is_exact: bool
    document: object


class Editors:
    """The documents of all editors, in all folders. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[Hashable, dict[bytes, _Document]] = {}

    def take(self, editor: Hashable, path: bytes, reports: Iterable[Report], disk: FileOnDisk) -> bool:
        """Takes reports about a document into account.

        Args:
            editor: identifies the editor.
            path: of the file, absolute, with all symlinks resolved.
            reports: the reports, in their order.
            disk: the file as it was after they came.

        Returns:
            Whether to look at the file: it has unsaved text for the first time, or it was saved.
        """
        pending = tuple(reports)
        with self._lock:
            documents = self._of.setdefault(editor, {})
            document = documents.setdefault(path, _Document())
            was_typed = document.is_typed
            for at, report in enumerate(pending):
                document.take(report, disk, pending[at + 1 :])
            if isinstance(pending[-1], Closed) and not document.saved:
                del documents[path]
            if not documents:
                del self._of[editor]
            if document.saved:
                return True
            # the file may have been saved already, and somebody may have written it again: the next report says so.
            # Where the texts are unknown, only a look now can tell what was there before somebody typed
            is_known = disk.data is not None and document.text is not None
            return document.is_typed and not was_typed and not (is_known and disk.is_fresh)

    def drop(self, editor: Hashable) -> None:
        """Forgets an editor that is gone."""
        with self._lock:
            self._of.pop(editor, None)

    def unsaved(self, root: bytes) -> frozenset[RelPath]:
        """Lists the files in a folder that have unsaved text in any editor."""
        with self._lock:
            return frozenset(path for path, document in self._below(root) if document.is_unsaved)

    def typed(self, root: bytes) -> tuple[Typed, ...]:
        """Lists what was typed into the files of a folder since they were last looked at."""
        with self._lock:
            return tuple(
                Typed(
                    path,
                    document.shown,
                    document.shown_at,
                    document.saved_text if document.saved else document.text,
                    document.saved,
                    document.is_exact,
                    document,
                )
                for path, document in self._below(root)
                if document.is_typed or document.saved
            )

    def settle(self, typed: Typed) -> None:
        """Notes that somebody has looked at a file that has what was typed."""
        document = typed.document
        assert isinstance(document, _Document)
        with self._lock:
            document.show(typed.saved)
            document.is_unsaved = document.is_unsaved and document.text != typed.saved
            document.is_typed = document.is_unsaved
            # the editor may have saved once more meanwhile
            if document.saved_text == typed.saved:
                document.saved, document.saved_text = False, None

    def _below(self, root: bytes) -> Iterator[tuple[RelPath, _Document]]:
        prefix = root.rstrip(b"/") + b"/"
        for documents in self._of.values():
            for path, document in documents.items():
                if path.startswith(prefix):
                    yield path[len(prefix) :], document


def _kept(text: bytes) -> bytes | None:
    return text.removeprefix(_BOM) if len(text) <= _MOST_BYTES else None

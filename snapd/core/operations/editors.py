"""Tracks what editors have open: which files have unsaved text, and what was typed into a file.

Overwriting a file with unsaved text can lose more than what is on disk. What an editor saves was typed by a person,
whatever agents do in the same folder meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Iterator
from time import monotonic

import attrs

from snapd.model.snapshot import RelPath

_BOM = b"\xef\xbb\xbf"
_FRESH_SECONDS = 0.05
"""An editor waits for quiet before it reads a file again, so it reports that at least this long after the change."""
_TICK_SECONDS = 0.01
"""A ctime is as old as the last tick of the system's clock, so a file may have changed up to this much later."""
_MOST_BYTES = 4 << 20
"""Longer texts are not kept; what was typed into them is read from disk when they are saved."""


@attrs.frozen
class FileOnDisk:
    """A file as it was when an editor's report was processed."""

    data: bytes | None  # its bytes; None if it does not exist, cannot be read, or is not UTF-8 text
    changed_at: int  # its ctime, in nanoseconds since 1970
    changed_ago: float  # the seconds between `changed_at` and the first report; negative if it changed later

    @property
    def is_fresh(self) -> bool:
        """Whether the file may have changed after the reports were sent."""
        return self.changed_ago <= _FRESH_SECONDS


@attrs.frozen
class DocumentOpened:
    """An editor opened a document with this text, in UTF-8."""

    text: bytes


@attrs.frozen
class DocumentChanged:
    """The text of a document changed to this; None if the editor does not send the whole text."""

    text: bytes | None


@attrs.frozen
class DocumentSaved:
    """An editor saved a document."""


@attrs.frozen
class DocumentClosed:
    """An editor closed a document; unsaved text is gone."""


Report = DocumentOpened | DocumentChanged | DocumentSaved | DocumentClosed


@attrs.frozen
class TextEdit:
    """A change of a text by somebody typing; None for an unknown text."""

    before: bytes | None
    before_at: float  # when the editor was last known to show `before`, by `time.monotonic`
    text: bytes | None


@attrs.define(eq=False)
class _Document:
    """An open document."""

    shown: bytes | None = None  # its text when the editor was last known to show the file as on disk; None if never
    shown_at: float = 0.0  # when that was, by `time.monotonic`
    text: bytes | None = None  # its current text; None if unknown
    was_on_disk: bool = False  # whether the file had this text when the editor reported it
    # the ctime (nanoseconds since 1970) of the file from which the editor seems to have read this text. It may also
    # have just saved the text and not reported that yet.
    read_again: int | None = None
    is_unsaved: bool = False  # whether it has text that is not on disk
    is_typed: bool = False  # whether it had some since `shown_at`, so that somebody must have typed it
    saved: TextEdit | None = None  # what was saved since the file was last looked at; None if nothing
    is_exact: bool = False  # whether the file's bytes are those of the text, because its encoding is UTF-8

    def take(self, report: Report, disk: FileOnDisk, to_come: tuple[Report, ...]) -> None:
        """Processes a report of the editor; `disk` is the file after it and the reports `to_come`."""
        match report:
            case DocumentOpened(text):
                self.text = _kept(text)
                # if the file has another text, it was saved since, or the editor restored unsaved text
                was_saved = DocumentSaved() in to_come or self._agrees_with_any(disk, to_come)
                self.was_on_disk = self._agrees(disk, text)
                self.is_unsaved = disk.data is not None and not (self.was_on_disk or was_saved)
                if self.was_on_disk or was_saved or disk.is_fresh:
                    self.show(self.text)
                else:
                    self.is_typed = self.is_unsaved
            case DocumentChanged(text):
                self._change(text, disk, to_come)
            case DocumentSaved():
                self._save(disk)
            case DocumentClosed():
                self.is_unsaved = False

    def _change(self, text: bytes | None, disk: FileOnDisk, to_come: tuple[Report, ...]) -> None:
        new = None if text is None else _kept(text)
        was_read = self.read_again is not None or (not self.is_typed and self.was_on_disk and self.text != self.shown)
        if was_read and new != self.text:
            # if the text had been saved before, the editor would have reported that by now: it read the file again
            self.show(self.text)
        self.text = new
        self.was_on_disk = self._agrees(disk, text)
        self.is_unsaved = not self.was_on_disk
        if self.was_on_disk:
            is_late = DocumentSaved() in to_come
            # the editor read the file again, maybe after the user discarded the typed text; a save is fresh.
            # Without typing, a tick is enough: typing is reported before it is saved
            if self.is_typed or is_late:
                was_read = not disk.is_fresh and not (self.is_typed and is_late)
            else:
                was_read = disk.changed_ago >= _TICK_SECONDS
            self.read_again = disk.changed_at if was_read else self.read_again
        elif self.text is None or self.text != self.shown:
            self.is_typed = True

    def _save(self, disk: FileOnDisk) -> None:
        # an editor can save what it just read, which was not typed: earlier typing would have changed the file
        is_changed = self.read_again != disk.changed_at and self._agrees(disk, self.text)
        is_only_read = self.read_again is not None and (is_changed or not self.is_typed)
        if not is_only_read and (self.is_typed or self.text != self.shown):
            first = self.saved or TextEdit(self.shown, self.shown_at, None)
            self.saved = attrs.evolve(first, text=self.text)
        self.show(self.text)
        self.is_unsaved = False

    @property
    def typing(self) -> TextEdit:
        """What was typed; only the saved part if the editor saved any."""
        return self.saved or TextEdit(self.shown, self.shown_at, self.text)

    @property
    def has_typing(self) -> bool:
        """Whether it has typed text that, as far as reported, is not saved."""
        return self.is_typed and self.read_again is None

    def show(self, text: bytes | None) -> None:
        """Records that the editor shows the file as on disk."""
        self.shown, self.shown_at = text, monotonic()
        self.is_typed, self.read_again = False, None

    def _agrees(self, disk: FileOnDisk, text: bytes | None) -> bool:
        if disk.data is None or text is None:
            return False
        is_same = disk.data.removeprefix(_BOM) == text.removeprefix(_BOM)
        # the other encodings whose bytes are valid UTF-8 have control characters: UTF-16 and ISO 2022
        self.is_exact = self.is_exact or is_same or not any(byte in disk.data for byte in (b"\0", b"\x1b"))
        return is_same

    def _agrees_with_any(self, disk: FileOnDisk, reports: tuple[Report, ...]) -> bool:
        return any(self._agrees(disk, report.text) for report in reports if isinstance(report, DocumentChanged))


@attrs.frozen
class TypedText:
    """What was typed into a document since its file was last looked at."""

    path: RelPath
    typing: TextEdit
    is_saved: bool  # whether the editor reported that it saved the text
    is_exact: bool  # whether the file's bytes are those of the text
    document: object  # for `Editors.settle`


class Editors:
    """The documents of all editors, in all folders. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[Hashable, dict[bytes, _Document]] = {}

    def take(self, editor: Hashable, path: bytes, reports: Iterable[Report], disk: FileOnDisk) -> bool:
        """Processes reports about a document, in their order; returns whether to look at the file.

        It must be looked at if it has unsaved text for the first time, or was saved. `path` is absolute with symlinks
        resolved, and `disk` is the file after the reports came.
        """
        pending = tuple(reports)
        with self._lock:
            documents = self._of.setdefault(editor, {})
            document = documents.setdefault(path, _Document())
            had_typing = document.has_typing
            for at, report in enumerate(pending):
                document.take(report, disk, pending[at + 1 :])
            if isinstance(pending[-1], DocumentClosed) and document.saved is None:
                del documents[path]
            if not documents:
                del self._of[editor]
            if document.saved is not None:
                return True
            # the file may have been saved already and written again since: the next report shows that.
            # If the texts are unknown, only a look now can show what was there before the typing
            is_known = disk.data is not None and document.text is not None
            return document.has_typing and not had_typing and not (is_known and disk.is_fresh)

    def drop(self, editor: Hashable) -> None:
        """Removes an editor that has disconnected."""
        with self._lock:
            self._of.pop(editor, None)

    def unsaved(self, root: bytes) -> frozenset[RelPath]:
        """Returns the files in a folder with unsaved text in any editor."""
        with self._lock:
            return frozenset(path for path, document in self._below(root) if document.is_unsaved)

    def typed(self, root: bytes) -> tuple[TypedText, ...]:
        """Returns what was typed into the files of a folder since they were last looked at."""
        with self._lock:
            return tuple(
                TypedText(path, document.typing, document.saved is not None, document.is_exact, document)
                for path, document in self._below(root)
                if document.has_typing or document.saved is not None
            )

    def settle(self, typed: TypedText) -> None:
        """Records that a file with the typed text has been looked at."""
        document = typed.document
        assert isinstance(document, _Document)
        text = typed.typing.text
        with self._lock:
            if document.saved == typed.typing:
                document.saved = None
            elif document.saved is not None:
                # the editor saved again meanwhile
                document.saved = TextEdit(text, monotonic(), document.saved.text)
            elif document.text == text:
                document.is_unsaved = False
                document.show(text)
            if document.shown == text:
                document.shown_at = monotonic()

    def _below(self, root: bytes) -> Iterator[tuple[RelPath, _Document]]:
        prefix = root.rstrip(b"/") + b"/"
        for documents in self._of.values():
            for path, document in documents.items():
                if path.startswith(prefix):
                    yield path[len(prefix) :], document


def _kept(text: bytes) -> bytes | None:
    return text.removeprefix(_BOM) if len(text) <= _MOST_BYTES else None

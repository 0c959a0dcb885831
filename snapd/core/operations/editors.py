"""Knows what people have open in their editors: which files have unsaved text, and what was typed into a file.

Overwriting a file with unsaved text can lose more than the disk shows. And what an editor saves was typed by a person,
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
"""An editor that reads a file again reports it at least this long after the file changed: it waits for quiet first."""
_TICK_SECONDS = 0.01
"""A ctime is as old as the last tick of the system's clock, so a file may have changed that long after it."""
_MOST_BYTES = 4 << 20
"""Longer texts are not kept; what was typed into them is taken from the disk when they are saved."""


@attrs.frozen
class FileOnDisk:
    """A file as it was when a report of an editor was processed.

    Attributes:
        data: its bytes; None if it does not exist, cannot be read, or is no text in UTF-8.
        changed_at: when it last changed (ctime), in nanoseconds since 1970.
        changed_ago: the seconds between that and the first report; negative if it changed later.
    """

    data: bytes | None
    changed_at: int
    changed_ago: float

    @property
    def is_fresh(self) -> bool:
        """Whether it may have changed after the reports were sent."""
        return self.changed_ago <= _FRESH_SECONDS


@attrs.frozen
class DocumentOpened:
    """An editor opened a document with this text, in UTF-8."""

    text: bytes


@attrs.frozen
class DocumentChanged:
    """The text of a document changed, to this one; None if the editor does not give the whole text."""

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
    """A change of a text by somebody who typed.

    Attributes:
        before: the text on which they typed; None if unknown.
        before_at: when the editor was last known to show that text, by `time.monotonic`.
        text: the text after that; None if unknown.
    """

    before: bytes | None
    before_at: float
    text: bytes | None


@attrs.define(eq=False)
class _Document:
    """An open document.

    Attributes:
        shown: its text when the editor was last known to show the file as it was on disk; None if it never was.
        shown_at: when that was, by `time.monotonic`.
        text: its text now; None if unknown.
        was_on_disk: whether the file had this text when the editor reported it.
        read_again: where the editor seems to have read this text from the file, when the file had changed, in
            nanoseconds since 1970. It may also have just saved that, and not have said so yet.
        is_unsaved: whether it has text that is on no disk.
        is_typed: whether it had some since `shown_at`, so that somebody must have typed it.
        saved: what was saved since somebody last looked at the file; None if nothing.
        is_exact: whether the bytes of the file are those of the text, because its encoding is UTF-8.
    """

    shown: bytes | None = None
    shown_at: float = 0.0
    text: bytes | None = None
    was_on_disk: bool = False
    read_again: int | None = None
    is_unsaved: bool = False
    is_typed: bool = False
    saved: TextEdit | None = None
    is_exact: bool = False

    def take(self, report: Report, disk: FileOnDisk, to_come: tuple[Report, ...]) -> None:
        """Takes a report into account.

        Args:
            report: of the editor.
            disk: the file, as it is after all reports that have come so far.
            to_come: the later ones of these reports.
        """
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
            # had somebody saved the text before, the editor would have reported that by now: it read the file again
            self.show(self.text)
        self.text = new
        self.was_on_disk = self._agrees(disk, text)
        self.is_unsaved = not self.was_on_disk
        if self.was_on_disk:
            is_late = DocumentSaved() in to_come
            # the editor read the file again, maybe after somebody discarded what they had typed; a save is fresh.
            # Without typing, a tick is enough: what somebody types is reported before it is saved
            if self.is_typed or is_late:
                was_read = not disk.is_fresh and not (self.is_typed and is_late)
            else:
                was_read = disk.changed_ago >= _TICK_SECONDS
            self.read_again = disk.changed_at if was_read else self.read_again
        elif self.text is None or self.text != self.shown:
            self.is_typed = True

    def _save(self, disk: FileOnDisk) -> None:
        # an editor can save what it just read, which nobody typed: if somebody had typed before, that changed the file
        is_changed = self.read_again != disk.changed_at and self._agrees(disk, self.text)
        is_only_read = self.read_again is not None and (is_changed or not self.is_typed)
        if not is_only_read and (self.is_typed or self.text != self.shown):
            first = self.saved or TextEdit(self.shown, self.shown_at, None)
            self.saved = attrs.evolve(first, text=self.text)
        self.show(self.text)
        self.is_unsaved = False

    @property
    def typing(self) -> TextEdit:
        """What was typed: what the editor saved of that, if it saved any."""
        return self.saved or TextEdit(self.shown, self.shown_at, self.text)

    @property
    def has_typing(self) -> bool:
        """Whether it has text that somebody typed and, as far as reported, did not save."""
        return self.is_typed and self.read_again is None

    def show(self, text: bytes | None) -> None:
        """Notes that the editor shows the file as it is on disk."""
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
    """What somebody typed into a document since its file was last looked at.

    Attributes:
        path: of the file, in the folder.
        typing: what was typed.
        is_saved: whether the editor reported that it saved that.
        is_exact: whether the bytes of the file are those of the text.
        document: for `Editors.settle`.
    """

    path: RelPath
    typing: TextEdit
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
            had_typing = document.has_typing
            for at, report in enumerate(pending):
                document.take(report, disk, pending[at + 1 :])
            if isinstance(pending[-1], DocumentClosed) and document.saved is None:
                del documents[path]
            if not documents:
                del self._of[editor]
            if document.saved is not None:
                return True
            # the file may have been saved already, and somebody may have written it again: the next report says so.
            # Where the texts are unknown, only a look now can tell what was there before somebody typed
            is_known = disk.data is not None and document.text is not None
            return document.has_typing and not had_typing and not (is_known and disk.is_fresh)

    def drop(self, editor: Hashable) -> None:
        """Forgets an editor that is gone."""
        with self._lock:
            self._of.pop(editor, None)

    def unsaved(self, root: bytes) -> frozenset[RelPath]:
        """Lists the files in a folder that have unsaved text in any editor."""
        with self._lock:
            return frozenset(path for path, document in self._below(root) if document.is_unsaved)

    def typed(self, root: bytes) -> tuple[TypedText, ...]:
        """Lists what was typed into the files of a folder since they were last looked at."""
        with self._lock:
            return tuple(
                TypedText(path, document.typing, document.saved is not None, document.is_exact, document)
                for path, document in self._below(root)
                if document.has_typing or document.saved is not None
            )

    def settle(self, typed: TypedText) -> None:
        """Notes that somebody has looked at a file that has what was typed."""
        document = typed.document
        assert isinstance(document, _Document)
        text = typed.typing.text
        with self._lock:
            if document.saved == typed.typing:
                document.saved = None
            elif document.saved is not None:
                # the editor saved once more meanwhile
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

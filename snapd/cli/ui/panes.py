"""The panes on the left: sessions, steps and files; and the files with pending changes."""

from __future__ import annotations

from abc import abstractmethod
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import attrs
from textual.binding import Binding
from textual.widgets import Static

from snapd.cli.requests.names import file_of
from snapd.cli.terminal.naming import common_folder
from snapd.cli.terminal.output import LETTERS, counted, printable
from snapd.cli.terminal.times import local_now

from .history import Pending
from .labels import agent_spans, counts_of, spans_of
from .outline import rows_of
from .rows import Rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from textual import events
    from textual.binding import BindingType

    from .history import History, Key
    from .outline import Row


_NARROWEST = 20
"""The minimum columns of a pane."""


RowT = TypeVar("RowT", "Row", "PendingRow")


class OutlinePane(Rows, Generic[RowT]):
    """Shows rows as a tree that can be folded; cursor and scroll position stay when rows come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "turn", "unfold", show=False),
        Binding("right,l", "unfold(True)", "unfold", show=False),
        Binding("left", "unfold(False)", "fold", show=False),
    ]

    def __init__(self, name: str, history: History) -> None:
        super().__init__(name)
        self._history = history
        self._turned: set[Key] = set()
        self._rows: list[RowT] = self.outline()

    @property
    def count(self) -> int:
        """See `Rows.count`."""
        return len(self._rows)

    @property
    def row(self) -> RowT | None:
        """The row at the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    @abstractmethod
    def outline(self) -> list[RowT]:
        """Returns all current rows."""

    def update_rows(self) -> None:
        """Shows the current rows; if the row at the cursor is gone, moves to the next one that is still there."""
        before: int = self.cursor
        top = self.scroll_offset.y
        order = [*self._rows[before:], *self._rows[:before][::-1]]
        self._rows = self.outline()
        places = {row.key: at for at, row in enumerate(self._rows)}
        self.cursor = next((places[row.key] for row in order if row.key in places), before)
        self.resize()
        if top and before >= top:
            # the cursor stays on its line of the screen; a view at the top stays at the top
            self.scroll_to_line(max(0, top + self.cursor - before))
        self.keep_cursor_visible()

    def action_turn(self) -> None:
        """Folds or unfolds the row at the cursor."""
        row = self.row
        if row is not None and row.is_unfolded is not None:
            self._turned ^= {row.key}
            self.update_rows()

    def action_unfold(self, unfolded: bool) -> None:
        """Unfolds the row at the cursor; or folds it, or goes to its parent."""
        row = self.row
        if row is None:
            return
        if row.is_unfolded is not None and row.is_unfolded != unfolded:
            self.action_turn()
        elif not unfolded:
            above = range(self.cursor - 1, -1, -1)
            self._move_to(next((at for at in above if self._rows[at].depth < row.depth), self.cursor))


class HistoryPane(OutlinePane["Row"]):
    """Shows the rows of the history that contain `words`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "turn", "unfold")]

    words = ""

    def spans(self, at: int) -> list[tuple[str, str]]:
        """See `Rows.spans`."""
        return spans_of(self._rows[at], local_now())

    def outline(self) -> list[Row]:
        """See `OutlinePane.outline`."""
        return rows_of(self._history, self._turned, self.words)


class Divider(Static):
    """Separates two panes, and changes the width of the left one."""

    DEFAULT_CSS = "Divider { width: 1; height: 1fr; border-left: solid $primary 40%; }"
    KEYS: ClassVar[list[BindingType]] = [
        Binding("less_than_sign", "widen(-4)", "narrower", show=False),
        Binding("greater_than_sign", "widen(4)", "wider", show=False),
    ]

    def __init__(self, left: Rows) -> None:
        super().__init__()
        self._left = left

    def widen(self, columns: int) -> None:
        """Widens the left pane."""
        room = self.screen.size.width
        self._left.styles.width = max(_NARROWEST, min(self._left.size.width + columns, room - _NARROWEST))

    def on_mouse_down(self) -> None:
        """Starts to follow the mouse."""
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Moves to the mouse."""
        if self.app.mouse_captured is self:
            self.widen(event.screen_x - self.region.x)

    def on_mouse_up(self) -> None:
        """Stops following the mouse."""
        self.release_mouse()


@attrs.frozen
class PendingRow:
    """A row of pending changes: all of them, a folder or a file."""

    name: str  # a folder without its parent; empty for all
    depth: int  # the indentation, from 0; -1 for all
    files: tuple[dict[str, Any], ...]  # the file, or those below
    folder: str | None = None  # the whole name of the folder; empty for all, None for a file
    is_unfolded: bool | None = None

    @property
    def key(self) -> Key:
        """Names what it shows."""
        return ("file", file_of(self.files[0])) if self.folder is None else ("folder", self.folder)


class PendingPane(OutlinePane[PendingRow]):
    """Shows a row for all pending changes, below it folders and files as a tree."""

    pending = Pending()
    comments: Mapping[str, int] = MappingProxyType({})
    """How many comments on a file are open."""
    _is_loaded = False

    @property
    def selected(self) -> dict[str, Any] | None:
        """The file at the cursor; None for a folder or all of them."""
        row = self._rows[self.cursor]
        return row.files[0] if row.folder is None else None

    @property
    def folder(self) -> str:
        """The folder at the cursor; empty for all of them."""
        return self._rows[self.cursor].folder or ""

    @property
    def covered(self) -> Pending:
        """The files of the row at the cursor."""
        return Pending(list(self._rows[self.cursor].files))

    def spans(self, at: int) -> list[tuple[str, str]]:
        """See `Rows.spans`."""
        row = self._rows[at]
        if at == 0:
            return [("all ", "bold"), *_totals(self.pending)]
        if row.folder is not None:
            fold = "▾ " if row.is_unfolded else "▸ "
            name = [("  " * row.depth + fold, "dim"), (f"{printable(row.name)}/ ", "bold")]
            return [*name, *_totals(Pending(list(row.files)))]
        file = row.files[0]
        letter, style = LETTERS[file["status"]]
        name = [("  " * row.depth, ""), (letter, style), (f" {printable(row.name)} ", ""), *counts_of(file)]
        count = self.comments.get(file_of(file), 0)
        comments = [(f"  {counted(count, 'comment')}", "yellow")] if count else []
        return [*name, *agent_spans(self._history, file["owners"]), *comments]

    def outline(self) -> list[PendingRow]:
        """See `OutlinePane.outline`."""
        files = sorted(self.pending.files, key=lambda file: str(file["file"]).split("/"))
        return [PendingRow("", -1, tuple(files), ""), *_tree(files, "", 0, self._turned)]

    def show_pending(self, pending: Pending) -> None:
        """Shows what is pending now; the first time, moves to the first file."""
        self.pending = pending
        self.update_rows()
        if not self._is_loaded:
            self.cursor = next((at for at, row in enumerate(self._rows) if row.folder is None), 0)
            self.keep_cursor_visible()
            self._is_loaded = True

    def move_by_file(self, direction: int) -> bool:
        """Moves the cursor to the next file, or the previous one; returns whether there is one."""
        places = range(self.cursor + direction, self.count if direction > 0 else 0, direction)
        to = next((at for at in places if self._rows[at].folder is None), None)
        if to is None:
            return False
        self._move_to(to)
        return True


def _tree(files: Sequence[dict[str, Any]], parent: str, depth: int, folded: Collection[Key]) -> Iterator[PendingRow]:
    """Yields the rows of sorted files in a folder; a folder with nothing but a folder in it shares its row."""
    start = len(parent) + 1 if parent else 0

    def child(file: dict[str, Any]) -> str:
        name, slash, _ = str(file["file"])[start:].partition("/")
        return name + slash

    for name, group in groupby(files, child):
        below = tuple(group)
        if not name.endswith("/"):
            yield PendingRow(name, depth, below)
            continue
        folder = common_folder([str(file["file"]) for file in below])
        row = PendingRow(folder[start:], depth, below, folder, ("folder", folder) not in folded)
        yield row
        if row.is_unfolded:
            yield from _tree(below, folder, depth + 1, folded)


def _totals(pending: Pending) -> list[tuple[str, str]]:
    count = len(pending.files)
    if not count:
        return [("nothing is pending", "dim")]
    added, deleted = (sum(file[name] for file in pending.files) for name in ("additions", "deletions"))
    return [(f"{counted(count, 'file')} ", ""), (f"+{added}", "green"), (" ", ""), (f"-{deleted}", "red")]

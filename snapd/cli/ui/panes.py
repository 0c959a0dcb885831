"""The panes on the left: sessions, steps and files; and the files with pending changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding

from snapd.cli.requests.names import file_of
from snapd.cli.terminal.output import LETTERS, printable
from snapd.cli.terminal.times import local_now

from .history import Pending
from .labels import agents_of, counts_of, spans_of
from .outline import rows_of
from .rows import Rows

if TYPE_CHECKING:
    from textual.binding import BindingType

    from .history import History, Key
    from .outline import Row


class HistoryPane(Rows):
    """Shows the rows of the outline; the cursor and what is in view stay where they are when rows come and go.

    Attributes:
        words: only what has this text in it is shown.

    Args:
        name: id of the widget.
        history: what is loaded.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "turn", "unfold"),
        Binding("right,l", "unfold(True)", "unfold", show=False),
        Binding("left", "unfold(False)", "fold", show=False),
    ]

    def __init__(self, name: str, history: History) -> None:
        super().__init__(name)
        self.words = ""
        self._history = history
        self._turned: set[Key] = set()
        self._rows: list[Row] = []

    @property
    def count(self) -> int:
        """See `Rows.count`."""
        return len(self._rows)

    def spans(self, at: int) -> list[tuple[str, str]]:
        """See `Rows.spans`."""
        return spans_of(self._rows[at], local_now())

    @property
    def selected(self) -> Row | None:
        """The row that the cursor is on."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    def update_rows(self) -> None:
        """Shows what the history has now."""
        selected, before, top = self.selected, self.cursor, self.scroll_offset.y
        self._rows = rows_of(self._history, self._turned, self.words)
        places = {row.key: at for at, row in enumerate(self._rows)}
        if selected is not None:
            self.cursor = places.get(selected.key, self.cursor)
        self.resize()
        if top and before >= top:
            # the cursor stays on its line of the screen; who sees the first row sees what comes before it
            self.scroll_to_line(top + self.cursor - before)
        self.keep_cursor_in_view()

    def action_turn(self) -> None:
        """Folds or unfolds the row of the cursor."""
        row = self.selected
        if row is not None and row.is_unfolded is not None:
            self._turned ^= {row.key}
            self.update_rows()

    def action_unfold(self, unfolded: bool) -> None:
        """Unfolds the row of the cursor; or folds it, or goes to the row that it is below."""
        row = self.selected
        if row is None:
            return
        if row.is_unfolded is not None and row.is_unfolded != unfolded:
            self.action_turn()
        elif not unfolded and row.depth:
            above = range(self.cursor - 1, -1, -1)
            self._move_to(next(at for at in above if self._rows[at].depth < row.depth))


class PendingPane(Rows):
    """Shows a row for all that is pending, and below it one for each file; the cursor stays on its file.

    Attributes:
        pending: what is shown.

    Args:
        name: id of the widget.
        history: knows the agents.
    """

    def __init__(self, name: str, history: History) -> None:
        super().__init__(name)
        self.pending = Pending()
        self._history = history
        self._is_loaded = False

    @property
    def count(self) -> int:
        """See `Rows.count`."""
        return 1 + len(self.pending.files)

    @property
    def selected(self) -> dict[str, Any] | None:
        """The file that the cursor is on; None for all of them."""
        return self.pending.files[self.cursor - 1] if self.cursor else None

    def spans(self, at: int) -> list[tuple[str, str]]:
        """See `Rows.spans`."""
        if at == 0:
            return [("all ", "bold"), *_totals(self.pending)]
        file = self.pending.files[at - 1]
        letter, style = LETTERS[file["status"]]
        name = [(letter, style), (f" {printable(file['file'])} ", ""), *counts_of(file)]
        return [*name, (f"  {agents_of(self._history, file['owners'])}", "dim")]

    def update_rows(self, pending: Pending) -> None:
        """Shows what is pending now.

        If the file of the cursor is pending no more, the cursor goes to the next one that still is, so that whoever
        reviews goes on.
        """
        before, top = self.pending.files, self.scroll_offset.y
        order = [*before[self.cursor - 1 :], *before[: self.cursor - 1][::-1]] if self.cursor else []
        self.pending = pending
        places = {file_of(file): at for at, file in enumerate(pending.files, 1)}
        was = self.cursor
        if not self._is_loaded:
            self.cursor = min(1, len(pending.files))
            self._is_loaded = True
        elif self.cursor:
            self.cursor = next((places[file_of(file)] for file in order if file_of(file) in places), 0)
        self.resize()
        if top and was >= top:
            # the cursor stays on its line of the screen
            self.scroll_to_line(max(0, top + self.cursor - was))
        self.keep_cursor_in_view()

    def move_by_file(self, direction: int) -> bool:
        """Moves the cursor to the next file, or the one before; gives whether there is one."""
        to = self.cursor + direction
        if not 1 <= to < self.count:
            return False
        self.action_move(direction)
        return True


def _totals(pending: Pending) -> list[tuple[str, str]]:
    count = len(pending.files)
    if not count:
        return [("nothing is pending", "dim")]
    files = "1 file" if count == 1 else f"{count} files"
    return [(f"{files} ", ""), (f"+{pending.additions}", "green"), (" ", ""), (f"-{pending.deletions}", "red")]

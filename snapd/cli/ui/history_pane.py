"""The pane on the left: sessions, steps and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from snapd.cli.terminal.times import local_now

from .labels import spans_of
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

"""The pane on the right: the diff of what is selected, and the chosen hunks in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs
from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding
from textual.message import Message

from .rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.binding import BindingType

    from .contents import Line
    from .history import Key

_STYLES = {"note": "dim", "file": "bold", "hunk": "cyan", "added": "green", "deleted": "red", "comment": "yellow"}
_WRAPPED = ("text", "comment")
_CHOSEN, _NOT_CHOSEN = ("▌", "bold magenta"), (" ", "")


class DiffPane(Rows):
    """Shows lines of the diff of row `key`; the user chooses hunks (indexes `chosen`) of the file `chosen_file`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "sideways(8)", "right", show=False),
        Binding("left", "sideways(-8)", "left", show=False),
        Binding("n", "next_hunk(1)", "next hunk"),
        Binding("N,p", "next_hunk(-1)", "hunk before", show=False),
    ]

    class NoMoreHunks(Message):
        """The user moved past the last hunk (direction 1), or before the first one (-1)."""

        def __init__(self, direction: int) -> None:
            super().__init__()
            self.direction = direction

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lines: list[Line] = []
        self._unwrapped: list[Line] = []
        self.key: Key | None = None
        self.chosen: set[int] = set()
        self.chosen_file: str | None = None

    @property
    def count(self) -> int:
        """See `Rows.count`."""
        return len(self.lines)

    def spans(self, at: int) -> list[tuple[str, str]]:
        """See `Rows.spans`."""
        line = self.lines[at]
        is_chosen = line.file == self.chosen_file and line.hunk in self.chosen
        return [_CHOSEN if is_chosen else _NOT_CHOSEN, (line.text, _STYLES.get(line.kind, ""))]

    def widest(self) -> int:
        """See `Rows.widest`."""
        return max((1 + cell_len(line.text) for line in self.lines), default=0)

    def show(self, key: Key, lines: list[Line]) -> None:
        """Shows the diff of a row; if that row was shown before, cursor, position and choice stay."""
        top = self.scroll_offset.y
        self._unwrapped = lines
        self.lines = list(self._wrapped(lines))
        if key != self.key:
            self.key, self.cursor, top = key, 0, 0
            self.choose_nothing()
        self.resize()
        self.scroll_to(x=None if top else 0, y=top, animate=False, immediate=True)
        self.keep_cursor_visible()

    def _wrapped(self, lines: list[Line]) -> Iterator[Line]:
        # leaves room for the mark of a chosen hunk
        width = self.size.width - 1
        for line in lines:
            if line.kind in _WRAPPED and cell_len(line.text) > width > 0:
                yield from (
                    attrs.evolve(line, text=part.plain) for part in Text(line.text).wrap(self.app.console, width)
                )
            else:
                yield line

    def on_resize(self) -> None:
        """Wraps the lines again."""
        if self.key is not None and any(line.kind in _WRAPPED for line in self._unwrapped):
            self.show(self.key, self._unwrapped)

    @property
    def file(self) -> str | None:
        """The file at the cursor, as named in requests."""
        return self.lines[self.cursor].file if self.lines else None

    @property
    def hunk(self) -> int | None:
        """The index of the hunk at the cursor."""
        return self.lines[self.cursor].hunk if self.lines else None

    def choose(self) -> bool:
        """Chooses the hunk at the cursor, or the first one below, or unchooses it; returns whether there is one.

        A hunk of another file begins a new choice, since requests are about one file.
        """
        at = next((at for at in range(self.cursor, self.count) if self.lines[at].hunk is not None), None)
        if at is None:
            return False
        line = self.lines[at]
        self._move_to(at)
        if line.file != self.chosen_file:
            self.choose_nothing()
            self.chosen_file = line.file
        assert line.hunk is not None
        self.chosen ^= {line.hunk}
        self.refresh()
        return True

    def choose_nothing(self) -> None:
        """Clears the choice."""
        self.chosen, self.chosen_file = set(), None
        self.refresh()

    def action_next_hunk(self, direction: int) -> None:
        """Moves the cursor to the start of the next hunk, or the previous one."""
        places = range(self.cursor + direction, self.count if direction > 0 else -1, direction)
        at = next((at for at in places if self.lines[at].kind == "hunk"), None)
        if at is None:
            self.post_message(self.NoMoreHunks(direction))
        else:
            self.go_to(at)

    def go_to_hunk(self, index: int) -> None:
        """Moves the cursor to the start of a hunk, or the last one; a negative index counts from the end."""
        places = [at for at, line in enumerate(self.lines) if line.kind == "hunk"]
        if places:
            self.go_to(places[max(-len(places), min(index, len(places) - 1))])

    def go_to(self, at: int) -> None:
        """Moves the cursor to a line, and shows as much of its hunk as fits."""
        self._move_to(at)
        line, end = self.lines[at], at
        while end + 1 < self.count and self.lines[end + 1].hunk == line.hunk is not None:
            end += 1
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if end >= top + height:
            self.scroll_to_line(min(at, end - height + 1))

    def action_sideways(self, columns: int) -> None:
        """Scrolls to the right."""
        self.scroll_to(x=self.scroll_offset.x + columns, animate=False)

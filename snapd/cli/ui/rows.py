"""A list of lines with a cursor, of which only the visible ones are drawn: the base of all panes."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from snapd.cli.terminal.layout import columns, fit_middle

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType

_AT_CURSOR = Style(reverse=True)
_AT_CURSOR_ELSEWHERE = Style(bold=True, bgcolor="grey27")
"""The style of the line at the cursor while another pane has the focus."""
_SHORTEST = 8
"""The minimum columns of a part of a line."""


def fitted(spans: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Fits the parts of a line into some columns: the longest ones lose their middle."""
    spans = list(spans)
    widths = [columns(text) for text, _ in spans]
    while (over := sum(widths) - width) > 0 and max(widths) > _SHORTEST:
        at = widths.index(max(widths))
        # no shorter than the next longest, which then loses as much
        room = max(_SHORTEST, widths[at] - over, sorted(widths)[-2] - 1 if len(widths) > 1 else 0)
        text, style = spans[at]
        spans[at] = fit_middle(text, room), style
        widths[at] = columns(spans[at][0])
    return spans


class Rows(ScrollView, can_focus=True):
    """Draws lines that a subclass provides; `cursor` is the number of the selected one, from 0."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "page up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "page down", show=False),
        Binding("home,g", "move_to(0)", "first", show=False),
        Binding("end,G", "move_to(-1)", "last", show=False),
    ]

    class Moved(Message):
        """The cursor was moved by the user."""

        def __init__(self, rows: Rows) -> None:
            super().__init__()
            self.rows = rows

        @property
        def control(self) -> Rows:
            """The pane."""
            return self.rows

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.cursor = 0

    # -- for subclasses

    @property
    @abstractmethod
    def count(self) -> int:
        """Returns the number of lines."""

    @abstractmethod
    def spans(self, at: int) -> list[tuple[str, str]]:
        """Returns the parts of a line, each with its style."""

    def widest(self) -> int:
        """Returns how many columns can be scrolled to; 0 if lines are cut at the edge."""
        return 0

    # -- drawing

    def text(self, at: int) -> str:
        """Returns a line without its styles."""
        return "".join(text for text, _ in self.spans(at))

    def resize(self) -> None:
        """Redraws after lines were added or removed."""
        self.virtual_size = Size(self.widest(), self.count)
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """See `ScrollView.render_line`."""
        left, top = self.scroll_offset
        at, width = top + y, self.size.width
        base = self.rich_style
        if at >= self.count:
            return Strip.blank(width, base)
        spans = self.spans(at) if self.widest() else fitted(self.spans(at), width)
        if at == self.cursor and self.has_focus:
            base += _AT_CURSOR
            spans = [(text, "") for text, _ in spans]
        elif at == self.cursor:
            base += _AT_CURSOR_ELSEWHERE
        strip = Strip([Segment(text, base + Style.parse(style)) for text, style in spans])
        return strip.crop_extend(left, left + width, base)

    # -- the cursor

    def action_move(self, lines: int) -> None:
        """Moves the cursor down by some lines."""
        self._move_to(self.cursor + lines)

    def action_page(self, pages: int) -> None:
        """Moves the cursor down by some screens."""
        self._move_to(self.cursor + pages * max(1, self.size.height - 1))

    def action_move_to(self, line: int) -> None:
        """Moves the cursor to a line; a negative number counts from the end."""
        self._move_to(line if line >= 0 else self.count + line)

    def _move_to(self, line: int) -> None:
        line = max(0, min(line, self.count - 1))
        if line != self.cursor:
            self.cursor = line
            self.keep_cursor_visible()
            self.refresh()
            self.post_message(self.Moved(self))

    def keep_cursor_visible(self) -> None:
        """Scrolls as little as needed to show the cursor."""
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if self.cursor < top:
            self.scroll_to_line(self.cursor)
        elif self.cursor >= top + height:
            self.scroll_to_line(self.cursor - height + 1)

    def scroll_to_line(self, top: int) -> None:
        """Scrolls at once so that a line is the first."""
        self.scroll_to(y=top, animate=False, immediate=True)

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the clicked line."""
        self._move_to(self.scroll_offset.y + event.y)

"""Comments on the review screen: their lines in a diff, and the field for new texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs
from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.widgets import Input

from snapd.cli.requests.names import file_of
from snapd.cli.terminal.naming import comment_texts
from snapd.cli.terminal.output import counted, printable
from snapd.model.errors import InvalidParams

from .contents import Line
from .dialogs import Dialog
from .labels import agents_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from .history import History


def place_of(start: int, count: int) -> str:
    """Names some lines."""
    return f"line {start}" if count == 1 else f"lines {start} to {start + count - 1}"


def with_comments(lines: Sequence[Line], comments: Sequence[dict[str, Any]], history: History) -> list[Line]:
    """Puts comments below the last of their lines; one whose line is not there comes below the one before it."""
    below: dict[int, list[Line]] = {}
    for comment in comments:
        last = comment["start"] + comment["count"] - 1
        at = max((at for at, line in enumerate(lines) if line.number is not None and line.number <= last), default=-1)
        # a heading stays above, and below its steps and its header
        at = len(lines) - 1 if at < 0 and not any(line.number for line in lines) else at
        is_there = at >= 0 and lines[at].number == last and "outdated" not in comment
        hunk = lines[at].hunk if at >= 0 else None
        texts = comment_lines(comment, history, is_there=is_there)
        below.setdefault(at, []).extend(attrs.evolve(line, hunk=hunk) for line in texts)
    # before the first hunk, but below the name of the file
    result = [*lines[:1], *below.get(-1, [])]
    for at, line in enumerate(lines):
        result += [*([line] if at else []), *below.get(at, [])]
    return result


def comment_lines(
    comment: dict[str, Any], history: History, *, is_there: bool = False, with_name: bool = False
) -> list[Line]:
    """Returns the lines of a comment; with those that it is about, unless they are there above it."""
    name = file_of(comment)

    def agent(session: str | None) -> str:
        return "an agent" if session is None else agents_of(history, [{"sessionId": session}])

    heading = [place_of(comment["start"], comment["count"])]
    if "sessionId" in comment:
        heading += [f"for {agent(comment['sessionId'])}", "told" if "deliveredAt" in comment else "not told yet"]
    else:
        heading.append("for no agent")
    if "outdated" in comment:
        heading.append("outdated")
    texts = [f"comment on {printable(comment['file']) + ', ' if with_name else ''}{', '.join(heading)}"]
    if not is_there:
        texts += [f"  | {printable(line)}" for line in comment["lines"].splitlines()]
    texts += comment_texts(comment, agent)
    return [Line("comment", text, name, comment=comment["commentId"]) for text in texts]


def comments_elsewhere(
    comments: Sequence[dict[str, Any]], files: Sequence[dict[str, Any]], history: History
) -> list[Line]:
    """Returns the lines of the comments on other files than these."""
    names = {file_of(file) for file in files}
    others = [comment for comment in comments if file_of(comment) not in names]
    if not others:
        return []
    lines = [Line("note", ""), Line("note", f"{counted(len(others), 'comment')} where nothing is pending:")]
    for comment in others:
        lines += comment_lines(comment, history, with_name=True)
    return lines


def lines_to_comment(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Returns which lines of the file the line at the cursor stands for: itself, or those that its hunk added.

    Returns the first one and the number of them. Raises `InvalidParams` if there are none.
    """
    line = lines[at] if lines else None
    if line is not None and line.number is not None:
        return line.number, 1
    added = [
        other.number
        for other in lines
        if line is not None and line.hunk is not None and other.hunk == line.hunk and other.kind == "added"
    ]
    numbers = [number for number in added if number is not None]
    if not numbers or line is None or line.kind == "deleted":
        raise InvalidParams("no line of the file is at the cursor", hint="press Tab, and move to a line that is there")
    return numbers[0], numbers[-1] - numbers[0] + 1


class Field(Dialog["str | None"]):
    """Asks for a text; returns None if there is none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._given = text

    def compose(self) -> ComposeResult:
        """The title, and the field below it."""
        yield from super().compose()
        yield Input(self._given, placeholder="Enter sends it, Esc cancels", max_length=10_000)

    def on_mount(self) -> None:
        """Keys go to the field."""
        self.query_one(Input).focus()

    def text(self) -> Text:
        """See `Dialog.text`."""
        return Text(self._title, style="bold")

    @on(Input.Submitted)
    def _send(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value if event.value.strip() else None)

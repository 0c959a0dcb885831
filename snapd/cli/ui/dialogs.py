"""The questions before anything is changed, and the help."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from .operations import has_conflicts, planned, steps_of

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from .operations import OnConflict, Operation

Answer = Literal["go on", "overwrite"]

_MOST_FILES = 200
"""Files of a plan that are listed."""
HISTORY_HELP = """\
j k ↑ ↓      move
Enter        fold or unfold; ← → too
Tab          to the other pane
n p          next hunk, hunk before
u            undo the step, the session or the file that is selected
r            do again what was undone last in the session
f            take back what the step did to this file
Space        choose the hunk, or no longer
h            take back the chosen hunks, or the one of the cursor
v            review what agents left pending
/            show only what has these words in it; Esc shows all
g G          first line, last line
q            leave

Nothing is changed without a question. A snapshot keeps the files as they were.\
"""


REVIEW_HELP = """\
j k ↑ ↓      move
Tab          to the other pane
n p          next hunk, hunk before, in all files
y            keep the hunk, the file, or all
u            undo the hunk, the file, or all
Space        choose the hunk, or no longer; then y
             and u are about all that are chosen
g G          first line, last line
v Esc        back to the history
q            leave

Keeping changes no file: it says that you accept the change. Undoing asks \
first, and a snapshot keeps the files as they were.\
"""

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    """Shows a text over what is there, and waits for a key."""

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > VerticalScroll {
        width: 72; max-width: 95%; height: auto; max-height: 100%; border: round $primary; padding: 0 1;
        background: $surface;
    }
    Dialog > VerticalScroll > Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """The text."""
        with VerticalScroll():
            yield Static(self.text())

    @abstractmethod
    def text(self) -> Text:
        """All that is shown, however long it is."""

    def action_scroll(self, lines: int) -> None:
        """Scrolls the text."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class Question(Dialog["Answer | None"]):
    """Shows what an operation would do, and asks; gives None for no.

    Args:
        operation: what is asked about.
        plan: the daemon's answer to it as a dry run.
        on_conflict: what the plan does with conflicts.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "go_on", "yes"),
        Binding("o", "overwrite", "overwrite"),
        Binding("n,q,escape", "dismiss", "no"),
    ]

    def __init__(self, operation: Operation, plan: dict[str, Any], on_conflict: OnConflict) -> None:
        super().__init__()
        self._operation = operation
        self._plan = plan
        self._has_conflicts = on_conflict == "merge" and has_conflicts(plan)
        self._overwrites = on_conflict == "overwrite"

    def text(self) -> Text:
        """See `Dialog.text`: what is asked first, then the plan, however long it is."""
        said = Text(self._operation.title, style="bold")
        if self._operation.note:
            said.append(f"\n{self._operation.note}", style="yellow")
        for text, style in self._answers():
            said.append(f"\n{text}", style=f"not bold {style}")
        said.append("\n")
        steps = steps_of(self._plan)
        for step in steps if len(steps) > 1 or self._operation.method == "session/redo" else ():
            said.append(f"\nstep     {step}", style="not bold")
        lines = planned(self._plan)
        for line in lines[:_MOST_FILES]:
            said.append("\n")
            for text, style in line:
                said.append(text, style=f"not bold {style}")
        if not lines:
            said.append("\nNo file would change.", style="not bold")
        if len(lines) > _MOST_FILES:
            said.append(f"\n… and {len(lines) - _MOST_FILES} more files", style="not bold dim")
        return said

    def _answers(self) -> list[tuple[str, str]]:
        if self._has_conflicts:
            return [
                ("Others changed the files in conflict since, in the same lines.", "yellow"),
                ("y leaves them as they are, and does the rest", ""),
                ("o shows what overwriting them would take away", ""),
                ("n changes nothing", ""),
            ]
        taken = [("What others wrote since into the same lines goes, too.", "red")] if self._overwrites else []
        return [
            *taken,
            ("A snapshot keeps the files as they are now.", "dim"),
            ("y goes on   n changes nothing", ""),
        ]

    def action_go_on(self) -> None:
        """Yes."""
        self.dismiss("go on")

    def action_overwrite(self) -> None:
        """Asks for the plan that overwrites, where there are conflicts."""
        if self._has_conflicts:
            self.dismiss("overwrite")


class KeepAll(Dialog["bool | None"]):
    """Asks whether all pending changes are to be kept; gives whether they are.

    Args:
        title: the question.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "yes"),
        Binding("n,q,escape", "dismiss", "no"),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def text(self) -> Text:
        """See `Dialog.text`."""
        said = Text(self._title, style="bold")
        said.append("\nNo file changes. What you keep is pending no more.", style="not bold dim")
        said.append("\ny goes on   n keeps nothing", style="not bold")
        return said


class Help(Dialog[None]):
    """Says what the keys do.

    Args:
        keys: a line for each of them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "close")]

    def __init__(self, keys: str) -> None:
        super().__init__()
        self._keys = keys

    def text(self) -> Text:
        """See `Dialog.text`."""
        return Text(self._keys)

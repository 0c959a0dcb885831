"""The confirmation of changes, and the help."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from snapd.cli.requests.names import file_of
from snapd.cli.requests.operation import undecided
from snapd.cli.terminal.asking import CONFLICT_HELP, DECISIONS
from snapd.cli.terminal.output import printable

from .operations import chat_text, git_lines_of, planned, planned_file, steps_of

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from .operations import Operation

_MOST_FILES = 200
"""The maximum number of files of a plan that are listed."""
_EXPLANATION = """\
y - do what is listed below
g - take back what was done to git as well, or no longer
n - change nothing
? - show this help\
"""
HISTORY_HELP = """\
j k ↑ ↓      move
Enter        fold or unfold; ← → too
Tab          to the other pane
< >          move the divider; it can be dragged, too
n p          next hunk, hunk before
u            undo the step, the session or the file that is selected
r            do again what was undone last in the session
b            go back to before the prompt that is selected, with files and conversation
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
Enter ← →    fold or unfold a folder
Tab          to the other pane
< >          move the divider; it can be dragged, too
n p          next hunk, hunk before, in all files
y            keep the hunk, the file, the folder, or all
u            undo the hunk, the file, the folder, or all
Space        choose the hunk, or no longer; then y
             and u are about all that are chosen
c            comment on the line, for the agent that wrote it;
             on the head of a hunk, on what it added
r x          reply to the comment of the cursor; resolve it
g G          first line, last line
v Esc        back to the history
q            leave

Keeping changes no file: it says that you accept the change. Undoing asks \
first, and a snapshot keeps the files as they were.\
"""

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    """Shows a text over the screen, and waits for a key."""

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
        """Returns all that is shown, however long it is."""

    def action_scroll(self, lines: int) -> None:
        """Scrolls the text."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class Question(Dialog["dict[str, str] | Operation | bool | None"]):
    """Shows what an operation would do, from its dry run `plan`, and asks.

    Returns True for yes, the user's decisions about files in conflict, or the operation with git, or without it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "go_on", "yes"),
        *(Binding(key, f"decide('{decision}', False)", decision) for key, decision in DECISIONS.items()),
        *(Binding(key.upper(), f"decide('{decision}', True)", show=False) for key, decision in DECISIONS.items()),
        Binding("g", "turn_git", "git"),
        Binding("question_mark", "explain", "explain"),
        Binding("n,q,escape", "dismiss", "no"),
    ]

    def __init__(self, operation: Operation, plan: dict[str, Any], decisions: dict[str, str]) -> None:
        super().__init__()
        self._operation = operation
        self._plan = plan
        self._conflicts = undecided(plan, decisions)
        self._overwrites = "overwrite" in decisions.values()
        self._answers: list[str] = []
        self._is_explained = False

    def text(self) -> Text:
        """Returns the question first, then the plan, however long it is."""
        text = Text(self._operation.title, style="bold")

        def add(line: str, style: str = "") -> None:
            text.append(f"\n{line}", style=f"not bold {style}")

        if self._operation.note:
            add(self._operation.note, "yellow")
        if chat := chat_text(self._plan):
            add(chat, "")
        if self._conflicts:
            row, number = self._conflicts[len(self._answers)], len(self._answers) + 1
            add(f"({number}/{len(self._conflicts)}) {printable(row['file'])} is in conflict:", "yellow")
            add("o overwrite   k keep   s skip   n change nothing   ? explain")
        else:
            if self._overwrites:
                add("What others wrote since into the same lines goes, too.", "red")
            add("A snapshot keeps the files as they are now.", "dim")
            add("y goes on   n changes nothing   ? explains")
        if self._operation.with_git:
            add("g leaves git as it is")
        if self._is_explained:
            add(CONFLICT_HELP.rstrip() if self._conflicts else _EXPLANATION, "dim")
        add("")
        steps = steps_of(self._plan)
        for step in steps if len(steps) > 1 or self._operation.is_redo else ():
            add(f"step     {step}")
        # in the order of the questions
        for at, row in enumerate(self._conflicts[:_MOST_FILES]):
            answer = self._answers[at] if at < len(self._answers) else ""
            self._add_line(text, [*planned_file(row), (f"  {answer}", "bold")])
        asked = {id(row) for row in self._conflicts}
        lines = planned({**self._plan, "files": [row for row in self._plan["files"] if id(row) not in asked]})
        for line in lines[:_MOST_FILES]:
            self._add_line(text, line)
        if not lines and not self._conflicts:
            add("No file would change.")
        if (left := max(0, len(lines) - _MOST_FILES) + max(0, len(self._conflicts) - _MOST_FILES)) > 0:
            add(f"… and {left} more files", "dim")
        for git_line in git_lines_of(self._operation, self._plan, "g"):
            add(git_line, "yellow")
        return text

    @staticmethod
    def _add_line(text: Text, spans: list[tuple[str, str]]) -> None:
        text.append("\n")
        for part, style in spans:
            text.append(part, style=f"not bold {style}" if style != "bold" else style)

    def action_go_on(self) -> None:
        """Yes."""
        if not self._conflicts:
            self.dismiss(True)

    def action_decide(self, decision: str, rest: bool) -> None:
        """Decides about the current file in conflict, or about all that are left."""
        if not self._conflicts:
            if decision == "keep" and not rest:
                self.action_scroll(-1)
            return
        self._answers += [decision] * (len(self._conflicts) - len(self._answers) if rest else 1)
        if len(self._answers) < len(self._conflicts):
            self.query_one(Static).update(self.text())
        else:
            self.dismiss(dict(zip(map(file_of, self._conflicts), self._answers, strict=True)))

    def action_turn_git(self) -> None:
        """Takes git back as well, or no longer, if the plan has anything to do with it."""
        if "git" in self._plan or self._operation.with_git:
            self.dismiss(self._operation.turn_git())

    def action_explain(self) -> None:
        """Shows or hides the explanation of the answers."""
        self._is_explained = not self._is_explained
        self.query_one(Static).update(self.text())


class KeepAll(Dialog["bool | None"]):
    """Asks whether to keep all pending changes; returns the answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "yes"),
        Binding("n,q,escape", "dismiss", "no"),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def text(self) -> Text:
        """See `Dialog.text`."""
        result = Text(self._title, style="bold")
        result.append("\nNo file changes. What you keep is pending no more.", style="not bold dim")
        result.append("\ny goes on   n keeps nothing", style="not bold")
        return result


class Help(Dialog[None]):
    """Shows what the keys do, on a line each."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "close")]

    def __init__(self, keys: str) -> None:
        super().__init__()
        self._keys = keys

    def text(self) -> Text:
        """See `Dialog.text`."""
        return Text(self._keys)

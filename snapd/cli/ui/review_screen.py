"""The review screen: pending changes of agents, to keep or undo hunk by hunk."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual import on
from textual.binding import Binding
from textual.containers import Container
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from snapd.backend import all_comments
from snapd.cli.requests.names import file_of
from snapd.cli.terminal.output import printable
from snapd.model.errors import FileChanged, InvalidParams, SnapdError
from snapd.wire.words import COMMENT_DIGITS

from . import operations
from .comments import Field, comments_elsewhere, lines_to_comment, place_of, with_comments
from .contents import lines_of_all, lines_of_pending
from .dialogs import REVIEW_HELP, Help, KeepAll
from .diff_pane import DiffPane
from .history import fetch_pending
from .panes import Divider, PendingPane
from .rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from .history import Ask, History, Pending
    from .operations import Operation, PendingTarget

_ALL = ("all",)


class ReviewHost(Protocol):
    """What the application does for the screen."""

    def work(
        self,
        work: Callable[[], Any],
        then: Callable[[Any], None],
        *,
        otherwise: Callable[[SnapdError], None] | None = None,
    ) -> None:
        """Does work that calls the daemon, then calls `then` with its result; an error is shown."""

    def operate(self, choose: Callable[[], Operation]) -> None:
        """Carries out an operation after confirmation."""

    def say(self, error: SnapdError) -> None:
        """Shows an error."""


# modal, so that the keys of the history do not work here
class ReviewScreen(ModalScreen[None]):
    """Lists the files with pending changes in the pane `files`, and the hunks of one with authors in `changes`."""

    DEFAULT_CSS = """
    ReviewScreen { background: $background; }
    ReviewScreen #panes { layout: horizontal; }
    ReviewScreen #pending { width: 2fr; min-width: 20; max-width: 80%; }
    ReviewScreen #changes { width: 3fr; }
    ReviewScreen.-narrow #panes { layout: vertical; }
    ReviewScreen.-narrow #pending { min-width: 100%; max-width: 100%; height: auto; max-height: 34%; }
    ReviewScreen.-narrow Divider { display: none; }
    ReviewScreen.-narrow #changes { width: 1fr; height: 1fr; border-top: solid $primary 40%; }
    ReviewScreen #review-status { height: 1; background: $panel; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "keep", "keep"),
        Binding("u", "undo", "undo"),
        Binding("n", "next_hunk(1)", "next hunk"),
        Binding("N,p", "next_hunk(-1)", "hunk before", show=False),
        Binding("space", "choose_hunk", "choose hunk"),
        Binding("c", "comment", "comment"),
        Binding("r", "reply", "reply", show=False),
        Binding("x", "resolve", "resolve", show=False),
        Binding("v", "back", "history"),
        *Divider.KEYS,
        Binding("escape", "back", "history", show=False),
        Binding("question_mark", "help", "help"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, host: ReviewHost, ask: Ask, folder: str, history: History) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]
        self.files = PendingPane("pending", history)
        self.changes = DiffPane("changes")
        self._host = host
        self._ask = ask
        self._folder = folder
        self._history = history
        self._status = Static(id="review-status", markup=False)
        self._state = ""
        self._shown: dict[str, Any] | None = None
        self._comments: list[dict[str, Any]] = []
        self._unsent = ""
        self._asked: object = None
        self._coming: int | None = None
        self._is_loading = False
        self._is_stale = False

    def compose(self) -> ComposeResult:
        """Two panes, and messages below them."""
        with Container(id="panes"):
            yield self.files
            yield Divider(self.files)
            yield self.changes
        yield self._status
        yield Footer()

    def on_mount(self) -> None:
        """Focuses the files first."""
        self.files.focus()

    def on_screen_resume(self) -> None:
        """Loads what is pending now."""
        self.reload()

    # -- what is shown

    def say_state(self, state: str) -> None:
        """Shows the state of the connection."""
        self._state = state
        if self.is_mounted:
            self._draw()

    def reload(self) -> None:
        """Loads what is pending if the screen is visible, and again if something happened meanwhile."""
        self._is_stale = True
        if self._is_loading or self not in self.app.screen_stack:
            return
        self._is_loading, self._is_stale = True, False

        def loaded() -> None:
            self._is_loading = False
            if self._is_stale:
                self.reload()

        def take(answers: tuple[Pending, list[dict[str, Any]]]) -> None:
            pending, comments = answers
            is_other, self._comments = comments != self._comments, comments
            self.files.comments = Counter(map(file_of, comments))
            self.files.show_pending(pending)
            self._draw()
            self._show_selected(again=is_other)
            loaded()

        self._host.work(
            lambda: (fetch_pending(self._ask), all_comments(self._ask, {})), take, otherwise=lambda _: loaded()
        )

    def _draw(self) -> None:
        pending = self.files.pending
        count = len(pending.files)
        text = f"{count} file{'' if count == 1 else 's'} to review" if count else "nothing to review"
        self._status.update(" · ".join(filter(None, [text, printable(self._folder), self._state])))

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        if event.rows is self.files:
            self._show_selected()

    def _show_selected(self, *, again: bool = False) -> None:
        file = self.files.selected
        if file is None:
            self._shown = self._asked = None
            shown = (*_ALL, self.files.folder)
            lines = lines_of_all(self.files.covered, self._history)
            if not self.files.folder:
                lines += comments_elsewhere(self._comments, self.files.pending.files, self._history)
            self.changes.show(shown, lines)
            return
        name = file_of(file)
        if self.changes.key != ("file", name):
            # a key must act on the selected file
            self._shown = None
            self.changes.show(("file", name), [])
            if self._coming is None and self.changes.has_focus:
                self._coming = 0
        if self._shown is None or self._shown["id"] != file["id"]:
            self._load(name)
        elif again:
            self._show(name, self._shown)

    @property
    def is_shown(self) -> bool:
        """Whether the changes of the selected file are on the screen."""
        return self._shown is not None or self.files.selected is None

    def _load(self, name: str) -> None:
        """Requests the changes of a file; only the answer to the latest request counts."""
        asked = self._asked = object()

        def load() -> dict[str, Any] | None:
            try:
                return dict(self._ask("review/file", {"file": name}))
            except InvalidParams:
                # it was kept or undone meanwhile; the list is about to change
                return None

        def take(shown: dict[str, Any] | None) -> None:
            if asked is self._asked and shown is not None:
                self._show(name, shown)

        self._host.work(load, take)

    def _show(self, name: str, shown: dict[str, Any]) -> None:
        """Shows the changes of a file; the cursor stays on its hunk, or moves to the one in its place."""
        changes, was = self.changes, self._shown
        index, at = changes.hunk, changes.cursor
        first = next((place for place, line in enumerate(changes.lines) if line.hunk == index), at)
        if was is not None and was["id"] != shown["id"]:
            changes.choose_nothing()
        self._shown = shown
        comments = [comment for comment in self._comments if file_of(comment) == name]
        changes.show(("file", name), with_comments(lines_of_pending(shown, self._history), comments, self._history))
        if self._coming is not None:
            changes.go_to_hunk(self._coming)
            self._coming = None
        elif was is not None and index is not None:
            again = _again(was["hunks"][index]["lines"], index, shown["hunks"])
            if again is None:
                changes.go_to_hunk(index)
            else:
                place = next((place for place, line in enumerate(changes.lines) if line.hunk == again), 0)
                changes.go_to(min(place + at - first, changes.count - 1))

    # -- keys

    def action_next_hunk(self, direction: int) -> None:
        """Goes to the next hunk, or the previous one, from the list of files."""
        self.changes.focus()
        if self.is_shown:
            self.changes.action_next_hunk(direction)
        else:
            self._coming = 0

    @on(DiffPane.NoMoreHunks)
    def _next_file(self, event: DiffPane.NoMoreHunks) -> None:
        event.stop()
        # before the hunks are loaded, the key must not skip to the next file
        if self.is_shown and self.files.move_by_file(event.direction):
            self._coming = 0 if event.direction > 0 else -1

    def action_choose_hunk(self) -> None:
        """Chooses the hunk at the cursor."""
        self.changes.focus()
        if self._shown is None or not self.changes.choose():
            self.notify("There is no hunk here that can be chosen.", markup=False)

    def action_keep(self) -> None:
        """Keeps what is at the cursor; everything only after confirmation."""
        try:
            meant = self._meant()
        except SnapdError as error:
            self._host.say(error)
            return
        if self.files.selected is not None:
            self._keep(meant)
            return

        def answered(sure: bool | None) -> None:
            if sure:
                self._keep(meant)

        self.app.push_screen(KeepAll(f"Keep {meant.name}?"), answered)

    def _keep(self, meant: PendingTarget) -> None:
        def done(_: Any) -> None:
            self.notify(f"Kept {meant.name}.", markup=False)
            self.reload()

        # the selection may have changed
        self._host.work(lambda: self._ask("review/keep", meant.params), done, otherwise=lambda _: self.reload())

    def action_undo(self) -> None:
        """Undoes what is at the cursor, after confirmation."""
        self._host.operate(lambda: operations.undo_pending(self._meant()))

    def _meant(self) -> PendingTarget:
        """Returns the file at the cursor or all files; in the right pane, the chosen hunks or the one at the cursor.

        Raises `InvalidParams` if nothing is pending, or it is not shown yet.
        """
        file, changes = self.files.selected, self.changes
        if file is None:
            folder, covered = self.files.folder, self.files.covered
            return operations.pending_folder(folder, covered) if folder else operations.all_pending(covered)
        if not changes.has_focus:
            return operations.pending_file(self._shown or file)
        if self._shown is None:
            raise InvalidParams("the changes of this file are not shown yet", hint="try again in a moment")
        hunks = changes.chosen or (set() if changes.hunk is None else {changes.hunk})
        return operations.pending_hunks(self._shown, hunks) if hunks else operations.pending_file(self._shown)

    def action_comment(self) -> None:
        """Comments on the line at the cursor, or on what its hunk added."""
        shown, changes = self._shown, self.changes
        try:
            if shown is None or not changes.has_focus:
                raise InvalidParams("no line of a file is selected", hint="press Tab, and move to a line")
            start, count = lines_to_comment(changes.lines, changes.cursor)
        except SnapdError as error:
            self._host.say(error)
            return
        name = file_of(shown)

        def send(text: str) -> Any:
            if self._ask("review/file", {"file": name})["id"] != shown["id"]:
                raise FileChanged(f"{printable(shown['file'])} has changed since it was shown", file=shown["file"])
            return self._ask("review/comment", {"file": name, "start": start, "count": count, "text": text})

        self._say(f"Comment on {printable(shown['file'])}, {place_of(start, count)}", send, "Commented.")

    def action_reply(self) -> None:
        """Replies to the comment at the cursor."""
        comment = self._comment_at_cursor()
        if comment is not None:
            title = f"Reply to “{printable(comment['text'].splitlines()[0])}”"
            about = {"replyTo": comment["commentId"]}
            self._say(title, lambda text: self._ask("review/comment", {**about, "text": text}), "Replied.")

    def action_resolve(self) -> None:
        """Resolves the comment at the cursor."""
        comment = self._comment_at_cursor()
        if comment is None:
            return
        name = comment["commentId"]
        way_back = f"Resolved. 'snapd comment --reopen {name[:COMMENT_DIGITS]}' opens it again."

        def done(_: Any) -> None:
            self.notify(way_back, markup=False)
            self.reload()

        self._host.work(lambda: self._ask("review/resolve", {"commentId": name}), done)

    def _comment_at_cursor(self) -> dict[str, Any] | None:
        lines, at = self.changes.lines, self.changes.cursor
        name = lines[at].comment if lines and self.changes.has_focus else None
        comment = next((each for each in self._comments if each["commentId"] == name), None)
        if comment is None:
            hint = "press Tab, and move to one"
            self._host.say(InvalidParams("no comment is at the cursor", hint=hint))
        return comment

    def _say(self, title: str, send: Callable[[str], Any], outcome: str) -> None:
        """Asks for a text, and sends it; one that could not be sent is offered the next time."""

        def answered(text: str | None) -> None:
            if text is None:
                return
            self._unsent = text

            def done(_: Any) -> None:
                self._unsent = ""
                self.notify(outcome, markup=False)
                self.reload()

            self._host.work(lambda: send(text), done, otherwise=lambda _: self.reload())

        self.app.push_screen(Field(title, self._unsent), answered)

    def action_widen(self, columns: int) -> None:
        """Moves the divider."""
        self.query_one(Divider).widen(columns)

    def action_back(self) -> None:
        """Goes back to the history."""
        self.app.pop_screen()

    def action_help(self) -> None:
        """Shows what the keys do."""
        self.app.push_screen(Help(REVIEW_HELP))


def _again(lines: Sequence[str], index: int, hunks: Sequence[dict[str, Any]]) -> int | None:
    """Returns the index of the hunk with these lines that is nearest to an index; None if there is none."""
    same = [hunk["index"] for hunk in hunks if hunk["lines"] == lines]
    return min(same, key=lambda other: abs(other - index), default=None)

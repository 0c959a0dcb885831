"""The terminal view: connects panes, history and daemon."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
from snapd_client.notifications import DISCONNECTED, RECONNECTED, UNREACHABLE
from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Footer, Input, Static
from textual.worker import get_current_worker

from snapd.backend import ChatRewind
from snapd.cli.requests.connection import connected
from snapd.cli.requests.names import file_of
from snapd.cli.requests.operation import undecided
from snapd.cli.terminal.naming import learn
from snapd.cli.terminal.output import printable
from snapd.model.errors import IoError, PlanChanged, SnapdError

from . import operations
from .contents import Line, lines_of
from .dialogs import HISTORY_HELP, Dialog, Help, Question
from .diff_pane import DiffPane
from .history import ON_A_PAGE, History, count_pending, fetch, fetch_new, fetch_overview
from .panes import Divider, HistoryPane
from .review_screen import ReviewScreen
from .rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from .history import Overview, Page
    from .operations import Operation
    from .outline import Row


class Link:
    """Sends requests to the daemon, and receives its notifications; thread-safe.

    `socket` is the path of the daemon's socket, None for the user's own; `folder` is absolute. Raises `NoDaemon`, or
    `SnapdError` if the folder cannot be opened or a setting is wrong.
    """

    def __init__(self, socket: str | None, folder: str) -> None:
        self.folder = folder
        self._backend, client = connected(socket, folder, None)
        # subscribe before the first request, so that no notification is missed
        self._notifications = client.subscribe()

    @property
    def is_open(self) -> bool:
        """Whether the daemon can be reached now."""
        return self._backend.is_open

    def ask(self, method: Any, params: Any) -> Any:
        """Returns the result of a request. Raises `SnapdError` if it fails or the daemon does not answer."""
        answer = self._backend.request(method, params)
        # now, since drawing a label sends no request
        learn(self._backend, answer)
        return answer

    def listen(self, on_event: Callable[[str, dict[str, Any]], None]) -> None:
        """Calls `on_event` with the method and params of each notification, in this thread, until `close`."""
        for notification in self._notifications:
            on_event(notification.method, notification.params)

    def close(self) -> None:
        """Ends the connection and all waiting requests."""
        self._backend.close()


_CHANGED = "Something has changed since. This is what would be done now."
_CONNECTED = "connected"
_CONNECTING = "the daemon has ended, connecting again ..."
_NO_DAEMON = "no daemon, still trying; q quits"
_SOON = 0.05
"""Seconds for which changes in quick succession are collected before they are shown."""
_SHOWN_EVERY = 0.3
"""Seconds after which the part of a diff that was received is shown."""
_AGES = 20.0
"""Seconds after which the ages are redrawn."""


class TerminalView(App[None]):
    """Shows the sessions of a folder (`rows`, `diff`), and undoes what they did; closes the link at the end."""

    TITLE = "snapd"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #history { width: 2fr; min-width: 20; max-width: 80%; }
    #diff { width: 3fr; }
    #status { height: 1; background: $panel; padding: 0 1; }
    Toast { max-width: 95%; padding: 0 1; }
    #filter { display: none; height: 1; border: none; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "undo", "undo"),
        Binding("r", "redo", "redo"),
        Binding("b", "rewind", "rewind", show=False),
        Binding("f", "revert_file", "file back"),
        Binding("space", "choose_hunk", "choose hunk"),
        Binding("h", "revert_hunks", "hunks back"),
        Binding("v", "review", "review"),
        Binding("slash", "filter", "filter"),
        Binding("question_mark", "help", "help"),
        Binding("q", "quit", "quit"),
        *Divider.KEYS,
        Binding("escape", "show_all", "show all", show=False),
    ]

    def __init__(self, link: Link) -> None:
        super().__init__()
        self.history = History()
        self.rows = HistoryPane("history", self.history)
        self.diff = DiffPane("diff")
        self.review = ReviewScreen(self, link.ask, link.folder, self.history)
        self._field = Input(placeholder="words", id="filter", compact=True)
        self._status = Static(id="status", markup=False)
        self._state = _CONNECTED
        self._link = link
        self._missed: list[dict[str, Any]] | None = None
        self._is_refreshing = False
        self._is_stale = False
        self._is_to_draw = False
        self._is_loading_older = False
        self._changes = 0
        self._pending_files = 0
        self._shown: Any = None

    def compose(self) -> ComposeResult:
        """Two panes, and below them messages and the input."""
        with Horizontal():
            yield self.rows
            yield Divider(self.rows)
            yield self.diff
        yield self._field
        yield self._status
        yield Footer()

    def on_mount(self) -> None:
        """Starts to listen and to load."""
        self.install_screen(self.review, "review")
        self.review.say_state(self._state)
        self.rows.focus()
        threading.Thread(
            target=self._link.listen, args=(self._on_notification,), name="snapd-ui-listen", daemon=True
        ).start()
        self.set_interval(_AGES, self._draw)
        self._load()

    def on_unmount(self) -> None:
        """Ends waiting requests, so that the program can end."""
        self._link.close()

    # -- in other threads

    def work(
        self,
        work: Callable[[], Any],
        then: Callable[[Any], None],
        *,
        otherwise: Callable[[SnapdError], None] | None = None,
    ) -> None:
        """Does work that calls the daemon in a thread, then calls `then` here with its result.

        An error is shown, and passed to `otherwise`.
        """

        def run() -> None:
            try:
                result = work()
            except SnapdError as error:
                self.call_later(self._failed, error, otherwise)
            else:
                self.call_later(then, result)

        self.run_worker(run, thread=True)

    def _failed(self, error: SnapdError, otherwise: Callable[[SnapdError], None] | None) -> None:
        if otherwise is not None:
            otherwise(error)
        # the status shows that the daemon ended; everything is reloaded after reconnecting
        if self._link.is_open:
            self.say(error)

    def say(self, error: SnapdError) -> None:
        """Shows an error with its hint."""
        text = f"{printable(error.message)}\n{printable(error.hint)}"
        self.notify(text, severity="error", markup=False)

    # -- notifications

    def _on_notification(self, method: str, params: dict[str, Any]) -> None:
        self.call_later(self._apply_notification, method, params)

    def _apply_notification(self, method: str, params: dict[str, Any]) -> None:
        # the pending changes may differ although their number is the same
        self.review.reload()
        if method == "review/didChange":
            self._take_count(params["pendingFiles"])
        elif method == "session/didChange":
            if self._missed is not None:
                self._missed.append(params)
            self.history.apply_event(params["session"], params.get("step"))
            self._draw_soon()
            self._refresh()
        elif method in ("snapshot/didTrack", "snapshot/didRevert"):
            self._refresh()
        elif method == "snapshot/didChange":
            self._changes += 1
            self._show_selected()
        elif method == DISCONNECTED:
            self._say_state(_CONNECTING)
        elif method == UNREACHABLE:
            self._say_state(_NO_DAEMON)
            error = params["error"]
            self.say(error if isinstance(error, SnapdError) else IoError(str(error), hint="'snapd doctor' says more"))
        elif method == RECONNECTED:
            self._say_state(_CONNECTED)
            self._load()

    def _say_state(self, state: str) -> None:
        self._state = state
        self.review.say_state(state)
        self._draw_soon()

    # -- loading

    def _load(self) -> None:
        count = max(ON_A_PAGE, len(self.history.entries))
        # a notification that arrives during the load is newer than what was loaded
        missed: list[dict[str, Any]] = []
        self._missed = missed

        def load() -> tuple[Overview, Page]:
            page = fetch(self._link.ask, count)
            # afterwards, so that it has the session of every entry
            return fetch_overview(self._link.ask), page

        def take(loaded: tuple[Overview, Page]) -> None:
            if self._missed is not missed:
                # there is a new connection since, and everything is reloaded
                return
            self._missed = None
            self.history.begin(*loaded)
            for params in missed:
                self.history.apply_event(params["session"], params.get("step"))
            self._shown = None
            self._draw()
            self._refresh()

        self.work(load, take)
        self.work(lambda: count_pending(self._link.ask), self._take_count)

    def _take_count(self, count: int) -> None:
        self._pending_files = count
        self._draw_soon()

    def _refresh(self) -> None:
        """Loads what is new, and again if something happened meanwhile."""
        self._is_stale = True
        if self._is_refreshing or not self.history.is_loaded:
            return
        self._is_refreshing, self._is_stale = True, False
        known = self.history.known()
        self.work(lambda: fetch_new(self._link.ask, known), self._take_new, otherwise=lambda _: self._refreshed())

    def _take_new(self, page: Page) -> None:
        self.history.take_new(page)
        self._refreshed()
        self._draw_soon()

    def _refreshed(self) -> None:
        self._is_refreshing = False
        if self._is_stale and self._link.is_open:
            self._refresh()

    def _load_older(self) -> None:
        if self._is_loading_older or self.history.cursor is None:
            return
        self._is_loading_older = True
        cursor = self.history.cursor

        def take(page: Page) -> None:
            self._is_loading_older = False
            if self.history.cursor == cursor:
                self.history.take_older(page)
            self._draw()

        def give_up(_: SnapdError) -> None:
            self._is_loading_older = False

        self.work(lambda: fetch(self._link.ask, ON_A_PAGE, cursor=cursor), take, otherwise=give_up)

    # -- drawing

    def _draw_soon(self) -> None:
        if not self._is_to_draw:
            self._is_to_draw = True
            self.set_timer(_SOON, self._draw)

    def _draw(self) -> None:
        self._is_to_draw = False
        self.rows.update_rows()
        count = len(self.history.open_steps)
        steps = f"{count} open step{'' if count == 1 else 's'}" if count else ""
        words = f"only '{printable(self.rows.words)}'" if self.rows.words else ""
        pending = self._pending_files
        # first, because a narrow terminal cuts the end
        review = f"{pending} file{'' if pending == 1 else 's'} to review (v)" if pending else ""
        parts = [review, printable(self._link.folder), self._state, steps, words]
        if not self.rows.count and self.history.is_loaded:
            parts.append("nothing here" if words else "nothing has happened in this folder yet")
        self._status.update(" · ".join(filter(None, parts)))
        self._show_selected()

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Shows the row that the cursor moved to."""
        if event.rows is self.rows:
            self._show_selected()

    def _show_selected(self) -> None:
        """Shows the diff of the selected row, unless it is shown already."""
        row = self.rows.row
        if row is None:
            return
        if row.kind == "older":
            self._load_older()
        content = self._content_of(row)
        if content == self._shown:
            return
        self._shown = content
        # the same row again: show everything at once, so that nothing moves
        is_other = row.key != self.diff.key
        if is_other:
            # a key must act on the selected row
            self.diff.show(row.key, [])
        load = partial(self._load_lines, row, in_parts=is_other)
        self.run_worker(load, thread=True, exclusive=True, group="diff")

    def _content_of(self, row: Row) -> Any:
        """Returns what the diff of a row depends on."""
        if row.kind == "session":
            return row.key, row.shows
        step = row.step
        if step is not None and step["state"] == "open":
            return row.key, "open", self._changes
        return row.key, row.entry and row.entry["files"], len(row.below)

    def _load_lines(self, row: Row, *, in_parts: bool) -> None:
        """Requests the lines of a row, in a thread, until another row is selected."""
        worker = get_current_worker()
        lines: list[Line] = []
        shown = time.monotonic()
        try:
            for chunk in lines_of(self._link.ask, row):
                if worker.is_cancelled:
                    return
                lines += chunk
                if in_parts and time.monotonic() - shown > _SHOWN_EVERY:
                    shown = time.monotonic()
                    self.call_later(self._show_lines, row, list(lines))
        except SnapdError as error:
            lines += [Line("note", printable(text)) for text in (error.message, error.hint)]
        if not worker.is_cancelled:
            self.call_later(self._show_lines, row, lines)

    def _show_lines(self, row: Row, lines: list[Line]) -> None:
        if row.key == self.diff.key:
            self.diff.show(row.key, lines)

    # -- operations

    def action_undo(self) -> None:
        """Undoes what is selected, after confirmation."""
        self.operate(lambda: operations.undo(self.rows.row))

    def action_rewind(self) -> None:
        """Goes back to before the prompt, with files and conversation, after confirmation."""
        self.operate(lambda: operations.rewind(self.rows.row))

    def action_redo(self) -> None:
        """Redoes what was undone last, after confirmation."""
        self.operate(lambda: operations.redo(self.rows.row))

    def action_revert_file(self) -> None:
        """Undoes a step's changes in a file, after confirmation."""
        self.operate(lambda: operations.revert_file(self.rows.row, self.diff.file))

    def action_choose_hunk(self) -> None:
        """Chooses the hunk at the cursor."""
        if not self.diff.choose():
            self.notify("There is no hunk here that can be taken back alone.", markup=False)

    def action_revert_hunks(self) -> None:
        """Undoes the chosen hunks, or the one at the cursor, after confirmation."""
        diff = self.diff
        hunks = sorted(diff.chosen) or ([] if diff.hunk is None else [diff.hunk])
        file = diff.chosen_file if diff.chosen else diff.file
        self.operate(lambda: operations.revert_hunks(self.rows.row, file, hunks))

    def operate(self, choose: Callable[[], Operation]) -> None:
        """Carries out an operation after confirmation of its plan; shows the `SnapdError` that `choose` may raise."""
        try:
            operation = choose()
        except SnapdError as error:
            self.say(error)
            return
        self._plan(operation, {})

    def _plan(self, operation: Operation, decisions: dict[str, str]) -> None:
        def work() -> tuple[dict[str, Any], str]:
            plan: dict[str, Any] = self._link.ask(operation.method, operation.plan(decisions))
            if operation.takes_chat:
                plan["chat"] = self._chat(operation).look()
            return plan, self._contents(operation, decisions, plan)

        self.work(work, lambda planned: self._ask(operation, decisions, *planned))

    def _chat(self, operation: Operation) -> ChatRewind:
        return ChatRewind(self._link.ask, {name: operation.params[name] for name in ("sessionId", "messageId")})

    def _contents(self, operation: Operation, decisions: dict[str, str], plan: dict[str, Any]) -> str:
        """Identifies the current contents of files in conflict: a plan does so only for files that it changes."""
        conflicts = dict.fromkeys(map(file_of, undecided(plan, decisions)), "overwrite")
        if not conflicts:
            return ""
        return str(self._link.ask(operation.method, operation.plan({**decisions, **conflicts}))["plan"])

    def _ask(self, operation: Operation, decisions: dict[str, str], plan: dict[str, Any], contents: str) -> None:
        def answered(answer: dict[str, str] | Operation | bool | None) -> None:
            if isinstance(answer, operations.Operation):
                self._plan(answer, decisions)
            elif isinstance(answer, dict):
                self.work(partial(decide, answer), lambda planned: decided({**decisions, **answer}, *planned))
            elif answer:
                self._carry_out(operation, decisions, plan)

        def decide(answers: dict[str, str]) -> tuple[dict[str, Any], bool]:
            new: dict[str, Any] = self._link.ask(operation.method, operation.plan({**decisions, **answers}))
            return new, self._contents(operation, decisions, plan) == contents

        def decided(all_decisions: dict[str, str], new: dict[str, Any], is_same: bool) -> None:
            if not is_same:
                self._plan(attrs.evolve(operation, note=_CHANGED), decisions)
            elif operations.is_as_decided(new, all_decisions) and new.get("git") == plan.get("git"):
                # the user has seen all that it changes
                self._carry_out(operation, all_decisions, new)
            else:
                self._ask(operation, all_decisions, new, "")

        if not (operation.note or operations.has_changes(plan) or undecided(plan, decisions)):
            self._carry_out(operation, decisions, plan)
        elif not isinstance(self.screen, Dialog):
            self.push_screen(Question(operation, plan, decisions), answered)

    def _carry_out(self, operation: Operation, decisions: dict[str, str], plan: dict[str, Any]) -> None:
        def work() -> dict[str, Any] | None:
            try:
                outcome: dict[str, Any] = self._link.ask(operation.method, operation.carry_out(decisions, plan))
                if operation.takes_chat:
                    outcome["chat"] = self._chat(operation).follow(plan["chat"], outcome)
                return outcome
            except PlanChanged:
                return None

        def done(outcome: dict[str, Any] | None) -> None:
            if outcome is None:
                self._plan(attrs.evolve(operation, note=_CHANGED), decisions)
                return
            self.diff.choose_nothing()
            conflict = any(file["outcome"] == "conflict" for file in outcome["files"])
            texts = [operations.outcome_text(operation, outcome), "" if conflict else operation.way_back]
            texts.append(operations.chat_text(outcome))
            self.notify(
                " ".join(filter(None, texts)),
                severity="warning" if conflict else "information",
                # it has a command to type
                timeout=60 if operation.takes_chat else None,
                markup=False,
            )

        self.work(work, done)

    # -- other keys

    def action_widen(self, columns: int) -> None:
        """Moves the divider of the screen."""
        self.screen.query_one(Divider).widen(columns)

    def action_review(self) -> None:
        """Shows pending changes."""
        self.push_screen("review")

    def action_help(self) -> None:
        """Shows what the keys do."""
        self.push_screen(Help(HISTORY_HELP))

    def action_filter(self) -> None:
        """Opens the input of the filter."""
        self._field.display = True
        self._field.focus()

    def action_show_all(self) -> None:
        """Clears the filter."""
        self._field.value = ""
        self._end_filter()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Shows only rows that contain the words."""
        self.rows.words = event.value.strip()
        self._draw()

    def on_input_submitted(self) -> None:
        """Keeps the filter, and goes back to the rows."""
        self._end_filter()

    def _end_filter(self) -> None:
        self._field.display = False
        self.rows.focus()

"""`snapd watch`: shows what happens in a folder while it happens."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from snapd_client.notifications import DISCONNECTED, RECONNECTED, UNREACHABLE

from snapd.cli.parsing.command import Command, common
from snapd.cli.requests.connection import connected, folder_of
from snapd.cli.terminal.layout import UNLIMITED, cell, columns, fit, fit_title, terminal_width
from snapd.cli.terminal.naming import agent_or_id, changed, learn, session_name, short, step_name, step_text
from snapd.cli.terminal.output import Painter, count_words, counted, counts, letter_of, print_error, printable
from snapd.cli.terminal.times import local_now
from snapd.model.errors import IoError, SnapdError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from snapd_client import Client, Notification
    from snapd_client.protocol import OpenStep

    from snapd.backend import RemoteBackend
    from snapd.cli.parsing.usage import Parser

_NOTIFICATIONS = frozenset({"snapshot/didTrack", "snapshot/didChange", "snapshot/didRevert", "session/didChange"})
_WHO, _SHORT_WHO = 11, 6
_ROOMY = 60
"""The columns from which a line has the seconds, and room for long names of agents."""
_FILES = 6
"""The maximum number of files shown for one step or operation."""
_LEAST = 8
"""The minimum number of columns for a file's name."""
_MARKS = {
    "open": ("◎", "cyan"),
    "applied": ("●", "cyan"),
    "partly": ("◐", "yellow"),
    "undone": ("○", "dim"),
    "session": ("╭", "cyan"),
    "over": ("╯", "dim"),
    "operation": ("◆", "bold"),
    "you": ("◦", "dim"),
    "": (" ", ""),
}
_BY_STEPS = frozenset({"undo", "redo"})
"""Operations that are shown through their steps."""


def _arguments(parser: Parser) -> None:
    common(parser, alone=False)
    parser.flag("--json", help="print each notification of the daemon as a line of JSON")


@Command("watch", "look closer", _arguments, answer="ToldNotification", example="watch", plays=False, shows=True)
def watch(options: argparse.Namespace) -> NoReturn:
    """Show what agents and you do in this folder while it happens."""
    folder = folder_of(options)
    result, client = connected(options.socket, folder, None)
    try:
        Watch(options, result, client).run(folder)
    finally:
        result.close()


class Watch:
    """Listens to the daemon, reconnecting if it restarts. Reads `json` and `color` of the options."""

    def __init__(self, options: argparse.Namespace, remote_backend: RemoteBackend, client: Client) -> None:
        self._json = options.json
        self._backend = remote_backend
        self._subscription = client.subscribe(_NOTIFICATIONS)
        self._event_lines = EventLines(Painter(options))

    def run(self, folder: str) -> NoReturn:
        """Prints events forever."""
        self._look_around()
        print(f"snapd: watching {printable(folder)}; Ctrl-C ends it", file=sys.stderr)
        while True:
            # a Ctrl-C just before it waits is seen only after it
            notification = self._subscription.get(0.5)
            if notification is not None:
                self.on_notification(notification)

    def on_notification(self, notification: Notification) -> None:
        """Prints what a notification reports."""
        if notification.method in _NOTIFICATIONS:
            self._print_result(notification.method, notification.params)
        elif notification.method == DISCONNECTED:
            print("snapd: the daemon has ended; connecting again", file=sys.stderr)
        elif notification.method == UNREACHABLE:
            print_error(notification.params["error"], "no daemon yet: ")
        elif notification.method == RECONNECTED:
            with suppress(IoError):
                # if the connection is lost again, it reconnects again
                self._look_around()
            print("snapd: connected again", file=sys.stderr)

    def _print_result(self, method: str, params: Any) -> None:
        if self._json:
            print(json.dumps({"method": method, "params": params}, ensure_ascii=False), flush=True)
            return
        # if the daemon just ended, ids are shown in full, and the next request reports it
        with suppress(SnapdError):
            learn(self._backend, params)
        for line in self._event_lines.lines(method, params, local_now(), terminal_width()):
            print(line, flush=True)

    def _look_around(self) -> None:
        """Finds out which steps are open, since their start was not notified."""
        self._event_lines.go_on(self._backend.request("snapshot/status", {})["openSteps"])


class EventLines:
    """Formats notifications as lines, and keeps the state needed to skip what was shown."""

    def __init__(self, painter: Painter) -> None:
        self._painter = painter
        self._open: set[str] = set()
        self._shown: dict[str, dict[str, Any]] = {}
        self._sessions: dict[str, bool] = {}
        self._clock = ""
        self._width = 0

    def go_on(self, steps: Iterable[OpenStep]) -> None:
        """Sets the open steps, as returned by `snapshot/status`."""
        self._open = {step["stepId"] for step in steps}
        self._shown = {}

    def lines(self, method: str, params: dict[str, Any], now: datetime, width: int) -> list[str]:
        """Formats a notification as lines; none if it was shown already."""
        self._width = width
        self._clock = f"{now:%H:%M:%S}" if width >= _ROOMY else f"{now:%H:%M}"
        if method == "snapshot/didChange":
            return list(self._changes(params))
        if method == "session/didChange":
            step = params.get("step")
            return list(self._session(params["session"]) if step is None else self._step(params["session"], step))
        # the next difference refers to another snapshot
        self._shown = {}
        if method == "snapshot/didRevert" and params["kind"] not in _BY_STEPS:
            return list(self._operation(params))
        return []

    # -- events

    def _session(self, session: dict[str, Any]) -> Iterator[str]:
        is_over = "endedAt" in session
        if self._sessions.get(session["sessionId"]) == is_over:
            return
        self._sessions[session["sessionId"]] = is_over
        parts = [printable(short(session["sessionId"])), session_name(session)]
        verb = "session ended" if is_over else "session began"
        yield self._line(agent_or_id(session), "over" if is_over else "session", " ".join([verb, *filter(None, parts)]))

    def _step(self, session: dict[str, Any], step: dict[str, Any]) -> Iterator[str]:
        state, name = step["state"], step["stepId"]
        was_open = name in self._open
        if state == "open":
            if not was_open:
                self._open.add(name)
                yield self._line(agent_or_id(session), "open", f"{short(name)} {step_name(step)}", "begins")
            return
        self._open.discard(name)
        files = step.get("files") or []
        if state == "applied" and was_open:
            if files or step_text(step):
                nothing = "" if files else "nothing changed"
                yield self._line(agent_or_id(session), state, f"{short(name)} {step_name(step)}", nothing)
                # a step without a description is named after its only file
                yield from self._rows(files if step_text(step) or len(files) > 1 else [])
            return
        word = {"applied": "redone", "undone": "undone", "partly": "partly undone"}[state]
        yield self._line(agent_or_id(session), state, f"{short(name)} {step_name(step)}", word)

    def _operation(self, params: dict[str, Any]) -> Iterator[str]:
        files = [row for row in params["files"] if row["outcome"] != "unchanged"]
        what = f"{params['kind']} to {short(params['after'])}"
        yield self._line("", "operation", what, counted(len(files), "file"))
        for row in files[: self._most]:
            yield self._line("", "", f"{row['outcome'].ljust(9)} {printable(row['file'])}", clock=False)
        yield from self._more(len(files))

    def _changes(self, params: dict[str, Any]) -> Iterator[str]:
        """Yields changes since the last snapshot that were not shown yet: the user's, or those of the open steps."""
        now = {row["file"]: row for row in params["files"]}
        news = [row for file, row in now.items() if self._shown.get(file) != row]
        back = [file for file in self._shown if file not in now]
        self._shown = now
        who, mark = ("", "") if self._open else ("you", "you")
        if len(news) == 1:
            yield self._line(who, mark, changed(news), file=news[0])
        elif news:
            yield self._line(who, mark, changed(news))
            yield from self._rows(news)
        for file in back[: self._most]:
            yield self._line(who, mark, f"{printable(file)} is as it was")

    # -- lines

    @property
    def _most(self) -> int:
        return _FILES if self._width < UNLIMITED else UNLIMITED

    def _rows(self, files: list[dict[str, Any]]) -> Iterator[str]:
        for row in files[: self._most]:
            yield self._line("", "", "", clock=False, file=row)
        yield from self._more(len(files))

    def _more(self, count: int) -> Iterator[str]:
        if count > self._most:
            yield self._line("", "", f"… and {count - _FILES} more files", clock=False)

    def _line(
        self,
        who: str,
        mark: str,
        text: str,
        end: str = "",
        *,
        clock: bool = True,
        file: dict[str, Any] | None = None,
    ) -> str:
        """Formats a line; with a file, its name and counts replace the text."""
        sign, style = _MARKS[mark]
        time = self._painter.paint(self._clock, "dim") if clock else " " * len(self._clock)
        room = _WHO if self._width >= _ROOMY else _SHORT_WHO
        author = self._painter.paint(cell(who, room, self._width), "dim")
        left = self._width - len(self._clock) - room - len("    ") - 1 - (2 + columns(end) if end else 0)
        if file is None:
            message = fit(text, left)
        else:
            widest = sum(len(part) for part, _ in count_words(file))
            title = fit_title(file, max(_LEAST, left - len("M ") - len("  ") - widest))
            message = f"{self._painter.paint(*letter_of(file))} {title}  {counts(self._painter, file)}"
        sign = self._painter.paint(sign, style) if style else sign
        return f"{time}  {author} {sign} {message}{'  ' if end else ''}{self._painter.paint(end, 'dim')}".rstrip()

"""`snapd sessions`, `snapd log` and `snapd show STEP`."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from snapd.cli.commands.graph import draw
from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend, pages
from snapd.cli.requests.names import all_sessions, file_of, find_session, find_step, short
from snapd.cli.terminal.layout import columns, fit, one_line, terminal_width
from snapd.cli.terminal.output import Painter, print_json, printable, step_line, summary
from snapd.cli.terminal.times import ago, local_now, moment
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from datetime import datetime

    from snapd.backend import Backend

_HEADINGS = ("session", "agent", "title", "started", "steps", "undo", "redo", "")
_TITLE = 2
_NUMBERS = frozenset({4, 5, 6})
_LEAST = 8
"""Columns of a title, at least."""


# -- sessions


def sessions(options: argparse.Namespace) -> int:
    """Lists the sessions, the latest first."""
    with backend(options) as found:
        known = all_sessions(found)
    if options.json:
        print_json({"sessions": known})
    elif shown := [session for session in known[::-1] if not _is_empty_run(session)]:
        print(table(shown, Painter(options), terminal_width(), local_now()))
    else:
        nothing = "no session has changed anything" if known else "there are no sessions"
        print(f"snapd: {nothing} in this folder yet", file=sys.stderr)
    return DONE


def _is_empty_run(session: dict[str, Any]) -> bool:
    """Whether a session changed nothing, or nothing that can be undone or redone any more, and is over."""
    return "endedAt" in session and not session["undoable"] and not session["redoable"]


def table(found: list[dict[str, Any]], painter: Painter, width: int, now: datetime) -> str:
    """A line for each session.

    Args:
        found: of `session/list`, in the order in which they are shown.
        painter: colours.
        width: columns that there are.
        now: where the user is.
    """
    rows = [_HEADINGS, *(_cells(session, now) for session in found)]
    widths = [max(columns(row[at]) for row in rows) for at in range(len(_HEADINGS))]
    others = sum(widths) - widths[_TITLE] + 2 * (len(widths) - 1)
    widths[_TITLE] = min(widths[_TITLE], max(_LEAST, width - others))
    return "\n".join(_table_line(painter, row, widths, is_heading=row is _HEADINGS) for row in rows)


def _cells(session: dict[str, Any], now: datetime) -> tuple[str, ...]:
    return (
        printable(short(session["sessionId"])),
        one_line(session.get("agent")),
        one_line(session.get("title")),
        ago(moment(session["startedAt"]), now),
        str(session["stepCount"]),
        str(session["undoable"]),
        str(session["redoable"]),
        "ended" if "endedAt" in session else "open",
    )


def _table_line(painter: Painter, row: tuple[str, ...], widths: list[int], *, is_heading: bool) -> str:
    cells = []
    for at, (text, width) in enumerate(zip(row, widths, strict=True)):
        shown = fit(text, width)
        style = "dim" if is_heading else {0: "yellow", 3: "dim", 7: "green" if text == "open" else "dim"}.get(at)
        blanks = " " * (width - columns(shown))
        painted = painter.paint(shown, style) if style and shown else shown
        cells.append(blanks + painted if at in _NUMBERS else painted + blanks)
    return "  ".join(cells).rstrip()


# -- log


def log(options: argparse.Namespace) -> int:
    """Shows what happened, the latest first."""
    if options.number < 0:
        raise InvalidParams("-n: expected a number of entries, or 0 for all", field="-n")
    with backend(options) as found:
        session_id = options.session and find_session(found, options.session)["sessionId"]
        entries = _entries(found, session_id, options.number)
        shown = list(islice(entries, options.number or None))
        more = bool(options.number) and next(entries, None) is not None
        # afterwards: it has the session of every entry then
        known = {session["sessionId"]: session for session in all_sessions(found)}
    if options.json:
        print_json({"entries": shown})
        return DONE
    if not shown:
        print("snapd: nothing has happened in this folder yet", file=sys.stderr)
        return DONE
    painter = Painter(options)
    print(draw(shown, known, painter, terminal_width(), local_now()))
    if more:
        print(painter.paint(f"       … older: -n {2 * options.number}, or -n 0 for all", "dim"))
    return DONE


def _entries(found: Backend, session_id: str | None, number: int) -> Iterator[dict[str, Any]]:
    """The history, but for steps that changed nothing and of which nothing was said."""
    # one more says whether there are more
    params = {"limit": number + 1 if number else None}
    for entry in pages(found, "session/history", params, "entries"):
        step = entry.get("step")
        of = step["sessionId"] if step else entry.get("sessionId")
        if session_id in (None, of) and not (step and _is_empty(step)):
            yield entry


def _is_empty(step: dict[str, Any]) -> bool:
    """Whether nobody misses a step: such as the last one of `snapd run`, which was begun for what might have come."""
    said = ("tool", "description", "messageId", "partId")
    return step["state"] != "open" and not step["files"] and not any(name in step for name in said)


# -- show


def show_step(options: argparse.Namespace) -> int:
    """Shows a step, and what it changed as a unified diff."""
    with backend(options) as found:
        named = find_step(found, options.what)
        parts = list(_parts(found, named))
        diffs = _diffs(found, named)
    if options.json:
        print_json({"step": named, "diff": "".join(diffs)})
        return DONE
    painter = Painter(options)
    print(_details(painter, named))
    for part in parts:
        print(f"{painter.paint('part', 'dim')}      {step_line(painter, part)}")
    for diff in diffs:
        sys.stdout.write(f"\n{painter.diff(diff)}")
    return DONE


def _parts(found: Backend, step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in ask(found, "step/find", {"prefix": "", "parentStepId": step["stepId"]})["steps"][::-1]:
        yield part
        yield from _parts(found, part)


def _details(painter: Painter, step: dict[str, Any]) -> str:
    started = moment(step["startedAt"])
    ended = moment(step["endedAt"]) if "endedAt" in step else None
    took = "" if ended is None else f" for {(ended - started).total_seconds():.1f} s"
    rows = {
        "step": painter.paint(step["stepId"], "yellow"),
        "session": printable(step["sessionId"]),
        "agent": one_line(step.get("agent")),
        "tool": one_line(step.get("tool")),
        "about": one_line(step.get("description")),
        "message": one_line(step.get("messageId")),
        "part": one_line(step.get("partId")),
        "part of": step.get("parentStepId", ""),
        "time": f"{started:%Y-%m-%d %H:%M:%S}{took}",
        "state": step["state"],
        "from": step["from"],
        "to": step.get("to", ""),
    }
    lines = [f"{painter.paint(name.ljust(9), 'dim')} {value}" for name, value in rows.items() if value]
    if "files" in step:
        lines += ["", summary(painter, step["files"])]
    return "\n".join(lines)


def _diffs(found: Backend, step: dict[str, Any]) -> list[str]:
    """For each file the diff of what a step and its parts changed.

    That is what `step/hunks` tells, also of a step that was undone, and where others changed the file meanwhile: the
    difference of the two snapshots would show what they did too.
    """
    diffs = []
    for row in step.get("files", ()):
        hunks = ask(found, "step/hunks", {"stepId": step["stepId"], "file": file_of(row)})["hunks"]
        if hunks:
            diffs.append(_unified(row, hunks))
    return diffs


def _unified(row: dict[str, Any], hunks: list[dict[str, Any]]) -> str:
    name = printable(row["file"])
    before = "/dev/null" if row["status"] == "added" else f"a/{name}"
    after = "/dev/null" if row["status"] == "deleted" else f"b/{name}"
    lines = [f"--- {before}", f"+++ {after}"]
    for hunk in hunks:
        lines += [hunk["header"], *hunk["lines"]]
    return "\n".join(lines) + "\n"

"""`snapd sessions`, `snapd log` and `snapd show STEP`."""

from __future__ import annotations

import os
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import SESSION, Answer, Command, looking
from snapd.cli.requests.connection import ask, in_folder, open_backend, pages
from snapd.cli.requests.names import (
    all_sessions,
    file_of,
    find_session,
    find_step,
    find_step_or_message,
    listed_sessions,
)
from snapd.cli.requests.snapshots import first_second
from snapd.cli.terminal import pager
from snapd.cli.terminal.layout import aligned, cell, columns, fit, one_line, pad, terminal_width
from snapd.cli.terminal.naming import (
    agent_name,
    agent_or_id,
    beginning,
    changed,
    command_of,
    continues,
    git_line,
    prompt_of,
    session_name,
    short,
    step_name,
    step_text,
)
from snapd.cli.terminal.output import Painter, agent_style, print_json, printable, state_spans, step_line, summary
from snapd.cli.terminal.pager import diff_text, form_of
from snapd.cli.terminal.reasons import STYLES, format_uncaptured, signature_word, signature_words
from snapd.cli.terminal.times import ago, local_now, moment
from snapd.model.errors import InvalidParams, UnknownStep
from snapd.wire.words import is_empty, overlap_line

from .graph import draw

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Annotated

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser
    from snapd.wire.session import Session

_HEADINGS = ("session", "agent", "name", "started", "steps", "undo", "redo", "")
_TITLE = 2
_NUMBERS = frozenset({4, 5, 6})
_LESS_WANTED = (6, 5, 4, 1, 3, 2)
"""The columns that a narrow terminal omits, in this order."""
_LEAST = 8
"""The minimum number of columns for a title."""
_MANY = 25
"""The default number of log entries."""
_ON_A_PAGE = 200
_HASH, _SHORT_HASH = 40, 12
_FOR_A_HASH = 52
"""The columns from which the hash of a snapshot is shown in full."""
_NAME_ROOM = 8
_WHEN = len("20 Nov")
_WHO = len("Claude Code")
_COUNTED = (("+", "additions"), ("-", "deletions"))
_BETWEEN = "  "
_LEAST_SAID = 12
"""The minimum number of columns for the description."""


# -- sessions


class Sessions(Answer):
    """The sessions of the folder."""

    sessions: Annotated[list[Session], "In the order in which they were first started."]


@Command("sessions", "look closer", looking, answer="Sessions", example="sessions", shows=True)
def sessions(options: argparse.Namespace) -> int:
    """List the sessions of agents."""
    with open_backend(options) as backend:
        known = listed_sessions(backend)
    if options.json:
        print_json({"sessions": known})
    elif shown := [session for session in known[::-1] if not _is_empty_run(session)]:
        pager.show(options, table(shown, Painter(options), terminal_width(), local_now()) + "\n")
    else:
        nothing = "no session has changed anything" if known else "there are no sessions"
        print(f"snapd: {nothing} in this folder yet", file=sys.stderr)
    return DONE


def _is_empty_run(session: dict[str, Any]) -> bool:
    """Whether a session has ended and changed nothing, or nothing that can still be undone or redone."""
    is_of_interest = "origin" in session or "endedAt" not in session or "continues" in session
    return not is_of_interest and not session["undoable"] and not session["redoable"]


def table(matches: list[dict[str, Any]], painter: Painter, width: int, now: datetime) -> str:
    """Returns a line for each session of `session/list`, in the given order."""
    rows = [_HEADINGS, *(_cells(session, now) for session in matches)]
    widths = {at: max(columns(row[at]) for row in rows) for at in range(len(_HEADINGS))}
    for at in _LESS_WANTED:
        if _least(widths) <= width:
            break
        del widths[at]
    if _TITLE in widths:
        widths[_TITLE] = min(widths[_TITLE], max(_LEAST, width - _least({**widths, _TITLE: 0})))
    widths[0] = min(widths[0], max(_LEAST, width - _least({**widths, 0: 0})))
    padding = {at: aligned(row[at] for row in rows) for at in range(len(_HEADINGS))}
    return "\n".join(_table_line(painter, row, widths, padding, is_heading=row is _HEADINGS) for row in rows)


def _least(widths: dict[int, int]) -> int:
    """Returns the width of a table whose titles are as short as allowed."""
    others = sum(width for at, width in widths.items() if at != _TITLE)
    return others + min(_LEAST, widths.get(_TITLE, 0)) + 2 * (len(widths) - 1)


def _cells(session: dict[str, Any], now: datetime) -> tuple[str, ...]:
    return (
        printable(short(session["sessionId"])),
        agent_name(session),
        session_name(session),
        ago(moment(session["startedAt"]), now),
        str(session["stepCount"]),
        str(session["undoable"]),
        str(session["redoable"]),
        _state(session),
    )


def _state(session: dict[str, Any]) -> str:
    if "origin" in session:
        signed = f", {signature_word(session['signature'])}" if "signature" in session else ""
        return f"from {printable(session['origin']['host'])}{signed}"
    if "takenOver" in session:
        return f"taken over by {printable(session['takenOver']['host'])}"
    return ", ".join(filter(None, ("ended" if "endedAt" in session else "open", continues(session))))


def _table_line(
    painter: Painter, row: tuple[str, ...], widths: dict[int, int], padding: dict[int, int], *, is_heading: bool
) -> str:
    cells = []
    for at, width in widths.items():
        text = row[at]
        shown = fit(text, width)
        style = "dim" if is_heading else {0: "yellow", 3: "dim", 7: "green" if text == "open" else "dim"}.get(at)
        blanks = " " * (min(width, padding[at]) - columns(shown))
        painted = painter.paint(shown, style) if style and shown else shown
        cells.append(blanks + painted if at in _NUMBERS else painted + blanks)
    return "  ".join(cells).rstrip()


# -- log


_TIME = "90m, 2h or 3d ago, 14:30, 2026-11-20, '2026-11-20 14:30'"


class LoggedEntry(Answer, base="Entry"):
    """Something that happened in the folder."""

    diff: Annotated[str | None, "With `-p`, what it changed, as a unified diff."] = None


class Log(Answer):
    """What happened in the folder."""

    entries: Annotated[list[LoggedEntry], "The latest first."]


def _log_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("--session", "S", f"only {SESSION}")
    parser.argument(
        "files",
        "FILE",
        "only what changed these files or folders; with --format: a commit, or a range such as main..HEAD "
        "(default: HEAD)",
        nargs="*",
    )
    parser.argument("--since", "TIME", f"only what began since then: {_TIME}")
    parser.flag("-p", "--patch", help="show the diff of each entry")
    parser.flag("--prompts", help="show only prompts, each in full")
    parser.flag("--oneline", help="show each entry on one line, without the graph")
    parser.argument(
        "-n", "N", "how many entries to show (default: 25, with --since all; 0: all)", dest="number", type=int
    )
    parser.add_argument(
        "--format",
        choices=("agent-trace", "git-ai"),
        help="print who wrote the lines that a commit of the project's git brought, in this format",
    )


@Command("log", "every day", _log_arguments, answer="Log", example="log", shows=True)
def log(options: argparse.Namespace) -> int:
    """Show what happened: steps, undos, and what you changed.

    Show what happened in the folder, the latest first. With --format, print instead who wrote the lines that
    commits of the project's git brought: agent-trace as JSON Lines, a record for each commit; git-ai as the
    note of a commit, for 'git notes --ref=ai add -F -', and for a range as a stream for 'git fast-import'.
    """
    if options.format is not None:
        from snapd.cli.commands.authorship import print_authors

        return print_authors(options)
    if options.number is not None and options.number < 0:
        raise InvalidParams("-n: expected a number of entries, or 0 for all", field="-n")
    now = local_now()
    since = None if options.since is None else first_second(options.since, now, "--since")
    number = _MANY if options.number is None and since is None else options.number or 0
    with open_backend(options) as backend:
        session_id = options.session and find_session(backend, options.session)["sessionId"]
        files = [in_folder(options, path) for path in options.files] or None
        begun: set[str] = set()
        about = {"sessionId": session_id, "files": files, "renames": True}
        entries = _entries(backend, about, since, 0 if options.prompts else number, begun)
        if options.prompts:
            entries = (entry for entry in entries if entry["kind"] == "message")
        shown = list(islice(entries, number or None))
        more = bool(number) and next(entries, None) is not None
        # afterwards, so that it has the session of every entry
        known = {session["sessionId"]: session for session in all_sessions(backend)}
        diffs = _diffs(backend, shown, options) if options.patch else []
        steps = [] if shown else [step for word in options.files for step in _steps_called(options, backend, word)]
    if options.json:
        parts = [{**entry, "diff": diff} for entry, diff in zip(shown, diffs, strict=True)] if options.patch else shown
        print_json({"entries": parts})
        return DONE
    if not shown:
        print(f"snapd: {_nothing(options)}", file=sys.stderr)
        for step in steps:
            print(f"hint: {short(step['stepId'])} is a step: 'snapd show {short(step['stepId'])}'", file=sys.stderr)
        return DONE
    painter, width = Painter(options), terminal_width()
    if options.prompts:
        text = "\n\n".join(_whole_prompt(entry, known, painter) for entry in shown)
    elif options.patch or options.oneline:
        lines = [entry_line(entry, known, painter, width, now) for entry in shown]
        text = _with_diffs(painter, lines, diffs) if options.patch else "\n".join(lines)
    else:
        text = draw(shown, known, painter, width, now, begun)
    if more:
        text += "\n" + painter.paint(f"       … older: -n {2 * number}, or -n 0 for all", "dim")
    pager.show(options, text + "\n")
    return DONE


def _entries(
    backend: Backend, about: dict[str, Any], since: datetime | None, number: int, begun: set[str]
) -> Iterator[dict[str, Any]]:
    """Yields the history without uninteresting steps; adds to `begun` the sessions whose first step was found.

    `about` has params of `session/history`; `number` is 0 for all.
    """
    # one more, to see whether there are more
    limit = number + 1 if number else _ON_A_PAGE
    for entry in pages(backend, "session/history", {**about, "limit": limit}, "entries"):
        if since is not None and moment(entry["at"]) < since:
            return
        step = entry.get("step")
        if step is not None and step["index"] == 0:
            begun.add(step["sessionId"])
        if step is None or not is_empty(step):
            yield entry


def _nothing(options: argparse.Namespace) -> str:
    what = f"changed {' or '.join(map(printable, options.files))}" if options.files else "happened"
    where = f"in session {printable(options.session)}" if options.session else "in this folder"
    return f"nothing has {what} {where} {f'since {printable(options.since)}' if options.since else 'yet'}"


def _steps_called(options: argparse.Namespace, backend: Backend, word: str) -> list[dict[str, Any]]:
    """Returns the step that a word that is no file stands for; an empty list if there is none."""
    if os.path.lexists(os.path.join(options.directory, word)):
        return []
    try:
        return [find_step(backend, word)]
    except (InvalidParams, UnknownStep):
        return []


def _diffs(backend: Backend, entries: list[dict[str, Any]], options: argparse.Namespace) -> list[str]:
    return [_diff_of(backend, entry, form_of(options), only=bool(options.files)) for entry in entries]


def _diff_of(backend: Backend, entry: dict[str, Any], form: Any, *, only: bool) -> str:
    """Returns an entry's changes as a unified diff; with `only`, those of the requested files."""
    # the names that these files had then
    names = [name for row in entry["files"] for name in (file_of(row), row.get("renamedFrom")) if name]
    if entry["kind"] == "step":
        of_step: Any = {"stepId": entry["step"]["stepId"], "files": names if only else None, **form}
        return diff_text(ask(backend, "step/diff", of_step))
    if entry["kind"] == "message":
        return ""
    # between the two snapshots around what the user changed, an agent may have changed other files
    files = names if only or entry["kind"] == "user" else None
    between: Any = {"hash": entry["before"], "to": entry["after"], "files": files, "renames": True, **form}
    return diff_text(ask(backend, "snapshot/diff", between))


def _whole_prompt(entry: dict[str, Any], sessions: Mapping[str, dict[str, Any]], painter: Painter) -> str:
    name = painter.paint(printable(beginning(entry["messageId"])), "yellow")
    head = f"{name}  {moment(entry['at']):%Y-%m-%d %H:%M}  {agent_or_id(sessions[entry['sessionId']])}"
    return "\n".join([head, *_prompt_lines(entry)])


def _with_diffs(painter: Painter, lines: list[str], diffs: list[str]) -> str:
    pairs = zip(lines, diffs, strict=True)
    return "\n".join(f"{line}\n\n{painter.diff(diff)}" if diff else f"{line}\n" for line, diff in pairs).rstrip("\n")


# -- show


def show_entry(options: argparse.Namespace) -> int:
    """Shows a step, and what it changed as a unified diff; or a prompt and its steps."""
    with open_backend(options) as backend:
        entry = find_step_or_message(backend, options.what)
        if "stepId" not in entry:
            return _show_prompt(options, backend, entry)
        named = _with_renames(backend, entry)
        parts = list(_parts(backend, named))
        params: Any = {"stepId": named["stepId"], **form_of(options)}
        diff = diff_text(ask(backend, "step/diff", params))
        signature = None if options.json else _signature(backend, named)
    if options.json:
        print_json({"step": named, "diff": diff})
        return DONE
    painter = Painter(options)
    lines = [_details(painter, named, signature)]
    lines += [f"{painter.paint('part', 'dim')}      {step_line(painter, part)}" for part in parts]
    text = "\n".join(lines) + "\n"
    pager.show(options, f"{text}\n{painter.diff(diff)}" if diff else text)
    return DONE


def _show_prompt(options: argparse.Namespace, backend: Backend, message: dict[str, Any]) -> int:
    listed = ask(backend, "step/find", {"sessionId": message["sessionId"]})["steps"][::-1]
    steps: list[Any] = [step for step in listed if step.get("messageId") == message["messageId"] and not is_empty(step)]
    if options.json:
        print_json({"message": message, "steps": steps})
        return DONE
    painter = Painter(options)
    rows = {
        "prompt": painter.paint(printable(message["messageId"]), "yellow"),
        "session": printable(message["sessionId"]),
        "time": f"{moment(message['at']):%Y-%m-%d %H:%M:%S}",
        "state": message["state"],
    }
    lines = [f"{painter.paint(name.ljust(9), 'dim')} {value}" for name, value in rows.items()]
    lines += ["", *_prompt_lines(message)]
    if steps:
        lines += ["", *(step_line(painter, step) for step in steps)]
    pager.show(options, "\n".join(lines) + "\n")
    return DONE


def _prompt_lines(message: dict[str, Any]) -> list[str]:
    text = message.get("text") or "The text of this prompt is not kept."
    return [f"    {printable(line)}".rstrip() for line in text.splitlines()]


def _with_renames(backend: Backend, step: dict[str, Any]) -> dict[str, Any]:
    if not {"added", "deleted"} <= {row["status"] for row in step.get("files") or ()}:
        return step
    again = ask(backend, "step/find", {"prefix": step["stepId"], "limit": 1, "renames": True})["steps"]
    return dict(again[0])


def _parts(backend: Backend, step: Any) -> Iterator[Any]:
    for part in ask(backend, "step/find", {"prefix": "", "parentStepId": step["stepId"]})["steps"][::-1]:
        yield part
        yield from _parts(backend, part)


def _signature(backend: Backend, step: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the signature of a fetched step; None for a step of the folder, and for an unsigned one."""
    # the folder's own come first
    sessions = pages(backend, "session/list", {}, "sessions")
    session: dict[str, Any] = next((each for each in sessions if each["sessionId"] == step["sessionId"]), {})
    return session.get("signature")


def _details(painter: Painter, step: dict[str, Any], signature: dict[str, Any] | None) -> str:
    started = moment(step["startedAt"])
    ended = moment(step["endedAt"]) if "endedAt" in step else None
    took = "" if ended is None else f" for {(ended - started).total_seconds():.1f} s"
    hash_columns = _HASH if terminal_width() >= _FOR_A_HASH else _SHORT_HASH
    rows = {
        "step": painter.paint(step["stepId"], "yellow"),
        "session": printable(step["sessionId"]),
        "signed": "" if signature is None else painter.paint(signature_words(signature), STYLES[signature["state"]]),
        "agent": agent_name(step),
        "tool": one_line(step.get("tool")),
        "about": one_line(step.get("description")),
        "ran": "\n          ".join(printable(line) for line in step.get("command", "").splitlines()),
        "changed": "" if step_text(step) else changed(step.get("files") or ()),
        "git": git_line(step["git"]) if "git" in step else "",
        "overlaps": printable(overlap_line(step["overlaps"])) if "overlaps" in step else "",
        "message": one_line(step.get("messageId")),
        "part": one_line(step.get("partId")),
        "part of": step.get("parentStepId", ""),
        "time": f"{started:%Y-%m-%d %H:%M:%S}{took}",
        "state": step["state"],
        "from": step["from"][:hash_columns],
        "to": step.get("to", "")[:hash_columns],
    }
    lines = [f"{painter.paint(name.ljust(9), 'dim')} {value}" for name, value in rows.items() if value]
    if "files" in step:
        lines += ["", summary(painter, step["files"])]
    if (lost := format_uncaptured([step])) is not None:
        lines.append(painter.paint(lost, "yellow"))
    return "\n".join(lines)


def entry_line(
    entry: dict[str, Any], sessions: Mapping[str, dict[str, Any]], painter: Painter, width: int, now: datetime
) -> str:
    """Formats an entry of `session/history` on one line: its id, when, who, what, and how much."""
    name, who, what = _words(entry, sessions)
    state = state_spans(entry["step"]["state"]) if entry["kind"] == "step" else []
    when = moment(entry["at"])
    clock = f"{when:%H:%M}" if when.date() == now.date() else f"{when.day} {when:%b}"
    start = [(pad(name, _NAME_ROOM), "yellow" if entry["kind"] == "step" else "dim"), (pad(clock, _WHEN), "dim")]
    session = sessions.get(entry["step"]["sessionId"] if entry["kind"] == "step" else entry.get("sessionId", ""))
    is_agent = session is not None and entry["kind"] != "message"
    author = (cell(who, _WHO, width), agent_style(session) if is_agent else "dim")
    count = (" ".join(f"{sign}{sum(int(row[key]) for row in entry['files'])}" for sign, key in _COUNTED), "")
    counted = [count] if entry["files"] and not _is_counted(entry) else []
    # a narrow terminal omits first the author, then the counts
    for before, after in (([author], [*counted, *state]), ([], [*counted, *state]), ([], state)):
        room = width - sum(columns(text) + len(_BETWEEN) for text, _ in [*start, *before, *after])
        if room >= _LEAST_SAID:
            break
    line = [*start, *before, (fit(what, room), ""), *after]
    return _BETWEEN.join(painter.paint(text, style) if style else text for text, style in line).rstrip()


def _is_counted(entry: dict[str, Any]) -> bool:
    """Whether the entry's title contains its line counts, because it is named after its only file."""
    if entry["kind"] == "step":
        return not step_text(entry["step"]) and len(entry["step"].get("files") or ()) == 1
    return entry["kind"] == "user" and len(entry["files"]) == 1


def _words(entry: dict[str, Any], sessions: Mapping[str, dict[str, Any]]) -> tuple[str, str, str]:
    """Returns the id of an entry, who did it, and what it was."""
    if entry["kind"] == "step":
        step = entry["step"]
        what = f"{step_name(step)}  {command_of(step)}".rstrip()
        return short(step["stepId"]), agent_or_id(sessions[step["sessionId"]]), what
    if entry["kind"] == "message":
        return printable(beginning(entry["messageId"])), "you", prompt_of(entry)
    # it has no id but that of the snapshot after it
    name = short(entry["after"])
    if entry["kind"] == "user":
        text = git_line(entry["git"]) if "git" in entry and not entry["files"] else changed(entry["files"])
        return name, "unknown" if "unknown" in entry else "you", text
    who = agent_or_id(sessions[entry["sessionId"]]) if "sessionId" in entry else "you"
    text = ", ".join(map(short, entry.get("steps") or ()))
    return name, who, f"{entry['kind']} {text}".rstrip()

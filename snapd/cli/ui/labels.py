"""The text of the rows on the left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.naming import agent_name, continues, git_line, prompt_of, session_name, short, step_text
from snapd.cli.terminal.output import LETTERS, counted, printable, state_spans
from snapd.cli.terminal.times import WEEK, elapsed, moment
from snapd.wire.words import OPERATIONS, agent_colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from .history import History
    from .outline import Row

    Spans = list[tuple[str, str]]

_MARKS = {"open": ("◎", "green"), "applied": ("●", "cyan"), "partly": ("◐", "yellow"), "undone": ("○", "dim")}
_MOST_STEPS = 3
"""The maximum number of steps named as authors of a change."""


def spans_of(row: Row, now: datetime) -> Spans:
    """Returns the text of a row, in parts with their styles; `now` is in the user's time zone."""
    fold = {None: "  ", False: "▸ ", True: "▾ "}[row.is_unfolded]
    return [("  " * row.depth + fold, "dim"), *_row_spans(row, now)]


def _row_spans(row: Row, now: datetime) -> Spans:
    if row.kind == "session":
        return _session(row, now)
    if row.kind == "between":
        return [("you", "bold"), (f"  {counted(len(row.below), 'change')}  {age(row.below[0]['at'], now)}", "dim")]
    if row.kind == "older":
        return [("… older", "dim")]
    if row.kind == "more files":
        return [(f"… and {row.shows['count']} more files", "dim")]
    if row.kind == "file":
        letter, style = LETTERS[row.shows["status"]]
        return [(letter, style), (f" {printable(row.shows['file'])} ", ""), *_counts([row.shows])]
    return _entry(row.shows, now)


def _session(row: Row, now: datetime) -> Spans:
    session = row.shows
    name = session_name(session)
    spans = [(f"{agent_name(session) or 'session'} ", f"bold {colour_of(session.get('agent'))}")]
    spans.append((f"{name} " if name else f"{printable(short(session['sessionId']))} ", "" if name else "dim"))
    if "endedAt" not in session:
        spans.append(("open ", "green"))
    if "continues" in session:
        spans.append((f"{continues(session)} ", "dim"))
    steps = session["stepCount"]
    return [*spans, (f"{counted(steps, 'step')}  {age(session['startedAt'], now)}", "dim")]


def colour_of(agent: str | None) -> str:
    """Returns the style of an agent's name."""
    return f"color({agent_colour(agent).terminal})" if agent else ""


def _entry(entry: dict[str, Any], now: datetime) -> Spans:
    step = entry.get("step")
    if entry["kind"] == "message":
        return [("»", "cyan"), (f" {age(entry['at'], now):>4} ", "dim"), (prompt_of(entry), "bold")]
    if step is None:
        mark = "◦" if entry["kind"] == "user" else "◆"
        when = age(entry["at"], now)
        return [(mark, "bold"), (f" {when:>4} ", "dim"), (f"{sentence(entry)} ", ""), *_counts(entry["files"])]
    state = step["state"]
    spans = [_MARKS[state], (f" {age(entry['at'], now):>4} ", "dim")]
    spans += [(f"{word} ", style) for word, style in state_spans(state)]
    if "parentStepId" in step:
        spans.append(("↳ ", "dim"))
    style = "dim" if state == "undone" else ""
    spans.append((f"{title_of(step)} ", style))
    if state != "open" and not step["files"]:
        return [*spans, (f"git: {git_line(step['git'])}" if "git" in step else "nothing changed", "dim")]
    return [*spans, *_counts(entry["files"])]


def sentence(entry: dict[str, Any]) -> str:
    """Describes what the user or an operation did."""
    if entry["kind"] == "user":
        return f"{'Somebody' if 'unknown' in entry else 'You'} changed {_what_of(entry)}"
    names = ", ".join(short(name) for name in entry.get("steps") or ())
    return f"{OPERATIONS[entry['kind']].past.capitalize()} {names or _what_of(entry)}"


def _what_of(entry: dict[str, Any]) -> str:
    return what(entry["files"]) if entry["files"] or "git" not in entry else "git"


def title_of(step: dict[str, Any]) -> str:
    """Returns the title of a step."""
    return step_text(step) or f"step {step['index'] + 1}"


def what(files: list[dict[str, Any]]) -> str:
    """Names the one file, or the number of files."""
    return printable(files[0]["file"]) if len(files) == 1 else f"{len(files)} files"


def age(at: str, now: datetime) -> str:
    """Formats the age of a time, in at most six columns; its date if it is more than a week ago."""
    when = moment(at)
    amount, unit = elapsed(when, now)
    return f"{when.day} {when:%b}" if unit == "day" and amount >= WEEK else f"{amount}{unit[0]}"


def counts_of(file: dict[str, Any]) -> Spans:
    """Returns how much of a file changed, and whether others may have changed it too."""
    if file.get("byGit"):
        return [("by git", "dim")]
    shared = [(" shared", "yellow")] if file.get("shared") else []
    return [*_counts([file]), *shared]


def _counts(files: Iterable[dict[str, Any]]) -> Spans:
    rows = [row for row in files if not row.get("byGit")]
    if not rows:
        return []
    if all(row["binary"] for row in rows):
        return [("binary", "dim")]
    added, deleted = (sum(row[name] for row in rows) for name in ("additions", "deletions"))
    return [(f"+{added}", "green"), (" ", ""), (f"-{deleted}", "red")]


def agents_of(history: History, owners: Sequence[dict[str, Any]]) -> str:
    """Returns the agents behind pending changes (`owners` in `review/*`), each once; the session of an unnamed one."""
    return ", ".join(dict.fromkeys(_agent(history, owner) for owner in owners))


def agent_spans(history: History, owners: Sequence[dict[str, Any]]) -> Spans:
    """Returns the same, each in its colour."""
    colours = {
        _agent(history, owner): colour_of(history.sessions.get(owner["sessionId"], {}).get("agent")) for owner in owners
    }
    return [(f"{', ' if at else '  '}{name}", colour) for at, (name, colour) in enumerate(colours.items())]


def steps_behind(history: History, owners: Sequence[dict[str, Any]]) -> list[str]:
    """Returns a line for each loaded step behind a pending change, up to a few."""
    known = {entry["step"]["stepId"]: entry["step"] for entry in history.entries if "step" in entry}
    loaded = [owner for owner in owners if owner["stepId"] in known]
    lines = [f"{_agent(history, owner)}  {title_of(known[owner['stepId']])}" for owner in loaded[:_MOST_STEPS]]
    more = len(owners) - len(lines)
    if not more:
        return lines
    return [*lines, f"and {more} more" if lines else counted(more, "step")]


def _agent(history: History, owner: dict[str, Any]) -> str:
    session = history.sessions.get(owner["sessionId"], {})
    return agent_name(session) or printable(short(owner["sessionId"]))

"""The lines on the right: what the selected row changed, requested file by file, or what is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from snapd.cli.requests.names import file_of
from snapd.cli.requests.pending import as_a_whole
from snapd.cli.terminal.naming import agent_name, command_of, git_line, session_name
from snapd.cli.terminal.output import LETTERS, printable
from snapd.wire.words import overlap_line

from .labels import agents_of, sentence, steps_behind, title_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .history import Ask, History, Pending
    from .outline import Row

LineKind = Literal["text", "note", "file", "hunk", "added", "deleted", "context", "comment"]

MOST_LINES = 20_000
"""The maximum number of lines shown for one row."""
_MOST_FILES = 200
"""The maximum number of files listed for a session or an open step."""
_TAB = 8
_KINDS: dict[str, LineKind] = {"+": "added", "-": "deleted", "@": "hunk"}


@attrs.frozen
class Line:
    """A line of the diff, without anything that a terminal would interpret."""

    kind: LineKind  # "text" and "comment" are wrapped
    text: str
    file: str | None = None  # the name for requests, if the line belongs to one
    hunk: int | None = None  # the index of its hunk of a step, if it belongs to one
    number: int | None = None  # its number in the file as it is, from 1, if it is pending and there
    comment: str | None = None  # the id of the comment that it is a line of


def lines_of(ask: Ask, row: Row) -> Iterator[list[Line]]:
    """Yields the lines of what a row changed as they arrive, at most `MOST_LINES` and a few."""
    left = MOST_LINES
    for chunk in _all_lines(ask, row):
        yield chunk[:left]
        if len(chunk) >= left:
            yield [Line("note", f"… there is more: only the first {MOST_LINES} lines are shown")]
            return
        left -= len(chunk)


def _all_lines(ask: Ask, row: Row) -> Iterator[list[Line]]:
    if row.kind == "session":
        yield from _session(ask, row.shows)
    elif row.kind == "message":
        yield from _turn(ask, row.shows)
    elif row.kind == "between":
        for entry in row.below:
            yield [*_heading(entry), *(Line("file", _title(file), file_of(file)) for file in entry["files"])]
    elif row.entry is not None and row.kind != "more files":
        step = row.step
        if row.kind != "file":
            yield _heading(row.entry)
        if step is not None and step["state"] == "open":
            yield from _since(ask, step["from"])
        else:
            for file in [row.shows] if row.kind == "file" else row.entry["files"]:
                yield [Line("file", _title(file), file_of(file)), *_changes(ask, row.entry, file)]


def _heading(entry: dict[str, Any]) -> list[Line]:
    step = entry.get("step")
    git = [Line("text", f"git: {git_line(entry['git'])}")] if "git" in entry else []
    if step is None:
        return [Line("note", sentence(entry)), *git]
    lines = [Line("text", f"{step['stepId']}  {agent_name(step)}  {title_of(step)}")]
    if ran := command_of(step):
        lines.append(Line("text", ran))
    if step["state"] == "open":
        lines.append(Line("note", "This step is open. What changed in the folder since it began, whoever did it:"))
    elif not entry["files"] and not git:
        lines.append(Line("note", "nothing changed"))
    if "overlaps" in step:
        lines.append(Line("note", overlap_line(step["overlaps"])))
    return [*lines, *git]


def _changes(ask: Ask, entry: dict[str, Any], file: dict[str, Any]) -> list[Line]:
    name = file_of(file)
    step = entry.get("step")
    if step is None:
        return _unified(ask, name, entry["before"], entry["after"])
    answer = ask("step/hunks", {"stepId": step["stepId"], "file": name})
    hunks = answer["hunks"]
    if not hunks:
        mixed = "others changed the same lines while the step was running" if "mixed" in answer else None
        return [Line("note", "binary" if file["binary"] else mixed or "no line of it changed", name)]
    return [_line(text, name, hunk["index"]) for hunk in hunks for text in (hunk["header"], *hunk["lines"])]


def _since(ask: Ask, tree: str) -> Iterator[list[Line]]:
    page = ask("snapshot/diffFull", {"from": tree, "contents": False, "limit": _MOST_FILES})
    for file in page["diffs"]:
        yield [Line("file", _title(file), file_of(file)), *_unified(ask, file_of(file), tree, None)]
    if "nextCursor" in page:
        yield [Line("note", "… and more files")]


def _unified(ask: Ask, name: str, before: str, after: str | None) -> list[Line]:
    """Returns the diff of a file between two snapshots, or a snapshot and the folder, without git's headers."""
    diff = ask("snapshot/diff", {"hash": before, "to": after, "files": [name]})["diff"]
    # only a line feed ends a line
    lines = diff.split("\n")[:-1]
    start = next((at for at, line in enumerate(lines) if line.startswith("@@ ")), None)
    if start is None:
        return [Line("note", line, name) for line in map(printable, lines[1:])]
    return [_line(text, name, None) for text in lines[start:]]


def _session(ask: Ask, session: dict[str, Any]) -> Iterator[list[Line]]:
    """Yields the description of a session, and the total changes of its applied steps."""
    fields = {
        "session": printable(session["sessionId"]),
        "agent": agent_name(session),
        "name": session_name(session),
        "steps": f"{session['stepCount']}: {session['undoable']} to undo, {session['redoable']} to redo",
    }
    yield [Line("note", f"{name:9}{value}") for name, value in fields.items() if value]
    yield from _net(ask, {"sessionId": session["sessionId"]})


def _turn(ask: Ask, message: dict[str, Any]) -> Iterator[list[Line]]:
    text = message.get("text") or "The text of this prompt is not kept."
    yield [Line("note", printable(message["messageId"])), Line("note", "")]
    yield [*(Line("text", printable(line)) for line in text.splitlines()), Line("note", "")]
    yield from _net(ask, {"sessionId": message["sessionId"], "messageId": message["messageId"]})


def _net(ask: Ask, about: dict[str, Any]) -> Iterator[list[Line]]:
    page = ask("session/diff", {**about, "contents": False, "limit": _MOST_FILES})
    yield [Line("file", _title(file), file_of(file)) for file in page["diffs"]]
    if "nextCursor" in page:
        yield [Line("note", "… and more files")]


def lines_of_pending(shown: dict[str, Any], history: History) -> list[Line]:
    """Returns the pending changes of a file from `review/file`, each hunk below its authors."""
    name = file_of(shown)
    was = f"  renamed from {printable(shown['renamedFrom'])}" if "renamedFrom" in shown else ""
    lines = [Line("file", f"{_title(shown)}{was}", name)]
    hunks = shown["hunks"]
    if not hunks:
        lines.append(Line("note", f"{as_a_whole(shown)}, by {agents_of(history, shown['owners'])}", name))
        return [*lines, *(Line("note", step, name) for step in steps_behind(history, shown["owners"]))]
    for hunk in hunks:
        index = hunk["index"]
        if len(lines) > MOST_LINES:
            return [*lines, Line("note", f"… and {len(hunks) - index} more hunks: keep or undo some of these first")]
        by = agents_of(history, hunk["owners"])
        lines.append(Line("hunk", f"hunk {index + 1} of {len(hunks)}, by {by}", name, index))
        notes = [*steps_behind(history, hunk["owners"]), printable(hunk["header"])]
        lines += [Line("note", note, name, index) for note in notes]
        number = hunk["newStart"]
        for text in hunk["lines"]:
            line = _line(text, name, index)
            is_there = text[:1] in (" ", "+")
            lines.append(attrs.evolve(line, number=number) if is_there else line)
            number += is_there
    return lines


def lines_of_all(pending: Pending, history: History) -> list[Line]:
    """Returns how much is pending in all, and of which agents."""
    if not pending.files:
        return [Line("note", "Nothing is pending: you have kept all that agents changed, or they changed nothing.")]
    by: dict[str, int] = {}
    for file in pending.files:
        for owner in {owner["sessionId"]: owner for owner in file["owners"]}.values():
            name = agents_of(history, [owner])
            by[name] = by.get(name, 0) + 1
    agents = [Line("note", f"by {name}: {count} file{'' if count == 1 else 's'}") for name, count in by.items()]
    return [*agents, Line("note", ""), *(Line("file", _title(file), file_of(file)) for file in pending.files)]


def _title(file: dict[str, Any]) -> str:
    counts = "binary" if file["binary"] else f"+{file['additions']} -{file['deletions']}"
    if file.get("byGit"):
        counts = "by git"
    shared = "  shared with another agent" if file.get("shared") else ""
    return f"{LETTERS[file['status']][0]} {printable(file['file'])}  {counts}{shared}"


def _line(text: str, file: str, hunk: int | None) -> Line:
    sign = text[:1]
    kind = _KINDS.get(sign, "context")
    # show the line end where the line changed
    message = text.removesuffix("\r") if kind == "context" else text
    return Line(kind, printable(message[:1] + message[1:].expandtabs(_TAB)), file, hunk)

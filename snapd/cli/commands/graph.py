"""Draws the history: a lane for the folder itself, one for each session, and the events, the latest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.layout import UNLIMITED, aligned, columns, fit, fit_title, one_line, pad
from snapd.cli.terminal.naming import (
    agent_name,
    beginning,
    command_of,
    continues,
    git_line,
    prompt_of,
    session_name,
    short,
    step_name,
    step_text,
)
from snapd.cli.terminal.output import agent_style, count_words, letter_of, printable
from snapd.cli.terminal.plans import operation_name
from snapd.cli.terminal.reasons import sharing
from snapd.cli.terminal.times import day, format_duration, moment
from snapd.wire.words import overlap_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from snapd.cli.terminal.output import Painter

_FOLDER = "dim"
_MARKS = {"open": "◎", "partly": "◐"}
"""The marks of steps, by state."""
_TIME = 7
_NAME = 10
"""The columns of a time or a step's name, including the gap after it."""
_ROOMY = 44
"""The columns beside the graph from which files are indented below a step's title instead of its id."""
_INDENT = 2
"""The indentation of files where there is less room."""
_TEXT = 16
"""The minimum number of columns beside the lanes."""
_FILES = 6
"""The maximum number of files shown for one entry."""
_LEAST = 4
"""The minimum number of columns for a file's name."""


def draw(
    entries: Iterable[dict[str, Any]],
    sessions: Mapping[str, dict[str, Any]],
    painter: Painter,
    width: int,
    now: datetime,
    begun: Collection[str],
) -> str:
    """Draws entries of `session/history`, the latest first; `sessions` is `session/list` by id.

    `width` is in columns. `begun` are the sessions that began with one of these entries, or with one that is left out.
    """
    picture = _Picture(sessions, painter, width, now)
    shown = _prompts_first(list(entries))
    picture.knows(shown, begun)
    for entry in shown:
        picture.add(entry)
    return picture.finish()


def _prompts_first(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Moves each prompt above its steps of the same day."""

    def key(entry: dict[str, Any]) -> tuple[Any, ...]:
        turn = entry["step"] if entry["kind"] == "step" else entry
        return turn.get("sessionId"), turn.get("messageId"), moment(entry["at"]).date()

    prompts = {key(entry): entry for entry in entries if entry["kind"] == "message"}
    ordered = []
    for entry in entries:
        if entry["kind"] in ("step", "message") and (prompt := prompts.pop(key(entry), None)) is not None:
            ordered.append(prompt)
        if entry["kind"] != "message":
            ordered.append(entry)
    return ordered


class _Row:
    """A line of the drawing, before the number of lanes is known.

    `file` is the only file of a step named after it: shown after the first `ahead` texts, or below if there is little
    room.
    """

    def __init__(
        self,
        time: str,
        cells: list[tuple[str, str]],
        texts: list[tuple[str, str]],
        file: _Files | None = None,
        ahead: int = 0,
    ) -> None:
        self.time = time
        self.cells = cells
        self.texts = texts
        self.file = file
        self.ahead = ahead


class _Picture:
    """The lines, and the lanes that continue below them."""

    def __init__(self, sessions: Mapping[str, dict[str, Any]], painter: Painter, width: int, now: datetime) -> None:
        self._sessions = sessions
        self._painter = painter
        self._width = width
        self._now = now
        self._lanes: list[str | None] = []
        self._styles: dict[str, str] = {}
        self._rows: list[_Row | _Files] = []
        self._day: str | None = None
        self._steps: dict[str, dict[str, Any]] = {}
        self._begins: dict[str, dict[str, Any]] = {}

    def knows(self, entries: Iterable[dict[str, Any]], begun: Collection[str]) -> None:
        """Records the titles of the steps that operations refer to, and the entries with which sessions begin."""
        for entry in entries:
            if entry["kind"] == "step":
                self._steps[entry["step"]["stepId"]] = entry["step"]
            if entry["kind"] in ("step", "message"):
                # the prompt is there before the first step
                self._begins[_session_of(entry)] = entry
        self._begins = {session_id: entry for session_id, entry in self._begins.items() if session_id in begun}

    def add(self, entry: dict[str, Any]) -> None:
        """Draws an entry."""
        when = moment(entry["at"])
        self._begin_day(day(when, self._now))
        clock = f"{when:%H:%M}"
        if entry["kind"] == "step":
            self._add_step(clock, entry["step"])
        elif entry["kind"] == "user":
            self._add_marked(clock, None, ("◦", _FOLDER), [("unknown" if "unknown" in entry else "you", _FOLDER)])
        elif entry["kind"] == "message":
            self._add_message(clock, entry)
        else:
            self._add_operation(clock, entry)
        if entry["files"] and not _is_named_by(entry):
            undone = entry["kind"] == "step" and entry["step"]["state"] == "undone"
            self._rows.append(_Files(self._running(), entry["files"], "dim" if undone else ""))
        if "git" in entry:
            self._rows.append(_Row("", self._running(), [(" " * _NAME, ""), (f"git: {git_line(entry['git'])}", "dim")]))
        if entry["kind"] == "step" and "overlaps" in entry["step"]:
            text = printable(overlap_line(entry["step"]["overlaps"]))
            self._rows.append(_Row("", self._running(), [(" " * _NAME, ""), (text, "yellow")]))
        if entry["kind"] in ("step", "message") and self._begins.get(_session_of(entry)) is entry:
            self._end_lane(_session_of(entry))

    def finish(self) -> str:
        """Returns the drawing."""
        lanes = max((len(row.cells) for row in self._rows if isinstance(row, _Row)), default=0)
        lines: list[str] = []
        for row in self._rows:
            if isinstance(row, _Row):
                lines.append(self._line(row, lanes))
                if row.file is not None and not self._is_roomy(lanes):
                    lines += self._file_lines(row.file, lanes)
            else:
                lines += self._file_lines(row, lanes)
        return "\n".join(lines)

    # -- entries

    def _add_step(self, clock: str, step: dict[str, Any]) -> None:
        session_id = step["sessionId"]
        self._begin_lane(session_id)
        undone = step["state"] == "undone"
        style = self._styles[session_id]
        texts = [(pad(f"{short(step['stepId'])}  ", _NAME), "dim" if undone else style)]
        file = step["files"][0] if _is_named_after_its_file(step) else None
        message = _step_texts(step) if file is None else _tool(step)
        texts += [(text, "dim" if undone else plain) for text, plain in message]
        ahead = len(texts)
        if ran := command_of(step):
            texts.append((f"{ran}  ", "dim"))
        if step.get("parentStepId"):
            texts.append((f"part of {short(step['parentStepId'])}  ", "dim"))
        if undone:
            texts.append(("undone", "dim"))
        elif step["state"] == "partly":
            texts.append(("partly undone", "yellow"))
        elif step["state"] == "open":
            texts.append((f"open for {format_duration(moment(step['startedAt']), self._now)}", "green"))
        elif not step["files"] and "git" not in step:
            texts.append(("nothing changed", "dim"))
        mark = ("○", "dim") if undone else (_MARKS.get(step["state"], "●"), style)
        self._add_marked(clock, session_id, mark, texts, file, ahead)

    def _add_message(self, clock: str, entry: dict[str, Any]) -> None:
        session_id = entry["sessionId"]
        self._begin_lane(session_id)
        name = (pad(f"{printable(beginning(entry['messageId']))}  ", _NAME), "dim")
        self._add_marked(clock, session_id, ("»", self._styles[session_id]), [name, (prompt_of(entry), "bold")])

    def _add_operation(self, clock: str, entry: dict[str, Any]) -> None:
        session_id = entry.get("sessionId")
        if session_id is not None:
            self._begin_lane(session_id)
        style = "bold" if session_id is None else self._styles[session_id]
        names = entry.get("steps") or []
        operations = ", ".join(operation_name(each, self._now) for each in entry.get("operations", ()))
        if len(names) == 1 and names[0] in self._steps:
            message = f"{short(names[0])} {step_name(self._steps[names[0]])}"
        elif names:
            message = ", ".join([*map(short, names), *filter(None, [operations])])
        elif operations:
            message = operations
        elif entry["kind"] == "hunks":
            message = "taken back"
        else:
            message = f"to {short(entry['after'])}" if entry["kind"] == "restore" else ""
        texts = [(pad(entry["kind"], _NAME), "bold"), (message, "")]
        if "state" in entry:
            undone, shade = ("undone", "dim") if entry["state"] == "undone" else ("partly undone", "yellow")
            texts = [(text, shade if undone == "undone" else plain) for text, plain in texts] + [(f"  {undone}", shade)]
        self._add_marked(clock, session_id, ("◆", style), texts)

    def _add_marked(
        self,
        clock: str,
        session_id: str | None,
        mark: tuple[str, str],
        texts: list[tuple[str, str]],
        file: dict[str, Any] | None = None,
        ahead: int = 0,
    ) -> None:
        cells = self._running()
        below = None if file is None else _Files(self._running(), [file], "dim" if texts[0][1] == "dim" else "")
        cells[0 if session_id is None else self._lanes.index(session_id) + 1] = mark
        self._rows.append(_Row(clock, cells, texts, below, ahead))

    def _sharing(self, row: dict[str, Any]) -> str:
        others = row.get("sharedWith", ())
        if len(others) != 1:
            return f"shared with {len(others)} steps" if others else "shared"
        return sharing(others[0], self._steps.get(others[0], {}).get("agent"))

    # -- days and lanes

    def _begin_day(self, name: str) -> None:
        if name != self._day:
            self._day = name
            self._rows.append(_Row("", self._running(), [(name, "dim")]))

    def _begin_lane(self, session_id: str) -> None:
        if session_id in self._lanes:
            return
        self._styles[session_id] = agent_style(self._sessions[session_id])
        if None in self._lanes:
            self._lanes[self._lanes.index(None)] = session_id
        else:
            self._lanes.append(session_id)
        session = self._sessions[session_id]
        style = self._styles[session_id]
        texts = [(f"{agent_name(session) or 'session'}  ", f"bold {style}")]
        if session_id != session.get("agent"):
            texts.append((f"{printable(short(session_id))}  ", "dim"))
        if "endedAt" not in session:
            texts.append(("open  ", "green"))
        if "continues" in session:
            texts.append((f"{continues(session)}  ", "dim"))
        texts.append((session_name(session), ""))
        cells = self._running()
        cells[self._lanes.index(session_id) + 1] = ("╭", style)
        self._rows.append(_Row("", cells, texts))

    def _end_lane(self, session_id: str) -> None:
        at = self._lanes.index(session_id) + 1
        style = self._styles[session_id]
        cells = self._running()
        cells[0] = ("├─", style)
        for lane in range(1, at):
            cells[lane] = ("┼─" if cells[lane][0] != " " else "──", style)
        cells[at] = ("╯", style)
        self._lanes[at - 1] = None
        self._rows.append(_Row("", cells, []))

    def _running(self) -> list[tuple[str, str]]:
        lanes = [(" ", "") if lane is None else ("│", self._styles[lane]) for lane in self._lanes]
        return [("┊", _FOLDER), *lanes]

    # -- lines

    def _paint(self, text: str, style: str) -> str:
        for part in reversed(style.split()):
            text = self._painter.paint(text, part)
        return text

    def _graph(self, time: str, cells: list[tuple[str, str]], lanes: int) -> str:
        shown = cells[: self._lanes_that_fit(lanes)]
        graph = "".join(self._paint(cell, style) + " " * (2 - len(cell)) for cell, style in shown)
        clock = self._paint(time, "dim") if time else ""
        return f"{clock}{' ' * (_TIME - len(time))}{graph}{'  ' * (self._lanes_that_fit(lanes) - len(shown))} "

    def _lanes_that_fit(self, lanes: int) -> int:
        """Returns how many lanes are drawn; further ones on the right are omitted."""
        return min(lanes, max(2, (self._width - _TIME - 1 - _TEXT) // 2))

    def _left(self, lanes: int) -> int:
        return self._width - _TIME - 2 * self._lanes_that_fit(lanes) - 1

    def _is_roomy(self, lanes: int) -> bool:
        return self._left(lanes) >= _ROOMY

    def _line(self, row: _Row, lanes: int) -> str:
        left = self._left(lanes)
        line = self._graph(row.time, row.cells, lanes)
        texts = row.texts
        if row.file is not None and self._is_roomy(lanes):
            room = left - sum(columns(text) for text, _ in texts)
            texts = [*texts[: row.ahead], *_named_after(row.file, room), *texts[row.ahead :]]
        return f"{line}{self._fitted(texts, left)}".rstrip()

    def _fitted(self, texts: Iterable[tuple[str, str]], left: int) -> str:
        """Returns as many of the styled texts as fit, shortened if needed."""
        line = ""
        for text, style in texts:
            words = fit(text.rstrip(), left)
            blanks = text[len(text.rstrip()) :]
            line += self._paint(words, style) + blanks
            left -= columns(words) + len(blanks)
            if left <= 0:
                break
        return line.rstrip()

    def _file_lines(self, files: _Files, lanes: int) -> list[str]:
        is_all = len(files.rows) <= _FILES or self._width >= UNLIMITED
        shown = files.rows if is_all else files.rows[: _FILES - 1]
        matches = [_counts(row, self._sharing(row)) for row in shown]
        widest = max(sum(len(text) for text, _ in parts) for parts in matches)
        indent = _NAME if self._is_roomy(lanes) else _INDENT
        left = self._left(lanes) - indent
        room = max(_LEAST, left - len("M ") - len("  ") - widest)
        names = [fit_title(row, room) for row in shown]
        column = aligned(names)
        start = self._graph("", files.cells, lanes) + " " * indent
        lines = []
        for name, row, parts in zip(names, shown, matches, strict=True):
            letter, style = letter_of(row)
            texts = [(letter, style), (f" {pad(name, column)}  ", ""), *parts]
            lines.append(start + self._fitted([(text, files.style or style) for text, style in texts], left))
        if len(shown) < len(files.rows):
            more = fit(f"… and {len(files.rows) - len(shown)} more files", left)
            lines.append(start + self._paint(more, "dim"))
        return lines


class _Files:
    """The files of an entry, before the available width is known; a non-empty `style` applies to all their text."""

    def __init__(self, cells: list[tuple[str, str]], rows: list[dict[str, Any]], style: str) -> None:
        self.cells = cells
        self.rows = rows
        self.style = style


def _counts(row: dict[str, Any], sharing: str) -> list[tuple[str, str]]:
    """Returns how much of a file changed, and who else may have changed it, with styles."""
    return [*count_words(row), *([(f"  {sharing}", "yellow")] if row.get("shared") else [])]


def _step_texts(step: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the title of a step, as `naming.step_name`, with styles."""
    if step_text(step):
        parts = [(one_line(step.get("tool")), "bold"), (one_line(step.get("description")), "")]
        return [*((f"{text}  ", style) for text, style in parts if text), *_late(step)]
    return [(f"{step_name(step)}  ", "")]


def _tool(step: dict[str, Any]) -> list[tuple[str, str]]:
    tool = one_line(step.get("tool"))
    return [*([(f"{tool}  ", "bold")] if tool else []), *_late(step)]


def _late(step: dict[str, Any]) -> list[tuple[str, str]]:
    return [("(reported late)  ", "yellow")] if "late" in step else []


def _session_of(entry: dict[str, Any]) -> str:
    return str(entry["step"]["sessionId"] if entry["kind"] == "step" else entry["sessionId"])


def _named_after(files: _Files, room: int) -> list[tuple[str, str]]:
    """Returns the file that a step is named after, shortened to so many columns."""
    (file,) = files.rows
    letter, style = letter_of(file)
    message = count_words(file)
    width = sum(len(text) for text, _ in message)
    title = fit_title(file, max(_LEAST, room - len("M ") - 2 * len("  ") - width))
    texts = [(letter, style), (f" {title}  ", ""), *message, ("  ", "")]
    return [(text, files.style or style) for text, style in texts]


def _is_named_by(entry: dict[str, Any]) -> bool:
    """Whether an entry is named after its only file, so that there is nothing left to list."""
    return entry["kind"] == "step" and len(entry["files"]) == 1 and _is_named_after_its_file(entry["step"])


def _is_named_after_its_file(step: dict[str, Any]) -> bool:
    files = step.get("files") or []
    if len(files) != 1 or files[0].get("shared"):
        return False
    # hooks describe an edit by its file
    return not step_text(step) or step.get("description") == files[0]["file"]

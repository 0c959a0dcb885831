"""The tool `blame`: who wrote which lines of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.backend import file_bytes
from snapd.core.errors import FileChanged, InvalidParams
from snapd.mcp.call import Answer

from .finding import find_snapshot
from .results import MAX_LINE, MAX_RANGES, MAX_TEXT, Blame, BlamedRange
from .texts import blame_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.mcp.call import Call

    from .params import BlameParams

_TRIES = 3
"""How often the lines and their writers are asked for while somebody writes the file."""


def blame(call: Call, params: BlameParams) -> Answer:
    """Says who wrote the lines of a file.

    Raises:
        InvalidParams: the file has no such lines, or none at all.
        FileChanged: somebody writes the file all the time.
        SnapdError: as the daemon does.
    """
    if params.first is not None and params.last is not None and params.last < params.first:
        raise InvalidParams("last: is before first", hint="`first` and `last` are numbers of lines", field="last")
    tree = None if params.snapshot is None else find_snapshot(call, params.snapshot)
    text = None
    if params.first is None and params.last is None:
        runs = _runs(call, params.path, tree)
    elif tree is not None:
        text, runs = _text(call, params.path, tree), _runs(call, params.path, tree)
    else:
        text, runs = _now(call, params.path)
    result = _cut(call, params, runs, text)
    return Answer(result, blame_text(result))


def _runs(call: Call, path: str, tree: str | None) -> list[dict[str, Any]]:
    asked = {"file": path} if tree is None else {"file": path, "hash": tree}
    runs: list[dict[str, Any]] = call.request("snapshot/blame", asked)["lines"]
    return runs


def _now(call: Call, path: str) -> tuple[list[str], list[dict[str, Any]]]:
    """The lines of a file as it is, and who wrote them: both of the same moment."""
    before = _track(call)
    text = _text(call, path, before)
    for _ in range(_TRIES):
        runs = _runs(call, path, None)
        after = _track(call)
        if after == before:
            return text, runs
        # other files may be written all the time
        before, seen = after, text
        text = _text(call, path, after)
        if text == seen:
            return text, runs
    raise FileChanged(f"{path} changes all the time", hint="wait until it is written, or give a snapshot", file=path)


def _track(call: Call) -> str:
    taken = call.request("snapshot/track", {})["hash"]
    if taken is None:
        raise InvalidParams("snapshots of this folder are turned off", hint="the setting 'enabled' turns them on")
    return str(taken)


def _text(call: Call, path: str, tree: str) -> list[str]:
    """The lines of a file in a snapshot; bytes that are no UTF-8 are replaced."""
    found = call.request("snapshot/fileAt", {"hash": tree, "file": path})
    content = file_bytes(found["content"], found["encoding"]).decode(errors="replace")
    # a line ends at a line feed alone
    return content.removesuffix("\n").split("\n") if content else []


def _cut(call: Call, params: BlameParams, runs: Sequence[dict[str, Any]], text: Sequence[str] | None) -> Blame:
    """As much of what was asked for as is given to a model, in whole lines."""
    count = runs[-1]["start"] + runs[-1]["count"] - 1 if runs else 0
    first, last = params.first or 1, min(params.last or count, count)
    if params.first is not None and first > count:
        has = "1 line" if count == 1 else f"{count} lines"
        raise InvalidParams(f"first: {params.path} has {has}", hint="ask for lines that there are", field="first")
    shown = None if text is None else _fitting(text[first - 1 : last])
    end = last if shown is None else first + len(shown) - 1
    ranges: list[BlamedRange] = []
    for run in runs:
        start, stop = max(run["start"], first), min(run["start"] + run["count"] - 1, end)
        if start <= stop and len(ranges) < MAX_RANGES:
            said = None if shown is None else "\n".join(shown[start - first : stop - first + 1])
            ranges.append(_range(call, run, start, stop, said))
    told = ranges[-1].last if ranges else last
    note = None if told == last else f"There is more: call again with `first` {told + 1}."
    return Blame(path=params.path, line_count=count, ranges=ranges, note=note)


def _fitting(lines: Sequence[str]) -> list[str]:
    """The first of some lines that a model is given, at least one of them if there is one."""
    found: list[str] = []
    room = MAX_TEXT
    for line in lines:
        said = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… ({len(line)} characters)"
        room -= len(said) + 1
        if room < 0:
            break
        found.append(said)
    return found


def _range(call: Call, run: dict[str, Any], first: int, last: int, text: str | None) -> BlamedRange:
    session_id = run.get("sessionId")
    return BlamedRange(
        first=first,
        last=last,
        author=run["author"],
        agent=run.get("agent"),
        step_id=run.get("stepId"),
        session_id=session_id,
        mine=True if session_id is not None and session_id == call.own_session else None,
        message_id=run.get("messageId"),
        at=run.get("at"),
        noted=_noted(run["noted"]) if "noted" in run else None,
        text=text,
    )


def _noted(noted: dict[str, Any]) -> str:
    by = noted["person"] if "person" in noted else f"{noted['agent']} in its session {noted['sessionId']}"
    return f"{noted['commit']} by {by}"

"""The read-only tools: `history`, `show`, `diff` and `blame`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.backend import file_bytes, pages
from snapd.mcp.call import Answer
from snapd.model.errors import FileChanged, InvalidParams
from snapd.wire.converter import structure
from snapd.wire.values import FileChange
from snapd.wire.words import git_words

from .finding import beginning, find_snapshot, find_step, own_session, whose
from .results import (
    MAX_FILES,
    MAX_LINE,
    MAX_RANGES,
    MAX_TEXT,
    Blame,
    BlamedRange,
    Difference,
    Entry,
    History,
    ShownStep,
)
from .texts import blame_text, changes_text, counted, cut, entry_text, history_text, paragraphs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd_client.protocol import BlamedLines, DiffFullParams, FileDiff, GitCommit, NotedCommit, Step
    from snapd_client.protocol import Entry as HistoryEntry
    from snapd_client.protocol import FileChange as ChangedFile

    from snapd.mcp.call import Call

    from .params import BlameParams, DiffParams, HistoryParams, ShowParams

_MOST = 100
_ON_A_PAGE = 1000
_TRIES = 3
"""How often to read lines and their authors while the file keeps changing."""


def history(call: Call, params: HistoryParams) -> Answer:
    """Lists what happened, latest first."""
    page = call.request(
        "session/history",
        {
            "sessionId": whose(call, params.session or "all"),
            "files": params.files,
            "renames": True,
            "cursor": params.cursor,
            "limit": min(params.limit, _MOST),
        },
    )
    entries = [_entry(call, row) for row in page["entries"]]
    cursor = page.get("nextCursor")
    return Answer(History(entries=entries, next_cursor=cursor), history_text(entries, cursor))


def show(call: Call, params: ShowParams) -> Answer:
    """Shows a step."""
    step = find_step(call, params.step)
    whole = call.request("step/diff", {"stepId": step["stepId"], "files": params.files})["diff"]
    diff, note = _cut(whole)
    entry = _of_step(call, step)
    text = paragraphs(entry_text(entry), diff, note)
    return Answer(ShownStep(step=entry, diff=diff, note=note), text)


def diff(call: Call, params: DiffParams) -> Answer:
    """Shows what changed since a step, a session or a snapshot."""
    since = _since(call, params)
    # both results below must be about the same files
    now = call.request("snapshot/track", {})["hash"]
    if now is None:
        raise InvalidParams("snapshots of this folder are turned off", hint="the setting 'snapshot' turns them on")
    between: DiffFullParams = {"from": since, "to": now, "files": params.files}
    asked: DiffFullParams = {**between, "contents": False, "renames": True, "limit": _ON_A_PAGE}
    rows: list[FileDiff] = list(pages(call.request, "snapshot/diffFull", asked, "diffs"))
    whole = call.request("snapshot/diff", {"hash": since, "to": now, "files": params.files, "renames": True})
    text, note = _cut(whole["diff"])
    result = Difference(since=since, now=now, diff=text, note=note, **_changes(rows))
    head = f"Since {since}: {counted(result.file_count)}, +{result.additions} -{result.deletions} lines"
    return Answer(result, paragraphs(head, changes_text(result), text, note))


def _since(call: Call, params: DiffParams) -> str:
    given = [name for name in ("step", "session", "snapshot") if getattr(params, name) is not None]
    if len(given) > 1:
        raise InvalidParams(f"{given[1]}: cannot be used with {given[0]}", hint="give one of them", field=given[1])
    if params.step is not None:
        return find_step(call, params.step)["from"]
    if params.snapshot is not None:
        return find_snapshot(call, params.snapshot)
    if params.session in (None, "mine"):
        return beginning(call, own_session(call))
    return beginning(call, params.session)


def _cut(diff: str) -> tuple[str, str | None]:
    """As `cut`, with advice to ask for single files."""
    kept, note = cut(diff)
    return kept, note and f"{note} Pass `files` to see the diff of single files."


def _entry(call: Call, row: HistoryEntry) -> Entry:
    if "step" in row:
        return _of_step(call, {**row["step"], "files": row["files"]})
    session_id = row.get("sessionId")
    return Entry(
        kind=row["kind"],
        at=row["at"],
        session_id=session_id,
        mine=_mine(call, session_id),
        message_id=row.get("messageId"),
        description=row.get("text"),
        state=row.get("state"),
        before=row.get("before"),
        after=row.get("after"),
        steps=row.get("steps"),
        unknown=row.get("unknown"),
        git=_git(row),
        **_changes(row.get("files", [])),
    )


def _of_step(call: Call, step: Step) -> Entry:
    return Entry(
        kind="step",
        at=step["startedAt"],
        step_id=step["stepId"],
        parent_step_id=step.get("parentStepId"),
        session_id=step["sessionId"],
        mine=_mine(call, step["sessionId"]),
        message_id=step.get("messageId"),
        agent=step.get("agent"),
        tool=step.get("tool"),
        description=step.get("description"),
        state=step["state"],
        before=step["from"],
        after=step.get("to"),
        git=_git(step),
        **_changes(step.get("files") or []),
    )


def _git(row: HistoryEntry | Step) -> str | None:
    return git_words(row["git"]) if "git" in row else None


def _changes(rows: Sequence[FileDiff | ChangedFile]) -> dict[str, Any]:
    """The fields of `Changes` for rows that have at least the fields of a `FileChange`."""
    return {
        "files": [structure(row, FileChange) for row in rows[:MAX_FILES]],
        "file_count": len(rows),
        "additions": sum(row["additions"] for row in rows),
        "deletions": sum(row["deletions"] for row in rows),
    }


def _mine(call: Call, session_id: str | None) -> Any:
    return True if session_id is not None and session_id == call.own_session else None


def blame(call: Call, params: BlameParams) -> Answer:
    """Reports who wrote the lines of a file. Raises `FileChanged` if it keeps changing."""
    if params.first is not None and params.last is not None and params.last < params.first:
        raise InvalidParams("last: must not be before first", hint="`first` and `last` are line numbers", field="last")
    tree = None if params.snapshot is None else find_snapshot(call, params.snapshot)
    text = None
    if params.first is None and params.last is None:
        runs = _runs(call, params.path, tree)
    elif tree is not None:
        text, runs = _text(call, params.path, tree), _runs(call, params.path, tree)
    else:
        text, runs = _now(call, params.path)
    result = _cut_blame(call, params, runs, text)
    return Answer(result, blame_text(result))


def _runs(call: Call, path: str, tree: str | None) -> list[BlamedLines]:
    return call.request("snapshot/blame", {"file": path, "hash": tree})["lines"]


def _now(call: Call, path: str) -> tuple[list[str], list[BlamedLines]]:
    """The current lines of a file and their authors, from the same moment."""
    before = _track(call)
    text = _text(call, path, before)
    for _ in range(_TRIES):
        runs = _runs(call, path, None)
        after = _track(call)
        if after == before:
            return text, runs
        # other files may change all the time
        before, seen = after, text
        text = _text(call, path, after)
        if text == seen:
            return text, runs
    raise FileChanged(f"{path} keeps changing", hint="wait until no program writes it, or give a snapshot", file=path)


def _track(call: Call) -> str:
    taken = call.request("snapshot/track", {})["hash"]
    if taken is None:
        raise InvalidParams("snapshots of this folder are turned off", hint="the setting 'snapshot' turns them on")
    return taken


def _text(call: Call, path: str, tree: str) -> list[str]:
    """The lines of a file in a snapshot; invalid UTF-8 is replaced."""
    answer = call.request("snapshot/fileAt", {"hash": tree, "file": path})
    content = file_bytes(answer["content"], answer["encoding"]).decode(errors="replace")
    # only a line feed ends a line
    return content.removesuffix("\n").split("\n") if content else []


def _cut_blame(call: Call, params: BlameParams, runs: Sequence[BlamedLines], text: Sequence[str] | None) -> Blame:
    """The requested ranges, cut to what a model is given, in whole lines."""
    count = runs[-1]["start"] + runs[-1]["count"] - 1 if runs else 0
    first, last = params.first or 1, min(params.last or count, count)
    if params.first is not None and first > count:
        has = "1 line" if count == 1 else f"{count} lines"
        raise InvalidParams(f"first: {params.path} has {has}", hint="ask for lines that exist", field="first")
    shown = None if text is None else _fitting(text[first - 1 : last])
    end = last if shown is None else first + len(shown) - 1
    ranges: list[BlamedRange] = []
    for run in runs:
        start, stop = max(run["start"], first), min(run["start"] + run["count"] - 1, end)
        if start <= stop and len(ranges) < MAX_RANGES:
            message = None if shown is None else "\n".join(shown[start - first : stop - first + 1])
            ranges.append(_range(call, run, start, stop, message))
    words = ranges[-1].last if ranges else last
    note = None if words == last else f"There is more: call again with `first` {words + 1}."
    return Blame(path=params.path, line_count=count, ranges=ranges, note=note)


def _fitting(lines: Sequence[str]) -> list[str]:
    """The first lines that fit into the limit, at least one if there is any."""
    matches: list[str] = []
    room = MAX_TEXT
    for line in lines:
        text = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… ({len(line)} characters)"
        room -= len(text) + 1
        if room < 0:
            break
        matches.append(text)
    return matches


def _range(call: Call, run: BlamedLines, first: int, last: int, text: str | None) -> BlamedRange:
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
        commit=_committed(run["commit"]) if "commit" in run else None,
        noted=_noted(run["noted"]) if "noted" in run else None,
        text=text,
    )


def _committed(commit: GitCommit) -> str:
    return f"{commit['id'][:12]} of {commit['at'][:10]} by {commit['author']}: {commit['summary']}"


def _noted(noted: NotedCommit) -> str:
    by = noted["person"] if "person" in noted else f"{noted['agent']} in session {noted['sessionId']}"
    return f"{noted['commit']} by {by}"

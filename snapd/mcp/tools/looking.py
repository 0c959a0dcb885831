"""The tools that show something: `history`, `show` and `diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.errors import InvalidParams
from snapd.mcp.call import Answer
from snapd.wire.converter import structure
from snapd.wire.values import FileChange

from .finding import beginning, find_snapshot, find_step, own_session, whose
from .results import MAX_FILES, Difference, Entry, History, ShownStep
from .texts import changes_text, counted, cut, entry_line, history_text, paragraphs

if TYPE_CHECKING:
    from snapd.mcp.call import Call

    from .params import DiffParams, HistoryParams, ShowParams

_MOST = 100
"""Entries in one answer."""
_ON_A_PAGE = 1000


def history(call: Call, params: HistoryParams) -> Answer:
    """Lists what happened, latest first; raises `SnapdError` as the daemon does."""
    asked = {
        "sessionId": whose(call, params.session or "all"),
        "files": params.files,
        "renames": True,
        "cursor": params.cursor,
        "limit": min(params.limit, _MOST),
    }
    page = call.request("session/history", asked)
    entries = [_entry(call, row) for row in page["entries"]]
    cursor = page.get("nextCursor")
    return Answer(History(entries=entries, next_cursor=cursor), history_text(entries, cursor))


def show(call: Call, params: ShowParams) -> Answer:
    """Shows a step; raises `SnapdError` as the daemon does."""
    step = find_step(call, params.step)
    whole = call.request("step/diff", {"stepId": step["stepId"], "files": params.files})["diff"]
    diff, note = _cut(whole)
    entry = _of_step(call, step)
    text = paragraphs(entry_line(entry), changes_text(entry), diff, note)
    return Answer(ShownStep(step=entry, diff=diff, note=note), text)


def diff(call: Call, params: DiffParams) -> Answer:
    """Shows what changed since a step, a session or a snapshot; raises `SnapdError` as the daemon does."""
    since = _since(call, params)
    # both answers below have to be about the same files
    now = call.request("snapshot/track", {})["hash"]
    if now is None:
        raise InvalidParams("snapshots of this folder are turned off", hint="the setting 'enabled' turns them on")
    rows = _pages(call, "snapshot/diffFull", {"from": since, "to": now, "files": params.files}, "diffs")
    asked = {"hash": since, "to": now, "files": params.files, "renames": True}
    text, note = _cut(call.request("snapshot/diff", asked)["diff"])
    result = Difference(since=since, now=now, diff=text, note=note, **_changes(rows))
    head = f"Since {since}: {counted(result.file_count)}, +{result.additions} -{result.deletions} lines"
    return Answer(result, paragraphs(head, changes_text(result), text, note))


def _since(call: Call, params: DiffParams) -> str:
    """The snapshot that the model means."""
    given = [name for name in ("step", "session", "snapshot") if getattr(params, name) is not None]
    if len(given) > 1:
        raise InvalidParams(f"{given[1]}: not together with {given[0]}", hint="give one of them", field=given[1])
    if params.step is not None:
        return str(find_step(call, params.step)["from"])
    if params.snapshot is not None:
        return find_snapshot(call, params.snapshot)
    if params.session in (None, "mine"):
        return beginning(call, own_session(call))
    return beginning(call, params.session)


def _cut(diff: str) -> tuple[str, str | None]:
    """As `cut`, where the model can ask for single files."""
    kept, note = cut(diff)
    return kept, note and f"{note} Name some of the `files` to see theirs."


def _pages(call: Call, method: str, params: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """All rows of a paged answer."""
    rows: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        asked = {**params, "contents": False, "renames": True, "limit": _ON_A_PAGE, "cursor": cursor}
        page = call.request(method, asked)
        rows += page[key]
        cursor = page.get("nextCursor")
        if cursor is None:
            return rows


def _entry(call: Call, row: dict[str, Any]) -> Entry:
    """An entry of `session/history`."""
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
        **_changes(row.get("files", [])),
    )


def _of_step(call: Call, step: dict[str, Any]) -> Entry:
    """A step as an entry."""
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
        **_changes(step.get("files") or []),
    )


def _changes(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of `Changes`, of rows that have at least the fields of a `FileChange`."""
    return {
        "files": [structure(row, FileChange) for row in rows[:MAX_FILES]],
        "file_count": len(rows),
        "additions": sum(row["additions"] for row in rows),
        "deletions": sum(row["deletions"] for row in rows),
    }


def _mine(call: Call, session_id: str | None) -> Any:
    return True if session_id is not None and session_id == call.own_session else None

"""Codex: `$CODEX_HOME/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`; its app-server forks a thread before a turn."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence

import attrs

from .branch import UNFORESEEN, Begun, Branch, NoBranch, Prompt, Row, ask, read_rows, running, text_of, write_copy

_SERVER_SECONDS = 30.0


def codex(prompt: Prompt) -> Branch:
    """Has the program fork the thread; where there is no program, or it refuses, copies the rows before the turn."""
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    path = prompt.path(home, "sessions/*/*/*/rollout-*-{}.jsonl")
    home, name = os.path.normpath(os.path.join(path, *5 * (os.pardir,))), os.path.basename(path)
    archived = os.path.join(home, "archived_sessions", name)
    rows = read_rows(archived if not os.path.exists(path) and os.path.exists(archived) else path)
    starts = list[int]()
    for number, row in enumerate(rows):
        if _event(row, "task_started"):
            starts.append(number)
        elif _event(row, "thread_rolled_back"):
            del starts[max(0, len(starts) - row.at("payload", "num_turns")) :]
    if not rows or rows[0].at("type") != "session_meta" or rows[0].at("payload", "id") != prompt.session_id:
        raise NoBranch(f"{path} has rows of a form that snapd does not know")
    texts = {start: _text(rows[start:end]) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)}
    if prompt.transcript is None:
        # another client than a hook reported it, under an id of its own
        at = [start for start in starts if prompt.is_same(texts[start]) and prompt.is_before(rows[start])][:1]
    else:
        at = [start for start in starts if rows[start].at("payload", "turn_id") == prompt.message_id]
    if len(at) != 1:
        raise NoBranch(f"{path} has this prompt {len(at)} times")
    # an older version gives turns no ids, and its program knows none
    turn = rows[at[0]].at("payload", "turn_id")
    # a turn without a prompt compacts the conversation
    prompts = [start for start in starts if texts[start] is not None or start == at[0]]
    base = rows[0].at("payload", "history_base")
    cwd = rows[0].at("payload", "cwd")
    program = shutil.which("codex") if turn else None

    def begin() -> Begun:
        problem = "there is no program 'codex' on the PATH of the daemon"
        if program is not None:
            try:
                return Begun(_fork(program, home, attrs.evolve(prompt, message_id=turn), rows[at[0]].start), "fork")
            except (NoBranch, *UNFORESEEN) as error:
                problem = str(error)
        if base is not None:
            raise NoBranch(f"it is a fork itself, and another fork failed: {problem}")
        return Begun(_copy(path, rows, at[0], prompt.session_id))

    return Branch(
        drops=tuple(
            [rows[start].at("payload", "turn_id") or texts[start] or "" for start in prompts if start >= at[0]]
        ),
        prompt=texts[at[0]],
        cwd=cwd if isinstance(cwd, str) else None,
        begin=None if prompts[0] == at[0] and base is None else begin,
        kind="copy" if program is None else "fork",
    )


def _event(row: Row, kind: str) -> bool:
    return bool(row.at("type") == "event_msg" and row.at("payload", "type") == kind)


def _text(rows: Sequence[Row]) -> str | None:
    """Returns the prompt of a turn, of rows of today or of an older version."""
    for row in rows:
        if _event(row, "item_completed") and row.at("payload", "item", "type") == "UserMessage":
            return text_of(row.at("payload", "item", "content"))
        if _event(row, "user_message"):
            return text_of(row.at("payload", "message"))
    return None


def _copy(path: str, rows: Sequence[Row], end: int, old: str) -> str:
    """Copies the rows before one under a new id, which is in many of them, and in the name of the file."""
    new = str(uuid.uuid4())
    lines = [row.line.replace(old.encode(), new.encode()) for row in rows[:end]]
    target = os.path.join(os.path.dirname(path), os.path.basename(path).replace(old, new))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_copy(target, lines, lambda row: row.line == rows[end].line or old.encode() in row.line)
    return new


def _fork(program: str, home: str, prompt: Prompt, start: int) -> str:
    """Returns the id of a fork, which ends where the turn starts; raises `OSError`, `ValueError` or `NoBranch`."""
    with running([program, "app-server"], home, _SERVER_SECONDS, CODEX_HOME=home) as process:
        client = {"clientInfo": {"name": "snapd", "version": "1"}, "capabilities": {"experimentalApi": True}}
        ask(process, {"id": 1, "method": "initialize", "params": client})
        params = {"threadId": prompt.session_id, "beforeTurnId": prompt.message_id, "excludeTurns": True}
        request = {"id": 2, "method": "thread/fork", "params": params}
        thread = ask(process, {"method": "initialized"}, request).get("thread")
        new, path = (thread.get("id"), thread.get("path")) if isinstance(thread, dict) else (None, None)
        if not isinstance(new, str) or not isinstance(path, str) or new == prompt.session_id:
            raise ValueError("'codex app-server' did not say which thread is new")
        # the rows up to a place in the other file are a part of it
        rows = read_rows(path)
        borrowed = rows[0].at("payload", "history_base", "end_byte_offset") if rows else None
        is_short = borrowed is None or (isinstance(borrowed, int) and borrowed <= start)
        if not rows or not is_short or any(prompt.message_id.encode() in row.line for row in rows):
            ask(process, {"id": 3, "method": "thread/archive", "params": {"threadId": new}})
            raise ValueError("the fork of 'codex app-server' still had what was to go")
        return new

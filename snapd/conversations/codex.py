"""Codex: `$CODEX_HOME/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`; its app-server forks a thread before a turn."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence

import attrs

from .branch import (
    Begun,
    Branch,
    NoBranch,
    Prompt,
    Row,
    is_same,
    is_since,
    read_rows,
    text_of,
    transcript_of,
    write_copy,
)
from .codex_server import fork


def codex(prompt: Prompt) -> Branch:
    """Has the program fork the thread; where there is no program, or it refuses, copies the rows before the turn."""
    path = transcript_of(prompt, _home(), "sessions/*/*/*/rollout-*-{}.jsonl")
    home, name = os.path.normpath(os.path.join(path, *5 * (os.pardir,))), os.path.basename(path)
    archived = os.path.join(home, "archived_sessions", name)
    rows = read_rows(archived if not os.path.exists(path) and os.path.exists(archived) else path)
    starts = [at for at, row in enumerate(rows) if _event(row, "task_started")]
    if not rows or rows[0].at("type") != "session_meta" or rows[0].at("payload", "id") != prompt.session_id:
        raise NoBranch(f"{path} has rows of a form that snapd does not know")
    texts = {start: _text(rows[start:end]) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)}
    if prompt.transcript is None:
        # another client than a hook reported it, under an id of its own
        at = [start for start in starts if is_same(prompt, texts[start]) and is_since(prompt, rows[start])][:1]
    else:
        at = [start for start in starts if rows[start].at("payload", "turn_id") == prompt.message_id]
    if len(at) != 1:
        raise NoBranch(f"{path} has this prompt {len(at)} times")
    prompt = attrs.evolve(prompt, message_id=rows[at[0]].at("payload", "turn_id"))
    # a turn without a prompt compacts the conversation
    prompts = [start for start in starts if texts[start] is not None or start == at[0]]
    base = rows[0].at("payload", "history_base")
    is_first = prompts[0] == at[0] and base is None
    cwd = rows[0].at("payload", "cwd")
    program = shutil.which("codex")

    def begin() -> Begun:
        problem = "there is no program 'codex' on the PATH of the daemon"
        if program is not None:
            try:
                return Begun(fork(program, home, prompt, rows[at[0]].start), "fork")
            except (OSError, ValueError, NoBranch) as error:
                problem = str(error)
        if base is not None:
            raise NoBranch(f"it is a fork itself, and another fork failed: {problem}")
        return Begun(_copy(path, rows[: at[0]], prompt))

    return Branch(
        drops=tuple([rows[start].at("payload", "turn_id") for start in prompts if start >= at[0]]),
        prompt=texts[at[0]],
        cwd=cwd if isinstance(cwd, str) else None,
        begin=None if is_first else begin,
        kind="copy" if program is None else "fork",
    )


def _home() -> str:
    return os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")


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


def _copy(path: str, rows: Sequence[Row], prompt: Prompt) -> str:
    """Copies rows under a new id, which is in many of them, and in the name of the file."""
    new, old = str(uuid.uuid4()), prompt.session_id
    lines = [row.line.replace(old.encode(), new.encode()) for row in rows]
    if old not in os.path.basename(path):
        raise NoBranch(f"{path} is not named after its session")
    target = os.path.join(os.path.dirname(path), os.path.basename(path).replace(old, new))
    write_copy(target, lines, lambda row: prompt.message_id.encode() in row.line or old.encode() in row.line)
    return new

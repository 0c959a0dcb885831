"""Gemini CLI and Qwen Code: append-only transcripts, in which a prompt has no id that hooks report."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from .branch import Begun, Branch, NoBranch, Prompt, Row, read_rows, text_of, with_session, write_copy

_HOOK_CONTEXT = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
_SESSION_CONTEXT = "<session_context>"


def gemini(prompt: Prompt) -> Branch:
    """Copies the bytes before the prompt: they are the conversation as it was then, whatever is in them.

    `~/.gemini/tmp/FOLDER/chats/session-MINUTE-ID.jsonl`, with the first 8 digits of the id. A resumed session goes on
    in its first file, while hooks may report the empty one that the process began.
    """
    reported = prompt.path()
    folder = os.path.dirname(reported)
    ends = (f"-{prompt.session_id[:8]}.jsonl", f"-{prompt.session_id}.jsonl")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    places = []
    for path in {os.path.join(folder, name) for name in names if name.endswith(ends)} | {reported}:
        rows = read_rows(path) if os.path.exists(path) else []
        if rows and rows[0].at("sessionId") == prompt.session_id:
            at = _place(rows, prompt, _gemini_prompt, is_reported=path == reported)
            places += [] if at is None else [(rows, at)]
    if len(places) != 1:
        raise NoBranch(f"{len(places) or 'none'} of its files in {folder} have this prompt")
    rows, at = places[0]
    # Gemini CLI removes a session's files by the first 8 digits of its id, so the name has more
    return _branch(prompt, rows, at, _gemini_prompt, os.path.join(folder, "session-snapd-{}.jsonl"), _project(folder))


def _gemini_prompt(message: Any) -> str | None:
    """Returns the text of a prompt without what hooks added; None for another message."""
    if not isinstance(message, dict) or message.get("type") != "user":
        return None
    text = _HOOK_CONTEXT.sub("", text_of(message.get("content")) or "").strip()
    return None if not text or text.startswith(_SESSION_CONTEXT) else text


def _project(folder: str) -> str | None:
    """Returns the directory of a project, by the name of its folder of transcripts."""
    name = os.path.basename(os.path.dirname(folder))
    try:
        with open(os.path.join(folder, *3 * (os.pardir,), "projects.json"), "rb") as file:
            projects = json.load(file)["projects"]
        return next((path for path, project in projects.items() if project == name), None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # an older version names the folder by a digest
        return None


def qwen(prompt: Prompt) -> Branch:
    """Copies the rows before the prompt: `~/.qwen/projects/FOLDER/chats/SESSION.jsonl`."""
    path = prompt.path()
    rows = read_rows(path)
    if any(row.at("sessionId") != prompt.session_id for row in rows):
        raise NoBranch(f"{path} has rows of a form that snapd does not know")
    at = _place(rows, prompt, _qwen_prompt, is_reported=True)
    if at is None:
        raise NoBranch(f"{path} does not have this prompt")
    cwd = next((row.at("cwd") for row in rows if isinstance(row.at("cwd"), str)), None)
    return _branch(prompt, rows, at, _qwen_prompt, os.path.join(os.path.dirname(path), "{}.jsonl"), cwd)


def _qwen_prompt(message: Any) -> str | None:
    is_own = isinstance(message, dict) and message.get("type") == "user" and isinstance(message.get("message"), dict)
    parts = message["message"].get("parts") if is_own else None
    # further parts are what hooks added, and contents of files
    return (text_of(parts[:1]) or "").strip() or None if type(parts) is list else None


def _place(rows: Sequence[Row], prompt: Prompt, text: Callable[[Any], str | None], *, is_reported: bool) -> int | None:
    """Returns the index of the first row since the event of the prompt that has its text."""
    wanted = attrs.evolve(prompt, text=prompt.text and _HOOK_CONTEXT.sub("", prompt.text))
    size = prompt.transcript.size if prompt.transcript is not None and is_reported else 0
    for index, row in enumerate(rows):
        if wanted.is_same(text(row.value)) and row.start >= size and (size or prompt.is_before(row)):
            return index
    return None


def _branch(
    prompt: Prompt, rows: Sequence[Row], at: int, text: Callable[[Any], str | None], target: str, cwd: str | None
) -> Branch:
    def prompts(some: Sequence[Row]) -> Iterator[str]:
        """Yields prompts, also of rows that replace all messages."""
        for row in some:
            messages = row.at("$set", "messages")
            for message in [row.value, *(messages if type(messages) is list else ())]:
                if (own := text(message)) is not None:
                    yield own

    def copy() -> Begun:
        new = str(uuid.uuid4())
        ids = {row.at("id") or row.at("uuid") for row in rows[at:]} - {None}
        write_copy(
            target.format(new),
            with_session(rows[:at], prompt.session_id, new),
            lambda row: (row.at("id") or row.at("uuid")) in ids or row.at("sessionId") == prompt.session_id,
        )
        return Begun(new)

    drops = tuple([own for row in rows[at:] if (own := text(row.value)) is not None])
    return Branch(drops, drops[0], cwd, copy if any(prompts(rows[:at])) else None)

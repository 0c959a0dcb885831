"""Gemini CLI and Qwen Code: append-only transcripts, in which a prompt has no id that hooks report."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile
from typing import Any

import attrs

from .branch import Begun, Branch, NoBranch, Prompt, Row, read_rows, text_of, with_session, write_copy

_HOOK_CONTEXT = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
_SESSION_CONTEXT = "<session_context>"
_TextsOf = Callable[[Any], list[str]]


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
            at = _place(rows, prompt, _gemini_texts, is_reported=path == reported)
            places += [] if at is None else [(rows, at)]
    if not places and not os.path.exists(reported):
        raise NoBranch(f"its file is gone: {reported}")
    if len(places) != 1:
        raise NoBranch(f"{len(places) or 'none'} of its files in {folder} have this prompt")
    rows, at = places[0]
    # Gemini CLI removes a session's files by the first 8 digits of its id, so the name has more
    return _branch(rows, at, _gemini_texts, os.path.join(folder, "session-snapd-{}.jsonl"), _project(folder))


def _gemini_texts(message: Any) -> list[str]:
    is_prompt = isinstance(message, dict) and message.get("type") == "user"
    texts = _texts(message.get("content")) if is_prompt else []
    return [] if texts and texts[0].startswith(_SESSION_CONTEXT) else texts


def _texts(content: Any) -> list[str]:
    """Returns what may be the text of a prompt: what its parts say without what hooks added, up to each of them.

    Hooks report all parts that the program made of what the person wrote, such as contents of files. The first of
    them is the person's; further ones may be what hooks added. Empty for results of calls.
    """
    parts = content if type(content) is list else [content]
    if any(text_of([part]) is None for part in parts if isinstance(part, dict)):
        return []
    texts = (_HOOK_CONTEXT.sub("", text_of(part if isinstance(part, str) else [part]) or "") for part in parts)
    return [text for each in accumulate(texts) if (text := each.strip())]


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
    at = _place(rows, prompt, _qwen_texts, is_reported=True)
    if at is None:
        raise NoBranch(f"{path} does not have this prompt")
    cwd = next((row.at("cwd") for row in rows if isinstance(row.at("cwd"), str)), None)
    return _branch(rows, at, _qwen_texts, os.path.join(os.path.dirname(path), "{}.jsonl"), cwd)


def _qwen_texts(message: Any) -> list[str]:
    is_own = isinstance(message, dict) and message.get("type") == "user" and isinstance(message.get("message"), dict)
    return _texts(message["message"].get("parts")) if is_own else []


def _place(rows: Sequence[Row], prompt: Prompt, texts: _TextsOf, *, is_reported: bool) -> int | None:
    """Returns the index of the first row since the event of the prompt that has its text."""
    wanted = attrs.evolve(prompt, text=prompt.text and _HOOK_CONTEXT.sub("", prompt.text))
    is_sized = prompt.transcript is not None and is_reported
    size = prompt.transcript.size if prompt.transcript is not None else 0
    for index, row in enumerate(rows):
        if any(map(wanted.is_same, texts(row.value))) and (row.start >= size if is_sized else prompt.is_before(row)):
            return index
    return None


def _branch(rows: Sequence[Row], at: int, texts: _TextsOf, target: str, cwd: str | None) -> Branch:
    def copy() -> Begun:
        new = str(uuid.uuid4())
        ids = {row.at("id") or row.at("uuid") for row in rows[at:]} - {None}
        path, lines = target.format(new), with_session(rows[:at], new)
        write_copy(path, lines, lambda row: (row.at("id") or row.at("uuid")) in ids)
        return Begun(new)

    own, drops = texts(rows[at].value)[0], _prompts(rows[at:], texts)
    if own not in drops:
        raise NoBranch("it was taken back in the program itself")
    return Branch(tuple(drops), own, cwd, copy if _prompts(rows[:at], texts, with_replaced=True) else None)


def _prompts(rows: Sequence[Row], texts: _TextsOf, *, with_replaced: bool = False) -> list[str]:
    """Returns the prompts that were not taken back in the program, with those of rows that replace all messages."""
    known: dict[Any, list[str]] = {}
    for number, row in enumerate(rows):
        if (until := row.at("$rewindTo")) is not None:
            known = (
                {name: known[name] for name in takewhile(lambda name: name != until, known)} if until in known else {}
            )
        messages = row.at("$set", "messages") if with_replaced else None
        for message in [row.value, *(messages if type(messages) is list else ())]:
            known[message.get("id") or number] = texts(message)
    return [each[0] for each in known.values() if each]

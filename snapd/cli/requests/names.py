"""Finds the session or step that a word of the command line names, by its id or an unambiguous beginning of it."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.naming import HEXADECIMAL, LONGEST, is_made
from snapd.model.errors import InvalidParams, NothingToUndo, UnknownSession, UnknownStep

from .connection import ask, pages

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from snapd_client.protocol import LineRange

    from snapd.backend import Backend

_ON_A_PAGE = 200
_NAMED = 5
"""How many candidates an error lists."""
_LINES = re.compile(r"(?P<file>.+):(?P<first>[0-9]+)(?:-(?P<last>[0-9]+))?", re.DOTALL)


def file_of(row: dict[str, Any]) -> str:
    """Returns the exact name of the file in a row of an answer, for a request."""
    return str(row.get("uri", row["file"]))


def find_session(backend: Backend, word: str) -> dict[str, Any]:
    """Returns the session that a word stands for."""
    sessions: dict[str, dict[str, Any]] = {}
    for session in listed_sessions(backend):
        # the folder's own comes first
        sessions.setdefault(session["sessionId"], session)
    names = _matching(sessions, word)
    if not names:
        raise UnknownSession(f"no session {word!r} in this folder", sessionId=word)
    return dict(sessions[_only(names, word, "session")])


def find_step(backend: Backend, word: str, session_id: str | None = None) -> dict[str, Any]:
    """Returns the step that a word stands for; 'last' is the step that began last."""
    if word != "last" and not (word and set(word) <= HEXADECIMAL and len(word) <= LONGEST):
        raise InvalidParams(
            f"expected a step, the beginning of its id or 'last', got {word!r}",
            hint=UnknownStep.default_hint,
            field="STEP",
        )
    prefix, limit = ("", 1) if word == "last" else (word, _NAMED + 1)
    answer = ask(backend, "step/find", {"prefix": prefix, "sessionId": session_id, "limit": limit})["steps"]
    if word == "last" and answer:
        return dict(answer[0])
    steps = {step["stepId"]: step for step in answer}
    names = _matching(steps, word)
    if not names:
        raise UnknownStep(f"no step {word!r} in this folder", stepId=word)
    return dict(steps[_only(names, word, "step")])


def find_session_or_step(backend: Backend, word: str) -> dict[str, Any]:
    """Returns the session or the step that a word stands for; a step has a `stepId`."""
    known = list(dict.fromkeys(session["sessionId"] for session in listed_sessions(backend)))
    sessions = _matching(known, word)
    is_step = word == "last" or (word != "" and set(word) <= HEXADECIMAL and len(word) <= LONGEST)
    if word in known:
        return find_session(backend, word)
    steps = ask(backend, "step/find", {"prefix": word, "limit": 1})["steps"] if is_step and word != "last" else []
    if sessions and steps:
        raise InvalidParams(
            f"{word!r} is the beginning of a session and of a step", hint="give more of the id", field="SESSION"
        )
    if steps or word == "last":
        return find_step(backend, word)
    if not sessions or not word:
        raise UnknownSession(
            f"no session or step {word!r} in this folder",
            hint="'snapd sessions' lists the sessions, 'snapd log' the steps",
            sessionId=word,
        )
    return find_session(backend, word)


def find_message(backend: Backend, word: str, session_id: str | None = None) -> dict[str, Any]:
    """Returns the message that a word stands for, with its `sessionId`; 'last' is the one that was sent last."""
    about = {"sessionId": session_id, "prefix": "" if word == "last" else word, "limit": _NAMED + 1}
    listed = pages(backend, "session/messages", about, "messages")
    # one session is listed oldest first, all sessions newest first
    messages = list(listed if word == "last" and session_id is not None else islice(listed, _NAMED + 1))
    if not messages or not word:
        hint = "'snapd log' shows the messages of agents whose hooks report them"
        raise UnknownStep(f"no message {word!r} in this folder", hint=hint, messageId=word)
    if word == "last":
        return dict(messages[0 if session_id is None else -1])
    name = _only(_matching(dict.fromkeys(message["messageId"] for message in messages), word), word, "message")
    matching = [message for message in messages if message["messageId"] == name]
    if len(matching) > 1:
        raise InvalidParams(f"several sessions have the message {word!r}", hint="use --session", field="MESSAGE")
    return dict(matching[0])


def find_step_or_message(backend: Backend, word: str) -> dict[str, Any]:
    """Returns the step that a word stands for, else the message; only a step has a `stepId`."""
    try:
        return find_step(backend, word)
    except (InvalidParams, UnknownStep):
        is_any = word not in ("", "last") and ask(backend, "session/messages", {"prefix": word, "limit": 1})["messages"]
        # a prefix of steps does not stand for a message
        is_step = set(word) <= HEXADECIMAL and ask(backend, "step/find", {"prefix": word, "limit": 1})["steps"]
        if not is_any or is_step:
            raise
    return find_message(backend, word)


def step_id(backend: Backend, word: str) -> str:
    """Returns the id of the step that a word stands for; a full id needs no request."""
    return word if len(word) == LONGEST and is_made(word) else str(find_step(backend, word)["stepId"])


def all_sessions(backend: Backend) -> list[dict[str, Any]]:
    """Returns all sessions of the folder, in the order of their first start."""
    return [session for session in listed_sessions(backend) if "origin" not in session]


def listed_sessions(backend: Backend) -> list[dict[str, Any]]:
    """Returns all sessions of the folder, in the order of their first start, then the fetched ones."""
    return list(pages(backend, "session/list", {"limit": _ON_A_PAGE}, "sessions"))


def latest_session(backend: Backend) -> str:
    """Returns the session that last changed something, by a step or an operation."""
    for entry in pages(backend, "session/history", {}, "entries"):
        if entry["kind"] == "step" and entry["files"]:
            return str(entry["step"]["sessionId"])
        if "sessionId" in entry:
            return str(entry["sessionId"])
    raise NothingToUndo("no session has changed anything in this folder yet")


def _matching(names: Iterable[str], word: str) -> list[str]:
    every = list(names)
    return [word] if word in every else [name for name in every if name.startswith(word)]


def _only(names: list[str], word: str, kind: str) -> str:
    if len(names) > 1:
        shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
        raise InvalidParams(
            f"{word!r} is the beginning of several {kind}s: {shown}", hint="give more of the id", field=kind.upper()
        )
    return names[0]


def split_lines(options: argparse.Namespace, word: str) -> tuple[str, LineRange | None]:
    """Returns the file, and the line range at the end of the name; a file with exactly that name takes precedence."""
    match = _LINES.fullmatch(word)
    if match is None or os.path.lexists(os.path.join(options.directory, word)):
        return word, None
    first = int(match["first"])
    last = int(match["last"] or first)
    if not 1 <= first <= last:
        raise InvalidParams(
            f"{word}: expected lines such as 12 or 12-20, from 1", hint="the last line follows the first", field="FILE"
        )
    return match["file"], {"start": first, "count": last - first + 1}

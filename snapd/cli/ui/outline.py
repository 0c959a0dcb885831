"""The rows on the left: sessions and what happened between them, with prompts, steps and files below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from snapd.cli.terminal.naming import agent_name
from snapd.wire.words import is_empty

from .history import key_of, session_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from .history import History, Key

Kind = Literal["session", "between", "message", "step", "user", "operation", "file", "more files", "older"]

_MOST_FILES = 500
"""The maximum number of files listed below one step."""


@attrs.frozen
class Row:
    """A row in the list of sessions, prompts, steps and files."""

    kind: Kind  # what it shows; "between" is what belongs to no session, between the starts of two of them
    key: Key  # names it, as long as what it shows exists
    depth: int  # the indentation, from 0
    # a session of `session/list`, an entry of `session/history`, or for a file its row in that entry
    shows: dict[str, Any]
    entry: dict[str, Any] | None = None  # the entry of a message, a step, a user's changes, an operation or a file
    below: tuple[dict[str, Any], ...] = ()  # the entries of a session, of a prompt or between two sessions
    is_unfolded: bool | None = None  # whether the rows below it are shown; None if it has none

    @property
    def session_id(self) -> str | None:
        """The session that it belongs to."""
        if self.kind == "session":
            return str(self.shows["sessionId"])
        return None if self.entry is None else session_of(self.entry)

    @property
    def step(self) -> dict[str, Any] | None:
        """The step that it shows or belongs to."""
        return None if self.entry is None else self.entry.get("step")


def rows_of(history: History, turned: Collection[Key], words: str = "") -> list[Row]:
    """Returns the rows: sessions newest first, and between them what belongs to no session, so that rows do not move.

    `turned` are the keys of rows that the user folded or unfolded; by default, sessions and prompts are unfolded. With
    `words`, returns only what contains them, ignoring case, and unfolds all groups.
    """
    made = list(_groups(history, turned, words.casefold()))
    if history.cursor is not None:
        made.append(Row("older", ("older",), 0, {}))
    return made


def _groups(history: History, turned: Collection[Key], words: str) -> Iterator[Row]:
    steps: dict[str, list[dict[str, Any]]] = {}
    first: dict[str, int] = {}
    others: list[tuple[int, dict[str, Any]]] = []
    for at, entry in enumerate(history.entries):
        session_id = session_of(entry)
        if session_id is None:
            others.append((at, entry))
            continue
        if entry["kind"] == "step" and entry["step"]["index"] == 0:
            first[session_id] = at
        if "step" not in entry or not is_empty(entry["step"]):
            steps.setdefault(session_id, []).append(entry)
    sessions = [session for session in history.sessions.values() if _is_shown(session, steps)]
    begun = 0
    for session in sorted(sessions, key=lambda session: str(session["startedAt"]), reverse=True):
        session_id = session["sessionId"]
        later = []
        while begun < len(others) and _is_later(*others[begun], session["startedAt"], first.get(session_id)):
            later.append(others[begun][1])
            begun += 1
        yield from _group("between", ("between", session_id), {}, later, turned, words)
        yield from _group("session", ("session", session_id), session, steps.get(session_id, []), turned, words)
    yield from _group("between", ("between", ""), {}, [entry for _, entry in others[begun:]], turned, words)


def _is_later(at: int, entry: dict[str, Any], started_at: str, first: int | None) -> bool:
    """Whether an entry of no session is later than the start of a session.

    What the user changed before a session is noticed when its first step begins: then their order in the history is
    more reliable than the time. `at` is the index of the entry, and `first` that of the session's first step, if it is
    loaded.
    """
    return bool(entry["at"] > started_at) and (first is None or at < first)


def _is_shown(session: dict[str, Any], steps: dict[str, list[dict[str, Any]]]) -> bool:
    return session["sessionId"] in steps or ("endedAt" not in session and not session["stepCount"])


def _group(
    kind: Kind,
    key: Key,
    shows: dict[str, Any],
    entries: list[dict[str, Any]],
    turned: Collection[Key],
    words: str,
) -> Iterator[Row]:
    """Yields the row of a session, or of what was between two, and those below it."""
    if words and not _has(
        words, agent_name(shows), *(str(shows.get(name, "")) for name in ("sessionId", "agent", "name"))
    ):
        every = entries
        prompts = {entry["messageId"] for entry in every if entry["kind"] == "message" and _is_about(entry, words)}
        entries = [entry for entry in entries if _is_about(entry, words) or _message_of(entry) in prompts]
        parents, kept = {_message_of(entry) for entry in entries} - {None}, set(map(key_of, entries))
        entries = [entry for entry in every if key_of(entry) in kept or entry.get("messageId") in parents]
        if not entries:
            return
    if not entries and kind == "between":
        return
    # a search must show what it finds
    unfolded = bool(words) or (key in turned) != (kind == "session") if entries else None
    yield Row(kind, key, 0, shows, None, tuple(entries), unfolded)
    if unfolded:
        yield from _turns(entries, turned, words)


def _message_of(entry: dict[str, Any]) -> str | None:
    return (entry.get("step") or {}).get("messageId")


def _turns(entries: list[dict[str, Any]], turned: Collection[Key], words: str) -> Iterator[Row]:
    """Yields each loaded prompt with its steps below it, and everything else at the same level as the prompts."""
    prompts = {entry["messageId"]: entry for entry in entries if entry["kind"] == "message"}
    steps: dict[str | None, list[dict[str, Any]]] = {}
    for entry in entries:
        steps.setdefault(_message_of(entry), []).append(entry)
    begun: set[str] = set()
    for entry in entries:
        message_id = entry["messageId"] if entry["kind"] == "message" else _message_of(entry)
        if message_id is None or message_id not in prompts:
            yield from _entry(entry, turned, 1)
        elif message_id not in begun:
            begun.add(message_id)
            prompt, below = prompts[message_id], steps.get(message_id, [])
            key = key_of(prompt)
            unfolded = bool(words) or key not in turned if below else None
            yield Row("message", key, 1, prompt, prompt, tuple(below), unfolded)
            for step in below if unfolded else ():
                yield from _entry(step, turned, 2)


def _entry(entry: dict[str, Any], turned: Collection[Key], depth: int) -> Iterator[Row]:
    key = key_of(entry)
    kind: Kind = entry["kind"] if entry["kind"] in ("step", "user") else "operation"
    unfolded = key in turned if entry["files"] else None
    yield Row(kind, key, depth, entry, entry, (), unfolded)
    if not unfolded:
        return
    for file in entry["files"][:_MOST_FILES]:
        yield Row("file", (*key, "file", file.get("uri", file["file"])), depth + 1, file, entry)
    if len(entry["files"]) > _MOST_FILES:
        count = len(entry["files"]) - _MOST_FILES
        yield Row("more files", (*key, "more"), depth + 1, {"count": count}, entry)


def _is_about(entry: dict[str, Any], words: str) -> bool:
    step = entry.get("step") or {}
    texts = [agent_name(step), *_texts(step, "stepId", "agent", "tool", "description")]
    texts += _texts(entry, "messageId", "text")
    return _has(words, entry["kind"], *texts, *(file["file"] for file in entry["files"]))


def _texts(shows: Mapping[str, Any], *names: str) -> list[str]:
    return [str(shows.get(name, "")) for name in names]


def _has(words: str, *texts: str) -> bool:
    return any(words in text.casefold() for text in texts)

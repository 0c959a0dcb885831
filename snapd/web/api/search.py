"""`GET /search`: looks for a text in prompts, names of files, and changed lines, newest first."""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from snapd.core.errors import InvalidParams

from .asking import as_json
from .matches import Needle, Step, message_hit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.responses import Response

    from .asking import Asked
    from .matches import Ask

SECONDS = 1.0
"""How long one answer looks; the next one goes on where it ended."""
_HITS = 50
"""In one answer, if the client does not say."""
_ENTRIES = 50
"""Of the history, asked for at once."""
_LONGEST = 200
"""Characters to look for."""
_PLACES = ("prompts", "files", "texts")


async def search(asked: Asked) -> Response:
    """What was found, and where to go on.

    Raises:
        InvalidParams: the text is empty or too long, or the cursor is that of another question.
        SnapdError: the error that answers it.
    """
    text = asked.params["q"]
    if not text or len(text) > _LONGEST:
        raise InvalidParams(f"q: expected 1 to {_LONGEST} characters", field="q")
    needle = Needle(text, frozenset(asked.params.get("in") or _PLACES))
    looking = Search(asked.ask, needle, asked.params.get("limit") or _HITS)
    begin = looking.position(asked.params.get("cursor"))

    def work() -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        return looking.run(begin, lambda: time.monotonic() >= deadline)

    return as_json(await asked.work(work, asked.service.slow))


@attrs.frozen
class Position:
    """Where to go on.

    Attributes:
        cursor: of the page of the history; None for the first.
        entry: the entry of that page to go on with; "" for its first.
        at: when that entry began: there may be newer ones before it by now, or it may have been removed.
        file: how many files of that entry have been looked through.
    """

    cursor: str | None = None
    entry: str = ""
    at: str = ""
    file: int = 0

    def is_reached(self, entry: dict[str, Any]) -> bool:
        """Whether an entry is the one to go on with, or follows it."""
        return not self.entry or _key(entry) == self.entry or entry["at"] < self.at


class Search:
    """Looks through the history.

    Args:
        ask: asks the daemon.
        needle: what is looked for, and where.
        limit: hits, at most.
    """

    def __init__(self, ask: Ask, needle: Needle, limit: int) -> None:
        self._ask = ask
        self._needle = needle
        self._limit = limit

    def run(self, begin: Position, is_late: Callable[[], bool]) -> dict[str, Any]:
        """Looks on until there are enough hits, or it is late; each time it gets a bit further.

        Args:
            begin: where to begin.
            is_late: whether to stop.

        Returns:
            A `SearchResult`, as JSON values.
        """
        answer: dict[str, Any] = {"hits": []}
        for position, entry in self._entries(begin):
            if "until" in answer and (len(answer["hits"]) >= self._limit or is_late()):
                return {**answer, "nextCursor": self._cursor(position)}
            answer["until"] = entry["at"]
            if entry["kind"] == "message":
                found, next_file = message_hit(self._needle, entry), None
            else:
                found, next_file = Step(self._ask, self._needle, entry["step"]).look(position.file, is_late)
            answer["hits"] += [found] if found is not None else []
            if next_file is not None:
                return {**answer, "nextCursor": self._cursor(attrs.evolve(position, file=next_file))}
        return answer

    def position(self, cursor: str | None) -> Position:
        """The position that a cursor stands for.

        Raises:
            InvalidParams: it is none of this question.
        """
        if cursor is None:
            return Position()
        try:
            digest, *parts = orjson.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
            page, entry, at, file = parts
            is_of_kinds = isinstance(page, str | None) and [type(each) for each in (entry, at, file)] == [str, str, int]
            if is_of_kinds and digest == self._digest() and file >= 0:
                return Position(page, entry, at, file)
        except (binascii.Error, ValueError, TypeError):
            # whatever it is, it is not one of ours
            pass
        raise InvalidParams(
            "cursor: not the nextCursor of an answer to this question",
            hint="search again without a cursor",
            field="cursor",
        )

    def _cursor(self, position: Position) -> str:
        parts = [self._digest(), position.cursor, position.entry, position.at, position.file]
        return base64.b64encode(orjson.dumps(parts), altchars=b"-_").decode()

    def _digest(self) -> str:
        return hashlib.sha256(orjson.dumps([self._needle.text, sorted(self._needle.places)])).hexdigest()[:16]

    def _entries(self, begin: Position) -> Iterator[tuple[Position, dict[str, Any]]]:
        """The steps and messages from a position on, each with its own position."""
        cursor, is_reached = begin.cursor, False
        while True:
            params: dict[str, Any] = {"renames": True, "limit": _ENTRIES}
            page = self._ask("session/history", params if cursor is None else {**params, "cursor": cursor})
            for entry in page["entries"]:
                is_reached = is_reached or begin.is_reached(entry)
                if is_reached and entry["kind"] in ("step", "message"):
                    key = _key(entry)
                    yield Position(cursor, key, entry["at"], begin.file if key == begin.entry else 0), entry
            if "nextCursor" not in page:
                return
            cursor = page["nextCursor"]


def _key(entry: dict[str, Any]) -> str:
    """What tells an entry from all others."""
    if entry["kind"] == "step":
        return f"step {entry['step']['stepId']}"
    return f"{entry['kind']} {entry.get('sessionId', '')} {entry.get('messageId', '')}"

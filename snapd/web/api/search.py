"""`GET /search`: finds a text in prompts, file names and changed lines, newest first."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import time
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from snapd.model.errors import InvalidParams

from .asking import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd_client import protocol
    from snapd_client.methods import Request
    from starlette.responses import Response

    from .asking import ApiRequest

    Ask = Request[[]]

SECONDS = 1.0
"""How long one request searches; the next one continues from its cursor."""
_HITS = 50
_ENTRIES = 50
_LONGEST = 200
_PLACES = ("prompts", "files", "texts")
MATCHES = 20
"""The most files, and the most lines, listed for one step."""
_SHOWN = 200
"""The most characters shown of a line or a prompt."""
_FILES_AT_ONCE = 20
_CHANGED_LINES = 20_000
"""The batch that is searched at once: files of a step, and changed lines in them."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


async def search(asked: ApiRequest) -> Response:
    """Answers with hits and a cursor. Raises `InvalidParams` for a wrong text length, or a cursor of another search."""
    text = asked.params["q"]
    if not text or len(text) > _LONGEST:
        raise InvalidParams(f"q: expected 1 to {_LONGEST} characters", field="q")
    needle = SearchText(text, frozenset(asked.params.get("in") or _PLACES))
    looking = Search(asked.ask, needle, asked.params.get("limit") or _HITS)
    begin = looking.position(asked.params.get("cursor"))

    def work() -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        return looking.run(begin, lambda: time.monotonic() >= deadline)

    return as_json(await asked.work(work, asked.service.slow))


@attrs.frozen
class Position:
    """Where a search continues: at `file` files into `entry` ("" for the first) of the history page `cursor`.

    `at` is when that entry began: newer entries may precede it by now, or it may have been removed.
    """

    cursor: str | None = None
    entry: str = ""
    at: str = ""
    file: int = 0

    def is_reached(self, entry: protocol.Entry) -> bool:
        """Whether `entry` is the one to continue with, or comes after it."""
        return not self.entry or _key(entry) == self.entry or entry["at"] < self.at


class Search:
    """Searches the history for at most `limit` hits."""

    def __init__(self, ask: Ask, needle: SearchText, limit: int) -> None:
        self._ask = ask
        self._needle = needle
        self._limit = limit

    def run(self, begin: Position, is_late: Callable[[], bool]) -> dict[str, Any]:
        """A `SearchResult` as JSON values; searches until there are enough hits or `is_late()`, with some progress."""
        answer: dict[str, Any] = {"hits": []}
        for position, entry in self._entries(begin):
            if "until" in answer and (len(answer["hits"]) >= self._limit or is_late()):
                return {**answer, "nextCursor": self._cursor(position)}
            answer["until"] = entry["at"]
            if entry["kind"] == "message":
                result, next_file = message_hit(self._needle, entry), None
            else:
                result, next_file = Step(self._ask, self._needle, entry["step"]).look(position.file, is_late)
            answer["hits"] += [result] if result is not None else []
            if next_file is not None:
                return {**answer, "nextCursor": self._cursor(attrs.evolve(position, file=next_file))}
        return answer

    def position(self, cursor: str | None) -> Position:
        """Decodes a cursor. Raises `InvalidParams` if it belongs to another search."""
        if cursor is None:
            return Position()
        try:
            digest, *parts = orjson.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
            page, entry, at, file = parts
            is_of_kinds = isinstance(page, str | None) and [type(each) for each in (entry, at, file)] == [str, str, int]
            if is_of_kinds and digest == self._digest() and file >= 0:
                return Position(page, entry, at, file)
        except (binascii.Error, ValueError, TypeError):
            # not a cursor of this server
            pass
        raise InvalidParams(
            "cursor: not a nextCursor of this search",
            hint="search again without a cursor",
            field="cursor",
        )

    def _cursor(self, position: Position) -> str:
        parts = [self._digest(), position.cursor, position.entry, position.at, position.file]
        return base64.b64encode(orjson.dumps(parts), altchars=b"-_").decode()

    def _digest(self) -> str:
        return hashlib.sha256(orjson.dumps([self._needle.text, sorted(self._needle.places)])).hexdigest()[:16]

    def _entries(self, begin: Position) -> Iterator[tuple[Position, protocol.Entry]]:
        cursor, is_reached = begin.cursor, False
        while True:
            page = self._ask("session/history", {"renames": True, "limit": _ENTRIES, "cursor": cursor})
            for entry in page["entries"]:
                is_reached = is_reached or begin.is_reached(entry)
                if is_reached and entry["kind"] in ("step", "message"):
                    key = _key(entry)
                    yield Position(cursor, key, entry["at"], begin.file if key == begin.entry else 0), entry
            if "nextCursor" not in page:
                return
            cursor = page["nextCursor"]


def _key(entry: protocol.Entry) -> str:
    if entry["kind"] == "step":
        return f"step {entry['step']['stepId']}"
    return f"{entry['kind']} {entry.get('sessionId', '')} {entry.get('messageId', '')}"


class SearchText:
    """The text to find, in any case, and the places to search: "prompts", "files", "texts"."""

    def __init__(self, text: str, places: frozenset[str]) -> None:
        self.text = text.casefold()
        self.places = places

    def is_in(self, text: str | None) -> bool:
        """Whether `text` contains the search text."""
        return text is not None and self.text in text.casefold()

    def around(self, text: str) -> str:
        """The part of `text` around the match."""
        if len(text) <= _SHOWN:
            return text
        # approximate if case folding changes the length
        begin = max(0, min(text.casefold().find(self.text) - _SHOWN // 4, len(text) - _SHOWN))
        end = begin + _SHOWN
        return ("…" if begin else "") + text[begin:end] + ("…" if end < len(text) else "")


def message_hit(needle: SearchText, entry: protocol.Entry) -> dict[str, Any] | None:
    """The hit for a message if its prompt matches."""
    if "prompts" not in needle.places or not needle.is_in(entry.get("text")):
        return None
    return {
        "kind": "message",
        "sessionId": entry["sessionId"],
        "messageId": entry["messageId"],
        "at": entry["at"],
        "prompt": needle.around(entry["text"]),
    }


class Step:
    """The search in one step."""

    def __init__(self, ask: Ask, needle: SearchText, step: protocol.Step) -> None:
        self._ask = ask
        self._needle = needle
        self._step = step
        self._files = step.get("files") or []

    def look(self, first: int, is_late: Callable[[], bool]) -> tuple[dict[str, Any] | None, int | None]:
        """Searches at least one batch of files from number `first` on, until `is_late()`.

        Returns the hit and the file to continue with: None if the whole step has been searched.
        """
        result: dict[str, Any] = {}
        if first == 0:
            result |= self._named()
        done: int | None = None
        if "texts" in self._needle.places:
            lines, done = self._lines(first, is_late)
            if lines:
                result["lines"] = lines[:MATCHES]
            if len(lines) > MATCHES:
                result["more"] = True
        if not result:
            return None, done
        known = ("sessionId", "stepId", "messageId", "agent", "tool", "description")
        about = {name: value for name, value in self._step.items() if name in known}
        return {"kind": "step", **about, "at": self._step["startedAt"], **result}, done

    def _named(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        needle = self._needle
        if "prompts" in needle.places and needle.is_in(self._step.get("description")):
            result["prompt"] = needle.around(self._step["description"])
        if "files" in needle.places:
            named = [
                each
                for each in self._files
                if any(needle.is_in(name) for name in (each["file"], each.get("renamedFrom")))
            ]
            if named:
                result["files"] = [_file(each) for each in named[:MATCHES]]
            if len(named) > MATCHES:
                result["more"] = True
        return result

    def _lines(self, first: int, is_late: Callable[[], bool]) -> tuple[list[dict[str, Any]], int | None]:
        """Matching changed lines, one more than are listed at most, and the file to continue with."""
        lines: list[dict[str, Any]] = []
        while first < len(self._files):
            some = self._some(first)
            # most files have no match: one diff of all files rules them out
            if self._is_anywhere(self._diff(some)):
                for each in some:
                    lines += self._lines_of(each, self._diff([each]))
                    if len(lines) > MATCHES:
                        return lines, None
            first += len(some)
            if first < len(self._files) and is_late():
                return lines, first
        return lines, None

    def _some(self, first: int) -> list[protocol.FileChange]:
        some: list[protocol.FileChange] = []
        changed = 0
        for each in self._files[first : first + _FILES_AT_ONCE]:
            changed += each["additions"] + each["deletions"]
            if some and changed > _CHANGED_LINES:
                break
            some.append(each)
        return some

    def _diff(self, files: list[protocol.FileChange]) -> str:
        names = [each.get("uri", each["file"]) for each in files]
        return self._ask("step/diff", {"stepId": self._step["stepId"], "files": names})["diff"]

    def _is_anywhere(self, diff: str) -> bool:
        return any(line[:1] in ("+", "-") and self._needle.is_in(line[1:]) for line in diff.split("\n"))

    def _lines_of(self, file: protocol.FileChange, diff: str) -> Iterator[dict[str, Any]]:
        for change, number, text in changed_lines(diff):
            if self._needle.is_in(text):
                yield {**_file(file), "change": change, "line": number, "text": self._needle.around(text)}


def changed_lines(diff: str) -> Iterator[tuple[str, int, str]]:
    """Yields "added" or "deleted", the number in the new or old file, and the text of each changed line of a diff."""
    old = new = old_left = new_left = 0
    for line in diff.split("\n"):
        if old_left <= 0 and new_left <= 0:
            # before the hunk ends, a line that looks like a hunk header is a line of the file
            head = _HUNK.match(line)
            if head is not None:
                old, new = int(head[1]), int(head[3])
                old_left, new_left = int(head[2] or 1), int(head[4] or 1)
        elif line.startswith("-"):
            yield "deleted", old, line[1:]
            old, old_left = old + 1, old_left - 1
        elif line.startswith("+"):
            yield "added", new, line[1:]
            new, new_left = new + 1, new_left - 1
        elif not line.startswith("\\"):
            old, old_left = old + 1, old_left - 1
            new, new_left = new + 1, new_left - 1


def _file(each: protocol.FileChange) -> dict[str, Any]:
    return {name: value for name, value in each.items() if name in ("file", "uri")}

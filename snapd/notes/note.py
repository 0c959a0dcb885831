"""Parses an untrusted note of the Git AI Standard, authorship/3.0.0."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from snapd.core.seams import Claim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SCHEMA = "authorship/3.0.0"
NOTES = "refs/notes/ai"
NO_MODEL = "unknown"
"""What git-ai writes for an unknown model."""
_KEY = re.compile(r"s_[0-9a-f]+::t_[0-9a-f]+|h_[0-9a-f]+(?:::t_[0-9a-f]+)?|[0-9a-f]{16}|[0-9a-f]{7}")
"""Keys of a session, of a person, and of sessions before git-ai 1.4 and before 1.0.

The standard does not define the length of the first two, nor whether keys of people get traces.
"""
_NUMBER = "[1-9][0-9]{0,9}"
_RANGE = f"{_NUMBER}(?:-{_NUMBER})?"
_LINES = re.compile(f"{_RANGE}(?:,{_RANGE})*")
_LONGEST = 1000
"""Maximum characters of a name."""
_QUOTED = 60
"""Maximum characters of a note that a message quotes."""


class BadNoteError(Exception):
    """A note breaks the standard; the message says how, as a part of a sentence."""


@attrs.frozen
class _Entry:
    """Lines of a file: the author's key without the trace, the ranges as in the note, and the line of the note."""

    author: str
    spec: str
    number: int


@attrs.frozen
class Note:
    """A valid note: the entries of each file, in order, and the author for each key (without the trace)."""

    files: Mapping[str, Sequence[_Entry]]
    authors: Mapping[str, Claim]

    @classmethod
    def parse(cls, data: bytes) -> Note:
        """Parses a note; ignores blank lines and unknown fields. Raises `BadNoteError`, also for another version."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadNoteError("is not UTF-8") from None
        attested, divider, metadata = f"\n{text}".partition("\n---\n")
        if not divider:
            raise BadNoteError("has no line '---' between lines and metadata")
        # first, because another version may have other lines
        authors = _authors(metadata)
        return cls(_files(attested.split("\n")[1:]), authors)

    def claims(self, file: str, wanted: Sequence[int]) -> dict[int, Claim]:
        """Returns the authors of the `wanted` lines of a file that the note attests.

        `wanted` are line numbers, from 1, ascending and distinct. If several entries have a line, the last one with a
        known author counts. Raises `BadNoteError` if the ranges of an entry are invalid.
        """
        # after a cherry-pick, a note may have keys whose authors are only in another note
        entries = [(self.authors.get(entry.author), _ranges(entry)) for entry in self.files.get(file, ())]
        result: dict[int, Claim] = {}
        # union-find of lines that no later entry has: the time depends on the lines, not on overlapping ranges
        free = list(range(len(wanted) + 1))
        for author, ranges in reversed(entries):
            if author is None:
                continue
            for first, last in ranges:
                at = _next_free(free, bisect_left(wanted, first))
                while at < len(wanted) and wanted[at] <= last:
                    result[wanted[at]] = author
                    free[at] = at + 1
                    at = _next_free(free, at + 1)
        return result


def _next_free(free: list[int], at: int) -> int:
    """Finds the end of a chain, and compresses the path to it."""
    end = at
    while free[end] != end:
        end = free[end]
    while free[at] != end:
        free[at], at = end, free[at]
    return end


# -- lines


def _files(lines: Sequence[str]) -> dict[str, list[_Entry]]:
    files: dict[str, list[_Entry]] = {}
    entries: list[_Entry] | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if line.startswith("  "):
            if entries is None:
                raise _bad(number, line, "belongs to no file")
            key, _, spec = line[2:].partition(" ")
            if not _KEY.fullmatch(key):
                raise _bad(number, key, "is not a key")
            if not _LINES.fullmatch(spec):
                raise _bad(number, spec, "are no lines")
            entries.append(_Entry(key.partition("::")[0], spec, number))
            continue
        name = line[1:-1] if len(line) > 1 and line[0] == line[-1] == '"' else line
        if line[0].isspace() or name in files:
            raise _bad(number, line, "is there twice" if name in files else "is not a file")
        entries = files[name] = []
    return files


def _ranges(entry: _Entry) -> Iterator[tuple[int, int]]:
    """Yields the first and the last line of each range."""
    before = 0
    for each in entry.spec.split(","):
        start, _, end = each.partition("-")
        first, last = int(start), int(end or start)
        if last < first or first < before:
            raise _bad(entry.number, each, "is not in ascending order")
        before = first
        yield first, last


def _bad(number: int, text: str, what: str) -> BadNoteError:
    return BadNoteError(f"breaks the standard: {_quoted(text)} {what}, in line {number}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…")


# -- metadata


def _authors(text: str) -> dict[str, Claim]:
    try:
        metadata = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise BadNoteError("has metadata that is not JSON") from None
    if not isinstance(metadata, dict):
        raise BadNoteError("has metadata that is not a JSON object")
    version = metadata.get("schema_version")
    if version != SCHEMA:
        message = f"is of the version {_quoted(version)}" if isinstance(version, str) else "names no version"
        raise BadNoteError(f"{message}; snapd reads {SCHEMA}")
    if not isinstance(metadata.get("base_commit_sha"), str):
        raise BadNoteError("breaks the standard: 'base_commit_sha' is not a string")
    # older notes have no sessions and people
    result = {key: _agent(key, record) for key, record in _records(metadata, "prompts")}
    result |= {key: _agent(key, record) for key, record in _records(metadata, "sessions", {})}
    result |= {key: Claim(person=_string(record, "author", key)) for key, record in _records(metadata, "humans", {})}
    return result


def _records(metadata: dict[str, Any], name: str, missing: Any = None) -> Iterator[tuple[str, dict[str, Any]]]:
    records = metadata.get(name, missing)
    if not isinstance(records, dict):
        raise BadNoteError(f"breaks the standard: {name!r} is not an object")
    for key, record in records.items():
        if not isinstance(record, dict):
            raise BadNoteError(f"breaks the standard: {_quoted(key)} in {name!r} is not an object")
        yield key, record


def _agent(key: str, record: dict[str, Any]) -> Claim:
    agent = record.get("agent_id")
    if not isinstance(agent, dict):
        raise BadNoteError(f"breaks the standard: {_quoted(key)} has no 'agent_id'")
    tool, session, model = (_string(agent, name, key) for name in ("tool", "id", "model"))
    return Claim(tool, session, None if model == NO_MODEL else model)


def _string(record: dict[str, Any], name: str, of: str) -> str:
    text = record.get(name)
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST:
        what = "empty or too long" if isinstance(text, str) else "not a string"
        raise BadNoteError(f"breaks the standard: {name!r} of {_quoted(of)} is {what}")
    return text

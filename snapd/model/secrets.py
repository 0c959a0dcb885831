"""Finds likely secrets in files; it can miss some and report others, and never shows more than their first characters.

The patterns are slow, so they only see windows of a file. Windows of one kind never overlap: together they are no
longer than the text.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

REACH_BYTES = 200  # default: how far behind a keyword a match may end

NAME_BYTES = 40  # of the name that a secret is assigned to

_OF_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"


def entropy(secret: bytes) -> float:
    """Returns the Shannon entropy, in bits per byte; 0 for no bytes."""
    size = len(secret)
    return -sum(count / size * math.log2(count / size) for count in Counter(secret).values())


def one_of(patterns: Iterable[str]) -> re.Pattern[bytes] | None:
    """Returns a pattern that matches any of the ASCII `patterns`, None for none; flags go in groups, as `(?i:...)`."""
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(joined.encode("ascii")) if joined else None


def _around(match: re.Match[bytes]) -> bytes:
    """Returns the match without the secret, with the rest of the name that it begins in."""
    before = match.string[max(0, match.start() - NAME_BYTES) : match.start()]
    name = before[len(before.rstrip(_OF_NAMES)) :] + match.string[match.start() : match.start(1)]
    # letters of a random secret spell a short word now and then, such as "etag"
    return name + b"\n" + match.string[match.end(1) : match.end()]


@attrs.frozen
class Rule:
    """A rule about the contents of files."""

    id: str  # unique
    description: str  # for people
    source: str  # where the form of these secrets is documented
    pattern: re.Pattern[bytes]  # its only group is the secret; all repeats are bounded, and so is the time
    keywords: tuple[bytes, ...]  # lower case; text without any of them, in any case, has no match
    everywhere: bool  # if False, a match has, or follows, a long run of token characters
    reach: int  # bytes from the start of a keyword to the end of a match, if `everywhere`
    entropy: float  # least bits per byte
    allowed: re.Pattern[bytes] | None  # finds in a secret that it is none, such as a placeholder
    allowed_around: re.Pattern[bytes] | None  # finds that around the secret: in the match and the name
    files: re.Pattern[bytes] | None  # finds the files it applies to, by lower-case path; None for all
    generated_too: bool  # also applies to generated files, such as lock files

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Rule:
        """Parses a row of the list; raises `KeyError` for a missing value, `re.error` for an invalid pattern."""
        return cls(
            id=row["id"],
            description=row["description"],
            source=row["source"],
            pattern=re.compile(row["pattern"].encode("ascii")),
            keywords=tuple(word.encode("ascii") for word in row["keywords"]),
            everywhere=row.get("everywhere", False),
            reach=row.get("reach", REACH_BYTES),
            entropy=float(row.get("entropy", 0)),
            allowed=one_of(row.get("allow", ())),
            allowed_around=one_of(row.get("allow_around", ())),
            files=one_of(row.get("files", ())),
            generated_too=row.get("generated_too", True),
        )

    def is_about(self, path: bytes, generated: bool) -> bool:
        """Returns whether the rule applies to a file; `path` is in lower case."""
        if generated and not self.generated_too:
            return False
        return self.files is None or self.files.search(path) is not None

    def believes(self, match: re.Match[bytes]) -> bool:
        """Returns whether a match is likely a secret: random enough, and not allowed."""
        secret = match[1]
        if self.allowed is not None and self.allowed.search(secret):
            return False
        if self.allowed_around is not None and self.allowed_around.search(_around(match)):
            return False
        return entropy(secret) >= self.entropy


@attrs.frozen
class NameRule:
    """A rule about the names of files."""

    id: str  # unique
    description: str  # what such a file contains, for people
    source: str  # where that is documented
    pattern: re.Pattern[bytes]  # searched in a lower-case path

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> NameRule:
        """Parses a row, as `Rule.parse`."""
        return cls(row["id"], row["description"], row["source"], re.compile(row["pattern"].encode("ascii")))


LONG_BYTES = 20  # the shortest token with a form of its own: AWS's access keys

BEFORE_BYTES = 80  # in a window before a token or a keyword: the name that a token is assigned to

AFTER_BYTES = 48  # in a window after a long run, at least: what follows a dot in a token, and a quote

WIDEST_BYTES = 6000  # no match is longer, with what it looks at behind its end

STEP_BYTES = 1 << 15  # per search of a pattern: meanwhile Python runs no other thread

_OF_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-~"
_MASK = bytes(0x74 if byte in _OF_TOKENS else 0x20 for byte in range(256))
_LONG = b"t" * LONG_BYTES

_WORDS = re.compile(rb"[a-z_/-]+|[A-Z_/-]*_[A-Z_/-]*")
"""Words in one case: names and paths, of which code is full. Every token has a digit or mixed case."""


class Window(NamedTuple):
    """A part of a text; `end` is the position after its last byte, which is not part of a token."""

    start: int
    end: int


def _joined(windows: Iterable[Window]) -> Iterator[Window]:
    """Joins windows that overlap or touch, ordered by start."""
    last: Window | None = None
    for window in windows:
        if last is None:
            last = window
        elif window.start <= last.end:
            last = Window(last.start, max(last.end, window.end))
        else:
            yield last
            last = window
    if last is not None:
        yield last


@attrs.frozen
class Text:
    """The prepared text of a file: ends with a line break, and `low` is in lower case."""

    raw: bytes
    low: bytes
    _mask: bytes

    @classmethod
    def of(cls, data: bytes) -> Text:
        """Prepares the bytes of a file."""
        raw = data + b"\n"
        return cls(raw, raw.lower(), raw.translate(_MASK))

    def _end(self, at: int) -> int:
        """Returns the position after the first byte from `at` on that is not part of a token."""
        return self._mask.find(b" ", min(at, len(self._mask) - 1)) + 1

    def _around_runs(self) -> Iterator[Window]:
        mask = self._mask
        at = mask.find(_LONG)
        while at >= 0:
            end = mask.find(b" ", at + LONG_BYTES)
            if not _WORDS.fullmatch(self.raw, at, end):
                yield Window(max(0, at - BEFORE_BYTES), self._end(end + AFTER_BYTES))
            at = mask.find(_LONG, end)

    def matches(self, pattern: re.Pattern[bytes], window: Window) -> Iterator[re.Match[bytes]]:
        """Yields a pattern's matches in a window, step by step; none is wider than `WIDEST_BYTES`."""
        for start in range(window.start, window.end, STEP_BYTES):
            for match in pattern.finditer(self.raw, start, min(window.end, start + STEP_BYTES + WIDEST_BYTES)):
                if match.start() >= start + STEP_BYTES:
                    break
                yield match

    def near_runs(self) -> list[Window]:
        """Returns the windows around long runs of token characters, except those of words."""
        return list(_joined(self._around_runs()))

    def _around(self, keyword: bytes, reach: int) -> Iterator[Window]:
        low = self.low
        at = low.find(keyword)
        while at >= 0:
            start, last = max(0, at - BEFORE_BYTES), at
            # the last one before the end covers those between, so many at one place take no more time than few
            while last >= 0:
                at, end = last, self._end(last + reach)
                last = low.rfind(keyword, at + 1, end)
            yield Window(start, end)
            at = low.find(keyword, max(at + 1, end - len(keyword) + 1))

    def near(self, keywords: tuple[bytes, ...], reach: int) -> list[Window]:
        """Returns the windows around lower-case keywords: at least `reach` bytes from the start of one."""
        matches = [window for keyword in keywords for window in self._around(keyword, reach)]
        return list(_joined(sorted(matches)))


MOST_BYTES = 4 << 20  # read from the start of a file

MOST_FINDINGS = 100  # of one file

_BINARY_BYTES = 8000  # git considers a file binary if its start has a NUL

_SHOWN_BYTES = 4
_LONG_ENOUGH_BYTES = 20  # the first characters of a longer secret do not give it away

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PLAIN = re.compile(rb"[A-Za-z0-9_.-]+")


@attrs.frozen
class Finding:
    """A likely secret."""

    rule: str  # id of the rule
    line: int | None  # where it begins, from 1; None if found by the file's name
    description: str  # for people
    begins: str = ""  # its first characters, if harmless; else empty


@attrs.frozen
class Report:
    """The result for a file."""

    findings: tuple[Finding, ...]  # of its name, then ordered by line
    notes: tuple[str, ...] = ()  # what was not checked, for people


@attrs.frozen
class SecretRules:
    """All rules about contents and names of files; if two find the same, the first counts."""

    rules: Sequence[Rule]
    names: Sequence[NameRule]
    _placeholders: re.Pattern[bytes] | None
    _generated: re.Pattern[bytes] | None
    _harmless_names: re.Pattern[bytes] | None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> SecretRules:
        """Parses the TOML document of rules; raises as `Rule.parse`."""
        return cls(
            rules=tuple(Rule.parse(row) for row in document["rule"]),
            names=tuple(NameRule.parse(row) for row in document["name"]),
            placeholders=one_of(document["placeholders"]),
            generated=one_of(document["generated"]),
            harmless_names=one_of(document["harmless_names"]),
        )

    def look_at_name(self, path: bytes) -> tuple[Finding, ...]:
        """Returns at most one finding, by the name alone."""
        low = path.lower()
        if self._harmless_names is not None and self._harmless_names.search(low):
            return ()
        result = next((rule for rule in self.names if rule.pattern.search(low)), None)
        return () if result is None else (Finding(result.id, None, result.description),)

    def look(self, path: bytes, data: bytes, size: int | None = None) -> Report:
        """Checks a file; `data` is all of it, or its beginning if `size`, in bytes, is given.

        Of a large file it checks the beginning, of a binary one only the name, and adds a note.
        """
        by_name = self.look_at_name(path)
        if data[:2] in _UTF_16:
            read = data[:MOST_BYTES].decode("utf-16", "replace").encode("utf-8", "replace")
        elif b"\0" in data[:_BINARY_BYTES]:
            return Report(by_name, ("it is binary: nothing but its name was looked at",))
        else:
            read = data[:MOST_BYTES]
        notes = []
        whole, seen = len(data) if size is None else size, min(len(data), MOST_BYTES)
        if seen < whole:
            notes.append(f"only the first {seen} of {whole} bytes were looked at")
        text = Text.of(read)
        places: list[_Place] = []
        for place in self._places(path.lower(), text):
            if len(places) == MOST_FINDINGS:
                notes.append(f"there are more than the {MOST_FINDINGS} findings that are named")
                break
            places.append(place)
        return Report((*by_name, *_findings(text, places)), tuple(notes))

    def _places(self, path: bytes, text: Text) -> Iterator[_Place]:
        """Yields each match that the rules believe, once."""
        generated = self._generated is not None and self._generated.search(path) is not None
        look = _Look(text)
        taken: list[_Place] = []
        for rule in self.rules:
            if not (rule.everywhere or look.has_runs) or not rule.is_about(path, generated):
                continue
            for window in look.windows(rule):
                for match in text.matches(rule.pattern, window):
                    place = _Place(rule, *match.span(1))
                    if any(place.start < other.end and other.start < place.end for other in taken):
                        continue
                    is_placeholder = self._placeholders is not None and self._placeholders.search(match[1])
                    if is_placeholder or not rule.believes(match):
                        continue
                    taken.append(place)
                    yield place


@attrs.frozen
class _Place:
    """A match: the positions of the secret's first byte, and after its last one."""

    rule: Rule
    start: int
    end: int


class _Look:
    """The windows of one text for each rule; rules share windows."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._runs = text.near_runs()
        self.has_runs = bool(self._runs)
        self._near_runs = [text.low[window.start : window.end] for window in self._runs]
        self._all_near_runs = b"\n".join(self._near_runs)
        self._near: dict[tuple[tuple[bytes, ...], int], list[Window]] = {}

    def windows(self, rule: Rule) -> list[Window]:
        if rule.everywhere:
            wanted = (rule.keywords, rule.reach)
            if wanted not in self._near:
                self._near[wanted] = self._text.near(*wanted)
            return self._near[wanted]
        for word in rule.keywords:
            if word in self._all_near_runs:
                pairs = zip(self._runs, self._near_runs, strict=True)
                return [window for window, low in pairs if any(word in low for word in rule.keywords)]
        return []


def _findings(text: Text, places: list[_Place]) -> Iterator[Finding]:
    """Yields the findings at these places, ordered by line."""
    line, counted = 1, 0
    for place in sorted(places, key=lambda place: place.start):
        line += text.raw.count(b"\n", counted, place.start)
        counted = place.start
        yield Finding(place.rule.id, line, place.rule.description, _begins(text.raw[place.start : place.end]))


def _begins(secret: bytes) -> str:
    shown = secret[:_SHOWN_BYTES]
    return shown.decode("ascii") if len(secret) >= _LONG_ENOUGH_BYTES and _PLAIN.fullmatch(shown) else ""

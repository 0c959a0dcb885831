"""Looks at files for what is likely a secret.

Nothing here can say that a file holds no secret, and what it names may be none: it is for people to look at before
something leaves their machine. What is named is never shown, but for the first characters of a long one.

The patterns are slow, so they see windows of a file alone. Whatever the bytes are, windows of one kind do not overlap:
together they are no longer than the text.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

REACH_BYTES = 200
"""How far behind a keyword a match may end, where the rule says nothing else."""

NAME_BYTES = 40
"""How much of the name that a secret is assigned to counts."""

_OF_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"


def entropy(secret: bytes) -> float:
    """How random some bytes look, in bits for each byte, by how often each of them occurs (Shannon); 0 for none."""
    size = len(secret)
    return -sum(count / size * math.log2(count / size) for count in Counter(secret).values())


def one_of(patterns: Iterable[str]) -> re.Pattern[bytes] | None:
    """A pattern that matches what one of these does; None if there are none. Raises `re.error`.

    They are ASCII; flags stand in groups, as in `(?i:...)`.
    """
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(joined.encode("ascii")) if joined else None


def _around(match: re.Match[bytes]) -> bytes:
    """What a pattern matched, with the rest of the name that the match begins in."""
    before = match.string[max(0, match.start() - NAME_BYTES) : match.start()]
    return before[len(before.rstrip(_OF_NAMES)) :] + match[0]


@attrs.frozen
class Rule:
    """A rule about what is in files.

    Attributes:
        id: its name; unlike those of all other rules.
        description: what it finds, for people.
        source: where it is said what these secrets look like.
        pattern: matches a secret, which is its only group. It repeats nothing without a bound, so the time of a match
            has one too.
        keywords: lower case; text that has none of them, in any case, has no match.
        everywhere: whether a match may lie anywhere; otherwise a match has, or stands behind, a long run of characters
            of which tokens are made, and is looked for there alone.
        reach: how many bytes behind the beginning of a keyword a match may end; for rules that look everywhere.
        entropy: the least bits a byte that a secret has.
        allowed: finds what makes of a secret none, such as a placeholder; None for nothing.
        allowed_around: finds the same in all that the pattern matched, and in the name that it ends; None for nothing.
        files: finds, in a path in lower case, the files that this is about; None for all.
        generated_too: whether it is also about files that a program wrote, such as those that lock dependencies.
    """

    id: str
    description: str
    source: str
    pattern: re.Pattern[bytes]
    keywords: tuple[bytes, ...]
    everywhere: bool
    reach: int
    entropy: float
    allowed: re.Pattern[bytes] | None
    allowed_around: re.Pattern[bytes] | None
    files: re.Pattern[bytes] | None
    generated_too: bool

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Rule:
        """Reads a row of the list; raises `KeyError` for what every rule has, `re.error` for a pattern that is none."""
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
        """Whether to look at a file: `path` is in lower case, and `generated` says whether a program wrote it."""
        if generated and not self.generated_too:
            return False
        return self.files is None or self.files.search(path) is not None

    def believes(self, match: re.Match[bytes]) -> bool:
        """Whether a match is likely a secret: random enough, and nothing that is allowed."""
        secret = match[1]
        if self.allowed is not None and self.allowed.search(secret):
            return False
        if self.allowed_around is not None and self.allowed_around.search(_around(match)):
            return False
        return entropy(secret) >= self.entropy


@attrs.frozen
class NameRule:
    """A rule about names of files.

    Attributes:
        id: its name; unlike those of all other rules.
        description: what such a file holds, for people.
        source: where it is said that it does.
        pattern: finds, in a path in lower case, the end of it that counts.
    """

    id: str
    description: str
    source: str
    pattern: re.Pattern[bytes]

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> NameRule:
        """As `Rule.parse`."""
        return cls(row["id"], row["description"], row["source"], re.compile(row["pattern"].encode("ascii")))


LONG_BYTES = 20
"""The length of the shortest token that has a form of its own: AWS's access keys."""

BEFORE_BYTES = 80
"""How much of what stands before a token or a keyword its windows have: the name that a token is assigned to."""

AFTER_BYTES = 48
"""How much of what stands behind a long run its windows have at least: what follows a dot in a token, and a quote."""

WIDEST_BYTES = 6000
"""No match is longer, with what it looks at behind its end."""

STEP_BYTES = 1 << 15
"""How much a pattern sees at once: while it looks, Python runs no other thread."""

_OF_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-~"
_MASK = bytes(0x74 if byte in _OF_TOKENS else 0x20 for byte in range(256))
_LONG = b"t" * LONG_BYTES

_WORDS = re.compile(rb"[a-z_/-]+|[A-Z_/-]*_[A-Z_/-]*")
"""Runs of words in one case: names and paths, of which code is full. No token is without a digit and in one case."""


class Window(NamedTuple):
    """A part of a text: the position of its first byte, and that after its last byte, which is of no token."""

    start: int
    end: int


def _joined(windows: Iterable[Window]) -> Iterator[Window]:
    """Joins windows that overlap or touch; they come in the order of their starts."""
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
    """The text of a file, prepared for looking: a line break ends it, and `low` has it in lower case."""

    raw: bytes
    low: bytes
    _mask: bytes

    @classmethod
    def of(cls, data: bytes) -> Text:
        """Prepares the bytes of a file."""
        raw = data + b"\n"
        return cls(raw, raw.lower(), raw.translate(_MASK))

    def _end(self, at: int) -> int:
        """The position after the first byte from here on that is of no token."""
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
        """Gives a pattern's matches in a window, step by step; none is wider than `WIDEST_BYTES`."""
        for start in range(window.start, window.end, STEP_BYTES):
            for match in pattern.finditer(self.raw, start, min(window.end, start + STEP_BYTES + WIDEST_BYTES)):
                if match.start() >= start + STEP_BYTES:
                    break
                yield match

    def near_runs(self) -> list[Window]:
        """The windows around long runs of characters of which tokens are made, but for those of words."""
        return list(_joined(self._around_runs()))

    def _around(self, keyword: bytes, reach: int) -> Iterator[Window]:
        low = self.low
        at = low.find(keyword)
        while at >= 0:
            start, last = max(0, at - BEFORE_BYTES), at
            # the last one before the end stands for those between: many at one place take no more time than few
            while last >= 0:
                at, end = last, self._end(last + reach)
                last = low.rfind(keyword, at + 1, end)
            yield Window(start, end)
            at = low.find(keyword, max(at + 1, end - len(keyword) + 1))

    def near(self, keywords: tuple[bytes, ...], reach: int) -> list[Window]:
        """The windows around keywords in lower case: `reach` bytes from the beginning of one, or a little more."""
        found = [window for keyword in keywords for window in self._around(keyword, reach)]
        return list(_joined(sorted(found)))


MOST_BYTES = 4 << 20
"""How much of a file is read, from its beginning."""

MOST_FINDINGS = 100
"""How many findings one file gives at most."""

_BINARY_BYTES = 8000
"""Git takes a file for binary if there is a NUL in so many bytes of its beginning."""

_SHOWN_BYTES = 4
_LONG_ENOUGH_BYTES = 20
"""Of a secret of this length, the first characters help nobody who has no right to it."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PLAIN = re.compile(rb"[A-Za-z0-9_.-]+")


@attrs.frozen
class Finding:
    """Something that is likely a secret.

    Attributes:
        rule: the id of the rule that found it.
        line: where it begins, from 1 on; None if the name of the file says it.
        description: what it is, for people.
        begins: its first characters, where they help to recognise it and do no harm; else empty.
    """

    rule: str
    line: int | None
    description: str
    begins: str = ""


@attrs.frozen
class Report:
    """What was found in a file.

    Attributes:
        findings: those of its name, then the others by their lines.
        notes: what was not looked at, for people; nothing was found in it, and that means nothing.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


@attrs.frozen
class SecretRules:
    """All rules about secrets: those about what is in files, and those about their names.

    If two find the same, the first one counts.
    """

    rules: Sequence[Rule]
    names: Sequence[NameRule]
    _placeholders: re.Pattern[bytes] | None
    _generated: re.Pattern[bytes] | None
    _harmless_names: re.Pattern[bytes] | None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> SecretRules:
        """Reads the list of rules, as its TOML has it; raises as `Rule.parse`."""
        return cls(
            rules=tuple(Rule.parse(row) for row in document["rule"]),
            names=tuple(NameRule.parse(row) for row in document["name"]),
            placeholders=one_of(document["placeholders"]),
            generated=one_of(document["generated"]),
            harmless_names=one_of(document["harmless_names"]),
        )

    def look_at_name(self, path: bytes) -> tuple[Finding, ...]:
        """Names what a file likely holds by its name alone; no more than one thing."""
        low = path.lower()
        if self._harmless_names is not None and self._harmless_names.search(low):
            return ()
        found = next((rule for rule in self.names if rule.pattern.search(low)), None)
        return () if found is None else (Finding(found.id, None, found.description),)

    def look(self, path: bytes, data: bytes, size: int | None = None) -> Report:
        """Names what in a file is likely a secret.

        Of a large file it reads the beginning, of a binary one the name alone, and says so.

        Args:
            path: relative to the workspace root.
            data: the bytes of the file, or those of its beginning.
            size: of the whole file in bytes; None if `data` is all of it.
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
        """Gives what the rules believe, each place once."""
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
    """Where a rule found something: the positions of the secret's first byte, and of the byte after it."""

    rule: Rule
    start: int
    end: int


class _Look:
    """The windows of one text for each rule; those that several rules have in common are made once."""

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
    """Gives the findings at these places by their lines."""
    line, counted = 1, 0
    for place in sorted(places, key=lambda place: place.start):
        line += text.raw.count(b"\n", counted, place.start)
        counted = place.start
        yield Finding(place.rule.id, line, place.rule.description, _begins(text.raw[place.start : place.end]))


def _begins(secret: bytes) -> str:
    shown = secret[:_SHOWN_BYTES]
    return shown.decode("ascii") if len(secret) >= _LONG_ENOUGH_BYTES and _PLAIN.fullmatch(shown) else ""

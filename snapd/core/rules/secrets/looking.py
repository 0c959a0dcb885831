"""Looks at files for what is likely a secret.

Nothing here can say that a file holds no secret, and what it names may be none: it is for people to look at before
something leaves their machine. What is named is never shown, but for the first characters of a long one.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any

import attrs

from .rule import NameRule, Rule, one_of
from .windows import Text, Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    """All rules about secrets.

    Attributes:
        rules: those about what is in files; if two find the same, the first one counts.
        names: those about the names of files.
    """

    rules: Sequence[Rule]
    names: Sequence[NameRule]
    _placeholders: re.Pattern[bytes] | None
    _generated: re.Pattern[bytes] | None
    _harmless_names: re.Pattern[bytes] | None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> SecretRules:
        """Reads the list of rules.

        Args:
            document: what the TOML of the list says.

        Raises:
            KeyError: something that is needed is missing.
            re.error: a pattern is none.
        """
        return cls(
            rules=tuple(Rule.parse(row) for row in document["rule"]),
            names=tuple(NameRule.parse(row) for row in document["name"]),
            placeholders=one_of(document["placeholders"]),
            generated=one_of(document["generated"]),
            harmless_names=one_of(document["harmless_names"]),
        )

    def look_at_name(self, path: bytes) -> tuple[Finding, ...]:
        """Names what a file likely holds by its name alone; no more than one thing.

        Args:
            path: relative to the workspace root.
        """
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
                    if self._is_placeholder(match[1]) or not rule.believes(match):
                        continue
                    taken.append(place)
                    yield place

    def _is_placeholder(self, secret: bytes) -> bool:
        return self._placeholders is not None and self._placeholders.search(secret) is not None


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

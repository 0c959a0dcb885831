"""Adds members and items to JSON by inserting text, so that nothing that stands there is written anew."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .jsonc import Array, Object, Value, after_space, broken, parse

_INDENT = re.compile(r"[ \t]*")
_COMMENT_BEHIND = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
"""A comment on the line of what it is about."""
_USUAL = "  "


@dataclass(frozen=True)
class Insertion:
    """A piece of text that goes into another one.

    Attributes:
        at: where, in characters of the text as it was.
        text: the piece.
        comma: where a comma goes that the piece needs in front of it, in characters of the text as it was; at `at` or
            before it. None if it needs none.
    """

    at: int
    text: str
    comma: int | None = None


def insertions(text: str, entries: dict[str, list[Any]], beside: dict[str, Any]) -> list[Insertion]:
    """Finds what to insert into settings so that they have hooks.

    Args:
        text: the settings as they are: an object with comments, or nothing.
        entries: for each event, what the list in `hooks` is to have behind what it has.
        beside: members that the settings need beside `hooks`, unless they have them.

    Returns:
        The insertions, by place; those of one place in order.

    Raises:
        BrokenText: the text is not JSON, or something else stands where hooks belong.
    """
    root = parse(text)
    if root is None:
        newline = "\r\n" if "\r\n" in text else "\n"
        whole = json.dumps({**beside, "hooks": entries}, indent=_USUAL, ensure_ascii=False).replace("\n", newline)
        first = newline if text and not text.endswith(("\n", "\ufeff")) else ""
        return [Insertion(len(text), first + whole + newline)]
    if not isinstance(root, Object):
        raise broken(text, root.start, "expected an object")
    layout = _Layout(text, root)
    hooks = root.get("hooks")
    missing = [(name, value) for name, value in beside.items() if root.get(name) is None]
    if hooks is None:
        return layout.members(root, [*missing, ("hooks", entries)])
    if not isinstance(hooks, Object):
        raise broken(text, hooks.start, "expected an object as the value of hooks")
    found = layout.members(root, missing) + layout.members(
        hooks, [(event, items) for event, items in entries.items() if hooks.get(event) is None]
    )
    for event, items in entries.items():
        there = hooks.get(event)
        if isinstance(there, Array):
            found += layout.items(there, items)
        elif there is not None:
            raise broken(text, there.start, f"expected an array as the value of {event}")
    return sorted(found, key=lambda insertion: insertion.at)


def inserted(text: str, pieces: list[Insertion]) -> tuple[str, list[Insertion]]:
    """Inserts.

    Args:
        text: as it was.
        pieces: by place.

    Returns:
        The text, and the insertions with their places in it.
    """
    cuts: list[tuple[int, str, int, bool]] = []
    for number, piece in enumerate(pieces):
        if piece.comma is not None:
            cuts.append((piece.comma, ",", number, True))
        cuts.append((piece.at, piece.text, number, False))
    parts: list[str] = []
    places: dict[tuple[int, bool], int] = {}
    length = done = 0
    for at, added, number, is_comma in sorted(cuts, key=lambda cut: cut[0]):
        places[number, is_comma] = length + at - done
        parts += [text[done:at], added]
        length += at - done + len(added)
        done = at
    result = "".join([*parts, text[done:]])
    moved = [
        Insertion(places[number, False], piece.text, places.get((number, True))) for number, piece in enumerate(pieces)
    ]
    return result, moved


class _Layout:
    """How a text is laid out, so that what goes into it looks like the rest."""

    def __init__(self, text: str, root: Object) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        first = self._own_line(root.members[0].start) if root.members else None
        self._unit = first or _USUAL

    def members(self, into: Object, pairs: list[tuple[str, Any]]) -> list[Insertion]:
        """The insertion of members behind those of an object, if there are any."""
        return self._insert(into, into.members, [f"{json.dumps(name)}: {self._json(value)}" for name, value in pairs])

    def items(self, into: Array, values: list[Any]) -> list[Insertion]:
        """The insertion of items behind those of an array, if there are any."""
        return self._insert(into, into.items, [self._json(value) for value in values])

    def _json(self, value: Any) -> str:
        return json.dumps(value, indent=self._unit, ensure_ascii=False)

    def _insert(self, into: Value, there: list[Any], pieces: list[str]) -> list[Insertion]:
        if not pieces:
            return []
        closing = into.end - 1
        outer = self._indent(into.start)
        inner = (self._own_line(there[-1].start) if there else None) or outer + self._unit
        comma = None
        if there:
            at = there[-1].end
            behind = after_space(self._text, at)
            if behind == closing:
                comma = at
            else:
                # a comma that nothing follows
                at = behind + 1
            comment = _COMMENT_BEHIND.match(self._text, at)
            at = comment.end() if comment is not None else at
        else:
            at = into.start + 1 + len(self._text[into.start + 1 : closing].rstrip(" \t\r\n"))
        start = self._newline + inner
        body = start + f",{start}".join(piece.replace("\n", start) for piece in pieces)
        if "\n" not in self._text[at:closing]:
            body += self._newline + outer
        return [Insertion(at, body, comma)]

    def _indent(self, at: int) -> str:
        """The space at the beginning of the line of a place."""
        start = self._text.rfind("\n", 0, at) + 1
        found = _INDENT.match(self._text, start)
        return found.group() if found is not None else ""

    def _own_line(self, at: int) -> str | None:
        """The space in front of a place, if nothing else stands in front of it on its line; None on the first one."""
        start = self._text.rfind("\n", 0, at) + 1
        before = self._text[start:at]
        return before if start and not before.strip(" \t") else None

"""Adds members and items to JSON by inserting text, and takes them out: nothing that stands there is written anew."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .jsonc import Array, Object, Value, after_space, broken, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INDENT = re.compile(r"[ \t]*")
_COMMENT_BEHIND = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
"""A comment on the line of what it is about."""
_USUAL = "  "
_SPACE = " \t\r\n"


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


def without_insertions(text: str, pieces: Sequence[Insertion]) -> str:
    """The text from before the insertions.

    Args:
        text: exactly what `inserted` made.
        pieces: the insertions, as that told them.
    """
    cuts = [(piece.at, piece.at + len(piece.text)) for piece in pieces]
    cuts += [(piece.comma, piece.comma + 1) for piece in pieces if piece.comma is not None]
    return _cut(text, cuts)


def without_pieces(text: str, pieces: Sequence[Insertion]) -> str | None:
    """The text without what was inserted, where somebody changed other parts of it since.

    Args:
        text: as it is now; JSON.
        pieces: what was inserted, by place.

    Returns:
        The text; None if a piece does not stand there as it was inserted, in its order.
    """
    root = parse(text)
    cuts: list[tuple[int, int]] = []
    end = 0
    for piece in pieces:
        at = text.find(piece.text, end)
        if at < 0:
            return None
        end = at + len(piece.text)
        cuts.append((at, end))
        around = None if root is None else _around(root, at, end)
        if around is None:
            # it is the whole text
            continue
        children = _children(around)
        before = [child for child in children if child.end <= at]
        if any(child.start >= end for child in children):
            comma = after_space(text, end)
        elif before and piece.comma is not None:
            comma = after_space(text, before[-1].end)
        else:
            continue
        cuts.append((comma, comma + 1))
    return _cut(text, cuts)


def without_entries(text: str, is_own_hook: Callable[[object], bool]) -> str:
    """The text without entries in its `hooks`, and without the lists that hold nothing then.

    Args:
        text: JSON.
        is_own_hook: whether to remove an entry of an event, or of the inner `hooks` of such an entry.
    """
    root = parse(text)
    hooks = root.get("hooks") if isinstance(root, Object) else None
    if not isinstance(root, Object) or not isinstance(hooks, Object):
        return text
    cuts: list[tuple[int, int]] = []
    emptied = []
    for member in hooks.members:
        if not isinstance(member.value, Array):
            continue
        gone = []
        for item in member.value.items:
            inner = item.get("hooks") if isinstance(item, Object) else None
            handlers = inner.items if isinstance(inner, Array) else []
            ours = [handler for handler in handlers if is_own_hook(handler)]
            if is_own_hook(item) or (ours and len(ours) == len(handlers)):
                gone.append(item)
            elif ours and inner is not None:
                cuts += _cuts(text, inner, ours)
        if gone and len(gone) == len(member.value.items):
            emptied.append(member)
        else:
            cuts += _cuts(text, member.value, gone)
    if emptied and len(emptied) == len(hooks.members):
        return _cut(text, _cuts(text, root, [member for member in root.members if member.value is hooks]))
    return _cut(text, cuts + _cuts(text, hooks, emptied))


def _around(value: Value, start: int, end: int) -> Value | None:
    """The innermost object or array that a stretch of text lies in."""
    if not isinstance(value, (Object, Array)) or not (value.start < start and end < value.end):
        return None
    below = [child.value for child in value.members] if isinstance(value, Object) else value.items
    return next((found for child in below if (found := _around(child, start, end)) is not None), value)


def _children(value: Value) -> Sequence[Value]:
    if isinstance(value, Object):
        return value.members
    return value.items if isinstance(value, Array) else ()


def _cuts(text: str, around: Value, gone: Sequence[Value]) -> list[tuple[int, int]]:
    """What to cut so that some children of an object or array are gone, each with one comma."""
    cuts = []
    children = _children(around)
    leaving = {child.start for child in gone}
    staying = [child for child in children if child.start not in leaving]
    for number, child in enumerate(children):
        if child.start not in leaving:
            continue
        start = len(text[: child.start].rstrip(_SPACE))
        comma = after_space(text, child.end)
        has_comma = text.startswith(",", comma)
        if has_comma:
            cuts += [(start, child.end), (comma, comma + 1)]
            continue
        cuts.append((start, child.end))
        before = [other for other in staying if other.end <= child.start]
        if before and number == len(children) - 1:
            comma = after_space(text, before[-1].end)
            cuts.append((comma, comma + 1))
    if gone and not staying:
        left = text[around.start + 1 : children[0].start] + text[children[-1].end : around.end - 1]
        if not left.strip(_SPACE + ","):
            return [(around.start + 1, around.end - 1)]
    return cuts


def _cut(text: str, cuts: list[tuple[int, int]]) -> str:
    parts = []
    done = 0
    for start, end in sorted(cuts):
        if start > done:
            parts.append(text[done:start])
        done = max(done, end)
    return "".join([*parts, text[done:]])

"""Inserts members and items into JSON text, and removes them; all other text stays as it is."""

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
"""A comment after a value on the same line."""
_USUAL = "  "
_SPACE = " \t\r\n"


@dataclass(frozen=True)
class Insertion:
    """A piece to insert at an offset of the original text, with a comma at `comma`, at `at` or earlier, unless None."""

    at: int
    text: str
    comma: int | None = None


def insertions(text: str, entries: dict[str, list[Any]], beside: dict[str, Any]) -> list[Insertion]:
    """The insertions, in order, that add hooks to settings.

    `entries` are appended to the list of each event in `hooks`; members of `beside` are added unless present. Raises
    `BrokenText` if the settings are not JSON or `hooks` has the wrong form.
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
    result = layout.members(root, missing) + layout.members(
        hooks, [(event, items) for event, items in entries.items() if hooks.get(event) is None]
    )
    for event, items in entries.items():
        there = hooks.get(event)
        if isinstance(there, Array):
            result += layout.items(there, items)
        elif there is not None:
            raise broken(text, there.start, f"expected an array as the value of {event}")
    return sorted(result, key=lambda insertion: insertion.at)


def inserted(text: str, pieces: list[Insertion]) -> tuple[str, list[Insertion]]:
    """Inserts pieces ordered by place; returns the text, and the insertions with their places in it."""
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
    def __init__(self, text: str, root: Object) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        first = self._own_line(root.members[0].start) if root.members else None
        self._unit = first or _USUAL

    def members(self, into: Object, pairs: list[tuple[str, Any]]) -> list[Insertion]:
        """Appends members to an object."""
        return self._insert(into, into.members, [f"{json.dumps(name)}: {self._json(value)}" for name, value in pairs])

    def items(self, into: Array, values: list[Any]) -> list[Insertion]:
        """Appends items to an array."""
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
                # a trailing comma
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
        start = self._text.rfind("\n", 0, at) + 1
        result = _INDENT.match(self._text, start)
        return result.group() if result is not None else ""

    def _own_line(self, at: int) -> str | None:
        """The space before an offset if nothing else precedes it on its line; None on the first line."""
        start = self._text.rfind("\n", 0, at) + 1
        before = self._text[start:at]
        return before if start and not before.strip(" \t") else None


def without_insertions(text: str, pieces: Sequence[Insertion]) -> str:
    """The original text, from exactly the text and insertions that `inserted` returned."""
    cuts = [(piece.at, piece.at + len(piece.text)) for piece in pieces]
    cuts += [(piece.comma, piece.comma + 1) for piece in pieces if piece.comma is not None]
    return _cut(text, cuts)


def without_pieces(text: str, pieces: Sequence[Insertion]) -> str | None:
    """Removes insertions from text that was edited since; None if one is not found unchanged and in order."""
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
    """Removes hooks, at both levels of `hooks`, and lists that are empty then."""
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
    """The innermost object or array around a range of the text."""
    if not isinstance(value, (Object, Array)) or not (value.start < start and end < value.end):
        return None
    below = [child.value for child in value.members] if isinstance(value, Object) else value.items
    return next((result for child in below if (result := _around(child, start, end)) is not None), value)


def _children(value: Value) -> Sequence[Value]:
    if isinstance(value, Object):
        return value.members
    return value.items if isinstance(value, Array) else ()


def _cuts(text: str, around: Value, gone: Sequence[Value]) -> list[tuple[int, int]]:
    """The ranges to cut to remove some children of an object or array, each with one comma."""
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

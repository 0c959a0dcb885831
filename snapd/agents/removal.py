"""Takes out of settings what was put into them, and leaves everything else as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .insertion import Insertion
from .jsonc import Array, Object, Value, after_space, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SPACE = " \t\r\n"


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


def without_entries(text: str, is_ours: Callable[[object], bool]) -> str:
    """The text without entries in its `hooks`, and without the lists that hold nothing then.

    Args:
        text: JSON.
        is_ours: says of an entry of an event, or of one in the inner `hooks` of such an entry, whether to take it out.
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
            ours = [handler for handler in handlers if is_ours(handler)]
            if is_ours(item) or (ours and len(ours) == len(handlers)):
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

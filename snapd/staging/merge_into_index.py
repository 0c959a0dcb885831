"""Puts the changes of steps into what the index has of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.attribution import Delta
from snapd.core.compare.threeway import Overlap, three_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from snapd.model.snapshot import Entry

    from .changes import Chain, Change, FileMerge

_STARTS = 50
"""How many of the times when others changed a file are looked at."""


@attrs.frozen
class MergedEntry:
    """A file of the index with the changes.

    Attributes:
        entry: the file; None for no file.
        by: those of the changes that the index did not have yet.
        overtaken: whether others changed the same lines since, and the index has that.
    """

    entry: Entry | None
    by: Chain = ()
    overtaken: bool = False


def place(
    ours: Entry | None, changes: Chain, texts: FileMerge, now: Callable[[], Entry | None]
) -> MergedEntry | Overlap:
    """Puts changes into a file of the index, where it does not have them yet.

    The index may have some of them: those that were committed or staged before, with what others made of them since.
    It has all that came before a change if it is the very file that the change was made to, or what staging made of
    that. Else, as many of the first
    changes as necessary are taken for one: of two changes of one line, the index may have the second. Else, only what
    is left of the first changes in a later version counts: somebody has changed these lines since, and committed that.

    Args:
        ours: the file in the index; None for no file.
        changes: those to put in, the oldest first.
        texts: merges text.
        now: gives the file in the work tree; None for no file.

    Returns:
        The file with the changes; or why it cannot have them.
    """
    kept = in_force(changes, texts)
    if isinstance(kept, Overlap):
        return kept
    first: Overlap | None = None
    for placed in _ways(ours, kept, texts, now):
        if isinstance(placed, MergedEntry):
            return placed
        first = first or placed
    assert first is not None
    return first


def _ways(
    ours: Entry | None, changes: Chain, texts: FileMerge, now: Callable[[], Entry | None]
) -> Iterator[MergedEntry | Overlap]:
    """The ways to put changes in, those first that rest on the least."""
    rest = _after(ours, changes, texts)
    if rest is not None:
        yield _fold(ours, rest, texts)
    yield _fold(ours, changes, texts)
    for number, joined in enumerate(_joined(changes, texts), 1):
        found = _beyond(ours, three_way(joined.old, ours, joined.new, texts.merge), changes, number, texts)
        yield found if isinstance(found, Overlap) else _settled(found, changes, texts)
    for number in range(1, len(changes) + 1):
        later = changes[number].old if number < len(changes) else now()
        found = _beyond(ours, _with_rest(ours, changes[:number], later, texts), changes, number, texts)
        yield found if isinstance(found, Overlap) else attrs.evolve(found, overtaken=True)


def _beyond(
    ours: Entry | None, begun: Entry | Overlap | None, changes: Chain, number: int, texts: FileMerge
) -> MergedEntry | Overlap:
    """Puts the later changes into a file that has the first ones."""
    found = begun if isinstance(begun, Overlap) else _fold(begun, changes[number:], texts)
    if isinstance(found, Overlap) or begun == ours:
        return found
    return MergedEntry(found.entry, (*changes[:number], *found.by))


def _settled(placed: MergedEntry, changes: Chain, texts: FileMerge) -> MergedEntry:
    """Puts later changes in again, where the index had the lines of an earlier one.

    First changes that were taken for one do not say what they did in between: if lines came and went, and the index has
    them, they are still there. After any row of changes up to the last one, the lines that it is about are the last.
    """
    for at in range(1, len(changes)):
        again = _fold(placed.entry, changes[at:], texts)
        if isinstance(again, MergedEntry):
            placed = MergedEntry(again.entry, tuple(dict.fromkeys((*placed.by, *again.by))))
    return placed


def _with_rest(ours: Entry | None, changes: Chain, later: Entry | None, texts: FileMerge) -> Entry | Overlap | None:
    """Puts in what is left of changes in a later version of the file.

    Where they made the file, its lines have to be there already: nobody could say where to put them.
    """
    before = later
    for change in reversed(changes):
        old = change.old
        if old is None and change.new is not None:
            # its lines go, those that others added stay
            old = texts.empty(change.new)
        left = three_way(change.new, before, old, texts.merge_for_ours)
        before = before if isinstance(left, Overlap) else left
    if changes[0].old is not None or ours is None or later is None:
        return three_way(before, ours, later, texts.merge)
    return ours if texts.has_added(ours, before, later) else Overlap("occupied")


def in_force(changes: Chain, texts: FileMerge) -> Chain | Overlap:
    """Leaves out what operations took back of changes.

    Args:
        changes: with the operations among them, the oldest first.
        texts: as of `place`.

    Returns:
        The rest of the changes; or why what was taken back cannot be told from the rest.
    """
    kept: list[Change] = []
    for change in changes:
        if change.owners:
            kept.append(change)
            continue
        for at in range(len(kept) - 1, -1, -1):
            sides = [_without(side, change, texts) for side in (kept[at].old, kept[at].new)]
            old, new = sides
            if isinstance(old, Overlap) or isinstance(new, Overlap):
                return Overlap("takenBack")
            is_whose = old == kept[at].old
            kept[at] = attrs.evolve(kept[at], old=old, new=new)
            if is_whose:
                # it was not there before this change
                break
    return tuple(change for change in kept if change.old != change.new)


def _without(side: Entry | None, operation: Change, texts: FileMerge) -> Entry | Overlap | None:
    """Does to a file before or after a change what an operation did later; nothing to one that was not there."""
    if side is None and operation.old is not None:
        return None
    return three_way(operation.old, side, operation.new, texts.merge)


def _after(ours: Entry | None, changes: Chain, texts: FileMerge) -> Chain | None:
    """The changes that came after the file was what the index has; None if it never was.

    The index has the file as it was before or after a change, or such a file with more of the changes: what an earlier
    staging left.
    """
    for at in range(len(changes), 0, -1):
        if ours == changes[at - 1].new:
            return changes[at:]
        if ours == changes[at - 1].old:
            return changes[at - 1 :]
    # from a change on before which somebody else changed the file
    starts = [at for at in range(len(changes) - 1, -1, -1) if at == 0 or changes[at].old != changes[at - 1].new]
    for start in starts[:_STARTS]:
        file = changes[start].old
        found: Chain | None = None
        for at in range(start, len(changes)):
            after = three_way(changes[at].old, file, changes[at].new, texts.merge)
            if isinstance(after, Overlap):
                break
            file = after
            if file == ours:
                found = changes[at + 1 :]
        if found is not None:
            return found
    return None


def _fold(ours: Entry | None, changes: Sequence[Change], texts: FileMerge) -> MergedEntry | Overlap:
    """Puts changes in, one after the other."""
    by = []
    for change in changes:
        found = three_way(change.old, ours, change.new, texts.merge)
        if isinstance(found, Overlap):
            return found
        if found != ours:
            by.append(change)
        ours = found
    return MergedEntry(ours, tuple(by))


def _joined(changes: Chain, texts: FileMerge) -> list[Delta]:
    """The first change, the first two as one, and so on, without what others did in between."""
    found: list[Delta] = []
    for change in changes:
        if not found:
            found.append(Delta(change.old, change.new))
            continue
        new = three_way(change.old, found[-1].new, change.new, texts.merge)
        if isinstance(new, Overlap):
            break
        found.append(Delta(found[0].old, new))
    return found

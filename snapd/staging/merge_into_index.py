"""Merges the changes of steps into a file of the index."""

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
"""How many points at which others changed a file are tried."""


@attrs.frozen
class MergedEntry:
    """A file of the index with the changes merged in; `by` are those that the index lacked.

    `overtaken` is True if others changed the same lines since, and the index has that.
    """

    entry: Entry | None
    by: Chain = ()
    overtaken: bool = False


def place(
    ours: Entry | None, changes: Chain, texts: FileMerge, now: Callable[[], Entry | None]
) -> MergedEntry | Overlap:
    """Merges changes, oldest first, into the index's version `ours` of a file, unless it has them already.

    The index may have some of them, committed or staged before and since edited by others. These ways are tried in
    order: if the index has the very file that a change was made to, or what staging made of it, only later changes are
    merged. Otherwise they are merged one by one. Otherwise the first changes are combined, as few as necessary, because
    of two changes of one line the index may have the second. Otherwise only what is left of the first changes in a
    later version is merged: others have changed these lines since, and committed that.

    `now` returns the file in the work tree. The result is an `Overlap` if no way works.
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
    """Yields the results of the ways to merge, the one with the fewest assumptions first."""
    rest = _after(ours, changes, texts)
    if rest is not None:
        yield _fold(ours, rest, texts)
    yield _fold(ours, changes, texts)
    for number, joined in enumerate(_joined(changes, texts), 1):
        result = _beyond(ours, three_way(joined.old, ours, joined.new, texts.merge), changes, number, texts)
        yield result if isinstance(result, Overlap) else _settled(result, changes, texts)
    for number in range(1, len(changes) + 1):
        later = changes[number].old if number < len(changes) else now()
        result = _beyond(ours, _with_rest(ours, changes[:number], later, texts), changes, number, texts)
        yield result if isinstance(result, Overlap) else attrs.evolve(result, overtaken=True)


def _beyond(
    ours: Entry | None, begun: Entry | Overlap | None, changes: Chain, number: int, texts: FileMerge
) -> MergedEntry | Overlap:
    """Merges the remaining changes into `begun`, which has the first `number` of them."""
    merged_entry = begun if isinstance(begun, Overlap) else _fold(begun, changes[number:], texts)
    if isinstance(merged_entry, Overlap) or begun == ours:
        return merged_entry
    return MergedEntry(merged_entry.entry, (*changes[:number], *merged_entry.by))


def _settled(placed: MergedEntry, changes: Chain, texts: FileMerge) -> MergedEntry:
    """Merges later changes again, because the index may have had the lines of an earlier one.

    Combined changes hide what happened in between: lines that were added and removed again may still be in the index.
    The last change of a line must win.
    """
    for at in range(1, len(changes)):
        again = _fold(placed.entry, changes[at:], texts)
        if isinstance(again, MergedEntry):
            placed = MergedEntry(again.entry, tuple(dict.fromkeys((*placed.by, *again.by))))
    return placed


def _with_rest(ours: Entry | None, changes: Chain, later: Entry | None, texts: FileMerge) -> Entry | Overlap | None:
    """Merges what is left of changes in a later version of the file.

    If the changes created the file, it must already have their lines: their place would be unknown.
    """
    before = later
    for change in reversed(changes):
        old = change.old
        if old is None and change.new is not None:
            # removes its lines, keeps those that others added
            old = texts.empty(change.new)
        left = three_way(change.new, before, old, texts.merge_for_ours)
        before = before if isinstance(left, Overlap) else left
    if changes[0].old is not None or ours is None or later is None:
        return three_way(before, ours, later, texts.merge)
    return ours if texts.has_added(ours, before, later) else Overlap("occupied")


def in_force(changes: Chain, texts: FileMerge) -> Chain | Overlap:
    """Removes from changes, oldest first, what operations reverted; returns `Overlap` if it cannot be separated."""
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
                # it was absent before this change
                break
    return tuple(change for change in kept if change.old != change.new)


def _without(side: Entry | None, operation: Change, texts: FileMerge) -> Entry | Overlap | None:
    """Applies an operation to a file before or after an earlier change; ignores a file that did not exist."""
    if side is None and operation.old is not None:
        return None
    return three_way(operation.old, side, operation.new, texts.merge)


def _after(ours: Entry | None, changes: Chain, texts: FileMerge) -> Chain | None:
    """Returns the changes made after the version that the index has; None if it never had one of theirs.

    That is the file before or after a change, or such a file with later changes merged in by an earlier staging.
    """
    for at in range(len(changes), 0, -1):
        if ours == changes[at - 1].new:
            return changes[at:]
        if ours == changes[at - 1].old:
            return changes[at - 1 :]
    # start at a change before which someone else changed the file
    starts = [at for at in range(len(changes) - 1, -1, -1) if at == 0 or changes[at].old != changes[at - 1].new]
    for start in starts[:_STARTS]:
        file = changes[start].old
        chain: Chain | None = None
        for at in range(start, len(changes)):
            after = three_way(changes[at].old, file, changes[at].new, texts.merge)
            if isinstance(after, Overlap):
                break
            file = after
            if file == ours:
                chain = changes[at + 1 :]
        if chain is not None:
            return chain
    return None


def _fold(ours: Entry | None, changes: Sequence[Change], texts: FileMerge) -> MergedEntry | Overlap:
    """Merges changes one after the other."""
    by = []
    for change in changes:
        merged_entry = three_way(change.old, ours, change.new, texts.merge)
        if isinstance(merged_entry, Overlap):
            return merged_entry
        if merged_entry != ours:
            by.append(change)
        ours = merged_entry
    return MergedEntry(ours, tuple(by))


def _joined(changes: Chain, texts: FileMerge) -> list[Delta]:
    """Returns the first change, the first two combined, and so on, without changes by others in between."""
    deltas: list[Delta] = []
    for change in changes:
        if not deltas:
            deltas.append(Delta(change.old, change.new))
            continue
        new = three_way(change.old, deltas[-1].new, change.new, texts.merge)
        if isinstance(new, Overlap):
            break
        deltas.append(Delta(deltas[0].old, new))
    return deltas

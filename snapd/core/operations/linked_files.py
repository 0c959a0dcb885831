"""Files that are changed together or not at all: the two names of one that was moved, also onto another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.compare.threeway import content_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from snapd.core.model import ObjectId, RelPath
    from snapd.core.timeline.model import Effect


class LinkedFiles:
    """Groups of paths, of which each is changed as a whole or left as a whole.

    Args:
        pairs: two paths each that belong together; what belongs to the same path belongs together too.
    """

    def __init__(self, pairs: Iterable[tuple[RelPath, RelPath]] = ()) -> None:
        self._groups: dict[RelPath, set[RelPath]] = {}
        for one, other in pairs:
            group, joined = self._groups.get(one, {one}), self._groups.get(other, {other})
            if group is not joined:
                larger, smaller = (group, joined) if len(group) >= len(joined) else (joined, group)
                larger |= smaller
                self._groups.update(dict.fromkeys(smaller, larger))
                self._groups.update(dict.fromkeys((one, other), larger))

    def others(self, path: RelPath) -> Iterator[RelPath]:
        """What belongs together with a path."""
        return (other for other in self._groups.get(path, ()) if other != path)

    def within(self, paths: Collection[RelPath]) -> tuple[tuple[RelPath, ...], ...]:
        """The groups that have several of some paths, with these alone; in order."""
        groups = {id(group): group for group in self._groups.values()}.values()
        found = (tuple(sorted(path for path in group if path in paths)) for group in groups)
        return tuple(sorted(group for group in found if len(group) > 1))

    @classmethod
    def of(cls, groups: Iterable[tuple[RelPath, ...]]) -> LinkedFiles:
        """From what `within` gave."""
        return cls((group[0], other) for group in groups for other in group[1:])


def moved_contents(effects: Iterable[Effect]) -> Iterator[tuple[RelPath, RelPath]]:
    """Where something goes, and where it comes back: what cannot come to the one is not to go from the other.

    This finds also what no rename tells of, such as a file that moved onto another.

    Args:
        effects: what is to become different.
    """
    coming: dict[ObjectId, list[RelPath]] = {}
    changed = [effect for effect in effects if content_of(effect.old) != content_of(effect.new)]
    moving = {content_of(effect.new) for effect in changed} | {None}
    for effect in changed:
        # of one that had got something new where it stood, a copy may have been made, which is none of its names
        if content_of(effect.old) in moving and (oid := content_of(effect.new)) is not None:
            coming.setdefault(oid, []).append(effect.path)
    for effect in changed:
        oid = content_of(effect.old)
        if oid is not None and coming.get(oid):
            yield effect.path, coming[oid].pop()

"""Files that change together or not at all: the two names of a moved file, even if it replaced another file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.compare.threeway import content_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from snapd.core.model import ObjectId, RelPath
    from snapd.core.timeline.model import Effect


class LinkedFiles:
    """Groups of paths; each group is changed as a whole or not at all.

    Args:
        pairs: two paths each that belong together; pairs that share a path belong to one group.
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
        """The other paths in the group of a path."""
        return (other for other in self._groups.get(path, ()) if other != path)

    def within(self, paths: Collection[RelPath]) -> tuple[tuple[RelPath, ...], ...]:
        """Narrows the groups to some paths, and gives those with more than one path left; ordered."""
        groups = {id(group): group for group in self._groups.values()}.values()
        found = (tuple(sorted(path for path in group if path in paths)) for group in groups)
        return tuple(sorted(group for group in found if len(group) > 1))

    @classmethod
    def of(cls, groups: Iterable[tuple[RelPath, ...]]) -> LinkedFiles:
        """Makes it from the groups of `within`."""
        return cls((group[0], other) for group in groups for other in group[1:])


def moved_contents(effects: Iterable[Effect]) -> Iterator[tuple[RelPath, RelPath]]:
    """Pairs the path that loses some contents with the path that gets them: neither changes without the other.

    This also finds moves that are no renames, such as a file that replaced another.

    Args:
        effects: what is going to change.
    """
    coming: dict[ObjectId, list[RelPath]] = {}
    changed = [effect for effect in effects if content_of(effect.old) != content_of(effect.new)]
    moving = {content_of(effect.new) for effect in changed} | {None}
    for effect in changed:
        # a file that got new contents in place may have been copied before; the copy is not another name of it
        if content_of(effect.old) in moving and (oid := content_of(effect.new)) is not None:
            coming.setdefault(oid, []).append(effect.path)
    for effect in changed:
        oid = content_of(effect.old)
        if oid is not None and coming.get(oid):
            yield effect.path, coming[oid].pop()

"""What a client wants to stay on this machine, and the contents that this means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import FileNotInSnapshot
from snapd.core.model import EMPTY_BLOB, TREE
from snapd.core.paths import shown
from snapd.core.timeline.model import Operated
from snapd.core.trees import files, lookup

from .leaving_out import LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.ports.objects import Objects
    from snapd.core.timeline.model import Event


@attrs.frozen
class Staying:
    """What a client wants to stay on this machine.

    Attributes:
        exclude: files, in `.gitignore` syntax.
        redact: files of which no contents that they ever had leave the machine, wherever else these are.
        without_prompts: whether prompts, the titles of sessions and the descriptions of steps stay here.
    """

    exclude: Sequence[str] = ()
    redact: Sequence[RelPath] = ()
    without_prompts: bool = False

    def found(self, events: Iterable[Event], also: Iterable[ObjectId], objects: Objects, call: Call) -> LeftOut:
        """Finds what that means.

        Args:
            events: those that leave the machine.
            also: trees that leave it, too.
            objects: hold the snapshots.
            call: the request.

        Raises:
            FileNotInSnapshot: a file to redact is in no snapshot that would leave.
            StoreCorrupt, Cancelled: it cannot be told.
        """
        contents = _contents(self.redact, events, also, objects, call) if self.redact else frozenset()
        return LeftOut(self.exclude, contents, self.without_prompts)


def _contents(
    paths: Sequence[RelPath], events: Iterable[Event], also: Iterable[ObjectId], objects: Objects, call: Call
) -> frozenset[ObjectId]:
    trees = {*also, *(tree for event in events for tree in _trees(event))}
    found: set[ObjectId] = set()
    for path in paths:
        had = {oid for tree in trees for oid in _at(path, tree, objects, call)}
        if not had:
            raise FileNotInSnapshot(
                f"{shown(path)} is in no snapshot that would leave this machine", file=shown(path), skipped=False
            )
        found |= had
    # what is empty says nothing, and many files are
    return frozenset(found - {EMPTY_BLOB})


def _at(path: RelPath, tree: ObjectId, objects: Objects, call: Call) -> Iterator[ObjectId]:
    call.check()
    entry = lookup(objects.entry_in, tree, path)
    if entry is not None and entry.mode == TREE:
        yield from (file.oid for _, file in files(objects.read_tree, entry.oid))
    elif entry is not None:
        yield entry.oid


def _trees(event: Event) -> Iterator[ObjectId]:
    if event.head is not None:
        yield event.head.tree
    if event.seen is not None:
        yield from (event.seen.before.tree, event.seen.after.tree)
    if isinstance(event.what, Operated):
        yield event.what.before.tree

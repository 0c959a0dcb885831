"""The targets of references after a journal is replayed: a damaged journal sets none of them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from snapd.core.model import ObjectId

    Before = Callable[[ObjectId], ObjectId | None]
    """Returns the parent of a commit; None if there is none, or it cannot be read."""


def replayed(present: Mapping[str, ObjectId], moving: Mapping[str, ObjectId], before: Before) -> dict[str, ObjectId]:
    """The targets of the references that a journal moves.

    A reference moves after its frame is on the disk. So if one is newer than the journal, a damaged frame has moved it,
    and its target was acknowledged.

    Args:
        present: the targets in the repository.
        moving: the targets in the journal.
        before: returns the parent of a commit.
    """
    return {
        name: present[name] if name in present and _leads(present[name], target, before) else target
        for name, target in moving.items()
    }


def _leads(newer: ObjectId, older: ObjectId, before: Before) -> bool:
    """Whether a chain leads from one commit to another."""
    down: ObjectId | None = newer
    # walked from both ends, so that the cost is the distance between them, whichever is newer
    other: ObjectId | None = older
    while down is not None or other is not None:
        if down == older:
            return True
        if other == newer:
            return False
        down = before(down) if down is not None else None
        other = before(other) if other is not None else None
    return False

"""What references point to once a journal is replayed: a journal of which a part is damaged sets none of them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from snapd.core.model import ObjectId

    Before = Callable[[ObjectId], ObjectId | None]
    """Gives the commit before a commit in its chain; None where there is none, or it cannot be read."""


def replayed(present: Mapping[str, ObjectId], moving: Mapping[str, ObjectId], before: Before) -> dict[str, ObjectId]:
    """What the references that a journal moves are to point to.

    A reference moves after its frame is on the disk, so one that is further on than the journal says was moved by a
    frame that is damaged: what it leads to was acknowledged.

    Args:
        present: what references point to.
        moving: what the journal says.
        before: reads the chains.
    """
    return {
        name: present[name] if name in present and _leads(present[name], target, before) else target
        for name, target in moving.items()
    }


def _leads(newer: ObjectId, older: ObjectId, before: Before) -> bool:
    """Whether a chain leads from one commit to another."""
    down: ObjectId | None = newer
    # walked from both, so that it costs what lies between them, whichever is the newer
    other: ObjectId | None = older
    while down is not None or other is not None:
        if down == older:
            return True
        if other == newer:
            return False
        down = before(down) if down is not None else None
        other = before(other) if other is not None else None
    return False

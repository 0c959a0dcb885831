"""How a client wants an operation done, and what an operation starts from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import attrs

from snapd.core.timeline.model import Event, SnapshotId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.model import OnConflict, RelPath, Snapshot

    from .planner import Planner


@attrs.frozen
class OperationOptions:
    """How a client wants an operation done, whatever the operation is.

    Attributes:
        on_conflict: what to do with files that are not what the agent left.
        by_name: whether the client chose `on_conflict` itself.
        dry_run: only say what would be done.
        details: what to say besides: how many lines change, and who changed the files in conflict; or the diff, too.
        expect: the plan that the client confirmed. If another one would be carried out, nothing is done or recorded,
            and the outcome is that of a dry run. None for any plan; no plan is called "".
    """

    on_conflict: OnConflict
    by_name: bool
    dry_run: bool
    details: Literal["counts", "diff"] | None = None
    expect: str | None = None

    @property
    def respects_editors(self) -> bool:
        """Whether to leave files alone that have unsaved text in an editor."""
        return not (self.on_conflict == "overwrite" and self.by_name)


Arriving = Callable[[Event, SnapshotId], "Sequence[Event]"]
"""Gives the events that came from another machine, numbered, between two of this one: the first is given, with what
changed here before; the last has the given snapshot as its head."""


@attrs.frozen
class Prepared:
    """What an operation starts from.

    Attributes:
        seen: the work tree, without the ignored files in `forced`: they are nobody's change.
        before: the work tree with them.
        forced: ignored files and directories that the operation looks at all the same.
        options: how the client wants it done.
        planner: makes the plan.
    """

    seen: Snapshot
    before: Snapshot
    forced: tuple[RelPath, ...]
    options: OperationOptions
    planner: Planner

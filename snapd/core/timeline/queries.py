"""What is asked of the timeline, and what it answers with besides what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from snapd.core.model import Entry, RelPath

    from .model import SessionId, Step, StepId


@attrs.frozen
class StepQuery:
    """Which steps are asked for.

    Attributes:
        prefix: the beginning of their names; empty for all steps.
        session_id: only steps of this session; None for all.
        parent: only parts of this step; None for all.
        message_id: only steps of this message; None for all.
        is_open: only open steps.
        hash: only steps that began or ended on a snapshot whose hash begins with it; empty for all. The timeline of
            the folder does not look at it.
    """

    prefix: str
    session_id: SessionId | None = None
    parent: StepId | None = None
    message_id: str | None = None
    is_open: bool = False
    hash: str = ""


@attrs.frozen
class Tally:
    """How many steps of a session can be undone and redone, as far as the kept summaries show.

    Attributes:
        undoable: steps that changed something and were not taken back as a whole.
        redoable: steps of which something was taken back that can be done again.
        unknown: steps that were not taken back as a whole and have no kept summary.
    """

    undoable: int
    redoable: int
    unknown: tuple[Step, ...]


Part = Literal["seen", "done"]
"""A part of an event: what changed before it (`Event.seen`), or what it did itself."""


@attrs.frozen
class Touched:
    """A file that an event changed.

    Attributes:
        path: the file.
        seq: the number of the event.
        part: which part of it.
        old: the file before; None for no file.
        new: the file afterwards, or what was kept of it; None for no file.
        other: of a file that was moved, its other name: where it came from, or where it went.
    """

    path: RelPath
    seq: int
    part: Part
    old: Entry | None
    new: Entry | None
    other: RelPath | None = None

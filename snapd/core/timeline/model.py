"""The plain data of the timeline: sessions, their steps, what changed when, and the operations that changed it back.

The history is a sequence of events. Each tells how the work tree was found (`Event.head`) and, where it had moved since
the event before, which steps were open meanwhile (`Event.seen`). What a step changed follows from these spans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from snapd.core.model import Entry, ObjectId, RelPath

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

SessionId = str
StepId = str
OperationId = str

StepState = Literal["open", "applied", "partly", "undone"]
OperationKind = Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"]


@attrs.frozen
class SnapshotId:
    """Which snapshot: one tree can be recorded with several coverages, which differ in empty directories, say.

    Attributes:
        tree: its tree.
        coverage: the blob of its coverage, as `Store.identify` gives it.
    """

    tree: ObjectId
    coverage: ObjectId


@attrs.frozen
class Span:
    """What changed between two looks at the work tree, other than by an operation.

    Attributes:
        before: as it was found the time before.
        after: as it was found then.
        steps: those that were at work meanwhile, but for one in which another of them is open, in the order in which
            they were begun; empty: it was the user.
        left: those that were open besides, and whose client was gone, but for one in which a step of `steps` is open.
            What changed counts as theirs as well once somebody ends them who speaks for them. Then they are among
            `steps` too, but for one in which another such step is.
    """

    before: SnapshotId
    after: SnapshotId
    steps: tuple[StepId, ...]
    left: tuple[StepId, ...] = ()


@attrs.frozen
class SessionStarted:
    """A session was begun, or taken up again; what is None says nothing new of one taken up."""

    session_id: SessionId
    agent: str | None
    title: str | None


@attrs.frozen
class SessionEnded:
    """A session ended; its steps had ended before."""

    session_id: SessionId


@attrs.frozen
class StepBegun:
    """A step was begun, on what `Event.head` says.

    Attributes:
        step_id: new.
        session_id: its session.
        index: its place among the steps of the session, from 0.
        parent: the step that it is a part of.
        message_id: the message that it belongs to.
        part_id: the part of it.
        tool: what is used in it.
        description: for people.
        detached: whether it goes on without the client that began it.
    """

    step_id: StepId
    session_id: SessionId
    index: int
    parent: StepId | None
    message_id: str | None
    part_id: str | None
    tool: str | None
    description: str | None
    detached: bool = False


@attrs.frozen
class StepsLeft:
    """The client that was at work in some steps is gone; they stay open.

    Attributes:
        steps: those, in the order in which they were begun.
    """

    steps: tuple[StepId, ...]


@attrs.frozen
class StepEnded:
    """A step ended, with what `Event.head` says.

    Attributes:
        step_id: the step.
        claims: the files that its agent knows that it wrote, None where it said nothing of that. A directory stands
            for all in it.
        changed: whether it changed anything: then what its session took back before cannot be done again.
        spoken_for: whether somebody ended it by name, who says by that what changed since its client left is its doing
            too; else it ended with its session, or with what was done to it.
    """

    step_id: StepId
    claims: tuple[RelPath, ...] | None
    changed: bool
    spoken_for: bool


@attrs.frozen
class Effect:
    """What an operation did to a path; `old` or `new` is None where it was not there."""

    path: RelPath
    old: Entry | None
    new: Entry | None


@attrs.frozen
class StepTurned:
    """A step that an operation took back, or did again, as a whole or as far as that went.

    Attributes:
        step_id: the step.
        state: what it is since.
        effects: what that alone did, in a series of such: between the one before it and the one after it.
        made_directories: empty directories that it made.
        removed_directories: empty directories that it removed.
        left: where it was taken back, the files and empty directories of the step that are in force still, by the names
            that the step left them under. None where an older snapd wrote it, which did not tell; where the step was
            done again, None as well.
        again: the operation whose taking back was done again; None where the step was taken back, or where an older
            snapd did it again, as a whole.
        rest: where it was done again, the paths of that operation's effects for which that could not be.
        moved: where a file was found that others had moved, and the name under which it stands in `left` or `rest`.
    """

    step_id: StepId
    state: Literal["applied", "partly", "undone"]
    effects: tuple[Effect, ...]
    made_directories: tuple[RelPath, ...] = ()
    removed_directories: tuple[RelPath, ...] = ()
    left: tuple[RelPath, ...] | None = None
    again: OperationId | None = None
    rest: tuple[RelPath, ...] = ()
    moved: tuple[tuple[RelPath, RelPath], ...] = ()


@attrs.frozen
class Undone:
    """What an operation took back of a step and nobody did again since.

    Attributes:
        step_id: the step.
        operation_id: the operation.
        rest: only these paths of its effects, since the others were done again; None for all.
    """

    step_id: StepId
    operation_id: OperationId
    rest: tuple[RelPath, ...] | None = None


@attrs.frozen
class Operated:
    """An operation changed the work tree; `Event.head` is what it left.

    Attributes:
        operation_id: new.
        kind: what it was.
        session_id: the session that it was about; None where it was about none.
        before: the snapshot taken first.
        turned: the steps that it turned, in the order in which it did.
        undoes: the operation that it took back, where it was one alone.
        root: the step that was named, to be taken back with its parts; they are done again together.
        message_id: of `session/revert`: the message.
        part_id: likewise: the part.
    """

    operation_id: OperationId
    kind: OperationKind
    session_id: SessionId | None
    before: SnapshotId
    turned: tuple[StepTurned, ...] = ()
    undoes: OperationId | None = None
    message_id: str | None = None
    part_id: str | None = None
    root: StepId | None = None


@attrs.frozen
class Intent:
    """What an operation is about to do to the work tree: kept until its event is in the timeline.

    Attributes:
        operation: as it will be told, if all goes as planned.
        files: what is to become of each file.
        made_directories: empty directories to make, parents first.
        removed_directories: directories to remove if nothing is in them, the deepest first.
        forced: ignored paths that it looks at all the same.
        linked: groups of files, of which each is done as a whole or not at all.
    """

    operation: Operated
    files: tuple[Effect, ...]
    made_directories: tuple[RelPath, ...]
    removed_directories: tuple[RelPath, ...]
    forced: tuple[RelPath, ...]
    linked: tuple[tuple[RelPath, ...], ...] = ()


EventPayload = SessionStarted | SessionEnded | StepBegun | StepsLeft | StepEnded | Operated


@attrs.frozen
class Event:
    """One entry of the timeline.

    Attributes:
        seq: grows by one with each event of a workspace; the first is 1.
        milliseconds: when, since 1970. Order is by `seq`: clocks jump.
        head: the work tree, by this event; None where nobody looked and nobody had before.
        seen: what changed since the event before, where something did.
        what: what happened.
    """

    seq: int
    milliseconds: int
    head: SnapshotId | None
    seen: Span | None
    what: EventPayload


@attrs.frozen
class StepQuery:
    """Which steps are asked for.

    Attributes:
        prefix: the beginning of their names; empty for any.
        session_id: those of this session alone; None for all.
        parent: those that are parts of this step alone; None for all.
    """

    prefix: str
    session_id: SessionId | None = None
    parent: StepId | None = None


@attrs.frozen
class Session:
    """A session as the events leave it.

    Attributes:
        session_id: its name.
        agent: who works in it.
        title: for people.
        started: milliseconds since 1970.
        ended: likewise; None while it goes on.
        step_count: how many steps were begun in it.
    """

    session_id: SessionId
    agent: str | None
    title: str | None
    started: int
    ended: int | None
    step_count: int


@attrs.frozen
class FileSummary:
    """A file that a step changed; `shared`: another session's step may have changed it as well."""

    path: RelPath
    status: Literal["added", "deleted", "modified"]
    additions: int
    deletions: int
    binary: bool
    shared: bool


@attrs.frozen
class Summary:
    """What a step itself changed, its sub-steps left out.

    Attributes:
        files: ordered by path.
        directories: how many empty directories came or went.
    """

    files: tuple[FileSummary, ...]
    directories: int

    @property
    def is_empty(self) -> bool:
        """Whether it changed nothing."""
        return not self.files and not self.directories


@attrs.frozen
class Step:
    """A step as the events leave it.

    Attributes:
        begun: how it was begun.
        started: milliseconds since 1970.
        ended: likewise; None while it is open.
        from_: what it was begun on.
        to: what it was ended with; where its client had left and nobody spoke for it, what that left.
        state: "undone" where all of it was taken back, "partly" where some of it was.
        claims: see `StepEnded`.
        summary: what it changed, where that was kept; see `Timeline.keep_summary`.
    """

    begun: StepBegun
    started: int
    ended: int | None
    from_: SnapshotId
    to: SnapshotId | None
    state: StepState
    claims: tuple[RelPath, ...] | None
    summary: Summary | None

    @property
    def step_id(self) -> StepId:
        """Its name."""
        return self.begun.step_id


@attrs.frozen
class Tally:
    """What can be done in a session, as far as the summaries tell that are kept.

    Attributes:
        undoable: steps that changed something and were not taken back as a whole.
        redoable: steps of which something that was taken back can be done again.
        unknown: steps that were not taken back as a whole, and of which no summary is kept.
    """

    undoable: int
    redoable: int
    unknown: tuple[Step, ...]


def around(steps: Iterable[StepId], parents: Mapping[StepId, StepId | None]) -> set[StepId]:
    """The steps that some steps are parts of: the step above each, the one above that, and so on.

    Args:
        steps: the parts.
        parents: the step above each of the steps that count; the way up ends at a step that is not among them.
    """
    found: set[StepId] = set()
    for step in steps:
        above = parents.get(step)
        while above is not None and above not in found:
            found.add(above)
            above = parents.get(above)
    return found


def working(open_steps: Iterable[Step], among: Collection[StepId] | None = None) -> tuple[StepId, ...]:
    """Those of some open steps in which no other of them is at work: what changes now is theirs.

    Args:
        open_steps: all that are open.
        among: the steps that count, None for all that are open.
    """
    parents = {step.step_id: step.begun.parent for step in open_steps}
    counting = [step for step in parents if among is None or step in among]
    outer = around(counting, parents)
    return tuple(step for step in counting if step not in outer)

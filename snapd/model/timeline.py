"""The plain data of the timeline: sessions, their steps, what changed when, and the operations that changed it back.

The history is a sequence of events. Each records the work tree as it was found (`Event.head`) and, if that had changed
since the event before, which steps were open in between (`Event.seen`). What a step changed follows from these spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import attrs

from snapd.model.snapshot import Entry, ObjectId, RelPath, Snapshot, UncapturedChange
from snapd.wire.words import agent_title

SessionId = str
StepId = str
OperationId = str

StepState = Literal["open", "applied", "partly", "undone"]
OperationKind = Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"]
OWN_KINDS = ("restore", "revert", "hunks")
"""The kinds of operations that can be taken back as a step can, unless they took steps back themselves."""


@attrs.frozen
class SnapshotId:
    """Identifies a snapshot: one tree can be recorded with several coverages, such as with other empty directories.

    `coverage` is the blob of its coverage, as `Store.identify` gives it.
    """

    tree: ObjectId
    coverage: ObjectId


State = ObjectId | SnapshotId | Snapshot
"""What stands for a snapshot; a tree alone, for the latest one that has it."""


@attrs.frozen
class Span:
    """What changed between two captures of the work tree, other than by an operation.

    Attributes:
        steps: the steps that were at work in between, innermost ones and those that these are parts of, in the order in
            which they were begun, and those that had just ended, if something was done to the files that they claim. If
            there is none, it was the user, who may have saved a file in an editor while steps were open.
        left: the other open steps, whose client was gone, except those around one of `steps`. Once somebody ends such a
            step by name, the changes are its own as well; then it is among `steps` too, if it is an innermost one.
    """

    before: SnapshotId
    after: SnapshotId
    steps: tuple[StepId, ...]
    left: tuple[StepId, ...] = ()


RecordKind = Literal["track", "look", "before", "after"]


@attrs.frozen
class Recorded:
    """The work tree was recorded as it was, and nothing else is said of it: it does not say who changed what.

    Where no event has a head yet, one that was asked for is the head: what changes afterwards has an author.

    Attributes:
        kind: why: a client asked for it, the folder was compared with something, or an operation was about to change it
            or has changed it.
        is_base: whether what changes from now on is compared with it: it was asked for, or an operation left all of it.
    """

    kind: RecordKind
    snapshot: SnapshotId
    is_base: bool = False
    operation_id: OperationId | None = None


@attrs.frozen
class SessionStarted:
    """A session was started or resumed; for a resumed session, None keeps what was known."""

    session_id: SessionId
    agent: str | None
    title: str | None


@attrs.frozen
class SessionEnded:
    """A session ended; its steps had ended before."""

    session_id: SessionId


@attrs.frozen
class MessageSent:
    """Somebody sent a message to the agent of a session, and so began a turn.

    Attributes:
        message_id: the message, by the agent's own id.
        text: the prompt; None if it is not kept. An older text of the same message stays then.
    """

    session_id: SessionId
    message_id: str
    text: str | None


@attrs.frozen
class StepBegun:
    """A step was begun on the snapshot in `Event.head`.

    Attributes:
        index: its place among the steps of the session, from 0.
        parent: the step that it is a part of.
        tool: the tool that the agent uses in it.
        description: for people.
        detached: whether it goes on without the client that began it.
        began: if that was reported late, when it really began, in milliseconds since 1970; `Event.head` is older then.
        command: what it runs, such as a shell command; None if it runs nothing, or if it is not kept.
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
    began: int | None = None
    command: str | None = None


@attrs.frozen
class StepsLeft:
    """The client that worked in some steps is gone; they stay open. They are in the order in which they were begun."""

    steps: tuple[StepId, ...]


@attrs.frozen
class Edited:
    """Somebody began to type into files, or saved them, in an editor, while steps were open.

    Or the files changed in the moment after steps ended that claim them, as by a formatter: `Event.seen` names these.

    Attributes:
        paths: the files, ordered.
        steps: the open steps, in the order in which they were begun; none for what followed steps that have ended.
        saved: whether the files were saved: then `Event.seen` has what was typed, and no step owns it.
    """

    paths: tuple[RelPath, ...]
    steps: tuple[StepId, ...]
    saved: bool


@attrs.frozen
class StepEnded:
    """A step ended with the snapshot in `Event.head`.

    Attributes:
        claims: the files that its agent says that it wrote, None if the agent did not say. A directory stands for all
            files in it.
        changed: whether it changed anything: then what its session took back before cannot be done again.
        spoken_for: whether a client ended it by name, and so claims for it what changed since its own client left; if
            not, it ended with its session or because it was taken back.
        uncaptured: what happened meanwhile to files that no snapshot has.
        description: for people, in place of that of `StepBegun`; None keeps that.
    """

    step_id: StepId
    claims: tuple[RelPath, ...] | None
    changed: bool
    spoken_for: bool = True
    uncaptured: tuple[UncapturedChange, ...] = ()
    description: str | None = None


@attrs.frozen
class Effect:
    """What an operation did to a path; `old` or `new` is None for no file."""

    path: RelPath
    old: Entry | None
    new: Entry | None


@attrs.frozen
class Reversal:
    """A step, or another operation, that an operation took back or did again, as a whole or as far as possible.

    Attributes:
        step_id: the step; None for an operation.
        effects: what was done to files for that.
        left: for an undo, the files and empty directories of the step that are still in force, by the names that the
            step left them under. None for a redo, or if an older snapd wrote the event.
        again: for a redo, the operation whose undo was reversed; None for an undo, or for an older snapd's redo of the
            whole step.
        rest: for a redo, the paths of that operation's effects that could not be reversed.
        moved: where a file was that others had moved, and its name in `left` or `rest`.
        operation_id: the operation; None for a step.
    """

    step_id: StepId | None
    state: Literal["applied", "partly", "undone"]
    effects: tuple[Effect, ...]
    made_directories: tuple[RelPath, ...] = ()
    removed_directories: tuple[RelPath, ...] = ()
    left: tuple[RelPath, ...] | None = None
    again: OperationId | None = None
    rest: tuple[RelPath, ...] = ()
    moved: tuple[tuple[RelPath, RelPath], ...] = ()
    operation_id: OperationId | None = None

    @property
    def name(self) -> StepId | OperationId:
        """The name of the step, or of the operation."""
        name = self.step_id or self.operation_id
        assert name is not None
        return name


@attrs.frozen
class UndoneShare:
    """What an operation took back of a step, or of another operation, and was not done again since.

    Attributes:
        rest: only these paths of its effects, because the others were done again; None for all.
    """

    name: StepId | OperationId
    operation_id: OperationId
    rest: tuple[RelPath, ...] | None = None


@attrs.frozen
class Operated:
    """An operation changed the work tree; `Event.head` is the snapshot that it left.

    Attributes:
        session_id: the session that it was about; None if it was about no session.
        before: the snapshot taken first.
        turned: the steps and operations that it took back or did again, in that order.
        undoes: the operation that it reversed, if it reversed exactly one.
        root: the step that the client named, which was taken back with its parts; they are done again together.
        effects: what it did to files, if it changed something by itself. None if it took steps or operations back, or
            did them again, and if an older snapd wrote the event.
        message_id: the message that `session/revert` named.
        part_id: the part of that message.
        after: the work tree that it left, where others had changed files that are in `Event.head` without that; None
            for that head.
        is_base: whether what changes from now on is compared with what it left. It is not where somebody's change of a
            file stayed, which must not pass for the operation's.
    """

    operation_id: OperationId
    kind: OperationKind
    session_id: SessionId | None
    before: SnapshotId
    turned: tuple[Reversal, ...] = ()
    undoes: OperationId | None = None
    message_id: str | None = None
    part_id: str | None = None
    root: StepId | None = None
    effects: tuple[Effect, ...] | None = None
    after: SnapshotId | None = None
    is_base: bool = True

    @property
    def is_own(self) -> bool:
        """Whether it changed something by itself, so that it can be taken back, as a step can."""
        return self.kind in OWN_KINDS and not self.turned


@attrs.frozen
class Intent:
    """What an operation is about to do to the work tree: kept durably until its event is in the timeline.

    Attributes:
        operation: the record of the timeline, if all goes as planned.
        made_directories: empty directories to make, parents first.
        removed_directories: directories to remove if they are empty, the deepest first.
        forced: ignored paths that it looks at all the same.
        linked: groups of files; each group is done as a whole or not at all.
        step_id: the open step whose work it is: it ends with the operation, which leaves no event of its own.
        moves: what moves as a whole: its old name, its new one, and whether no snapshot has all of it.
        permissions: see `Plan`.
    """

    operation: Operated
    files: tuple[Effect, ...]
    made_directories: tuple[RelPath, ...]
    removed_directories: tuple[RelPath, ...]
    forced: tuple[RelPath, ...]
    linked: tuple[tuple[RelPath, ...], ...] = ()
    step_id: StepId | None = None
    moves: tuple[tuple[RelPath, RelPath, bool], ...] = ()
    permissions: tuple[tuple[RelPath, int], ...] = ()


@attrs.frozen
class Kept:
    """Somebody accepted changes of agents; `Event.head` is the work tree that they were looking at.

    Attributes:
        files: the baseline of each file from now on, under its name in the work tree, ordered; None for no file.
        steps: the steps of the changes that were accepted, ordered.
    """

    files: tuple[tuple[RelPath, Entry | None], ...]
    steps: tuple[StepId, ...]


EventPayload = (
    Recorded
    | SessionStarted
    | SessionEnded
    | MessageSent
    | StepBegun
    | StepsLeft
    | Edited
    | StepEnded
    | Operated
    | Kept
)


@attrs.frozen
class Event:
    """One entry of the timeline.

    Attributes:
        seq: grows by one with each event of a workspace; the first is 1.
        milliseconds: when it happened, since 1970. Order is by `seq`, because clocks jump.
        head: the work tree at this event; None before the first capture.
        seen: what changed since the event before; None if nothing did.
    """

    seq: int
    milliseconds: int
    head: SnapshotId | None
    seen: Span | None
    what: EventPayload


@attrs.frozen
class Session:
    """A session as the events leave it.

    Attributes:
        started: milliseconds since 1970.
        ended: milliseconds since 1970; None while it goes on.
        prompt: the beginning of its first prompt; None if no prompt is kept.
    """

    session_id: SessionId
    agent: str | None
    title: str | None
    started: int
    ended: int | None
    step_count: int
    prompt: str | None = None

    @property
    def name(self) -> str:
        """What people call it, on one line: its title, else its first prompt cut short, else its agent or its id."""
        return (
            prompt_name(self.title or "", None)
            or prompt_name(self.prompt or "")
            or prompt_name(agent_title(self.agent or ""), None)
            or prompt_name(f"session {self.session_id[:8]}")
            or "session"
        )


_NAME_LENGTH = 60
_CONTEXT = re.compile(r"(?:\s*<([\w-]+)[^<>]*>.*?</\1>)+", re.DOTALL)
"""What agents put before the prompt, such as the file that is open in the editor."""
_TAG = re.compile(r"</?[\w-]+[^<>]*>")
_OPENING_MARKS = re.compile(r"(?:[#>*-]+ +)+")
_WORD = re.compile(r"\w")


def prompt_name(prompt: str, most: int | None = _NAME_LENGTH) -> str | None:
    """The first line of a prompt that says something, cut at the end of a word; None if there is none.

    Args:
        prompt: the text. What an agent put before it in tags is left out, and a mark of a heading, quote or list.
        most: characters, at most; None for all of the line.
    """
    own = _CONTEXT.sub("", prompt, count=1) if prompt.lstrip().startswith("<") else prompt
    lines = own if own.strip() else _TAG.sub("", prompt)
    line = next((line.strip() for line in lines.splitlines() if _WORD.search(line)), "")
    marks = _OPENING_MARKS.match(line)
    visible = "".join(each if each.isprintable() else " " for each in line[marks.end() if marks else 0 :])
    name = " ".join(visible.split())
    if most is not None and len(name) > most:
        cut = name[: most - 1]
        at_word = cut if name[most - 1] == " " else cut.rpartition(" ")[0]
        # a language without spaces, or a long address
        name = (at_word if len(at_word) > most // 2 else cut).rstrip(" ,;:.") + "…"
    return name or None


@attrs.frozen
class Message:
    """A message of a session as the events leave it: the beginning of a turn.

    Attributes:
        text: the prompt; None if it is not known.
        started: when it was sent, or its first step was begun: milliseconds since 1970.
    """

    session_id: SessionId
    message_id: str
    text: str | None
    started: int


@attrs.frozen
class FileSummary:
    """A file that changed.

    Attributes:
        path: where it is, or was.
        status: what happened to it; "modified" for one that was moved.
        binary: whether git takes either side for binary.
        shared_with: the steps of other sessions that may have changed it as well.
        renamed_from: where it was before it was moved. In a summary that is kept, a move is two files.
    """

    path: RelPath
    status: Literal["added", "deleted", "modified"]
    additions: int
    deletions: int
    binary: bool
    shared_with: tuple[StepId, ...] = ()
    renamed_from: RelPath | None = None

    @property
    def shared(self) -> bool:
        """Whether a step of another session may have changed it as well."""
        return bool(self.shared_with)


@attrs.frozen
class Summary:
    """What a step itself changed, without its parts: files by path, and how many empty directories came or went."""

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
        started: milliseconds since 1970.
        ended: milliseconds since 1970; None while it is open.
        to: the snapshot that it ended with; if nobody spoke for it after its client was gone, the one when that left.
        state: "undone" if all of it was taken back, "partly" if some of it was.
        claims: see `StepEnded`.
        summary: what it changed, if that was kept; see `Timeline.keep_summary`.
        uncaptured: see `StepEnded`.
    """

    begun: StepBegun
    started: int
    ended: int | None
    from_: SnapshotId
    to: SnapshotId | None
    state: StepState
    claims: tuple[RelPath, ...] | None
    summary: Summary | None
    uncaptured: tuple[UncapturedChange, ...] = ()

    @property
    def step_id(self) -> StepId:
        """Its name."""
        return self.begun.step_id

    @property
    def name(self) -> StepId:
        """Its name, as that of an `Operation`."""
        return self.begun.step_id

    @property
    def session_id(self) -> SessionId:
        """Its session."""
        return self.begun.session_id


@attrs.frozen
class Operation:
    """An operation that can be taken back, as the events leave it.

    Attributes:
        milliseconds: when it was done, since 1970.
        state: "undone" if all of it was taken back, "partly" if some of it was.
    """

    operated: Operated
    milliseconds: int
    after: SnapshotId
    state: Literal["applied", "partly", "undone"]

    @property
    def name(self) -> OperationId:
        """Its name."""
        return self.operated.operation_id

    @property
    def session_id(self) -> SessionId | None:
        """The session that it was about."""
        return self.operated.session_id

    @property
    def from_(self) -> SnapshotId:
        """The snapshot taken before it."""
        return self.operated.before

    @property
    def to(self) -> SnapshotId:
        """The snapshot that it left."""
        return self.after


UndoUnit = Step | Operation
"""What can be taken back and done again: a step, or an operation that changed something by itself."""


@attrs.frozen
class StepQuery:
    """Which steps are asked for.

    Attributes:
        prefix: the beginning of their names; empty for all steps.
        session_id: only steps of this session; None for all.
        parent: only parts of this step; None for all.
        message_id: only steps of this message; None for all.
        is_open: only open steps.
        hash: only steps that began or ended on a snapshot whose hash begins with it; empty for all. The timeline of the
            folder does not look at it.
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
class FileChangeRow:
    """A file that an event changed.

    Attributes:
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


def around(steps: Iterable[StepId], parents: Mapping[StepId, StepId | None]) -> set[StepId]:
    """Finds the steps that some steps are parts of: the step above each, the one above that, and so on.

    The search ends at a step that is not a key of `parents`.
    """
    found: set[StepId] = set()
    for step in steps:
        above = parents.get(step)
        while above is not None and above not in found:
            found.add(above)
            above = parents.get(above)
    return found

"""The plain data of the timeline: sessions, their steps, what changed when, and operations.

The history is a sequence of events. Each records the work tree (`Event.head`) and, if that changed since the event
before, which steps were open meanwhile (`Event.seen`). What a step changed follows from these spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import attrs

from snapd.model.git import GitMove, GitStateId
from snapd.model.snapshot import Entry, ObjectId, RelPath, Snapshot, UncapturedChange
from snapd.wire.words import agent_title

SessionId = str
StepId = str
OperationId = str
CommentId = str

StepState = Literal["open", "applied", "partly", "undone"]
OperationKind = Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"]
OWN_KINDS = ("restore", "revert", "hunks")
"""Kinds of operations that can be undone as steps can, unless they undid steps themselves."""


@attrs.frozen
class SnapshotId:
    """Identifies a snapshot: one tree can have several coverages, such as with other empty directories."""

    tree: ObjectId
    coverage: ObjectId  # the blob of the coverage, see `Store.identify`


State = ObjectId | SnapshotId | Snapshot  # a tree alone stands for the latest snapshot that has it


@attrs.frozen
class Span:
    """What changed between two captures of the work tree, or of the git state, other than by an operation.

    `steps` are those at work meanwhile and those around them, in the order in which they began, and those that had just
    ended, if files that they claim changed. If there are none, it was the user, who may have saved a file while steps
    were open. `left` are the other open steps, whose client was gone, except those around one of `steps`. Once a client
    ends such a step by its id, the changes are its own as well; if it is an innermost one, it is then also in `steps`.
    """

    before: SnapshotId
    after: SnapshotId
    steps: tuple[StepId, ...]
    left: tuple[StepId, ...] = ()
    git: GitStateId | None = None  # the git state before, if it changed; `Event.git` is the one after
    by_git: tuple[RelPath, ...] = ()  # the files that git itself put there while steps were at work, ordered


RecordKind = Literal["track", "look", "before", "after"]


@attrs.frozen
class Recorded:
    """Records the work tree as it was, but not who changed what.

    Where no event has a head yet, a requested one is the head: later changes have an author.
    """

    kind: RecordKind  # requested, before a comparison, or before or after an operation
    snapshot: SnapshotId
    is_base: bool = False  # later changes are compared with it: requested, or all left by an operation
    operation_id: OperationId | None = None


@attrs.frozen
class Continuation:
    """The session whose conversation goes on in another one, from before a message; None for its end."""

    session_id: SessionId
    message_id: str | None = None


@attrs.frozen
class SessionStarted:
    """A session was started or resumed; for a resumed session, None keeps the old value."""

    session_id: SessionId
    agent: str | None
    title: str | None
    continues: Continuation | None = None


@attrs.frozen
class SessionEnded:
    """A session ended; its steps had ended before."""

    session_id: SessionId


@attrs.frozen
class Transcript:
    """The agent's own file of a conversation, on this machine, and its size when a message was sent."""

    path: str
    size: int


@attrs.frozen
class MessageSent:
    """A message to the agent of a session began a turn."""

    session_id: SessionId
    message_id: str  # the agent's own id
    text: str | None  # the prompt; None: not stored, and keeps an earlier text
    transcript: Transcript | None = None  # None if the agent does not report it; never leaves this machine


@attrs.frozen
class StepBegun:
    """A step began on the snapshot in `Event.head`."""

    step_id: StepId
    session_id: SessionId
    index: int  # its place in the session, from 0
    parent: StepId | None  # the step that it is a part of
    message_id: str | None
    part_id: str | None
    tool: str | None  # that the agent uses in it
    description: str | None  # for people
    detached: bool = False  # it goes on without the client that began it
    began: int | None = None  # if reported late: milliseconds since 1970; `Event.head` is older then
    command: str | None = None  # such as a shell command; None if there is none or it is not stored


@attrs.frozen
class StepsLeft:
    """The client of some steps is gone; they stay open. Ordered by their beginning."""

    steps: tuple[StepId, ...]


@attrs.frozen
class Edited:
    """The user edited or saved files in an editor while steps were open.

    Or files changed just after steps ended that claim them, as by a formatter: `Event.seen` names these.
    """

    paths: tuple[RelPath, ...]  # ordered
    steps: tuple[StepId, ...]  # the open ones, in the order in which they began; none after the end of steps
    saved: bool  # then `Event.seen` has what was typed, and no step owns it


@attrs.frozen
class StepEnded:
    """A step ended with the snapshot in `Event.head`."""

    step_id: StepId
    claims: tuple[RelPath, ...] | None  # files the agent reports as written, or whole directories; None: no report
    changed: bool  # if it changed anything, the session's earlier undos cannot be redone
    spoken_for: bool = True  # a client ended it by its id, and claims what changed since its client left
    uncaptured: tuple[UncapturedChange, ...] = ()  # changes of files that no snapshot has
    description: str | None = None  # replaces that of `StepBegun`; None keeps it


@attrs.frozen
class Effect:
    """What an operation did to a path; `old` or `new` is None for no file."""

    path: RelPath
    old: Entry | None
    new: Entry | None


@attrs.frozen
class Reversal:
    """The undo or redo of a step or another operation, as a whole or as far as possible.

    `left` has, for an undo, the files and empty directories of the step still in force, by the names that the step left
    them under; it is None for a redo, or in old events.
    """

    step_id: StepId | None  # None for an operation
    state: Literal["applied", "partly", "undone"]
    effects: tuple[Effect, ...]  # what it did to files
    made_directories: tuple[RelPath, ...] = ()
    removed_directories: tuple[RelPath, ...] = ()
    left: tuple[RelPath, ...] | None = None
    again: OperationId | None = None  # for a redo, the operation whose undo was reversed; None in old events
    rest: tuple[RelPath, ...] = ()  # for a redo, the effects of that operation that could not be reversed
    moved: tuple[tuple[RelPath, RelPath], ...] = ()  # where a file moved by others was; its name in `left` or `rest`
    operation_id: OperationId | None = None  # None for a step
    git: GitMove | None = None  # what it did to the git state; None if nothing
    git_rests: bool = False  # for a redo, whether what that operation did to the git state was left

    @property
    def name(self) -> StepId | OperationId:
        """The id of the step or the operation."""
        name = self.step_id or self.operation_id
        assert name is not None
        return name


@attrs.frozen
class UndoneShare:
    """What an operation undid of a step or another operation, and was not redone since."""

    name: StepId | OperationId
    operation_id: OperationId
    # only these effects, the others were redone; None for all; no effects if only the git state rests
    rest: tuple[RelPath, ...] | None = None
    has_git: bool = False  # whether something of the git state was undone


@attrs.frozen
class Operated:
    """An operation changed the work tree; `Event.head` is the snapshot that it left.

    `after` is what it left without other files in `Event.head` that others had changed; None for that head. `is_base`
    is whether later changes are compared with what it left: not if a change by others stayed, which must not count as
    the operation's.
    """

    operation_id: OperationId
    kind: OperationKind
    session_id: SessionId | None  # None if it was not about a session
    before: SnapshotId  # taken first
    turned: tuple[Reversal, ...] = ()  # what it undid or redid, in that order
    undoes: OperationId | None = None  # the operation that it reversed, if exactly one
    message_id: str | None = None  # named by `session/revert`
    part_id: str | None = None  # of that message
    root: StepId | None = None  # the step that the client named, undone with its parts; redone together
    effects: tuple[Effect, ...] | None = None  # of its own changes; None if it only undid or redid, or in old events
    after: SnapshotId | None = None
    is_base: bool = True

    @property
    def is_own(self) -> bool:
        """Whether it changed something by itself, so that it can be undone as a step can."""
        return self.kind in OWN_KINDS and not self.turned

    @property
    def git(self) -> GitMove | None:
        """What the operation does to the git state; None if nothing."""
        moves = [turn.git for turn in self.turned if turn.git is not None]
        return GitMove(moves[0].before, moves[-1].after) if moves else None


@attrs.frozen
class Intent:
    """What an operation is about to do to the work tree: durable until its event is in the timeline."""

    operation: Operated  # its record, if all goes as planned
    files: tuple[Effect, ...]
    made_directories: tuple[RelPath, ...]  # empty ones, parents first
    removed_directories: tuple[RelPath, ...]  # if they are empty, deepest first
    forced: tuple[RelPath, ...]  # ignored paths to capture
    linked: tuple[tuple[RelPath, ...], ...] = ()  # groups that are done as a whole or not at all
    step_id: StepId | None = None  # the open step that it belongs to; ends with it, without an event of its own
    moves: tuple[tuple[RelPath, RelPath, bool], ...] = ()  # old name, new name, whether no snapshot has all of it
    permissions: tuple[tuple[RelPath, int], ...] = ()  # see `Plan`


@attrs.frozen
class Kept:
    """The user accepted changes of agents; `Event.head` is the work tree as shown to them."""

    files: tuple[tuple[RelPath, Entry | None], ...]  # the new baseline of each file, ordered; None for no file
    steps: tuple[StepId, ...]  # of the accepted changes, ordered


CommentState = Literal["open", "resolved"]


@attrs.frozen
class Commented:
    """Somebody commented on lines of a file, in the version that `Event.head` has."""

    comment_id: CommentId
    session_id: SessionId | None  # whose agent is to hear of it; None if no agent wrote any of the lines
    step_id: StepId | None  # that wrote most of the lines, of those of the session
    path: RelPath
    entry: Entry | None  # None if it was purged
    start: int  # the first line, from 1
    count: int
    text: str  # "" if it was purged
    by: SessionId | None = None  # whose agent wrote it; None for the person


@attrs.frozen
class Replied:
    """Somebody replied to a comment, resolved it, or opened it again."""

    comment_id: CommentId
    session_id: SessionId | None  # as of the comment
    text: str | None = None  # None if nothing was written, "" if it was purged
    state: CommentState | None = None  # None if it stays as it is
    by: SessionId | None = None  # as of `Commented`


@attrs.frozen
class Informed:
    """The agent of a session heard of comments, or knows how files are: it was told of their changes, or read them."""

    session_id: SessionId
    comments: int = 0  # of which comments: those as they were after this event; 0 for none
    until: int = 0  # the `seq` of the last event before it saw the files
    files: tuple[tuple[RelPath, Entry | None], ...] = ()  # each as it was by then; None if it was not there


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
    | Commented
    | Replied
    | Informed
)


@attrs.frozen
class Event:
    """One entry of the timeline."""

    seq: int  # grows by one with each event of a workspace, from 1
    milliseconds: int  # since 1970; `seq` is the order, because clocks jump
    head: SnapshotId | None  # the work tree at this event; None before the first capture
    seen: Span | None  # what changed since the event before; None if nothing did
    what: EventPayload
    # the git state at this event. Named by each event with a head, changed or not: any event before may expire. None
    # if nobody looked, or an older snapd wrote the event.
    git: GitStateId | None = None


@attrs.frozen
class Session:
    """A session as the events leave it."""

    session_id: SessionId
    agent: str | None
    title: str | None
    started: int  # milliseconds since 1970
    ended: int | None  # milliseconds since 1970; None while it goes on
    step_count: int
    prompt: str | None = None  # the beginning of its first prompt; None if not stored
    continues: Continuation | None = None

    @property
    def name(self) -> str:
        """A one-line name: its title, else its first prompt cut short, else its agent or its id."""
        return (
            prompt_name(self.title or "", None)
            or prompt_name(self.prompt or "")
            or prompt_name(agent_title(self.agent or ""), None)
            or prompt_name(f"session {self.session_id[:8]}")
            or "session"
        )


_NAME_LENGTH = 60
_CONTEXT = re.compile(r"(?:\s*<([\w-]+)[^<>]*>.*?</\1>)+", re.DOTALL)
"""What agents put before the prompt, such as the open file."""
_TAG = re.compile(r"</?[\w-]+[^<>]*>")
_OPENING_MARKS = re.compile(r"(?:[#>*-]+ +)+")
_WORD = re.compile(r"\w")


def prompt_name(prompt: str, most: int | None = _NAME_LENGTH) -> str | None:
    """Returns the first meaningful line of a prompt, cut at the end of a word; None if there is none.

    It leaves out leading tags of the agent and marks of headings, quotes and lists. `most` is in characters; None for
    the whole line.
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
        # no spaces: some languages, or a long address
        name = (at_word if len(at_word) > most // 2 else cut).rstrip(" ,;:.") + "…"
    return name or None


@attrs.frozen
class Message:
    """A message of a session as the events leave it: the beginning of a turn."""

    session_id: SessionId
    message_id: str
    text: str | None  # the prompt; None if unknown
    started: int  # when sent, or its first step began: milliseconds since 1970


@attrs.frozen
class Comment:
    """A comment as the events leave it. Times are in milliseconds since 1970."""

    seq: int  # of the event that made it
    made: Commented
    milliseconds: int
    state: CommentState
    # the `seq` of the last event of which the agent is to hear; None if it was told of all, or there is none
    due: int | None
    delivered: int | None  # when the agent was told of it last; None if never
    replies: tuple[tuple[Replied, int], ...]  # those with a text, each with its time


@attrs.frozen
class FileLook:
    """An agent saw a file: see `Informed`."""

    seq: int  # of the event that says so
    session_id: SessionId
    path: RelPath
    until: int
    entry: Entry | None


@attrs.frozen
class FileSummary:
    """A file that changed."""

    path: RelPath  # where it is, or was
    status: Literal["added", "deleted", "modified"]  # "modified" for a moved file
    additions: int
    deletions: int
    binary: bool  # git considers either side binary
    shared_with: tuple[StepId, ...] = ()  # steps of other sessions that may also have changed it
    by_git: bool = False  # whether git put it there, and the step wrote none of it
    renamed_from: RelPath | None = None  # its path before a move; a stored summary has two files then

    @property
    def shared(self) -> bool:
        """Whether a step of another session may have changed it as well."""
        return bool(self.shared_with)


@attrs.frozen
class Summary:
    """What a step itself changed, without its parts: files by path, and how many empty directories changed.

    The files include those that git put there meanwhile.
    """

    files: tuple[FileSummary, ...]
    directories: int

    @property
    def is_empty(self) -> bool:
        """Whether it changed nothing itself."""
        return all(file.by_git for file in self.files) and not self.directories


@attrs.frozen
class Step:
    """A step as the events leave it."""

    begun: StepBegun
    started: int  # milliseconds since 1970
    ended: int | None  # milliseconds since 1970; None while it is open
    from_: SnapshotId
    to: SnapshotId | None  # the snapshot at its end, or when its client left, if no client ended it
    state: StepState  # "undone" if all of it was undone, "partly" if some of it was
    claims: tuple[RelPath, ...] | None  # see `StepEnded`
    uncaptured: tuple[UncapturedChange, ...] = ()  # see `StepEnded`
    may_change_git: bool = False  # whether the git state changed in one of its spans

    @property
    def step_id(self) -> StepId:
        """The step's id."""
        return self.begun.step_id

    @property
    def name(self) -> StepId:
        """The step's id, as `Operation.name`."""
        return self.begun.step_id

    @property
    def session_id(self) -> SessionId:
        """The session's id."""
        return self.begun.session_id


@attrs.frozen
class Operation:
    """An operation that can be undone, as the events leave it."""

    operated: Operated
    milliseconds: int  # since 1970
    after: SnapshotId
    state: Literal["applied", "partly", "undone"]  # "undone" if all of it was undone, "partly" if some of it was

    @property
    def name(self) -> OperationId:
        """The operation's id."""
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
"""What can be undone and redone: a step, or an operation that changed something by itself."""


@attrs.frozen
class StepQuery:
    """A query for steps; all conditions must hold, and None or an empty value is no condition."""

    prefix: str  # of the ids
    session_id: SessionId | None = None
    parent: StepId | None = None  # only parts of this step
    message_id: str | None = None
    is_open: bool = False  # only open steps
    hash: str = ""  # prefix of the snapshot that it began or ended on; ignored by the folder's timeline


@attrs.frozen
class Tally:
    """How many steps of a session can be undone and redone, as far as the stored summaries show."""

    undoable: int  # changed something and not undone as a whole
    redoable: int  # with an undone part that can be redone
    unknown: tuple[Step, ...]  # not undone as a whole, and without a stored summary


Part = Literal["seen", "done"]  # of an event: what changed before it (`Event.seen`), or what it did itself


@attrs.frozen
class FileChangeRow:
    """A file that an event changed."""

    path: RelPath
    seq: int
    part: Part
    old: Entry | None  # None for no file
    new: Entry | None  # or what was kept of it; None for no file
    other: RelPath | None = None  # of a moved file, its old or new name


def around(steps: Iterable[StepId], parents: Mapping[StepId, StepId | None]) -> set[StepId]:
    """Returns the ancestors of some steps; ends at steps that are not keys of `parents`."""
    step_ids: set[StepId] = set()
    for step in steps:
        above = parents.get(step)
        while above is not None and above not in step_ids:
            step_ids.add(above)
            above = parents.get(above)
    return step_ids

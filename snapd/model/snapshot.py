"""The plain data that the rooms of snapd exchange: entries, changes, snapshots, coverage, outcomes.

Paths are `bytes`, relative to the workspace root, with `/` between their parts: names on disk are bytes,
and no code below the wire may lose a name that is not UTF-8. Object ids are 20 raw bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import Literal

import attrs

RelPath = bytes
ObjectId = bytes

REGULAR = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
TREE = 0o040000

EMPTY_BLOB: ObjectId = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
EMPTY_TREE: ObjectId = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

TEN_MIB = 10 * 1024 * 1024
"""A diff does not include text over this size (bytes, either side): the 10 MB of the contract."""


@attrs.frozen
class Entry:
    """A file or symlink in a snapshot.

    Attributes:
        mode: `REGULAR`, `EXECUTABLE` or `SYMLINK`.
        oid: the blob with its bytes; for a symlink, its target.
    """

    mode: int
    oid: ObjectId


@attrs.frozen
class FullLook:
    """A look at all files, begun `at` milliseconds since 1970; `why` one at the changed files was not enough."""

    at: int
    why: str


@attrs.frozen
class TreeEntry:
    """One line of a git tree object: a file as in `Entry`, or a subtree if `mode` is `TREE`."""

    name: bytes
    mode: int
    oid: ObjectId

    @property
    def sort_key(self) -> bytes:
        """Git's order: a subtree sorts as if its name ended in a slash."""
        return self.name + b"/" if self.mode == TREE else self.name


@attrs.frozen
class Change:
    """A path that differs between two snapshots; `old` or `new` is None for no file."""

    path: RelPath
    old: Entry | None
    new: Entry | None


class SkipReason(Enum):
    """Why a snapshot lacks something that was not ignored: it was not captured, or was purged since."""

    TOO_LARGE = "tooLarge"
    UNREADABLE = "unreadable"
    SPECIAL = "special"
    UNSTABLE = "unstable"
    UNSUPPORTED_NAME = "unsupportedName"
    PURGED = "purged"


@attrs.frozen
class Skip:
    """Something that exists and was not captured: a file, or a directory with all below it."""

    path: RelPath
    reason: SkipReason


@attrs.frozen
class UncapturedChange:
    """A file that no snapshot has, or an ignored directory, was changed, or is gone if `deleted`."""

    path: RelPath
    deleted: bool


RuleKind = Literal["global", "info", "gitignore", "own", "included", "unreadable"]


@attrs.frozen
class RuleText:
    """Ignore patterns that were in force for a snapshot and are not in its tree.

    Attributes:
        kind: the user's global excludes, the repository's `info/exclude`, a `.gitignore` that is not in the tree (of a
            folder above, or itself ignored), snapd's own excludes, or what is captured although git ignores it.
            "unreadable": a file that was too large or too odd to be read, so that it had no effect.
        base: the directory that the patterns are rooted in, relative to the repository root; of an unreadable file, its
            path.
        text: the text of the file; empty for an unreadable one.
    """

    kind: RuleKind
    base: bytes
    text: bytes


@attrs.frozen
class FormerName:
    """A name that a captured file or directory had before; empty for one outside of what was looked at.

    Attributes:
        uncaptured: whether nothing was captured under that name, so that no earlier snapshot has what is there.
    """

    path: RelPath
    uncaptured: bool


Origins = tuple[tuple[RelPath, tuple[FormerName, ...]], ...]
"""Files and directories with the names that they had before, the last one last; sorted by path."""


@attrs.frozen
class Coverage:
    """What the tree of a snapshot cannot say: why a path may be absent from it.

    Attributes:
        prefix: the workspace relative to the root of the repository around it; empty if it is that root.
        empty_dirs: empty directories, which a git tree cannot hold; sorted.
        skipped: what exists and was not captured; sorted by path.
        rules: the ignore patterns from outside the tree.
        forced: ignored paths that were captured because the request named them.
        origins: what was moved to where it is: files and directories that were not captured before, and directories;
            see `Origins`.
        permissions: those of files and directories that are not what the umask gives them; sorted by path.
        left_out: files that were captured before and are there, but are ignored by now, each with the blob that it was
            last captured as. An empty name of the blob stands for a directory with all below it, which is ignored, or
            has something else mounted over it. Sorted by path.
    """

    prefix: bytes = b""
    empty_dirs: tuple[RelPath, ...] = ()
    skipped: tuple[Skip, ...] = ()
    rules: tuple[RuleText, ...] = ()
    forced: tuple[RelPath, ...] = ()
    origins: Origins = ()
    permissions: tuple[tuple[RelPath, int], ...] = ()
    left_out: tuple[tuple[RelPath, ObjectId], ...] = ()


NO_COVERAGE = Coverage()


@attrs.frozen
class Snapshot:
    """A state of the workspace: its tree, and what the tree cannot say."""

    tree: ObjectId
    coverage: Coverage


@attrs.frozen(slots=True)
class Signature:
    """The part of a file's `lstat` result that changes whenever its bytes may have changed; its size is in bytes."""

    mode: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    def same_content(self, other: Signature) -> bool:
        """Whether it is the same file with the same bytes; ignores ctime, which a rename changes."""
        return (self.ino, self.size, self.mtime_ns) == (other.ino, other.size, other.mtime_ns)


def file_clock_ns() -> int:
    """The time that a file gets which changes now, nanoseconds since 1970.

    The wall clock is ahead of it: by a tick, and by more while the processor that keeps the time does not run, as in a
    virtual machine. On Linux it is CLOCK_REALTIME_COARSE, for which Python has no name.
    """
    return time.clock_gettime_ns(5) if hasattr(time, "CLOCK_BOOTTIME") else time.time_ns()


OutcomeKind = Literal["restored", "deleted", "merged", "unchanged", "conflict", "kept", "skipped", "failed"]


@attrs.frozen
class FileOutcome:
    """What became of one file in an operation.

    Attributes:
        path: where it is, or was.
        reason: why, if that is not what was asked for.
        renamed_from: where it was before the operation moved it; that path has an outcome of its own, "deleted".
        branch: the branch of the project's git that has the change, if the reason is "onBranch".
    """

    path: RelPath
    outcome: OutcomeKind
    reason: str | None = None
    renamed_from: RelPath | None = None
    branch: bytes | None = None

    @property
    def is_left(self) -> bool:
        """Whether the file was left as it is although the operation was to change it."""
        return self.outcome in ("conflict", "kept", "skipped", "failed")

    def settled(self) -> FileOutcome:
        """The outcome if the client wants a file in conflict to stay as it is for good."""
        return attrs.evolve(self, outcome="kept") if self.outcome == "conflict" else self

    @property
    def can_be_tried_again(self) -> bool:
        """Whether the file was left for now only: another try, later or with other options, may change it."""
        return self.outcome in ("conflict", "failed")


@attrs.frozen
class ChangedBy:
    """Who changed a file: the user or nobody knows, if it is neither a step nor an operation.

    Attributes:
        milliseconds: when, since 1970; None if that is not known.
        kind: of the operation that did.
        cause: whether the conflict is about this change; the others are elsewhere in the file.
        is_unknown: whether nobody knows: the file belongs to another history.
    """

    milliseconds: int | None
    step_id: str | None = None
    session_id: str | None = None
    agent: str | None = None
    kind: Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"] | None = None
    cause: bool = True
    is_unknown: bool = False


@attrs.frozen
class Dispute:
    """Lines that two changes of a text both want to be theirs, without their line ends.

    Attributes:
        line: where they begin in the text as it is, from 1.
        now: as they are.
        left: as both changes found them: what the step or operation to take back left.
        wanted: as they were before that.
    """

    line: int
    now: tuple[str, ...]
    left: tuple[str, ...]
    wanted: tuple[str, ...]


@attrs.frozen
class Contested:
    """A file that cannot be taken back without somebody else's work.

    Attributes:
        name: of the step or operation to take back.
        reason: why it is a conflict.
        by: who changed the file since, the last first; if it is shared, with whom.
        dispute: the first lines in question; None if it is not about lines.
    """

    path: RelPath
    name: str
    reason: str | None
    by: tuple[ChangedBy, ...]
    dispute: Dispute | None


@attrs.frozen
class Details:
    """What an operation changes, or would change.

    Attributes:
        diff: all of it as a unified diff; None if that was not asked for.
        contested: the files of steps that are in conflict, even if they are overwritten.
    """

    additions: int
    deletions: int
    diff: str | None
    contested: tuple[Contested, ...] = ()


@attrs.frozen
class Outcome:
    """What an operation that changes the workspace did.

    Attributes:
        applied: False for a dry run and for a refusal under `onConflict: "fail"`.
        before: the tree of the snapshot taken before it.
        after: the tree of the workspace after it.
        files: ordered by path.
        plan: names exactly what would be done; None if it was done, or if nobody asked.
    """

    applied: bool
    before: ObjectId
    after: ObjectId
    files: tuple[FileOutcome, ...]
    details: Details | None = None
    plan: str | None = None


OnConflict = Literal["merge", "fail", "overwrite", "keep"]
Decision = Literal["merge", "overwrite", "keep"]


@attrs.frozen
class CaptureSettings:
    """The settings of a workspace for captures.

    Attributes:
        exclude: patterns in `.gitignore` syntax, rooted at the workspace, in addition to git's rules.
        max_file_size: bytes; larger files are skipped.
        include: patterns of the same kind, of ignored files that are captured all the same.
    """

    exclude: tuple[str, ...] = ()
    max_file_size: int = 64 * 1024 * 1024
    include: tuple[str, ...] = ()


@attrs.frozen
class DriftQuery:
    """What a work tree is compared with, and how far.

    Attributes:
        base: the tree of a snapshot.
        forced: ignored paths to capture all the same: those of the snapshot.
        max_files: differing files to report, at most.
        max_bytes: bytes of contents to read, at most.
    """

    base: ObjectId
    read_tree: Callable[[ObjectId], tuple[TreeEntry, ...]]
    settings: CaptureSettings
    forced: tuple[RelPath, ...]
    max_files: int
    max_bytes: int


@attrs.frozen
class DriftedFile:
    """A file that differs, or may differ, from a snapshot; None stands for no file.

    Attributes:
        new: the file now. If `data` has its bytes, its blob is not stored.
        data: the bytes of the file now, if they were read for this; they may equal those of `old`.
    """

    path: RelPath
    old: Entry | None
    new: Entry | None
    data: bytes | None


@attrs.frozen
class Drift:
    """How a work tree differs from a snapshot.

    Attributes:
        files: ordered by path.
        truncated: whether more files differ.
        unfinished: whether changes went on during the look, so that another look is needed: no clock will report them.
    """

    files: tuple[DriftedFile, ...]
    truncated: bool
    unfinished: bool

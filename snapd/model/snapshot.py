"""The plain data that the packages of snapd exchange: entries, changes, snapshots, coverage, outcomes.

Paths are `bytes`, relative to the workspace root, with `/` between their parts, because names need not be UTF-8. Object
ids are 20 raw bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import Literal

import attrs

from snapd.model.git import GitOutcome

RelPath = bytes
ObjectId = bytes

REGULAR = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
TREE = 0o040000

EMPTY_BLOB: ObjectId = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
EMPTY_TREE: ObjectId = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

MOST_PERMISSIONS = 10_000  # of files and directories in one snapshot
TEN_MIB = 10 * 1024 * 1024  # a diff omits text over this size, on either side: the 10 MB of the contract


@attrs.frozen
class Entry:
    """A file or symlink in a snapshot."""

    mode: int  # `REGULAR`, `EXECUTABLE` or `SYMLINK`
    oid: ObjectId  # the blob with the bytes, or the symlink's target


@attrs.frozen
class FullLook:
    """A full scan, begun `at` milliseconds since 1970, and why a scan of the changed files was not enough."""

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
    """Why a snapshot lacks something that is not ignored: it was not captured, or was purged since."""

    TOO_LARGE = "tooLarge"
    UNREADABLE = "unreadable"
    SPECIAL = "special"
    UNSTABLE = "unstable"
    UNSUPPORTED_NAME = "unsupportedName"
    PURGED = "purged"


@attrs.frozen
class Skip:
    """A file, or a directory with all its contents, that exists and was not captured."""

    path: RelPath
    reason: SkipReason


@attrs.frozen
class UncapturedChange:
    """A change or deletion of a file that no snapshot has, or of an ignored directory."""

    path: RelPath
    deleted: bool


RuleKind = Literal["global", "info", "gitignore", "own", "included", "unreadable"]


@attrs.frozen
class RuleText:
    """Ignore patterns that applied to a snapshot and are not in its tree.

    `kind` is the user's global excludes, the repository's `info/exclude`, a `.gitignore` that is not in the tree (of a
    folder above, or itself ignored), snapd's own excludes or includes, or "unreadable" for a file without effect
    because it was too large or of the wrong kind.
    """

    kind: RuleKind
    base: bytes  # their directory, relative to the repository; the path of an unreadable file
    text: bytes  # empty for an unreadable file


@attrs.frozen
class FormerName:
    """A former name of a captured file or directory; empty if it was outside of what is scanned."""

    path: RelPath
    uncaptured: bool  # nothing was captured there, so no earlier snapshot has it


Origins = tuple[tuple[RelPath, tuple[FormerName, ...]], ...]  # the last one last; sorted by path


@attrs.frozen
class Coverage:
    """What the tree of a snapshot does not show: why a path may be absent from it.

    `left_out` has files that were captured before, still exist, but are ignored now, with their last blob. An empty
    blob stands for a whole directory that is ignored or has something mounted over it.
    """

    prefix: bytes = b""  # the workspace in the repository around it; empty for its root
    empty_dirs: tuple[RelPath, ...] = ()  # which a git tree cannot hold; sorted
    skipped: tuple[Skip, ...] = ()  # what exists and was not captured; sorted by path
    rules: tuple[RuleText, ...] = ()  # from outside the tree
    forced: tuple[RelPath, ...] = ()  # ignored paths that the request named
    origins: Origins = ()  # of moved directories, and of files that were not captured before
    permissions: tuple[tuple[RelPath, int], ...] = ()  # if not those of the umask; sorted by path
    left_out: tuple[tuple[RelPath, ObjectId], ...] = ()  # sorted by path


NO_COVERAGE = Coverage()


@attrs.frozen
class Snapshot:
    """A state of the workspace: its tree, and what the tree does not show."""

    tree: ObjectId
    coverage: Coverage


@attrs.frozen(slots=True)
class Signature:
    """The part of a file's `lstat` result that changes whenever its bytes may have changed; `size` in bytes."""

    mode: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    def same_content(self, other: Signature) -> bool:
        """Returns whether it is the same file with the same bytes; ignores ctime, which a rename changes."""
        return (self.ino, self.size, self.mtime_ns) == (other.ino, other.size, other.mtime_ns)


def file_clock_ns() -> int:
    """Returns the time that a file changed now would get, nanoseconds since 1970.

    It is behind the wall clock by a tick or more. On Linux it is CLOCK_REALTIME_COARSE, for which Python has no name.
    """
    return time.clock_gettime_ns(5) if hasattr(time, "CLOCK_BOOTTIME") else time.time_ns()


OutcomeKind = Literal["restored", "deleted", "merged", "unchanged", "conflict", "kept", "skipped", "failed"]


@attrs.frozen
class FileOutcome:
    """The result of an operation for one file."""

    path: RelPath  # where it is, or was
    outcome: OutcomeKind
    reason: str | None = None  # if the outcome is not what was requested
    renamed_from: RelPath | None = None  # its path before; that has an outcome of its own, "deleted"
    branch: bytes | None = None  # the git branch with the change, for the reason "onBranch"

    @property
    def is_left(self) -> bool:
        """Whether the file was left as it is although the operation was to change it."""
        return self.outcome in ("conflict", "kept", "skipped", "failed")

    def settled(self) -> FileOutcome:
        """Returns the outcome if the client wants a file in conflict to stay as it is for good."""
        return attrs.evolve(self, outcome="kept") if self.outcome == "conflict" else self

    @property
    def can_be_tried_again(self) -> bool:
        """Whether another try, later or with other options, may change the file."""
        return self.outcome in ("conflict", "failed")


@attrs.frozen
class ChangedBy:
    """Who changed a file: the user or an unknown program, if it is neither a step nor an operation."""

    milliseconds: int | None  # since 1970; None if unknown
    step_id: str | None = None
    session_id: str | None = None
    agent: str | None = None
    kind: Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"] | None = None  # of the operation
    cause: bool = True  # the conflict is about this change
    is_unknown: bool = False  # the file belongs to another history


@attrs.frozen
class Dispute:
    """Lines that two changes of a text both claim, without line ends."""

    line: int  # where they begin in the current text, from 1
    now: tuple[str, ...]  # as they are
    left: tuple[str, ...]  # as the step or operation to undo left them
    wanted: tuple[str, ...]  # as they were before that


@attrs.frozen
class Contested:
    """A file whose change cannot be undone without losing the work of others."""

    path: RelPath
    name: str  # of the step or operation to undo
    reason: str | None  # of the conflict
    by: tuple[ChangedBy, ...]  # who changed the file since, last first; if it is shared, with whom
    dispute: Dispute | None  # the first lines in question; None if it is not about lines


@attrs.frozen
class Details:
    """What an operation changes, or would change."""

    additions: int
    deletions: int
    diff: str | None  # unified; None if not requested
    contested: tuple[Contested, ...] = ()  # even if they are overwritten


@attrs.frozen
class Outcome:
    """The result of an operation that changes the workspace."""

    applied: bool  # False for a dry run and for a refusal under `onConflict: "fail"`
    before: ObjectId  # the tree of the snapshot taken before it
    after: ObjectId  # the tree of the workspace after it
    files: tuple[FileOutcome, ...]  # ordered by path
    details: Details | None = None
    plan: str | None = None  # identifies what would be done; None if done or not requested
    git: GitOutcome | None = None  # None if neither the steps nor the operation changed the git state


OnConflict = Literal["merge", "fail", "overwrite", "keep"]
Decision = Literal["merge", "overwrite", "keep"]


@attrs.frozen
class CaptureSettings:
    """The settings of a workspace for captures."""

    exclude: tuple[str, ...] = ()  # `.gitignore` syntax, rooted at the workspace, besides git's rules
    max_file_size: int = 64 * 1024 * 1024  # bytes; larger files are skipped
    include: tuple[str, ...] = ()  # patterns of ignored files that are captured all the same
    git_state: bool = True  # whether to record the git state


@attrs.frozen
class DriftQuery:
    """The snapshot to compare a work tree with, and limits."""

    base: ObjectId  # the tree of the snapshot
    read_tree: Callable[[ObjectId], tuple[TreeEntry, ...]]
    settings: CaptureSettings
    forced: tuple[RelPath, ...]  # ignored paths to capture: those of the snapshot
    max_files: int  # to report
    max_bytes: int  # of contents to read


@attrs.frozen
class DriftedFile:
    """A file that differs, or may differ, from a snapshot; None stands for no file."""

    path: RelPath
    old: Entry | None
    new: Entry | None  # its blob is not stored if `data` is given
    data: bytes | None  # its current bytes, if they were read; may equal those of `old`


@attrs.frozen
class Drift:
    """The differences between a work tree and a snapshot."""

    files: tuple[DriftedFile, ...]  # ordered by path
    truncated: bool  # more files differ
    unfinished: bool  # changes went on during the scan: no clock will report them, scan again

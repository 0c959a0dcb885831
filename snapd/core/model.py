"""The plain data that the rooms of snapd hand each other: entries, changes, snapshots, coverage, outcomes.

Paths are `bytes`, relative to the workspace root, with `/` between their parts: names on disk are bytes,
and nothing below the wire may lose one that is not UTF-8. Object ids are 20 raw bytes.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

import attrs

RelPath = bytes
ObjectId = bytes

REGULAR = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
TREE = 0o040000

EMPTY_TREE: ObjectId = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

TEN_MIB = 10 * 1024 * 1024
"""Text over this size (bytes, either side) is not inlined in a diff: the contract's 10 MB."""


@attrs.frozen
class Entry:
    """A file or symlink in a snapshot.

    Attributes:
        mode: `REGULAR`, `EXECUTABLE` or `SYMLINK`.
        oid: the blob that holds its bytes (a symlink's target).
    """

    mode: int
    oid: ObjectId


@attrs.frozen
class FullLook:
    """A look at all files of a work tree.

    Attributes:
        at: when it began, in milliseconds since 1970.
        why: why it was not enough to look at what had changed.
    """

    at: int
    why: str


@attrs.frozen
class TreeEntry:
    """One line of a git tree object: as `Entry`, or a subtree where `mode` is `TREE`."""

    name: bytes
    mode: int
    oid: ObjectId

    @property
    def sort_key(self) -> bytes:
        """Git's order: a subtree sorts as if its name ended in a slash."""
        return self.name + b"/" if self.mode == TREE else self.name


@attrs.frozen
class Change:
    """A path that differs between two snapshots; `old` or `new` is None where it is not there."""

    path: RelPath
    old: Entry | None
    new: Entry | None


class SkipReason(Enum):
    """Why something that is not ignored was not captured; or, purged, why it is not in the snapshot any more."""

    TOO_LARGE = "tooLarge"
    UNREADABLE = "unreadable"
    SPECIAL = "special"
    UNSTABLE = "unstable"
    UNSUPPORTED_NAME = "unsupportedName"
    PURGED = "purged"


@attrs.frozen
class Skip:
    """Something that is there and was not captured: a file, or a directory with all below it."""

    path: RelPath
    reason: SkipReason


RuleKind = Literal["global", "info", "gitignore", "own"]


@attrs.frozen
class RuleText:
    """Ignore patterns that were in force for a snapshot and are not in its tree.

    Attributes:
        kind: the user's global excludes, the repository's `info/exclude`, a `.gitignore` that the tree does not
            hold (of a folder above, or itself ignored), or snapd's own excludes.
        base: the directory in which they are rooted, relative to the repository root.
        text: the patterns, as they stood in the file.
    """

    kind: RuleKind
    base: bytes
    text: bytes


@attrs.frozen
class Coverage:
    """What a snapshot's tree cannot say: why a path may be absent from it.

    Attributes:
        prefix: the workspace relative to the root of the repository around it; empty where it is that root.
        empty_dirs: directories without any entry, which a git tree cannot hold; sorted.
        skipped: what was there and was not captured; sorted by path.
        rules: the ignore patterns from outside the tree.
        forced: ignored paths that were captured all the same because the request named them.
    """

    prefix: bytes = b""
    empty_dirs: tuple[RelPath, ...] = ()
    skipped: tuple[Skip, ...] = ()
    rules: tuple[RuleText, ...] = ()
    forced: tuple[RelPath, ...] = ()


@attrs.frozen
class Snapshot:
    """A state of the workspace: its tree, and what the tree cannot say."""

    tree: ObjectId
    coverage: Coverage


class RecordKind(Enum):
    """Why a snapshot was recorded.

    TRACK: a client asked. BEFORE: an operation was about to change the folder. AFTER: it left the folder so. PARTLY: it
    did, but with edits in it that it was asked to leave alone. LOOK: the folder was compared with a snapshot.
    """

    TRACK = "track"
    BEFORE = "before"
    AFTER = "after"
    PARTLY = "partly"
    LOOK = "look"


@attrs.frozen(slots=True)
class Signature:
    """What `lstat` says of a file that changes whenever its bytes may have: the unit of "has it changed?".

    Attributes:
        mode: `st_mode`, type and permission bits.
        ino: inode number.
        size: bytes.
        mtime_ns: nanoseconds.
        ctime_ns: nanoseconds.
    """

    mode: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    def same_content(self, other: Signature) -> bool:
        """Whether it is the same file with the same bytes; a rename moves ctime, so that is left out."""
        return (self.ino, self.size, self.mtime_ns) == (other.ino, other.size, other.mtime_ns)


OutcomeKind = Literal["restored", "deleted", "merged", "unchanged", "conflict", "kept", "skipped", "failed"]


@attrs.frozen
class FileOutcome:
    """What became of one file of an operation, with the reason where it is not what was asked for."""

    path: RelPath
    outcome: OutcomeKind
    reason: str | None = None

    @property
    def is_left(self) -> bool:
        """Whether the file was left as it is, though something was to be done to it."""
        return self.outcome in ("conflict", "kept", "skipped", "failed")

    @property
    def can_be_tried_again(self) -> bool:
        """Whether it was left so that asking again, in another way or later, may do it: nothing protects it."""
        return self.outcome in ("conflict", "failed")


@attrs.frozen
class Outcome:
    """What an operation that changes the workspace did.

    Attributes:
        applied: False for a dry run and for a refusal under `onConflict: "fail"`.
        before: the tree of the snapshot taken before it.
        after: the tree of the workspace after it.
        files: the files that it was about, ordered by path.
    """

    applied: bool
    before: ObjectId
    after: ObjectId
    files: tuple[FileOutcome, ...]


OnConflict = Literal["merge", "fail", "overwrite"]


@attrs.frozen
class CaptureSettings:
    """What a workspace's settings say about capturing.

    Attributes:
        exclude: patterns in `.gitignore` syntax, rooted at the workspace, in addition to git's rules.
        max_file_size: bytes; larger files are skipped.
    """

    exclude: tuple[str, ...] = ()
    max_file_size: int = 64 * 1024 * 1024


@attrs.frozen
class DriftedFile:
    """A file that is no longer what the snapshot has, or may not be.

    Attributes:
        path: the file.
        old: what the snapshot has; None where it has nothing.
        new: what is there now; None where nothing is. Its blob is not stored where `data` has the bytes.
        data: the bytes that are there now, where they were read for this: they may be those of `old`.
    """

    path: RelPath
    old: Entry | None
    new: Entry | None
    data: bytes | None


@attrs.frozen
class Drift:
    """What differs from a snapshot.

    Attributes:
        files: ordered by path.
        truncated: there is more.
        unfinished: changes went on while it was looked, so that it has to be looked again: no clock will say so.
    """

    files: tuple[DriftedFile, ...]
    truncated: bool
    unfinished: bool

"""The work tree as it was last seen, in memory: what the next look compares the disk with."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import Entry, Signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.ignore import IgnoreFile, IgnoreStack
    from snapd.core.model import ObjectId, RelPath

    from .gitindex import TrackedPaths


@attrs.define
class FileNode:
    """A captured file or symlink.

    Attributes:
        entry: what a tree says of it.
        signature: what `lstat` said when its bytes were read.
        racy: it may have changed since within the same clock tick; read it again.
    """

    entry: Entry
    signature: Signature
    racy: bool


class Reach(Enum):
    """What is captured in a directory."""

    RULES = "what the ignore rules let through"
    HELD = "ignored itself: only what the user's index holds or the request forces"
    ALL = "forced: everything"


@attrs.frozen
class Verdict:
    """What decides whether a name is ignored: two equal ones decide alike, so a known name need not be judged again.

    Attributes:
        reach: what is captured here.
        stack: the ignore files in force.
        tracked: the indexes of the user's git that reach here.
        forced: paths to capture all the same.
    """

    reach: Reach
    stack: IgnoreStack
    tracked: tuple[TrackedPaths, ...]
    forced: tuple[RelPath, ...]


@attrs.define
class DirectoryNode:
    """A directory that is not ignored.

    Attributes:
        identity: device and inode, by which it is known again.
        files: captured files and symlinks by name.
        directories: subdirectories by name.
        tree: its tree id, None while it is not known.
        vacant: it has no entry at all.
        foreign: it has entries that are not captured: ignored, skipped, a `.git`.
        gitignore: its `.gitignore`, if it has one.
        verdict: how what lies in it is judged, as of the last look.
        ignored: names that this verdict found ignored, and whether each was a directory.
    """

    identity: tuple[int, int] = (0, 0)
    files: dict[bytes, FileNode] = attrs.field(factory=dict)
    directories: dict[bytes, DirectoryNode] = attrs.field(factory=dict)
    tree: ObjectId | None = None
    vacant: bool = False
    foreign: bool = False
    gitignore: IgnoreFile | None = None
    verdict: Verdict | None = None
    ignored: dict[bytes, bool] = attrs.field(factory=dict)

    def file(self, path: RelPath) -> FileNode | None:
        """The captured file at a path below this directory."""
        *above, name = path.split(b"/")
        node: DirectoryNode | None = self
        for part in above:
            assert node is not None
            node = node.directories.get(part)
            if node is None:
                return None
        assert node is not None
        return node.files.get(name)

    def directory(self, path: RelPath) -> DirectoryNode | None:
        """The directory at a path below this one; itself for the empty path."""
        node: DirectoryNode | None = self
        for part in path.split(b"/") if path else ():
            assert node is not None
            node = node.directories.get(part)
            if node is None:
                return None
        return node

    def walk(self, path: RelPath = b"") -> Iterator[tuple[RelPath, DirectoryNode]]:
        """This directory and all below it, each before those below it."""
        pending = [(path, self)]
        while pending:
            here, node = pending.pop()
            yield here, node
            prefix = here + b"/" if here else b""
            pending.extend((prefix + name, child) for name, child in node.directories.items())

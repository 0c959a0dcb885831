"""The directories of the work tree as of the last scan, in memory and on disk, and the names that are not captured.

A record of the saved state counts only if its signature still matches the disk: an old state only costs more reads.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import os_errors
from snapd.model.ignore import IgnoreFile, IgnoreStack
from snapd.model.snapshot import EMPTY_TREE, ObjectId, RelPath, RuleText, SkipReason, UncapturedChange
from snapd.worktree.fs.listing import SIGNATURE_BYTES, FileStatus
from snapd.worktree.ignore import DirectoryRules, Scope
from snapd.worktree.state.file_state import OID_BYTES, Inodes, PackedFiles, Record, inode_of, is_racy_record, tree_lines


class Uncaptured(Enum):
    """Why a name is not captured, if that need not be reported."""

    IGNORED_FILE = "ignored"
    IGNORED_DIRECTORY = "ignored, with all below it"
    HIDDEN = "a `.git`, a file that snapd is about to move into place, or its store"


@attrs.define(eq=False)
class DirectoryNode:
    """A directory that is not ignored."""

    name: bytes = b""
    parent: DirectoryNode | None = None  # None for the root, and if dropped
    inode: int = 0  # 0 before the first scan
    _files: dict[bytes, Record] | PackedFiles = attrs.field(factory=dict)
    directories: dict[bytes, DirectoryNode] = attrs.field(factory=dict)
    others: dict[bytes, Uncaptured | SkipReason] = attrs.field(factory=dict)
    tree: ObjectId | None = None  # None while it must be computed; then also in all parents
    gitignore: IgnoreFile | None = None
    rules: DirectoryRules | None = None  # as of the last scan
    watch: int = -1  # see `WatchedDirectory`
    permissions: int = 0  # 0 for the root

    @property
    def files(self) -> dict[bytes, Record]:
        """Captured files and symlinks by name; unpacks them."""
        if isinstance(self._files, PackedFiles):
            self._files = self._files.unpacked()
        return self._files

    @files.setter
    def files(self, files: dict[bytes, Record] | PackedFiles) -> None:
        self._files = files

    @property
    def packed_files(self) -> PackedFiles:
        """Captured files and symlinks, packed."""
        return self._files if isinstance(self._files, PackedFiles) else PackedFiles.of(self._files)

    @property
    def is_packed(self) -> bool:
        """Whether the files are packed now."""
        return isinstance(self._files, PackedFiles)

    def pack(self) -> None:
        """Packs the files until one of them is used."""
        self._files = self.packed_files

    @property
    def file_count(self) -> int:
        """The number of captured files and symlinks."""
        return len(self._files)

    def tree_lines(self) -> list[tuple[bytes, bytes]]:
        """Returns each file's name with its line in the directory's tree object."""
        if isinstance(self._files, PackedFiles):
            return self._files.tree_lines()
        return tree_lines(self._files)

    def unusual(self, umask: int) -> dict[bytes, int]:
        """Returns file permissions that differ from what the umask gives, by name; fast if there are none."""
        usual = {stat.S_IFREG | 0o666 & ~umask, stat.S_IFREG | 0o777 & ~umask, stat.S_IFLNK | 0o777}
        if isinstance(self._files, PackedFiles):
            signatures = self._files.signatures
            low = zip(signatures[::SIGNATURE_BYTES], signatures[1::SIGNATURE_BYTES], strict=True)
            if {one | two << 8 for one, two in set(low)} <= usual:
                return {}
        modes = ((name, int.from_bytes(record[:4], "little")) for name, record in self.files.items())
        return {name: stat.S_IMODE(mode) for name, mode in modes if mode not in usual and not stat.S_ISLNK(mode)}

    def of_inodes(self, inodes: Inodes) -> list[bytes]:
        """Returns the names of the files with one of these inodes; packed files stay packed."""
        if isinstance(self._files, PackedFiles):
            return self._files.of_inodes(inodes)
        return [name for name, record in self._files.items() if inode_of(record) in inodes.numbers]

    def inodes(self) -> Iterator[int]:
        """Yields the inodes of the files; packed files stay packed."""
        if isinstance(self._files, PackedFiles):
            return self._files.inodes()
        return map(inode_of, self._files.values())

    def has_just(self, names: bytes, signatures: bytes) -> bool:
        """Returns whether the files are exactly those of a listing, with its signatures, and none is racy."""
        files = self._files
        if isinstance(files, PackedFiles):
            return names == files.names and signatures == files.signatures and not files.racy.strip(b"\0")
        records = files.values()
        return (
            names == b"".join([name + b"\0" for name in files])
            and signatures == b"".join([record[:SIGNATURE_BYTES] for record in records])
            and not any(map(is_racy_record, records))
        )

    def directory(self, path: RelPath) -> DirectoryNode | None:
        """Returns the directory at a path below this one; this one for the empty path."""
        node: DirectoryNode | None = self
        for part in path.split(b"/") if path else ():
            assert node is not None
            node = node.directories.get(part)
            if node is None:
                return None
        return node

    def file(self, path: RelPath) -> Record | None:
        """Returns the captured file at a path below this directory."""
        above, _, name = path.rpartition(b"/")
        node = self.directory(above)
        return None if node is None else node.files.get(name)

    def ignores(self, path: RelPath) -> bool:
        """Returns whether a file at a path below this directory, or a directory above the file, is ignored."""
        *above, name = path.split(b"/")
        node = self
        for part in above:
            if part in node.others:
                return node.others[part] is Uncaptured.IGNORED_DIRECTORY
            if part not in node.directories:
                return False
            node = node.directories[part]
        return node.others.get(name) is Uncaptured.IGNORED_FILE

    def invalidate_tree(self) -> None:
        """Marks the trees of this directory and of those above it as to be computed."""
        above: DirectoryNode | None = self
        while above is not None and above.tree is not None:
            above.tree = None
            above = above.parent

    def walk(self, path: RelPath = b"") -> Iterator[tuple[RelPath, DirectoryNode]]:
        """Yields this directory and all below it, parents first."""
        pending = [(path, self)]
        while pending:
            here, node = pending.pop()
            yield here, node
            prefix = here + b"/" if here else b""
            pending.extend((prefix + name, child) for name, child in reversed(node.directories.items()))


def join(above: RelPath | None, name: bytes) -> RelPath:
    """Returns the path of a name in a directory; the root's path is empty."""
    return above + b"/" + name if above else name


def encode_tree(node: DirectoryNode, trees: Mapping[DirectoryNode, ObjectId]) -> bytes:
    """Returns the bytes of a tree object, empty for no file; `trees` has the ids of changed subdirectories."""
    # git sorts a subtree as if its name ended in a slash
    lines = node.tree_lines()
    for name, child in node.directories.items():
        tree = child.tree or trees[child]
        if tree != EMPTY_TREE:
            lines.append((name + b"/", b"40000 %b\0%b" % (name, tree)))
    lines.sort()
    return b"".join([line for _, line in lines])


_MOST_KNOWN = 20_000  # names kept; of further files, only deletions are noticed
_MOST_NOTED = 1_000


class NodeIdentity(NamedTuple):
    """Identifies a file or directory that is not captured; a rename changes none of it."""

    mtime_ns: int
    size: int
    inode: int
    is_directory: bool

    @classmethod
    def of(cls, status: FileStatus) -> NodeIdentity:
        """Returns the identity; the size of a directory has no meaning."""
        is_directory = stat.S_ISDIR(status.st_mode)
        return cls(status.st_mtime_ns, 0 if is_directory else status.st_size, status.st_ino, is_directory)


class UncapturedFiles:
    """The ignored and skipped names that scans have met; no snapshot can restore these files."""

    def __init__(self) -> None:
        self.known: dict[RelPath, NodeIdentity] = {}  # what is there
        self.gone: dict[int, tuple[RelPath, NodeIdentity]] = {}  # since the last `trace`, by inode
        self.is_changed = False  # whether `known` changed; reset by the caller
        self._noted: dict[RelPath, bool] = {}

    @property
    def changes(self) -> tuple[UncapturedChange, ...]:
        """What happened to them since `settle`, ordered by path; at most 1,000."""
        return tuple(UncapturedChange(path, deleted) for path, deleted in sorted(self._noted.items()))

    def settle(self) -> None:
        """Clears `changes`."""
        self._noted.clear()

    def note(self, path: RelPath, status: FileStatus) -> None:
        """Records a name that is there."""
        now = NodeIdentity.of(status)
        before = self.known.get(path)
        self.is_changed = self.is_changed or before != now
        if before is not None or now.is_directory or len(self.known) < _MOST_KNOWN:
            self.known[path] = now
        if before is not None and before.inode != now.inode:
            self.gone[before.inode] = path, before
        if not now.is_directory and (before not in (None, now) or path in self._noted):
            self._add_change(path, deleted=False)

    def note_gone(self, path: RelPath, *, noted: bool = True) -> None:
        """Records that a file or directory is gone; `noted`: also in `changes`."""
        before = self.known.pop(path, None)
        if before is not None:
            self.gone[before.inode] = path, before
            self.is_changed = True
        if noted:
            self._add_change(path, deleted=True)

    def retract(self, path: RelPath) -> None:
        """Undoes `note_gone`: the file has another name now."""
        if self._noted.get(path) and path not in self.known:
            del self._noted[path]

    def note_rules(self, before: Iterable[RuleText], now: Iterable[RuleText]) -> None:
        """Records that ignore rules that are not in snapshots changed."""
        was, by_kind = ({rule.kind: rule.text for rule in rules} for rules in (before, now))
        # without "info", the repository itself is gone or new
        if "info" in was and "info" in by_kind and was["info"] != by_kind["info"]:
            self._add_change(b".git/info/exclude", deleted=False)
        if was.get("global") != by_kind.get("global"):
            self._add_change(b"core.excludesFile", deleted=False)

    def forget(self, path: RelPath) -> NodeIdentity | None:
        """Drops a name that is captured from now on, and returns its identity."""
        self._noted.pop(path, None)
        return self.known.pop(path, None)

    def _add_change(self, path: RelPath, *, deleted: bool) -> None:
        if path in self._noted or len(self._noted) < _MOST_NOTED:
            self._noted[path] = deleted


_MAGIC = b"snapd memory 3\n\0"
_DIGEST_BYTES = 20
_HEAD = struct.Struct("<20s20sIQII")
_KNOWN = struct.Struct("<qQQ?")
_NODE = struct.Struct("<IHQH20sBIIII")
_UNCAPTURED: tuple[Uncaptured | SkipReason, ...] = (*Uncaptured, *SkipReason)
_UNCAPTURED_CODES = {why: bytes((number,)) for number, why in enumerate(_UNCAPTURED, 1)}
_SCOPES = tuple(Scope)
_NO_TREE = _NO_KEY = bytes(_DIGEST_BYTES)
_NO_PARENT = 0xFFFFFFFF


class _DamagedError(Exception):
    """The bytes are not a saved state."""


@attrs.frozen
class SavedState:
    """The state of a work tree as it is saved."""

    tree: ObjectId  # of a snapshot with all objects that the state relies on
    rules_digest: bytes  # of the rules outside the tree's own ignore files
    root: DirectoryNode
    looked_at: int
    uncaptured: dict[RelPath, NodeIdentity]  # see `UncapturedFiles.known`


def save(path: str, saved: SavedState) -> None:
    """Saves a state, except what is unread; on `StorageFull` or `IoError` the file is as before."""
    temporary = f"{path}.{secrets.token_hex(6)}.tmp"
    with os_errors(path):
        try:
            failpoint("state.save")
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                digest = hashlib.sha1()
                file.write(_MAGIC + bytes(_DIGEST_BYTES))
                # piece by piece: the process would not return the memory for all of it to the system
                for piece in _encode(saved):
                    digest.update(piece)
                    file.write(piece)
                file.seek(len(_MAGIC))
                file.write(digest.digest())
            failpoint("state.rename")
            os.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def load(path: str) -> SavedState | None:
    """Returns the saved state, or None if there is none that is usable."""
    try:
        failpoint("state.load")
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha1(memoryview(data)[start:]).digest() != data[len(_MAGIC) : start]:
        return None
    try:
        return _decode(data, start)
    except (_DamagedError, struct.error, IndexError):
        return None


def _encode(saved: SavedState) -> Iterator[bytes]:
    numbers: dict[DirectoryNode, int] = {}
    keys: dict[bytes, int] = {}
    for _, node in saved.root.walk():
        numbers[node] = len(numbers)
        keys.setdefault(_rules_of(node)[1], len(keys))
    uncaptured = saved.uncaptured
    paths = b"\0".join(uncaptured)
    yield _HEAD.pack(saved.tree, saved.rules_digest, len(keys), saved.looked_at, len(uncaptured), len(paths))
    yield from keys
    yield paths
    yield from (_KNOWN.pack(*known) for known in uncaptured.values())
    for node in numbers:
        scope, key = _rules_of(node)
        files = node.packed_files
        others = b"\0".join(_UNCAPTURED_CODES[why] + name for name, why in node.others.items())
        head = (
            _NO_PARENT if node.parent is None else numbers[node.parent],
            len(node.name),
            node.inode,
            node.permissions,
            node.tree or _NO_TREE,
            _SCOPES.index(scope),
            keys[key],
            len(others),
            len(files.names),
            len(files),
        )
        yield _NODE.pack(*head)
        yield from (node.name, others, files.names, files.signatures, files.oids, files.racy)


def _rules_of(node: DirectoryNode) -> tuple[Scope, bytes]:
    return (node.rules.scope, node.rules.key) if node.rules is not None else (Scope.RULES, _NO_KEY)


def _decode(data: bytes, at: int) -> SavedState:
    held, rules_digest, key_count, looked_at, uncaptured_count, paths_length = _HEAD.unpack_from(data, at)
    at += _HEAD.size
    keys = [data[start : start + _DIGEST_BYTES] for start in range(at, at + key_count * _DIGEST_BYTES, _DIGEST_BYTES)]
    at += key_count * _DIGEST_BYTES
    paths = data[at : at + paths_length].split(b"\0") if uncaptured_count else []
    at += paths_length
    end = at + uncaptured_count * _KNOWN.size
    uncaptured = dict(zip(paths, map(NodeIdentity._make, _KNOWN.iter_unpack(data[at:end])), strict=False))
    at = end
    known_rules: dict[tuple[int, int], DirectoryRules] = {}
    nodes: list[DirectoryNode] = []
    while at < len(data):
        parent, name_length, inode, permissions, tree, scope, key, others_length, names_length, count = (
            _NODE.unpack_from(data, at)
        )
        at += _NODE.size
        name = data[at : at + name_length]
        at += name_length
        above = None if parent == _NO_PARENT else nodes[parent]
        rules = known_rules.get((scope, key))
        if rules is None:
            # the first scan reads the ignore files; until then only the key shows whether they are the same
            rules = known_rules[scope, key] = DirectoryRules(_SCOPES[scope], IgnoreStack(), (), keys[key])
        node = DirectoryNode(name, above, inode, tree=None if tree == _NO_TREE else tree, rules=rules)
        node.permissions = permissions
        if others_length:
            others = data[at : at + others_length].split(b"\0")
            node.others = {other[1:]: _UNCAPTURED[other[0] - 1] for other in others}
            at += others_length
        if count:
            signatures = at + names_length
            oids = signatures + count * SIGNATURE_BYTES
            racy = oids + count * OID_BYTES
            end = racy + count
            if end > len(data):
                raise _DamagedError
            node.files = PackedFiles(data[at:signatures], data[signatures:oids], data[oids:racy], data[racy:end])
            at = end
        nodes.append(node)
        if above is not None:
            above.directories[name] = node
    return SavedState(held, rules_digest, nodes[0], looked_at, uncaptured)

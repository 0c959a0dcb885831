"""The state of the work tree as of the last scan; each record was true when read, and the store has its bytes."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator

import attrs

from snapd.model.paths import parents
from snapd.model.snapshot import MOST_PERMISSIONS, Coverage, FormerName, ObjectId, RelPath, RuleText, Skip, SkipReason
from snapd.worktree.fs.listing import FileStatus
from snapd.worktree.ignore import Scope, WorkspaceRules

from .file_state import InodeIndex, Inodes, PackedFiles, Record, inode_of, oid_of, signature_of
from .nodes import DirectoryNode, NodeIdentity, SavedState, Uncaptured, UncapturedFiles, join

_MOST_LEFT_OUT = 10_000
MOST_IN_DIRECTORY = 1_000
"""Files that a snapshot lists as now ignored, and files of one such directory."""
UNPACKED = 512  # directories whose files stay unpacked; a thousand take some 8 MiB more than packed


@attrs.frozen
class _LostDirectory:
    """A directory that is gone from its place, with what `TreeState` keeps about all below it."""

    node: DirectoryNode
    unread: dict[DirectoryNode, dict[bytes, bool]]
    linked: dict[DirectoryNode, set[bytes]]


class NameChanges:
    """Which captured names came and went since the last `trace`."""

    def __init__(self) -> None:
        self.arrived: dict[tuple[DirectoryNode, bytes], FileStatus | None] = {}  # None: was there, uncaptured
        self.left: dict[int, tuple[RelPath, int]] = {}  # by inode: path, and when the file was written
        self.departed: list[tuple[RelPath, DirectoryNode]] = []  # not found elsewhere
        self.recent: dict[RelPath, NodeIdentity] = {}  # may be copies of uncaptured files deleted later
        self.is_recalled = False  # no `trace` yet since `TreeState.recall`

    def leave(self, record: Record, path: RelPath) -> None:
        """Records that a file is gone from a path."""
        self.left[inode_of(record)] = path, signature_of(record).mtime_ns

    def clear(self) -> None:
        """Starts over, but keeps `recent`."""
        self.arrived.clear()
        self.left.clear()
        self.departed.clear()
        self.is_recalled = False


class TreeState:
    """The known state of a work tree; `forgotten` is called with each directory that is dropped.

    If one scan loses a directory and finds it elsewhere, it was moved, and the state keeps its files and watches;
    `forget_lost` ends that.
    """

    def __init__(self, forgotten: Callable[[DirectoryNode], None], umask: int = 0o022) -> None:
        self._forgotten = forgotten
        self.root = DirectoryNode()
        self.count = 0
        self.unread: dict[DirectoryNode, dict[bytes, bool]] = {}  # files to read; True for a symlink
        self.linked: dict[DirectoryNode, set[bytes]] = {}  # several names: writes to another raise no event
        self.uncaptured = UncapturedFiles()
        self.names = NameChanges()
        self.coverage = CoverageKeeper(self, umask)
        self.knows_inodes = False  # False if inode numbers may not be unique (network file systems)
        self.looked_at = 0  # `file_clock_ns` at the start of the last capture's scan; 0 before
        self._inodes: InodeIndex | None = None
        self._lost: dict[int, _LostDirectory] = {}
        self._used: OrderedDict[DirectoryNode, None] = OrderedDict()

    def recall(self, saved: SavedState) -> None:
        """Takes over a saved state; the next scan checks all of it."""
        self.root = saved.root
        self.looked_at = saved.looked_at
        self.uncaptured.known = saved.uncaptured
        self.names.is_recalled = True
        self._inodes = None
        self.count = sum(node.file_count for _, node in self.root.walk())

    def clear(self) -> None:
        """Drops everything."""
        root = self.root
        for name in (*root.files, *root.directories, *root.others):
            self.drop(root, name)
        self.unread.clear()
        root.tree = root.rules = root.gitignore = None
        root.inode = self.looked_at = 0
        self.uncaptured = UncapturedFiles()

    def path_of(self, node: DirectoryNode) -> RelPath | None:
        """Returns the path of a directory, or None if it was dropped."""
        parts = []
        while node.parent is not None:
            parts.append(node.name)
            node = node.parent
        return b"/".join(reversed(parts)) if node is self.root else None

    def invalidate_rules(self) -> None:
        """Makes the next scan classify all names again, because the rules were not the same for all."""
        for _, node in self.root.walk():
            node.rules = None

    def holds(self, node: DirectoryNode) -> bool:
        """Returns whether a directory is still part of the state."""
        return node.parent is not None or node is self.root

    def pack_all_but(self, used: Iterable[DirectoryNode]) -> None:
        """Packs all but the most recently used directories; `used` are in use now."""
        for node in used:
            self._used[node] = None
            self._used.move_to_end(node)
        while len(self._used) > UNPACKED:
            self._used.popitem(last=False)[0].pack()

    @property
    def is_settled(self) -> bool:
        """Whether the last snapshot has the whole state: no file unread, no tree or coverage out of date."""
        return self.root.tree is not None and not self.unread and self.coverage.is_known

    # -- names

    def put_file(self, node: DirectoryNode, name: bytes, record: Record) -> None:
        """Adds or replaces a file."""
        before = node.files.get(name)
        node.files[name] = record
        self.count += before is None
        if self._inodes is not None:
            self._inodes.add(inode_of(record))
        if before is None or before[:4] != record[:4] or before[36:56] != record[36:56]:
            node.invalidate_tree()

    def put_new_files(self, node: DirectoryNode, files: dict[bytes, Record] | PackedFiles) -> None:
        """Adds the files of a directory that had none."""
        node.files = files
        self.count += len(files)
        if self._inodes is not None:
            self._inodes.update(node.inodes())
        node.invalidate_tree()

    def put_directory(self, above: DirectoryNode, name: bytes, inode: int) -> DirectoryNode:
        """Adds a directory: the lost one with that inode, or an empty one."""
        lost = self._lost.pop(inode, None)
        node = DirectoryNode(name, above, inode) if lost is None else self._recovered(lost)
        node.name, node.parent = name, above
        above.directories[name] = node
        above.invalidate_tree()
        return node

    def _recovered(self, lost: _LostDirectory) -> DirectoryNode:
        """Takes a lost directory back into the state, to be classified again."""
        for _, node in lost.node.walk():
            # other rules may apply here
            node.rules = None
            if self._inodes is not None:
                self._inodes.update(node.inodes())
            self.count += node.file_count
            for child in node.directories.values():
                child.parent = node
        self.unread |= lost.unread
        self.linked |= lost.linked
        return lost.node

    def forget_lost(self) -> None:
        """Drops the lost directories, after the scan found them nowhere."""
        lost, self._lost = self._lost, {}
        for directory in lost.values():
            self._forget(directory)
            if directory.node.inode in self.names.left:
                self.names.departed.append((self.names.left[directory.node.inode][0], directory.node))

    def _forget(self, lost: _LostDirectory) -> None:
        for _, node in lost.node.walk():
            self._forgotten(node)

    def arrive(self, node: DirectoryNode, name: bytes, path: RelPath, status: FileStatus) -> None:
        """Records for `trace` a new name before it is captured."""
        known = self.uncaptured.forget(path)
        if name in node.files:
            self.names.leave(node.files[name], path)
        if self.looked_at:
            was_there = name in node.others and (known is None or known.inode == status.st_ino)
            self.names.arrived[node, name] = None if was_there else status
            if known is not None and not was_there:
                self.uncaptured.gone[known.inode] = path, known

    def put_other(self, node: DirectoryNode, name: bytes, why: Uncaptured | SkipReason) -> None:
        """Adds a name that is not captured, in place of whatever had that name."""
        if node.others.get(name) is not why:
            self.coverage.leave_out(node, name, why)
            linked = name in self.linked.get(node, ())
            self.drop(node, name)
            node.others[name] = why
            # a change through another name may remove the reason for skipping
            self.set_linked(node, name, linked and isinstance(why, SkipReason))

    def mark_unread(self, node: DirectoryNode, name: bytes, is_link: bool) -> None:
        """Marks a file as to be read."""
        self.unread.setdefault(node, {})[name] = is_link

    def put_read_file(self, node: DirectoryNode, name: bytes, record: Record) -> None:
        """Adds or replaces a file that was unread."""
        _discard(self.unread, node, name)
        self.put_file(node, name, record)

    def lose(self, node: DirectoryNode, name: bytes) -> None:
        """Drops a name that is gone, with its uncaptured files; `put_directory` may find a directory again."""
        above = self.path_of(node)
        if above is not None:
            path = join(above, name)
            if name in node.others:
                if self.coverage.left_out:
                    self.coverage.invalidate()
                self.uncaptured.note_gone(path, noted=node.others[name] is not Uncaptured.HIDDEN)
            if name in node.directories:
                self.names.left[node.directories[name].inode] = path, 0
                for here, below in node.directories[name].walk(path):
                    for other, why in below.others.items():
                        self.uncaptured.note_gone(here + b"/" + other, noted=why is not Uncaptured.HIDDEN)
        lost = self._take_out(node, name)
        if lost is not None and self.knows_inodes:
            before, self._lost[lost.node.inode] = self._lost.get(lost.node.inode), lost
            lost = before
        if lost is not None:
            self._forget(lost)
        self.drop(node, name)

    def drop(self, node: DirectoryNode, name: bytes) -> None:
        """Drops a name, whatever it is."""
        self.drop_file(node, name)
        gone = self._take_out(node, name)
        if gone is not None:
            self._forget(gone)
        node.others.pop(name, None)

    def drop_file(self, node: DirectoryNode, name: bytes) -> None:
        """Drops the file of that name, if there is one."""
        record = node.files.pop(name, None)
        if record is not None:
            above = self.path_of(node)
            self.names.leave(record, join(above, name))
            self.count -= 1
            node.invalidate_tree()
        _discard(self.unread, node, name)
        self.set_linked(node, name, False)

    def _take_out(self, above: DirectoryNode, name: bytes) -> _LostDirectory | None:
        """Removes the directory of that name, if any, with all below it."""
        gone = above.directories.pop(name, None)
        if gone is None:
            return None
        above.invalidate_tree()
        lost = _LostDirectory(gone, {}, {})
        for _, node in gone.walk():
            node.parent = None
            self.count -= node.file_count
            if node in self.unread:
                lost.unread[node] = self.unread.pop(node)
            if node in self.linked:
                lost.linked[node] = self.linked.pop(node)
            self.coverage.drop(node)
        return lost

    def set_linked(self, node: DirectoryNode, name: bytes, linked: bool) -> bool:
        """Sets whether a file has several names; returns whether that is a change."""
        names = self.linked.get(node, set())
        if (name in names) is linked:
            return False
        if linked:
            self.linked.setdefault(node, set()).add(name)
        else:
            names.remove(name)
            if not names:
                del self.linked[node]
        return True

    def names_of_inodes(self, numbers: Collection[int]) -> dict[DirectoryNode, set[bytes]]:
        """Returns the names of all files that may have these inodes, skipped ones too."""
        if self._inodes is None or self._inodes.is_stale:
            self._inodes = InodeIndex(inode for _, node in self.root.walk() for inode in node.inodes())
        inodes = Inodes([number for number in numbers if number in self._inodes])
        names_by_directory: dict[DirectoryNode, set[bytes]] = {}
        pending = [self.root] if inodes.numbers else []
        while pending:
            node = pending.pop()
            pending.extend(node.directories.values())
            names = node.of_inodes(inodes)
            if names:
                names_by_directory[node] = set(names)
        for node, skipped in self.coverage.skipped():
            above = self.path_of(node) or b""
            for name in skipped:
                known = self.uncaptured.known.get(join(above, name))
                if known is None or known.inode in numbers:
                    names_by_directory.setdefault(node, set()).add(name)
        return names_by_directory

    def has(self, path: RelPath) -> bool:
        """Returns whether a captured file or directory is at a path, read or not."""
        above, _, name = path.rpartition(b"/")
        node = self.root.directory(above)
        return node is not None and (
            name in node.files or name in node.directories or name in self.unread.get(node, ())
        )


class CoverageKeeper:
    """Computes what a snapshot has beside its tree, and only anew what may have changed."""

    def __init__(self, state: TreeState, umask: int) -> None:
        self._state = state
        self._umask = umask
        self.origins: dict[RelPath, tuple[FormerName, ...]] = {}  # former names, latest last; empty if not scanned
        self.left_out: dict[RelPath, ObjectId] = {}  # see `Coverage`; some may be gone
        self._unconfirmed: list[RelPath] = []
        self._notable: set[DirectoryNode] = set()
        self._rules: WorkspaceRules | None = None
        self._coverage: Coverage | None = None

    @property
    def is_known(self) -> bool:
        """Whether nothing changed since `of`."""
        return self._coverage is not None

    def invalidate(self) -> None:
        """Makes `of` compute the coverage again."""
        self._coverage = None

    def set_origins(self, origins: dict[RelPath, tuple[FormerName, ...]]) -> None:
        """Replaces `origins`."""
        self.origins = origins
        self._coverage = None

    def drop(self, node: DirectoryNode) -> None:
        """Removes a directory that is gone from the state."""
        if node in self._notable:
            self._notable.remove(node)
            self._coverage = None

    def skipped(self) -> Iterator[tuple[DirectoryNode, set[bytes]]]:
        """Yields the skipped names of each directory that has some."""
        for node in self._notable:
            skipped = {name for name, why in node.others.items() if isinstance(why, SkipReason)}
            if skipped:
                yield node, skipped

    def set_permissions(self, node: DirectoryNode, permissions: int) -> None:
        """Updates the permissions of a directory."""
        if node.permissions != permissions:
            node.permissions = permissions
            self.update((node,))

    def leave_out(self, node: DirectoryNode, name: bytes, why: Uncaptured | SkipReason) -> None:
        """Records a captured name that will be ignored from now on: it is not deleted."""
        above = self._state.path_of(node)
        path = join(above, name)
        if why is Uncaptured.IGNORED_FILE and name in node.files:
            self.left_out[path] = oid_of(node.files[name])
        elif why is Uncaptured.IGNORED_DIRECTORY and name in node.directories:
            inside = list(node.directories[name].walk(path))
            if sum(below.file_count for _, below in inside) > MOST_IN_DIRECTORY:
                self.left_out[path] = b""
            else:
                files = {
                    here + b"/" + each: oid_of(record) for here, below in inside for each, record in below.files.items()
                }
                self.left_out |= files
                self._unconfirmed += files
        else:
            return
        self._coverage = None

    def cover(self, above: DirectoryNode, name: bytes, path: RelPath) -> None:
        """Records a mount over a directory: what is below it is unknown."""
        self._state.put_other(above, name, SkipReason.SPECIAL)
        self.left_out[path] = b""
        self._coverage = None

    def confirm_left_out(self, root: int) -> None:
        """Drops files of now ignored directories that had gone before; `root` is a descriptor."""
        for path in self._unconfirmed:
            try:
                os.stat(path, dir_fd=root, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                self.left_out.pop(path, None)
            except OSError:
                continue
        self._unconfirmed.clear()

    def is_left_out(self, path: RelPath) -> bool:
        """Returns whether a file was captured, no longer is, and is or may still be there."""
        if not self.left_out:
            return False
        folder = next((above for above in (path, *parents(path)) if self.left_out.get(above) == b""), None)
        if folder is None:
            return path in self.left_out and self._state.root.ignores(path)
        above, _, name = folder.rpartition(b"/")
        node = self._state.root.directory(above)
        return self._state.root.ignores(folder + b"/") or (
            node is not None and node.others.get(name) is SkipReason.SPECIAL
        )

    def update(self, nodes: Iterable[DirectoryNode]) -> None:
        """Updates the coverage with directories that a scan visited."""
        for node in nodes:
            notable = self._is_notable(node)
            if notable or node in self._notable:
                self._coverage = None
            if notable and self._state.holds(node):
                self._notable.add(node)
            else:
                self._notable.discard(node)

    def of(self, rules: WorkspaceRules, forced: tuple[RelPath, ...]) -> Coverage:
        """Returns the coverage of a snapshot of the state."""
        known = self._coverage
        if known is not None and known.prefix == rules.prefix and known.forced == forced and self._rules is rules:
            return known
        empty: list[RelPath] = []
        skipped: list[Skip] = []
        texts: list[RuleText] = []
        permissions: list[tuple[RelPath, int]] = []
        for node in self._notable:
            path = self._state.path_of(node)
            assert path is not None
            if path and _is_vacant(node):
                empty.append(path)
            prefix = path + b"/" if path else b""
            skipped += [Skip(prefix + name, why) for name, why in node.others.items() if isinstance(why, SkipReason)]
            permissions += [(prefix + name, unusual) for name, unusual in node.unusual(self._umask).items()]
            if path and self._is_unusual(node):
                permissions.append((path, node.permissions))
            if node.gitignore is not None and node.gitignore.unreadable:
                texts.append(RuleText("unreadable", prefix + b".gitignore", b""))
            elif node.gitignore is not None and _holds_uncaptured_rules(node):
                texts.append(RuleText("gitignore", node.gitignore.base, node.gitignore.text))
        self._rules = rules
        self.left_out = {path: oid for path, oid in self.left_out.items() if self.is_left_out(path)}
        self._coverage = Coverage(
            prefix=rules.prefix,
            empty_dirs=tuple(sorted(empty)),
            skipped=tuple(sorted(skipped, key=lambda skip: skip.path)),
            rules=(*rules.texts, *sorted(texts, key=lambda text: text.base)),
            forced=forced,
            origins=tuple((path, self.origins[path]) for path in sorted(self.origins) if self._state.has(path)),
            permissions=tuple(sorted(permissions)[:MOST_PERMISSIONS]),
            left_out=tuple(sorted(self.left_out.items())[:_MOST_LEFT_OUT]),
        )
        return self._coverage

    def _is_notable(self, node: DirectoryNode) -> bool:
        return (
            _is_vacant(node)
            or any(isinstance(why, SkipReason) for why in node.others.values())
            or _holds_uncaptured_rules(node)
            or (node.gitignore is not None and node.gitignore.unreadable)
            or bool(node.unusual(self._umask))
            or self._is_unusual(node)
        )

    def _is_unusual(self, node: DirectoryNode) -> bool:
        return node.permissions not in (0, 0o777 & ~self._umask)


def _is_vacant(node: DirectoryNode) -> bool:
    return not (node.file_count or node.directories or node.others)


def _holds_uncaptured_rules(node: DirectoryNode) -> bool:
    return (
        node.gitignore is not None
        and b".gitignore" not in node.files
        and node.rules is not None
        and node.rules.scope is Scope.RULES
    )


def _discard(held: dict[DirectoryNode, dict[bytes, bool]], node: DirectoryNode, name: bytes) -> None:
    names = held.get(node)
    if names is not None and names.pop(name, None) is not None and not names:
        del held[node]

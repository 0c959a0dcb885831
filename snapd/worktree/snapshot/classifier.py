"""Decides for each name of a directory whether it is captured and must be read, or why it is not captured."""

from __future__ import annotations

import re
import stat
from typing import NamedTuple

import attrs

from snapd.model.paths import is_tree_name
from snapd.model.snapshot import ObjectId, RelPath, SkipReason
from snapd.worktree.fs.listing import SIGNATURE_BYTES, FileStatus, ListedFile, Listing, pack_signature
from snapd.worktree.fs.stable_read import racy_since
from snapd.worktree.git.index_seed import IndexSeed
from snapd.worktree.ignore import DirectoryRules, RuleEvaluator, Scope
from snapd.worktree.state.file_state import (
    CTIMES,
    PackedFiles,
    ctime_of,
    inode_of,
    is_racy_record,
    seeded_record,
)
from snapd.worktree.state.nodes import DirectoryNode, Uncaptured, join
from snapd.worktree.state.tree_state import TreeState

OWN_TEMPORARY = re.compile(rb"\.snapd-tmp-[0-9a-f]{16}")  # files snapd is about to move into place: never captured
_UNPLAIN = re.compile(rb"(?:\A|\0)[.gG]")  # in zero-terminated names: one that `_is_plain` must check


class Visit(NamedTuple):
    """A directory to visit."""

    path: RelPath
    node: DirectoryNode
    rules: DirectoryRules  # its parent's, with its scope, until its own `.gitignore` is read
    deep: bool  # also visit directories below whose inode did not change


@attrs.frozen
class SeededFiles:
    """The files in the project's git index, and which of their blobs the store has."""

    seed: IndexSeed
    stored: frozenset[ObjectId]


@attrs.define
class NameClassifier:
    """Updates the state from the names in directories."""

    hidden: RelPath | None  # never captured (a store inside the workspace)
    limit: int  # bytes; larger files are not captured
    state: TreeState
    evaluator: RuleEvaluator
    seed: SeededFiles | None  # for a first scan
    pending: list[Visit] = attrs.field(factory=list)
    several_names: set[int] = attrs.field(factory=set)  # inodes of files with several names, or a new one
    _racy_from: int = attrs.field(factory=racy_since)

    def take(self, visit: Visit, listing: Listing, *, same_rules: bool) -> None:
        """Updates all names of a directory and drops those that are gone; `same_rules` as for `consider`."""
        state, node = self.state, visit.node
        is_new = not (node.file_count or node.directories or node.others)
        if is_new and self.seed is not None:
            statuses = self._take_seeded(visit, listing, self.seed)
        else:
            statuses = listing.statuses()
            for name in [name for name in (*node.files, *node.directories, *node.others) if name not in statuses]:
                state.lose(node, name)
        for name in [name for name in state.unread.get(node, ()) if name not in statuses]:
            state.drop_file(node, name)
        for name in listing.denied.split(b"\0")[:-1]:
            state.put_other(node, name, SkipReason.UNREADABLE)
        for name, status in statuses.items():
            self.consider(visit, name, status, same_rules=same_rules)
        if not is_new:
            # in the order of the listing, so that the next listing can be compared as a whole
            node.files = {name: node.files[name] for name in statuses if name in node.files}
            node.directories = {name: node.directories[name] for name in statuses if name in node.directories}

    def _take_seeded(self, visit: Visit, listing: Listing, seed: SeededFiles) -> dict[bytes, ListedFile]:
        """Adds the files of a new directory that match the project's index, and returns the others."""
        several = listing.several
        if int.from_bytes(listing.largest, "little") > self.limit:
            return listing.statuses()
        stored, signatures, plain = seed.stored, listing.signatures, self._racy_from
        oids = seed.seed.oids(visit.path, listing)
        if (
            not several
            and stored.issuperset(oids)
            and (not _UNPLAIN.search(listing.names) or all(map(_is_plain, listing.names.split(b"\0")[:-1])))
            and all(ctime < plain for (ctime,) in CTIMES.iter_unpack(signatures))
        ):
            certain = b"".join([oid for oid in oids if oid is not None])
            self.state.put_new_files(visit.node, PackedFiles(listing.names, signatures, certain, bytes(len(oids))))
            return listing._replace(names=b"", signatures=b"", owners=b"").statuses()
        taken: dict[bytes, bytes] = {}
        linked = frozenset(several.split(b"\0"))
        for at, (name, oid) in enumerate(zip(listing.names.split(b"\0"), oids, strict=False)):
            if oid is not None and oid in stored and name not in linked and _is_plain(name):
                signature = signatures[at * SIGNATURE_BYTES : (at + 1) * SIGNATURE_BYTES]
                taken[name] = seeded_record(signature, oid, ctime_of(signature) >= plain)
        self.state.put_new_files(visit.node, taken)
        return listing.statuses(taken)

    def consider(self, visit: Visit, name: bytes, status: FileStatus, *, same_rules: bool) -> None:
        """Updates one name of a directory; `same_rules`: the rules, and so the decision, are those of the last scan."""
        state, node, rules = self.state, visit.node, visit.rules
        here = join(visit.path, name)
        if name == b".git" or here == self.hidden or OWN_TEMPORARY.fullmatch(name):
            if name == b".git":
                state.uncaptured.note(here, status)
            state.put_other(node, name, Uncaptured.HIDDEN)
            return
        kind = stat.S_IFMT(status.st_mode)
        is_directory = kind == stat.S_IFDIR
        ignored = Uncaptured.IGNORED_DIRECTORY if is_directory else Uncaptured.IGNORED_FILE
        scope: Scope | None
        if same_rules and node.others.get(name) is ignored:
            self._note_uncaptured(here, status)
            return
        if (
            same_rules
            and is_directory
            and (child := node.directories.get(name)) is not None
            and child.rules is not None
        ):
            scope = child.rules.scope
        elif same_rules and not is_directory and name in node.files:
            scope = rules.scope
        else:
            scope = self.evaluator.scope_of(here, is_directory, rules)
        if scope is None and name == b".gitignore" and name in node.files:
            # otherwise a rule that ignores its own file could be neither seen nor undone
            scope = rules.scope
        if scope is None:
            self._note_uncaptured(here, status)
            state.put_other(node, name, ignored)
        elif not is_tree_name(name):
            state.put_other(node, name, SkipReason.UNSUPPORTED_NAME)
        elif is_directory:
            self._consider_directory(
                node, name, status, visit._replace(path=here, rules=attrs.evolve(rules, scope=scope))
            )
        elif kind not in (stat.S_IFREG, stat.S_IFLNK):
            state.put_other(node, name, SkipReason.SPECIAL)
        elif kind == stat.S_IFREG and status.st_size > self.limit:
            state.put_other(node, name, SkipReason.TOO_LARGE)
            state.set_linked(node, name, status.st_nlink > 1)
            self._note_uncaptured(here, status)
        else:
            record = node.files.get(name)
            # an unread name arrived in an earlier scan
            is_new = name not in state.unread.get(node, ()) if record is None else inode_of(record) != status.st_ino
            if is_new:
                state.arrive(node, name, here, status)
            self._consider_file(node, name, status, is_link=kind == stat.S_IFLNK)

    def _note_uncaptured(self, path: RelPath, status: FileStatus) -> None:
        self._note_other_names(status)
        self.state.uncaptured.note(path, status)

    def _note_other_names(self, status: FileStatus) -> None:
        """Notes that a file may be captured under other names too."""
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
            self.several_names.add(status.st_ino)

    def _consider_directory(self, above: DirectoryNode, name: bytes, status: FileStatus, visit: Visit) -> None:
        child = above.directories.get(name)
        if child is not None and child.inode == status.st_ino:
            self.state.coverage.set_permissions(child, stat.S_IMODE(status.st_mode))
            if visit.deep or child.rules is None or child.rules.scope is not visit.rules.scope:
                self.pending.append(visit._replace(node=child))
            return
        if child is not None:
            # another directory took its place
            self.state.lose(above, name)
        self.state.arrive(above, name, visit.path, status)
        self.state.drop(above, name)
        child = self.state.put_directory(above, name, status.st_ino)
        self.state.coverage.set_permissions(child, stat.S_IMODE(status.st_mode))
        self.pending.append(visit._replace(node=child, deep=True))

    def _consider_file(self, node: DirectoryNode, name: bytes, status: FileStatus, *, is_link: bool) -> None:
        state = self.state
        if name in node.others or name in node.directories:
            state.drop(node, name)
        signature = pack_signature(status)
        record = node.files.get(name)
        is_news = state.set_linked(node, name, status.st_nlink > 1 and not is_link)
        if is_news or record is None or inode_of(record) != status.st_ino:
            # a new name of this file: from now on every scan checks its other names too
            self._note_other_names(status)
        if record is None or record[:SIGNATURE_BYTES] != signature or is_racy_record(record):
            state.mark_unread(node, name, is_link)


def _is_plain(name: bytes) -> bool:
    return name[:1] not in (b".", b"g", b"G") or (is_tree_name(name) and not OWN_TEMPORARY.fullmatch(name))

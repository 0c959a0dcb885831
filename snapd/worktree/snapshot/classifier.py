"""Decides what each name of a directory is: captured, and whether it has to be read; passed over, and why."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import SkipReason
from snapd.core.paths import is_tree_name
from snapd.worktree.fs.listing import SIGNATURE_BYTES, pack_signature
from snapd.worktree.fs.stable_read import racy_from
from snapd.worktree.ignore.directory_rules import Scope
from snapd.worktree.state.file_state import (
    CTIMES,
    PackedFiles,
    ctime_of,
    inode_of,
    is_racy_record,
    seeded_record,
)
from snapd.worktree.state.nodes import DirectoryNode, Uncaptured

if TYPE_CHECKING:
    from snapd.core.model import ObjectId, RelPath
    from snapd.worktree.fs.listing import FileStatus, ListedFile, Listing
    from snapd.worktree.git.index_seed import IndexSeed
    from snapd.worktree.ignore.directory_rules import DirectoryRules
    from snapd.worktree.ignore.evaluator import RuleEvaluator
    from snapd.worktree.state.tree_state import TreeState

    Visit = tuple[RelPath, DirectoryNode, DirectoryRules, bool]

OWN_TEMPORARY = re.compile(rb"\.snapd-tmp-[0-9a-f]{16}")
"""Names of files that an operation of ours is about to move into place; never captured."""
_UNPLAIN = re.compile(rb"(?:\A|\0)[.gG]")
"""Among some names that end with a zero byte each: one that `_is_plain` has to look at more closely."""


@attrs.frozen
class SeededFiles:
    """What the project's own git knows of its files, as far as the store has it.

    Attributes:
        seed: what it knows.
        stored: the blobs that the store has.
    """

    seed: IndexSeed
    stored: frozenset[ObjectId]


@attrs.define
class NameClassifier:
    """Puts down in memory what the names of directories are.

    Attributes:
        hidden: a directory that is never captured (a store inside the workspace), if any.
        limit: bytes; larger files are not captured.
        memory: what is compared with, and brought up to date.
        judge: says what is ignored.
        seed: for a first look, what the project's own git knows.
        pending: the directories that are to be looked at next: path, node, rules, whether with all below.
        several_names: inodes of files that turned out to have more than one name, or another name than they had.
    """

    hidden: RelPath | None
    limit: int
    state: TreeState
    evaluator: RuleEvaluator
    seed: SeededFiles | None
    pending: list[Visit] = attrs.field(factory=list)
    several_names: set[int] = attrs.field(factory=set)
    _racy_from: int = attrs.field(factory=racy_from)

    def take(
        self, path: RelPath, node: DirectoryNode, listing: Listing, rules: DirectoryRules, known: bool, deep: bool
    ) -> None:
        """Takes in all the names of a directory, and forgets those that are no more; see `consider`."""
        state = self.state
        is_new = not (node.file_count or node.directories or node.others)
        if is_new and self.seed is not None:
            found = self._take_seeded(path, node, listing, self.seed)
        else:
            found = listing.found()
            for name in [name for name in (*node.files, *node.directories, *node.others) if name not in found]:
                state.drop(node, name)
        for name in [name for name in state.unread.get(node, ()) if name not in found]:
            state.drop_file(node, name)
        for name in listing.denied.split(b"\0")[:-1]:
            state.put_other(node, name, SkipReason.UNREADABLE)
        for name, status in found.items():
            self.consider(path, node, name, status, rules, known, deep)
        if not is_new:
            # in the order of the listing, so that the next one can be compared as a whole
            node.files = {name: node.files[name] for name in found if name in node.files}
            node.directories = {name: node.directories[name] for name in found if name in node.directories}

    def _take_seeded(
        self, path: RelPath, node: DirectoryNode, listing: Listing, seed: SeededFiles
    ) -> dict[bytes, ListedFile]:
        """Takes in, all at once, the files of a new directory that the project's index holds as they are.

        Returns:
            What else there is.
        """
        several = listing.several
        if int.from_bytes(listing.largest, "little") > self.limit:
            return listing.found()
        stored, signatures, plain = seed.stored, listing.signatures, self._racy_from
        oids = seed.seed.oids(path, listing)
        if (
            not several
            and stored.issuperset(oids)
            and (not _UNPLAIN.search(listing.names) or all(map(_is_plain, listing.names.split(b"\0")[:-1])))
            and all(ctime < plain for (ctime,) in CTIMES.iter_unpack(signatures))
        ):
            certain = b"".join([oid for oid in oids if oid is not None])
            self.state.put_new_files(node, PackedFiles(listing.names, signatures, certain, bytes(len(oids))))
            return listing._replace(names=b"", signatures=b"", owners=b"").found()
        taken: dict[bytes, bytes] = {}
        linked = frozenset(several.split(b"\0"))
        for at, (name, oid) in enumerate(zip(listing.names.split(b"\0"), oids, strict=False)):
            if oid is not None and oid in stored and name not in linked and _is_plain(name):
                signature = signatures[at * SIGNATURE_BYTES : (at + 1) * SIGNATURE_BYTES]
                taken[name] = seeded_record(signature, oid, ctime_of(signature) >= plain)
        self.state.put_new_files(node, taken)
        return listing.found(taken)

    def consider(
        self,
        path: RelPath,
        node: DirectoryNode,
        name: bytes,
        status: FileStatus,
        rules: DirectoryRules,
        known: bool,
        deep: bool,
    ) -> None:
        """Takes in what one name is.

        Args:
            path: the directory.
            node: the same.
            name: in it.
            status: what `lstat` says of it.
            rules: of the directory.
            known: what was judged by the last look still holds.
            deep: what lies below it is looked at even where it is the directory that it was.
        """
        here = _join(path, name)
        state = self.state
        if name == b".git" or here == self.hidden or OWN_TEMPORARY.fullmatch(name):
            state.put_other(node, name, Uncaptured.HIDDEN)
            return
        kind = stat.S_IFMT(status.st_mode)
        is_directory = kind == stat.S_IFDIR
        ignored = Uncaptured.IGNORED_DIRECTORY if is_directory else Uncaptured.IGNORED_FILE
        scope: Scope | None
        if known and node.others.get(name) is ignored:
            self._regard_names(status)
            return
        if known and is_directory and (child := node.directories.get(name)) is not None and child.rules is not None:
            scope = child.rules.scope
        elif known and not is_directory and name in node.files:
            scope = rules.scope
        else:
            scope = self.evaluator.scope_of(here, is_directory, rules)
        if scope is None:
            self._regard_names(status)
            state.put_other(node, name, ignored)
        elif not is_tree_name(name):
            state.put_other(node, name, SkipReason.UNSUPPORTED_NAME)
        elif is_directory:
            self._consider_directory(here, node, name, status, attrs.evolve(rules, scope=scope), deep)
        elif kind not in (stat.S_IFREG, stat.S_IFLNK):
            state.put_other(node, name, SkipReason.SPECIAL)
        elif kind == stat.S_IFREG and status.st_size > self.limit:
            state.put_other(node, name, SkipReason.TOO_LARGE)
            state.set_linked(node, name, status.st_nlink > 1)
            self._regard_names(status)
        else:
            self._consider_file(node, name, status, is_link=kind == stat.S_IFLNK)

    def _regard_names(self, status: FileStatus) -> None:
        """A file may be captured by other names than this one."""
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
            self.several_names.add(status.st_ino)

    def _consider_directory(
        self, here: RelPath, above: DirectoryNode, name: bytes, status: FileStatus, rules: DirectoryRules, deep: bool
    ) -> None:
        state = self.state
        child = above.directories.get(name)
        if child is not None and child.inode == status.st_ino:
            if deep or child.rules is None or child.rules.scope is not rules.scope:
                self.pending.append((here, child, rules, deep))
            return
        state.drop(above, name)
        self.pending.append((here, state.put_directory(above, name, status.st_ino), rules, True))

    def _consider_file(self, node: DirectoryNode, name: bytes, status: FileStatus, *, is_link: bool) -> None:
        state = self.state
        if name in node.others or name in node.directories:
            state.drop(node, name)
        signature = pack_signature(status)
        record = node.files.get(name)
        is_news = state.set_linked(node, name, status.st_nlink > 1 and not is_link)
        if is_news or record is None or inode_of(record) != status.st_ino:
            # the name is a new one of this file: its others are to be looked at each time from now on
            self._regard_names(status)
        if record is None or record[:SIGNATURE_BYTES] != signature or is_racy_record(record):
            state.mark_unread(node, name, is_link)


def _is_plain(name: bytes) -> bool:
    """Whether a name is surely none that is never captured."""
    return name[:1] not in (b".", b"g", b"G") or (is_tree_name(name) and not OWN_TEMPORARY.fullmatch(name))


def _join(above: bytes, name: bytes) -> bytes:
    return above + b"/" + name if above else name

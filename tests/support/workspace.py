"""Builds workspaces on disk, opens them with the real store and work tree, and reads them back."""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from snapd.core.feed import TrackNotice
from snapd.core.operations.runner import OperationOptions
from snapd.core.workspace import Workspace
from snapd.locations import Locations
from snapd.model.call import Call
from snapd.model.snapshot import ObjectId, OnConflict, Outcome
from snapd.model.snapshot_records import SnapshotRecord, SnapshotRecordQuery
from snapd.settings.in_force import Base, Options, SettingsFile
from snapd.store.store import Store
from snapd.watch.choose import WatcherSetting
from snapd.workspaces import Workspaces
from tests.support.git import run_git

NOBODY = 65534
UMASK = 0o022


@attrs.frozen
class Symlink:
    """A symlink of a workspace."""

    target: bytes = attrs.field(converter=os.fsencode)


@attrs.frozen
class Executable:
    """A file of a workspace that may be run."""

    data: bytes


Item = bytes | Symlink | Executable | None
Items = Mapping[str, Item]
"""Files by name; `None`, under a name that ends in a slash, is an empty directory."""


def write(folder: str | os.PathLike[str], items: Items) -> None:
    """Puts files there, over what is at the same names; the directories above are made."""
    for name, item in items.items():
        path = os.path.join(folder, name.rstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if item is None:
            os.makedirs(path, exist_ok=True)
            continue
        if os.path.islink(path) or (isinstance(item, Symlink) and os.path.lexists(path)):
            os.unlink(path)
        if isinstance(item, Symlink):
            os.symlink(item.target, os.fsencode(path))
            continue
        with open(path, "wb") as file:
            file.write(item.data if isinstance(item, Executable) else item)
        os.chmod(path, 0o755 if isinstance(item, Executable) else 0o644)


def read(folder: str | os.PathLike[str]) -> dict[str, Item]:
    """Everything below a folder but `.git`, in the form that `write` takes; special files are left out."""
    found: dict[str, Item] = {}
    for above, directories, files in os.walk(folder):
        if ".git" in directories:
            directories.remove(".git")
        links = [name for name in directories if os.path.islink(os.path.join(above, name))]
        for name in [*files, *links]:
            path = os.path.join(above, name)
            mode = os.lstat(path).st_mode
            if name == ".git" or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                continue
            found[os.path.relpath(path, folder)] = _item(path, mode)
        if not os.listdir(above) and above != os.fspath(folder):
            found[os.path.relpath(above, folder) + "/"] = None
    return found


def _item(path: str, mode: int) -> Item:
    if stat.S_ISLNK(mode):
        return Symlink(os.readlink(os.fsencode(path)))
    with open(path, "rb") as file:
        data = file.read()
    return Executable(data) if mode & 0o100 else data


def git_tree_hash(scratch: Path, items: Items) -> ObjectId:
    """The id that git itself gives the tree of some files.

    Args:
        scratch: where a repository for that may be made.
        items: the files; empty directories have no part in a tree.
    """
    return git_tree_hashes(scratch, items)[0]


def git_tree_hashes(scratch: Path, *states: Items) -> list[ObjectId]:
    """As `git_tree_hash`, of several states; bytes go in through `git fast-import`, unconverted."""
    repository = scratch / "oracle.git"
    if not repository.exists():
        run_git(scratch, "init", "-q", "--bare", "--template=", str(repository))
    stream: list[bytes] = []
    for items in states:
        stream.append(b"reset refs/heads/oracle\n\ncommit refs/heads/oracle\ncommitter x <x> 0 +0000\ndata 0\n")
        for name, item in items.items():
            if item is None:
                continue
            mode, data = _git_form(item)
            quoted = b"".join(b"\\%03o" % byte for byte in os.fsencode(name))
            stream.append(b'M %s inline "%s"\ndata %d\n%s\n' % (mode, quoted, len(data), data))
        # the tree of the commit
        stream.append(b'ls ""\n')
    # a pack for each import is made in half the time of loose objects
    options = ("-c", "fastimport.unpackLimit=1")
    found = run_git(repository, *options, "fast-import", "--quiet", "--force", input=b"".join(stream))
    return [bytes.fromhex(line.split()[2].decode()) for line in found.splitlines()]


def _git_form(item: Item) -> tuple[bytes, bytes]:
    if isinstance(item, Symlink):
        return b"120000", item.target
    if isinstance(item, Executable):
        return b"100755", item.data
    assert item is not None
    return b"100644", item


def git_changes(scratch: Path, before: Items, after: Items) -> list[tuple[str, str, int, int, bool]]:
    """The difference of two states, by git itself: name, status, additions, deletions, binary; ordered by name."""
    return git_tree_changes(scratch / "oracle.git", *git_tree_hashes(scratch, before, after))


def git_tree_changes(
    repository: str | Path, before: ObjectId, after: ObjectId
) -> list[tuple[str, str, int, int, bool]]:
    """As `git_changes`, of two trees of a repository."""
    trees = (before.hex(), after.hex())
    words = ("--git-dir=.", "diff", "--raw", "--numstat", "--no-renames", "-z")
    told = run_git(repository, *words, *trees).split(b"\0")[:-1]
    count = 2 * sum(part.startswith(b":") for part in told[::2])
    status = dict(zip(told[1:count:2], told[:count:2], strict=True))
    kinds = {b"A": "added", b"D": "deleted", b"M": "modified", b"T": "modified"}
    found = []
    for line in told[count:]:
        added, deleted, name = line.split(b"\t", 2)
        binary = added == b"-"
        counts = (0, 0) if binary else (int(added), int(deleted))
        found.append((os.fsdecode(name), kinds[status[name][-1:]], *counts, binary))
    return sorted(found, key=lambda one: os.fsencode(one[0]))


def recorded(store: Store) -> tuple[SnapshotRecord, ...]:
    """All snapshots of a store, in their order."""
    return store.timeline.taken(SnapshotRecordQuery(), None, 1 << 30)[::-1]


class Bench:
    """A workspace, open, with a home and data of its own beside it.

    Attributes:
        root: the workspace.
        home: the user's home directory, outside the workspace.
        workspace: the core's own object.
        options: what the bench, as a client of it, asks for.
    """

    def __init__(self, folder: Path, inside: str, watcher: WatcherSetting = "auto") -> None:
        self.folder = folder
        self._watcher = watcher
        self.home = folder / "home"
        self.root = folder / "work" / inside if inside else folder / "work"
        self.home.mkdir(parents=True, exist_ok=True)
        self.root.mkdir(parents=True, exist_ok=True)
        self.workspaces: Workspaces
        self.workspace: Workspace
        self.is_open = False

    def open(self) -> None:
        """Opens the workspace as a new process would."""
        locations = Locations(
            str(self.folder / "config.toml"), str(self.folder / "data"), str(self.folder / "run"), str(self.home)
        )
        self.workspaces = Workspaces(locations, None, UMASK, None)
        self.options = Options(Base(SettingsFile(locations.config_file)), self)
        self.options.give({"watcher": self._watcher})
        self.workspace = self.workspaces.acquire(os.fsencode(self.root), self.options)
        self.is_open = True
        open_benches.append(self)

    def close(self) -> None:
        """Lets go of the workspace and its store."""
        if self.is_open:
            self.is_open = False
            self.workspaces.close()

    def reopen(self) -> None:
        """Closes it and opens it again."""
        self.close()
        self.open()

    def configure(self, *exclude: str, max_file_size: int = 1 << 20, include: Sequence[str] = ()) -> None:
        """Has other things captured."""
        self.options.give({"exclude": exclude, "max_file_size": max_file_size, "include": tuple(include)})

    def keep(self, days: float = 7.0, *, max_snapshots: int = 0, max_bytes: int = 0) -> None:
        """Has other snapshots kept."""
        self.options.give({"retention": days, "max_snapshots": max_snapshots, "max_store_size": max_bytes})

    # -- the folder

    def path(self, name: str) -> str:
        """The absolute path of a file."""
        return os.path.join(self.root, name)

    def write(self, items: Items) -> None:
        """Puts files into the workspace."""
        write(self.root, items)

    def remove(self, *names: str) -> None:
        """Deletes files, and directories with all in them."""
        for name in names:
            path = self.path(name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    def become(self, items: Items) -> None:
        """Makes the workspace hold just these files; a `.git` stays."""
        for name in os.listdir(self.root):
            if name != ".git":
                self.remove(name)
        self.write(items)

    def read(self) -> dict[str, Item]:
        """All that is in the workspace but `.git`."""
        return read(self.root)

    # -- the core

    def take(self, *forced: str, call: Call | None = None) -> TrackNotice:
        """Takes a snapshot."""
        return self.workspace.snapshots.track([os.fsencode(name) for name in forced], call or Call())

    def track(self, *forced: str) -> ObjectId:
        """Takes a snapshot; gives its tree."""
        return self.take(*forced).tree

    def restore(
        self, tree: ObjectId, on_conflict: OnConflict = "overwrite", *, dry_run: bool = False, call: Call | None = None
    ) -> Outcome:
        """Makes the workspace what a snapshot was."""
        return self.workspace.snapshots.restore(tree, OperationOptions(on_conflict, True, dry_run), call or Call())

    def revert(
        self, *patches: tuple[ObjectId, list[str]], on_conflict: OnConflict = "overwrite", dry_run: bool = False
    ) -> Outcome:
        """Brings files back."""
        named = [(tree, [os.fsencode(name) for name in names]) for tree, names in patches]
        return self.workspace.snapshots.revert(named, OperationOptions(on_conflict, True, dry_run), Call())

    def names(self, tree: ObjectId) -> list[str]:
        """The files of a snapshot."""
        return [
            os.fsdecode(path) for path in self.workspace.snapshots.names(tree, Call(), lambda _: True, None, None).paths
        ]

    # -- the store

    @property
    def store(self) -> str:
        """Where the store lies."""
        # not by its status, which a workspace that is closed or damaged does not tell
        return self.workspaces.store_of(os.fsencode(self.root), self.options.settings)

    def git(self, *args: str) -> bytes:
        """Runs git on the store."""
        return run_git(self.store, "--git-dir=.", *args)


open_benches: list[Bench] = []


def make(
    folder: Path, items: Items | None = None, *, inside: str = "", git: bool = False, watcher: WatcherSetting = "auto"
) -> Bench:
    """Makes a workspace and opens it.

    Args:
        folder: where it and all that belongs to it goes.
        items: its files.
        inside: the workspace is this folder of the directory `work`, rather than that directory itself.
        git: whether the directory `work` is to be a git work tree.
        watcher: what says that something may have changed.
    """
    bench = Bench(folder, inside, watcher)
    if git:
        run_git(folder / "work", "init", "-q")
    bench.write(items or {})
    bench.open()
    return bench


def close_all() -> None:
    """Closes what `make` opened: for the end of a test."""
    while open_benches:
        open_benches.pop().close()


def outcomes(outcome: Outcome) -> dict[str, str]:
    """What became of each file, as `outcome` or `outcome:reason`."""
    return {os.fsdecode(file.path): file.outcome + (f":{file.reason}" if file.reason else "") for file in outcome.files}


@contextmanager
def without_rights() -> Iterator[Path]:
    """A folder of a user whom permissions bind; for as long as it lasts, the process is that user."""
    folder = Path(tempfile.mkdtemp(prefix="snapd-test-"))
    is_root = os.geteuid() == 0
    # what Python imports only when it is first needed may lie where that user cannot read
    for encoding in ("ascii", "latin-1"):
        codecs.lookup(encoding)
    try:
        if is_root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        close_all()
        # what cannot be listed has to be opened up by the folder above, before the walk comes there
        for above, directories, _ in os.walk(folder):
            for name in directories:
                if not os.path.islink(path := os.path.join(above, name)):
                    os.chmod(path, 0o700)
        shutil.rmtree(folder)

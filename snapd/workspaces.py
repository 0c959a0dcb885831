"""Opens workspaces from folder, store and settings: the composition root of daemon and library."""

from __future__ import annotations

import os
import platform
import threading
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.text import DirectDiffer
from snapd.core.operations.editors import Editors
from snapd.core.workspace import Seams
from snapd.folders.former import former_histories, is_another, remember, set_aside
from snapd.folders.root import folder_around, has_history, store_of
from snapd.locations import check_private, project_id, store_directories, store_path
from snapd.model.errors import InvalidParams, SnapdError, StoreCorrupt, StoreLocked, WorkspaceGone, WorkspaceNotOpen
from snapd.model.ignore import RULES_BYTES
from snapd.model.paths import parents, shown
from snapd.model.snapshot import NO_COVERAGE
from snapd.model.snapshot_records import SnapshotRecordQuery
from snapd.model.trees import file_at
from snapd.notes.project import ProjectNotes
from snapd.refusal import canonical_root, check_root
from snapd.remotes.program import GitProgram
from snapd.secret_rules.shipped import secret_rules
from snapd.settings.in_force import FolderSettings
from snapd.sharing.remote_sessions import Machine, RemoteSessions
from snapd.sharing.workspace import SharedWorkspace
from snapd.store.adopt import ProjectBlobs
from snapd.store.files.durable import make_directories
from snapd.store.store import Store
from snapd.worktree.ignore import WORKSPACE_FILE, GitUser
from snapd.worktree.worktree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from snapd.core.compare.text import TextDiffer
    from snapd.core.seams import OtherSessions
    from snapd.locations import Locations
    from snapd.model.snapshot import Coverage, Entry, RelPath
    from snapd.settings.in_force import Options
    from snapd.settings.table import Settings

MAX_UNUSED = 16
"""Unused workspaces that stay open: each holds a tree's state and one of the user's 128 inotify queues (Linux)."""


@attrs.frozen
class _Location:
    """The paths of a workspace and its store; `hidden` is that of a store inside the workspace, relative to it."""

    root: bytes
    store: str
    hidden: bytes | None


@attrs.define
class _Open:
    """A store that this process owns, is opening or is closing, with the number of its `users`.

    `changing` is None while it is open; else it is done when the opening or closing is, and fails if the opening fails.
    """

    workspace: SharedWorkspace | None
    settings: FolderSettings
    users: int
    changing: Future[None] | None


@attrs.frozen
class _Closing:
    store: str
    workspace: SharedWorkspace
    done: Future[None]


class Workspaces:
    """The open workspaces of this process, each open once for all clients. Thread-safe.

    `umask` is for restored files; `socket` is None if other processes cannot reach this one; without `texts`, the
    calling thread compares texts; `host` is this machine's name for others; `editors` are the documents open in
    editors.
    """

    def __init__(
        self,
        locations: Locations,
        xdg_config_home: str | None,
        umask: int,
        socket: str | None,
        texts: TextDiffer | None = None,
    ) -> None:
        self.locations = locations
        self._user = GitUser(locations.home, xdg_config_home)
        self._machine = Machine(platform.node(), dict(os.environ), self._user)
        self._umask = umask
        self._socket = socket
        self.editors = Editors()
        self._texts = texts if texts is not None else DirectDiffer()
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._listeners: list[Callable[[SharedWorkspace], None]] = []

    def on_open(self, listener: Callable[[SharedWorkspace], None]) -> None:
        """Registers a listener for every workspace that is opened."""
        self._listeners.append(listener)

    def acquire(self, folder: bytes, options: Options) -> SharedWorkspace:
        """The workspace of a folder, opened if necessary; `options` apply until `release`. Raises `SnapdError`."""
        while True:
            shared_workspace = self.try_acquire(folder, options)
            if not isinstance(shared_workspace, Future):
                return shared_workspace
            shared_workspace.result()

    def try_acquire(
        self, folder: bytes, options: Options, *, only_open: bool = False
    ) -> SharedWorkspace | Future[None]:
        """Like `acquire`, but returns a future while another thread opens or closes the same store.

        When it is done, try again; it fails if the opening fails. With `only_open`, raises `WorkspaceNotOpen`.
        """
        settings = options.settings
        location = self._locate(folder, settings)
        policy = FolderSettings(options)
        while True:
            with self._lock:
                result = self._open.get(location.store)
                if result is None and only_open:
                    raise WorkspaceNotOpen(
                        f"{os.fsdecode(location.root)} is not open", hint="'snapd status' in that folder opens it"
                    )
                if result is None:
                    opening = self._open[location.store] = _Open(None, policy, 1, Future())
                    break
                if result.changing is not None:
                    return result.changing
                result.users += 1
            workspace = result.workspace
            assert workspace is not None
            if self._is_still_there(result, workspace, options):
                result.settings.add(options)
                return workspace
        workspace = self._open_now(location, settings, opening)
        opening.settings.add(options)
        return workspace

    def folder_around(self, folder: bytes, settings: Settings) -> bytes:
        """The folder itself or the one around it whose snapshots have its files: see `snapd.folders.root.root_of`."""
        return os.fsencode(folder_around(os.fsdecode(folder), self.locations, settings.data_dir))

    def store_of(self, folder: bytes, settings: Settings) -> str:
        """The path of a folder's store, which need not exist. Raises `WorkspaceRefused`."""
        return self._locate(folder, settings).store

    @property
    def all_open(self) -> list[SharedWorkspace]:
        """The open workspaces, used or not."""
        with self._lock:
            return [result.workspace for result in self._open.values() if result.workspace and result.changing is None]

    def release(self, workspace: SharedWorkspace, options: Options) -> bool:
        """Releases a workspace that a client acquired with these options.

        Returns whether it is unused now; it stays open until `close_unused`, or until many others are unused too.
        """
        with self._lock:
            store = next((store for store, each in self._open.items() if each.workspace is workspace), None)
            if store is None:
                return False
            # the most recently used one is closed last
            result = self._open[store] = self._open.pop(store)
            result.users -= 1
            result.settings.remove(options)
            unused = result.users == 0
        if unused:
            self._close_all(self._unused(MAX_UNUSED))
        return unused

    def close_unused(self) -> None:
        """Closes the unused workspaces."""
        self._close_all(self._unused(0))

    def close(self) -> None:
        """Closes all workspaces, used or not."""
        with self._lock:
            closing = [self._closing(store) for store, result in self._open.items() if result.changing is None]
        self._close_all(closing)

    # `_lock` only guards the table: opening or closing a store may take long

    def _open_now(self, location: _Location, settings: Settings, opening: _Open) -> SharedWorkspace:
        changing = opening.changing
        assert changing is not None
        try:
            workspace = self.make(location, opening.settings, settings)
            try:
                for listener in self._listeners:
                    listener(workspace)
            except BaseException:
                workspace.close()
                raise
        except BaseException as error:
            with self._lock:
                del self._open[location.store]
            changing.set_exception(error)
            raise
        with self._lock:
            opening.workspace = workspace
            opening.changing = None
        changing.set_result(None)
        return workspace

    def _unused(self, kept: int) -> list[_Closing]:
        """Takes the unused workspaces, except the `kept` most recently used ones, for closing."""
        with self._lock:
            unused = [store for store, result in self._open.items() if not result.users and result.changing is None]
            return [self._closing(store) for store in unused[: max(0, len(unused) - kept)]]

    def _closing(self, store: str) -> _Closing:
        """Takes an open workspace for closing. Call this with the lock, and close the result without it."""
        result = self._open[store]
        assert result.workspace is not None
        # another thread that acquires it now must not find the store still locked
        result.changing = Future()
        return _Closing(store, result.workspace, result.changing)

    def _close_all(self, closing: Iterable[_Closing]) -> None:
        with ExitStack() as stack:
            # all of them, even if one fails
            for each in closing:
                stack.callback(self._close_now, each)

    def _close_now(self, closing: _Closing) -> None:
        try:
            # the first commit, which identifies it, may have been made since
            with suppress(SnapdError):
                closing.workspace.check_present()
                remember(closing.store, os.fsdecode(closing.workspace.root))
            closing.workspace.close()
        finally:
            with self._lock:
                del self._open[closing.store]
            closing.done.set_result(None)

    def _is_still_there(self, result: _Open, workspace: SharedWorkspace, options: Options) -> bool:
        """Whether an acquired workspace still belongs to its folder, and is watched as these options require.

        Otherwise it is closed, and the caller opens it again; while others use it, it stays watched as it is.
        """
        try:
            workspace.check_present()
        except WorkspaceGone:
            # another folder took its place; clients of the old one get an error at their next request
            pass
        except StoreCorrupt:
            # the store was removed: clients that hold its hashes must not get a new store instead
            with self._lock:
                if result.users > 1:
                    return True
        else:
            with self._lock:
                if result.users > 1 or result.settings.opens_alike(options):
                    return True
        with self._lock:
            result.users -= 1
            # another thread may have done this already
            store = next((store for store, each in self._open.items() if each is result), None)
            closing = [] if store is None or result.changing is not None else [self._closing(store)]
        self._close_all(closing)
        return False

    @contextmanager
    def _beside(self, store: str, policy: FolderSettings, folder: bytes) -> Iterator[OtherSessions]:
        """The sessions of the workspace around `folder`, which must have another store than `store`."""
        options = policy.without_clients()
        data_dir = options.settings.data_dir
        result = folder_around(os.fsdecode(folder), self.locations, data_dir)
        named = shown(os.fsencode(result))
        other = store_of(result, self.locations, data_dir)
        if other == store:
            raise InvalidParams(
                f"from: {named} is the folder that the request is about", hint="name another folder", field="from"
            )
        if not has_history(other):
            raise InvalidParams(
                f"from: there are no snapshots of {named}",
                hint="name a folder in which an agent worked under snapd; 'snapd -C FOLDER log' shows its steps",
                field="from",
            )
        try:
            workspace = self.acquire(os.fsencode(result), options)
        except StoreLocked as error:
            hint = f"end that process, or write the session to a file there: 'snapd -C {named} bundle FILE SESSION'"
            raise StoreLocked(f"{named}: {error.message}", hint=hint, **error.data) from error
        try:
            yield workspace.for_other_folders()
        finally:
            self.release(workspace, options)

    def _locate(self, folder: bytes, settings: Settings) -> _Location:
        root = canonical_root(folder)
        configured = settings.data_dir
        data = os.path.join(root, os.fsencode(configured)) if configured else os.fsencode(self.locations.data)
        inside = configured is not None and not os.path.isabs(configured)
        allowed = [os.fsencode(folder) for folder in settings.allow_foreign]
        check_root(root, os.fsencode(self.locations.home), data, inside, allowed)
        real = os.path.realpath(data)
        hidden = os.path.relpath(real, root) if real.startswith(root + b"/") else None
        return _Location(root, store_path(os.fsdecode(real), project_id(root)), hidden)

    def make(self, location: _Location, policy: FolderSettings, settings: Settings) -> SharedWorkspace:
        """Opens the workspace of a folder."""
        work_tree = WorkTree(location.root, self._user, self._umask, location.hidden, settings.watcher)
        folder = os.fsdecode(location.root)
        try:
            if is_another(location.store, folder):
                # undoing changes of that folder in this one would destroy both
                set_aside(location.store)
            for directory in store_directories(location.store):
                make_directories(directory)
                check_private(directory, "the data directory", "SNAPD_DATA_DIR")
            store = Store(location.store, self._socket)
            try:
                remember(location.store, folder)
                work_tree.rules.earlier = partial(_contents, store)
                work_tree.scanner.attach(
                    os.path.join(location.store, "worktree"),
                    store.knows,
                    store.adopt,
                    ProjectBlobs,
                    _last_coverage(store),
                    was_killed=store.repository.journal.was_replayed,
                )
                remotes = RemoteSessions(
                    location.root, store, self._machine, partial(self._beside, location.store, policy)
                )
                return SharedWorkspace(
                    project_id(location.root),
                    work_tree,
                    store,
                    Seams(
                        policy=policy,
                        texts=self._texts,
                        other_machines=remotes,
                        editors=self.editors,
                        notes=ProjectNotes(location.root, GitProgram(self._machine.environment, protocols=())),
                        is_elsewhere=partial(_is_elsewhere, location),
                        former_histories=partial(former_histories, location.store, folder),
                    ),
                    remotes,
                    secret_rules,
                )
            except BaseException:
                store.close()
                raise
        except BaseException:
            work_tree.close()
            raise


def _last_coverage(store: Store) -> Coverage:
    with suppress(StoreCorrupt):
        for last in store.timeline.taken(SnapshotRecordQuery(), None, 1):
            return store.load(last.snapshot).coverage
    return NO_COVERAGE


def current_umask() -> int:
    """The umask of this process, which can only be read by setting it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _contents(store: Store) -> Iterator[bytes]:
    """Versions of the folder's own file of patterns in snapshots, newest first, without consecutive duplicates."""
    before: Entry | None = None
    below: int | None = None
    while taken := store.timeline.taken(SnapshotRecordQuery(), below, 100):
        for each in taken:
            entry = file_at(store.entry_in, each.tree, WORKSPACE_FILE.encode())
            if entry != before:
                before = entry
                yield b"" if entry is None else store.read_small_blob(entry.oid, RULES_BYTES) or b""
        below = taken[-1].place


def _is_elsewhere(location: _Location, path: RelPath) -> bool:
    """Whether a file belongs to a repository in a folder with a history of its own."""
    stores = os.path.dirname(location.store)
    inner = (os.path.join(location.root, above) for above in parents(path))
    matches = (folder for folder in inner if os.path.lexists(os.path.join(folder, b".git")))
    return any(has_history(os.path.join(stores, project_id(folder))) for folder in matches)

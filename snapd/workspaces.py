"""Opens workspaces: puts folder, store and settings together. The composition root of daemon and library alike."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import StoreCorrupt, WorkspaceGone
from snapd.core.text import DirectDiffer
from snapd.core.unsaved import Unsaved
from snapd.core.workspace import Workspace
from snapd.locations import check_private, store_directories, store_path
from snapd.store.durable import make_directories
from snapd.store.store import Store
from snapd.worktree.refusal import canonical_root, check_root, project_id
from snapd.worktree.rules import GitUser
from snapd.worktree.worktree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from snapd.config import Settings
    from snapd.core.ports import TextDiffer
    from snapd.locations import Locations

MAX_UNUSED = 16
"""Workspaces that stay open though nobody uses them: each has a memory of its tree and an inotify queue of the user's,
of which Linux gives 128."""


@attrs.frozen
class _Place:
    """Where a workspace and its store are."""

    root: bytes
    store: str
    hidden: bytes | None


@attrs.define
class _Open:
    workspace: Workspace
    users: int


class Workspaces:
    """The workspaces that this process has open; each once, whoever asks. Safe to use from several threads.

    Args:
        locations: of the user.
        xdg_config_home: `$XDG_CONFIG_HOME`, for the user's git configuration.
        umask: of the user, for restored files.
        socket: where other processes find this one, None where they cannot.
        texts: compares texts; None to have it done where it is asked for.

    Attributes:
        unsaved: which files have unsaved text in an editor, by what the editors tell.
    """

    def __init__(
        self,
        locations: Locations,
        xdg_config_home: str | None,
        umask: int,
        socket: str | None,
        texts: TextDiffer | None = None,
    ) -> None:
        self._locations = locations
        self._user = GitUser(locations.home, xdg_config_home)
        self._umask = umask
        self._socket = socket
        self.unsaved = Unsaved()
        self._texts = texts if texts is not None else DirectDiffer()
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._listeners: list[Callable[[Workspace], None]] = []

    def on_open(self, listener: Callable[[Workspace], None]) -> None:
        """Has every workspace shown when it is opened."""
        self._listeners.append(listener)

    def acquire(self, folder: bytes, settings: Settings, given: Container[str] = ()) -> Workspace:
        """The workspace of a folder, opened where it is not yet; `release` it.

        Args:
            folder: absolute.
            settings: hold for a workspace that is opened now.
            given: names of the settings that the one who asks has set: they hold for an open workspace too.

        Raises:
            WorkspaceRefused, StoreLocked, StoreCorrupt, IoError, StorageFull: it is not open.
        """
        place = self._place(folder, settings)
        with self._lock:
            found = self._still_there(place.store)
            if found is None:
                found = self._open[place.store] = _Open(self._make(place, settings), 0)
                for listener in self._listeners:
                    listener(found.workspace)
            found.users += 1
            self._close_some()
        apply_settings(found.workspace, settings, given)
        return found.workspace

    def store_of(self, folder: bytes, settings: Settings) -> str:
        """Where the store of a folder lies, or would; arguments as of `acquire`.

        Raises:
            WorkspaceRefused: it can have none.
        """
        return self._place(folder, settings).store

    @property
    def all_open(self) -> list[Workspace]:
        """Those that are open, whoever uses them."""
        with self._lock:
            return [found.workspace for found in self._open.values()]

    def release(self, workspace: Workspace) -> bool:
        """Says that a user of a workspace is done with it.

        Returns:
            Whether nobody uses it any more; it stays open until `close_unused`, or until many others are opened.
        """
        with self._lock:
            for found in self._open.values():
                if found.workspace is workspace:
                    found.users -= 1
                    return found.users == 0
        return False

    def close_unused(self) -> None:
        """Closes the workspaces that nobody uses."""
        with self._lock:
            # within the lock: who asks for one of them meanwhile must not find its store still owned
            for path in [path for path, found in self._open.items() if found.users == 0]:
                self._open.pop(path).workspace.close()

    def _close_some(self) -> None:
        unused = [path for path, found in self._open.items() if found.users == 0]
        for path in unused[: max(0, len(unused) - MAX_UNUSED)]:
            self._open.pop(path).workspace.close()

    def close(self) -> None:
        """Closes all, whoever uses them."""
        with self._lock:
            closing = [found.workspace for found in self._open.values()]
            self._open.clear()
        for workspace in closing:
            workspace.close()

    def _still_there(self, store: str) -> _Open | None:
        found = self._open.get(store)
        if found is None:
            return None
        try:
            found.workspace.check_present()
        except WorkspaceGone:
            # another folder took its place; who has the old one open is told so at the next request
            pass
        except StoreCorrupt:
            # somebody took the store away: who has it open must not take a new one for that which they have hashes of
            if found.users:
                return found
        else:
            return found
        del self._open[store]
        found.workspace.close()
        return None

    def _place(self, folder: bytes, settings: Settings) -> _Place:
        root = canonical_root(folder)
        configured = settings.data_dir
        data = os.path.join(root, os.fsencode(configured)) if configured else os.fsencode(self._locations.data)
        inside = configured is not None and not os.path.isabs(configured)
        allowed = [os.fsencode(folder) for folder in settings.allow_foreign]
        check_root(root, os.fsencode(self._locations.home), data, inside, allowed)
        real = os.path.realpath(data)
        hidden = os.path.relpath(real, root) if real.startswith(root + b"/") else None
        return _Place(root, store_path(os.fsdecode(real), project_id(root)), hidden)

    def _make(self, place: _Place, settings: Settings) -> Workspace:
        work_tree = WorkTree(place.root, self._user, self._umask, place.hidden, settings.watcher)
        try:
            for directory in store_directories(place.store):
                make_directories(directory)
                check_private(directory, "the data directory", "SNAPD_DATA_DIR")
            store = Store(place.store, self._socket)
            try:
                store.remember_root(place.root, work_tree.identity)
                work_tree.attach(os.path.join(place.store, "worktree"), store.knows, store.adopt, store.project_blobs)
                return Workspace(
                    project_id(place.root),
                    work_tree,
                    store,
                    settings.capture,
                    settings.kept,
                    self._texts,
                    self.unsaved,
                )
            except BaseException:
                store.close()
                raise
        except BaseException:
            work_tree.close()
            raise


def current_umask() -> int:
    """The umask of this process, which the system tells only to who sets it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def apply_settings(workspace: Workspace, settings: Settings, given: Container[str]) -> None:
    """Has some settings hold for an open workspace, for everyone who has it open.

    Args:
        workspace: the one.
        settings: their values.
        given: the names of those that are meant.
    """
    if "exclude" in given:
        workspace.settings = attrs.evolve(workspace.settings, exclude=settings.exclude)
    if "max_file_size" in given:
        workspace.settings = attrs.evolve(workspace.settings, max_file_size=settings.max_file_size)
    if "retention" in given:
        workspace.retention = attrs.evolve(workspace.retention, days=settings.retention)
    if "max_snapshots" in given:
        workspace.retention = attrs.evolve(workspace.retention, max_snapshots=settings.max_snapshots)
    if "max_store_size" in given:
        workspace.retention = attrs.evolve(workspace.retention, max_bytes=settings.max_store_size)

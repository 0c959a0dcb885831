"""Opens workspaces: puts folder, store and settings together. The composition root of daemon and library alike."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.text import DirectDiffer
from snapd.core.errors import StoreCorrupt, WorkspaceGone
from snapd.core.operations.unsaved import Unsaved
from snapd.core.workspace import Workspace
from snapd.locations import check_private, store_directories, store_path
from snapd.refusal import canonical_root, check_root, project_id
from snapd.settings.in_force import FolderSettings
from snapd.store.files.durable import make_directories
from snapd.store.store import Store
from snapd.worktree.ignore.rules import GitUser
from snapd.worktree.worktree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from snapd.core.ports.differ import TextDiffer
    from snapd.locations import Locations
    from snapd.settings.in_force import Options
    from snapd.settings.table import Settings

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
    """A store that this process owns, or is about to own, or is about to let go of.

    Attributes:
        workspace: None while it is being opened.
        settings: what holds for it.
        users: how many acquired it and have not released it.
        changing: done when it is open, or closed; None while it is open and stays so. Fails as the opening does.
    """

    workspace: Workspace | None
    settings: FolderSettings
    users: int
    changing: Future[None] | None


@attrs.frozen
class _Closing:
    store: str
    workspace: Workspace
    done: Future[None]


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

    def acquire(self, folder: bytes, options: Options) -> Workspace:
        """The workspace of a folder, opened where it is not yet; `release` it.

        Args:
            folder: absolute.
            options: of the client; they count until it releases the workspace, also what it gives later.

        Raises:
            WorkspaceRefused, StoreLocked, StoreCorrupt, IoError, StorageFull: it is not open.
        """
        while True:
            found = self.try_acquire(folder, options)
            if not isinstance(found, Future):
                return found
            found.result()

    def try_acquire(self, folder: bytes, options: Options) -> Workspace | Future[None]:
        """As `acquire`, but never waits for somebody else who opens or closes the same store.

        Returns:
            The workspace; or where its store is being opened or closed by somebody else, a future that is done
            when that is: then to be tried again. It fails as that opening does.
        """
        settings = options.settings
        place = self._place(folder, settings)
        policy = FolderSettings(options)
        while True:
            with self._lock:
                found = self._open.get(place.store)
                if found is None:
                    opening = self._open[place.store] = _Open(None, policy, 1, Future())
                    break
                if found.changing is not None:
                    return found.changing
                found.users += 1
            workspace = found.workspace
            assert workspace is not None
            if self._is_still_there(found, workspace, options):
                found.settings.add(options)
                return workspace
        workspace = self._open_now(place, settings, opening)
        opening.settings.add(options)
        return workspace

    def store_of(self, folder: bytes, settings: Settings) -> str:
        """Where the store of a folder lies, or would.

        Args:
            folder: absolute.
            settings: those that hold for it.

        Raises:
            WorkspaceRefused: it can have none.
        """
        return self._place(folder, settings).store

    @property
    def all_open(self) -> list[Workspace]:
        """Those that are open, whoever uses them."""
        with self._lock:
            return [found.workspace for found in self._open.values() if found.workspace and found.changing is None]

    def release(self, workspace: Workspace, options: Options) -> bool:
        """Says that a client is done with a workspace that it acquired with these options.

        Returns:
            Whether nobody uses it any more; it stays open until `close_unused`, or until many others are unused too.
        """
        with self._lock:
            store = next((store for store, each in self._open.items() if each.workspace is workspace), None)
            if store is None:
                return False
            # the one that was used last is closed last
            found = self._open[store] = self._open.pop(store)
            found.users -= 1
            found.settings.remove(options)
            unused = found.users == 0
        if unused:
            self._close_all(self._unused(MAX_UNUSED))
        return unused

    def close_unused(self) -> None:
        """Closes the workspaces that nobody uses."""
        self._close_all(self._unused(0))

    def close(self) -> None:
        """Closes all, whoever uses them."""
        with self._lock:
            closing = [self._closing(store) for store, found in self._open.items() if found.changing is None]
        self._close_all(closing)

    # `_lock` is held for looking at the table alone: a store takes as long to open or to close as its disk does

    def _open_now(self, place: _Place, settings: Settings, opening: _Open) -> Workspace:
        changing = opening.changing
        assert changing is not None
        try:
            workspace = self._make(place, opening.settings, settings)
            try:
                for listener in self._listeners:
                    listener(workspace)
            except BaseException:
                workspace.close()
                raise
        except BaseException as error:
            with self._lock:
                del self._open[place.store]
            changing.set_exception(error)
            raise
        with self._lock:
            opening.workspace = workspace
            opening.changing = None
        changing.set_result(None)
        return workspace

    def _unused(self, kept: int) -> list[_Closing]:
        """Those that nobody uses, but for the latest of them; they are taken for closing from now on."""
        with self._lock:
            unused = [store for store, found in self._open.items() if not found.users and found.changing is None]
            return [self._closing(store) for store in unused[: max(0, len(unused) - kept)]]

    def _closing(self, store: str) -> _Closing:
        """Takes an open workspace for closing; to be called with the lock, and the result closed without it."""
        found = self._open[store]
        assert found.workspace is not None
        # who asks for it meanwhile must not find its store still owned
        found.changing = Future()
        return _Closing(store, found.workspace, found.changing)

    def _close_all(self, closing: Iterable[_Closing]) -> None:
        with ExitStack() as stack:
            # all of them, whatever becomes of one
            for each in closing:
                stack.callback(self._close_now, each)

    def _close_now(self, closing: _Closing) -> None:
        try:
            closing.workspace.close()
        finally:
            with self._lock:
                del self._open[closing.store]
            closing.done.set_result(None)

    def _is_still_there(self, found: _Open, workspace: Workspace, options: Options) -> bool:
        """Whether an acquired workspace is still that of its folder, and watched as it would be if it were opened now.

        Else it is closed, and to be opened anew; somebody who uses it has it watched on as it is.
        """
        try:
            workspace.check_present()
        except WorkspaceGone:
            # another folder took its place; who has the old one open is told so at the next request
            pass
        except StoreCorrupt:
            # somebody took the store away: who has it open must not take a new one for that which they have hashes of
            with self._lock:
                if found.users > 1:
                    return True
        else:
            with self._lock:
                if found.users > 1 or found.settings.opens_alike(options):
                    return True
        with self._lock:
            found.users -= 1
            # somebody else may have found that out, too
            store = next((store for store, each in self._open.items() if each is found), None)
            closing = [] if store is None or found.changing is not None else [self._closing(store)]
        self._close_all(closing)
        return False

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

    def _make(self, place: _Place, policy: FolderSettings, settings: Settings) -> Workspace:
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
                    policy,
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

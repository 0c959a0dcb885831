"""The folders that one client has open, with its settings for them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

import attrs

from snapd.model.call import Call
from snapd.model.errors import SnapdError, WorkspaceNotOpen
from snapd.model.paths import from_uri, to_uri
from snapd.rpc.scheduling.workspace_queue import Access, Ticket

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from typing import Any

    from snapd.settings.in_force import Options
    from snapd.sharing.workspace import SharedWorkspace

    from .services import Services, Subscriber

logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Folder:
    """A folder as a client named it.

    `before` is the same folder before the client closed and reopened it; its requests come first. `waiting` requests
    run when it is open, until then `workspace` is None. `users` counts unfinished requests; if `removed`, the last one
    releases the workspace.
    """

    path: bytes
    options: Options
    before: Folder | None = None
    workspace: SharedWorkspace | None = None
    waiting: deque[Ticket] = attrs.field(factory=deque)
    opening: asyncio.Task[None] | None = None
    users: int = 0
    removed: bool = False

    @property
    def roots(self) -> tuple[bytes, ...]:
        """The paths under which requests may name its files, the canonical one first."""
        return (self.path,) if self.workspace is None else (self.workspace.root, self.path)


@attrs.define(eq=False)
class Folders:
    """The folders of one connection.

    `options` apply to folders opened from now on. `finds_root` replaces a folder by the one around it whose snapshots
    contain its files. `only_open` refuses folders that no client has open yet. `refused` has the errors of folders with
    invalid names, the latest first.
    """

    _services: Services
    _options: Options
    _subscriber: Subscriber
    finds_root: bool = attrs.field(default=False, init=False)
    only_open: bool = attrs.field(default=False, init=False)
    refused: list[SnapdError] = attrs.field(factory=list, init=False)
    _folders: dict[bytes, Folder] = attrs.field(factory=dict, init=False)
    _closing: dict[bytes, Folder] = attrs.field(factory=dict, init=False)
    _also_named: tuple[bytes, Folder | None] | None = attrs.field(default=None, init=False)
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)

    def add(self, uri: str) -> Folder | SnapdError:
        """Adds a folder without opening it yet; returns the error if the URI is wrong."""
        try:
            path = _path_of(uri, "uri")
        except SnapdError as error:
            self.refused.insert(0, error)
            return error
        if path not in self._folders:
            self._folders[path] = Folder(path, self._options.copy(), self._closing.get(path))
        return self._folders[path]

    def remove(self, uri: str) -> None:
        """Closes a folder, if it is open."""
        try:
            path = _path_of(uri, "uri")
        except SnapdError:
            return
        folder = self._folders.pop(path, None)
        if folder is not None:
            self._close(folder)

    async def remove_all(self) -> None:
        """Closes all folders, and waits for their requests to end."""
        while self._folders:
            _, folder = self._folders.popitem()
            self._close(folder)
        while self._tasks:
            await asyncio.wait(self._tasks)

    def __iter__(self) -> Iterator[Folder]:
        return iter(tuple(self._folders.values()))

    def containing(self, path: bytes) -> list[Folder]:
        """The folders that contain a path, without following symlinks."""
        return [folder for folder in self if any(path.startswith(root.rstrip(b"/") + b"/") for root in folder.roots)]

    async def look_up(self, uri: str | None) -> None:
        """Prepares `find` for a folder under another path, in a thread, as the file system may hang."""
        if uri is None:
            return
        try:
            path = _path_of(uri, "workspaceUri")
        except SnapdError:
            # `find` raises the error
            return
        if path not in self._folders:
            paths = tuple(self._folders)
            same = await self._services.in_thread(_same, path, paths)
            self._also_named = (path, None if same is None else self._folders.get(same))

    def find(self, uri: str | None) -> Folder:
        """The folder of a request. Raises `InvalidParams` if `uri` is not a `file:` URI.

        Raises `WorkspaceNotOpen` if it is not open, or if `uri` is None and not exactly one folder is open.
        """
        if uri is None:
            if len(self._folders) == 1:
                return next(iter(self._folders.values()))
            if not self._folders:
                why = str(self.refused[0]) if self.refused else None
                raise WorkspaceNotOpen(
                    "no folder is open on this connection; name one in initialize or open one", hint=why
                )
            names = [to_uri(path) for path in self._folders]
            raise WorkspaceNotOpen("several folders are open", hint="name one of them in `workspaceUri`", open=names)
        path = _path_of(uri, "workspaceUri")
        folder = self._folders.get(path)
        if folder is None and self._also_named is not None and self._also_named[0] == path:
            folder = self._also_named[1]
        if folder is None:
            raise WorkspaceNotOpen(f"{uri} is not open on this connection; open it first", workspaceUri=uri)
        return folder

    def enter(self, folder: Folder, access: Access, *, quick: bool = False) -> Ticket:
        """Queues a request on a folder; a refused folder is tried again, since the cause may be gone."""
        folder.users += 1
        ticket = Ticket(self._options.client, access, partial(self._left, folder), quick=quick)
        if folder.workspace is not None:
            self._services.queues.of(folder.workspace).add(ticket)
            return ticket
        folder.waiting.append(ticket)
        if folder.opening is None:
            folder.opening = self._spawn(self._open(folder))
        return ticket

    @property
    def _open_workspaces(self) -> list[SharedWorkspace]:
        return [folder.workspace for folder in self._folders.values() if folder.workspace is not None]

    async def _open(self, folder: Folder) -> None:
        if folder.before is not None:
            opening, folder.before = folder.before.opening, None
            if opening is not None:
                await asyncio.wait((opening,))
        workspace, enabled = None, False
        while workspace is None and folder.waiting:
            # requests that come during this attempt get their own: the cause may be gone by then
            came = len(folder.waiting)
            try:
                workspace, enabled = await self._acquire(folder)
            except Exception as error:
                for _ in range(came):
                    folder.waiting.popleft().fail(error)
        folder.opening = None
        if workspace is not None:
            folder.workspace = workspace
            if not folder.removed:
                self._services.hub.subscribe(workspace, self._subscriber, enabled)
            queue = self._services.queues.of(workspace)
            while folder.waiting:
                queue.add(folder.waiting.popleft())
        self._release(folder)

    async def _acquire(self, folder: Folder) -> tuple[SharedWorkspace, bool]:
        """The workspace of a folder, and whether the client wants snapshots of it."""
        while True:
            shared_workspaces = await self._services.in_thread(self._try_acquire, folder)
            if not isinstance(shared_workspaces, Future):
                return shared_workspaces
            await asyncio.wrap_future(shared_workspaces)

    def _try_acquire(self, folder: Folder) -> tuple[SharedWorkspace, bool] | Future[None]:
        workspaces, path = self._services.workspaces, folder.path
        if self.finds_root:
            path = workspaces.folder_around(path, folder.options.settings)
        shared_workspaces = workspaces.try_acquire(path, folder.options, only_open=self.only_open)
        if isinstance(shared_workspaces, Future):
            return shared_workspaces
        # in this thread and not on the loop: the settings are read under a lock
        return shared_workspaces, shared_workspaces.policy.enabled(self._options.client)

    def _close(self, folder: Folder) -> None:
        folder.removed = True
        self._closing[folder.path] = folder
        # the same workspace may be open under another path
        if folder.workspace is not None and folder.workspace not in self._open_workspaces:
            self._services.hub.unsubscribe(folder.workspace, self._subscriber)
        self._release(folder)

    def _left(self, folder: Folder) -> None:
        folder.users -= 1
        self._release(folder)

    def _release(self, folder: Folder) -> None:
        if not folder.removed or folder.users or folder.opening is not None:
            return
        if self._closing.get(folder.path) is folder:
            del self._closing[folder.path]
        if folder.workspace is not None:
            workspace, folder.workspace = folder.workspace, None
            self._spawn(self._leave(workspace, folder.options))

    async def _leave(self, workspace: SharedWorkspace, options: Options) -> None:
        """Releases a workspace, after closing the client's open steps in it."""
        attended_by = workspace.sessions.attended_by
        try:
            is_gone = workspace not in self._open_workspaces
            if is_gone and await self._services.in_thread(attended_by, self._options.client):
                await self._leave_steps(workspace)
        except SnapdError as error:
            logger.warning(
                "%s: left the open steps without a last look at the files: %s",
                os.fsdecode(workspace.root),
                error.message,
            )
        finally:
            await self._services.in_thread(self._services.workspaces.release, workspace, options)

    async def _leave_steps(self, workspace: SharedWorkspace) -> None:
        ticket = Ticket(self._options.client, Access.WRITE, lambda: None)
        self._services.queues.of(workspace).add(ticket)
        try:
            await ticket.admitted()
            await ticket.turn()
            if workspace in self._open_workspaces:
                # the client has reopened the folder meanwhile
                return
            call = Call(left_turn=ticket.release_turn_later)
            await self._services.in_thread(workspace.sessions.leave, self._options.client, call)
        finally:
            ticket.leave()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _path_of(uri: str, field: str) -> bytes:
    return os.path.normpath(from_uri(uri, field))


def _same(path: bytes, others: tuple[bytes, ...]) -> bytes | None:
    """The first of the other paths that leads to the same directory, if any."""
    real = os.path.realpath(path)
    return next((other for other in others if os.path.realpath(other) == real), None)

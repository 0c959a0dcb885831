"""The folders that one client has open, and what it wants to hold for them."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.call import Call
from snapd.core.errors import SnapdError, WorkspaceNotOpen
from snapd.core.paths import from_uri, to_uri

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from concurrent.futures import Executor

    from snapd.core.workspace import Workspace
    from snapd.settings import Options
    from snapd.workspaces import Workspaces

logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Folder:
    """A folder as a client named it.

    Attributes:
        path: absolute, as the client gave it.
        options: what the client asks for in it.
        workspace: what it turned out to be; None while it is not open.
        opening: held by the one who opens it.
        users: requests that work in it.
        removed: whether the client has closed it; then the last user lets go of the workspace.
    """

    path: bytes
    options: Options
    workspace: Workspace | None = None
    opening: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    users: int = 0
    removed: bool = False

    @property
    def roots(self) -> tuple[bytes, ...]:
        """The paths under which its files may be named, the canonical one first."""
        return (self.path,) if self.workspace is None else (self.workspace.root, self.path)


class Folders:
    """The folders of one connection.

    Args:
        workspaces: shared by all connections.
        options: of the client whose they are, for folders that it opens from now on.
        executor: where folders are looked at.
        opened: called on the loop with each workspace that this client opened.
        closed: called on the loop with each that it let go of.
    """

    def __init__(
        self,
        workspaces: Workspaces,
        options: Options,
        executor: Executor,
        opened: Callable[[Workspace], None],
        closed: Callable[[Workspace], None],
    ) -> None:
        self._workspaces = workspaces
        self._options = options
        self._executor = executor
        self._opened = opened
        self._closed = closed
        self._folders: dict[bytes, Folder] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def add(self, uri: str) -> Folder | SnapdError:
        """Takes a folder among those of the client, without opening it yet."""
        try:
            path = _path_of(uri, "uri")
        except SnapdError as error:
            return error
        return self._folders.setdefault(path, Folder(path, self._options.copy()))

    def remove(self, uri: str) -> None:
        """Closes a folder; one that is not open is none to close."""
        try:
            path = _path_of(uri, "uri")
        except SnapdError:
            return
        folder = self._folders.pop(path, None)
        if folder is not None:
            self._close(folder)

    async def remove_all(self) -> None:
        """Closes all, and waits until nothing is left to be done for any that was open."""
        while self._folders:
            _, folder = self._folders.popitem()
            self._close(folder)
        while self._leaving:
            await asyncio.wait(self._leaving)

    def __iter__(self) -> Iterator[Folder]:
        """Those that the client has, open or not."""
        return iter(tuple(self._folders.values()))

    @property
    def open_workspaces(self) -> list[Workspace]:
        """Those that are open."""
        return [folder.workspace for folder in self._folders.values() if folder.workspace is not None]

    async def find(self, uri: str | None) -> Folder:
        """The folder that a request is about.

        Raises:
            WorkspaceNotOpen: none is open, several are and none was named, or the named one is not open here.
            InvalidParams: the URI is none.
        """
        if uri is None:
            if len(self._folders) == 1:
                return next(iter(self._folders.values()))
            if not self._folders:
                raise WorkspaceNotOpen("no folder is open on this connection")
            names = [to_uri(path) for path in self._folders]
            raise WorkspaceNotOpen("several folders are open: name one by workspaceUri", open=names)
        path = _path_of(uri, "workspaceUri")
        folder = self._folders.get(path)
        if folder is None:
            # a name that leads there by another way; looked for where a file system that hangs holds up nobody else
            real = await asyncio.get_running_loop().run_in_executor(self._executor, os.path.realpath, path)
            folder = next((one for one in self._folders.values() if real in one.roots), None)
        if folder is None:
            raise WorkspaceNotOpen(f"{uri} is not open on this connection", workspaceUri=uri)
        return folder

    @asynccontextmanager
    async def use(self, folder: Folder) -> AsyncIterator[Workspace]:
        """The workspace of a folder; a refused one is tried anew by each request, for the reason may be gone.

        Raises:
            SnapdError: why it is not open.
        """
        folder.users += 1
        try:
            async with folder.opening:
                if folder.workspace is None:
                    folder.workspace = await asyncio.get_running_loop().run_in_executor(
                        self._executor, self._workspaces.acquire, folder.path, folder.options
                    )
                    if not folder.removed:
                        self._opened(folder.workspace)
            yield folder.workspace
        finally:
            folder.users -= 1
            if folder.removed:
                self._release(folder)

    def _close(self, folder: Folder) -> None:
        folder.removed = True
        # the same workspace may be open by another name
        if folder.workspace is not None and folder.workspace not in self.open_workspaces:
            self._closed(folder.workspace)
        self._release(folder)

    def _release(self, folder: Folder) -> None:
        if folder.users == 0 and folder.workspace is not None:
            workspace, folder.workspace = folder.workspace, None
            if workspace in self.open_workspaces or not workspace.sessions.attended_by(self._options.client):
                self._workspaces.release(workspace, folder.options)
                return
            task = asyncio.ensure_future(self._leave(workspace, folder.options))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _leave(self, workspace: Workspace, options: Options) -> None:
        """The client is at work in steps of a workspace no more."""
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._executor, workspace.sessions.leave, options.client, Call()
            )
        except SnapdError as error:
            logger.warning("%s: steps were left without a look: %s", os.fsdecode(workspace.root), error.message)
        finally:
            self._workspaces.release(workspace, options)


def _path_of(uri: str, field: str) -> bytes:
    return os.path.normpath(from_uri(uri, field))

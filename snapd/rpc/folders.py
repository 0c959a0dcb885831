"""The folders that one client has open, and what it wants to hold for them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import SnapdError, WorkspaceNotOpen
from snapd.core.paths import from_uri, to_uri

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from snapd.config import Settings
    from snapd.core.workspace import Workspace
    from snapd.workspaces import Workspaces


@attrs.define(eq=False)
class Folder:
    """A folder as a client named it.

    Attributes:
        path: absolute, as the client gave it.
        workspace: what it turned out to be; None while it is not open.
        opening: held by the one who opens it.
    """

    path: bytes
    workspace: Workspace | None = None
    opening: asyncio.Lock = attrs.field(factory=asyncio.Lock)

    @property
    def roots(self) -> tuple[bytes, ...]:
        """The paths under which its files may be named, the canonical one first."""
        return (self.path,) if self.workspace is None else (self.workspace.root, self.path)


class Folders:
    """The folders of one connection.

    Args:
        workspaces: shared by all connections.
        executor: where blocking work is done.
        opened: called on the loop with each workspace that this client opened.
        closed: called on the loop with each that it let go of.
    """

    def __init__(
        self,
        workspaces: Workspaces,
        executor: Executor,
        opened: Callable[[Workspace], None],
        closed: Callable[[Workspace], None],
    ) -> None:
        self._workspaces = workspaces
        self._executor = executor
        self._opened = opened
        self._closed = closed
        self._folders: dict[bytes, Folder] = {}

    def add(self, uri: str) -> Folder | SnapdError:
        """Takes a folder among those of the client, without opening it yet."""
        try:
            path = os.path.normpath(from_uri(uri, "uri"))
        except SnapdError as error:
            return error
        return self._folders.setdefault(path, Folder(path))

    def remove(self, uri: str) -> None:
        """Closes a folder; one that is not open is none to close."""
        try:
            path = os.path.normpath(from_uri(uri, "uri"))
        except SnapdError:
            return
        folder = self._folders.pop(path, None)
        if folder is not None:
            self._close(folder)

    def remove_all(self) -> None:
        """Closes all."""
        for folder in self._folders.values():
            self._close(folder)
        self._folders.clear()

    @property
    def open_workspaces(self) -> list[Workspace]:
        """Those that are open."""
        return [folder.workspace for folder in self._folders.values() if folder.workspace is not None]

    def all(self) -> list[Folder]:
        """All folders, open or not."""
        return list(self._folders.values())

    def find(self, uri: str | None) -> Folder:
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
        path = os.path.normpath(from_uri(uri, "workspaceUri"))
        folder = self._folders.get(path)
        if folder is None:
            real = os.path.realpath(path)
            folder = next((one for one in self._folders.values() if real in one.roots), None)
        if folder is None:
            raise WorkspaceNotOpen(f"{uri} is not open on this connection", workspaceUri=uri)
        return folder

    async def open(self, folder: Folder, settings: Settings) -> Workspace:
        """The workspace of a folder; a refused one is tried anew by each request, for the reason may be gone.

        Raises:
            SnapdError: why it is not open.
        """
        async with folder.opening:
            if folder.workspace is None:
                loop = asyncio.get_running_loop()
                workspace = await loop.run_in_executor(self._executor, self._workspaces.acquire, folder.path, settings)
                folder.workspace = workspace
                if self._folders.get(folder.path) is folder:
                    self._opened(workspace)
                else:
                    # closed while it was being opened; the request that wanted it still gets its answer
                    self._workspaces.release(workspace)
            return folder.workspace

    def _close(self, folder: Folder) -> None:
        if folder.workspace is not None:
            self._closed(folder.workspace)
            self._workspaces.release(folder.workspace)

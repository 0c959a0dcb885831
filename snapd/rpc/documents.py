"""Passes on what one editor reports about its documents."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import TYPE_CHECKING

import attrs

from snapd.core.operations.editors import DocumentChanged, DocumentClosed, DocumentOpened, DocumentSaved, FileOnDisk
from snapd.model.errors import SnapdError
from snapd.model.paths import from_uri
from snapd.rpc.scheduling.workspace_queue import Access
from snapd.worktree.fs.system import waited_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from snapd.core.operations.editors import Report
    from snapd.rpc.scheduling.workspace_queue import Ticket
    from snapd.sharing.workspace import SharedWorkspace

    from .folders import Folders
    from .language_server import lsp
    from .services import Services

_MOST_BYTES = 64 << 20


@attrs.define(eq=False)
class _Notice:
    """Notifications about one document, as the editor names it.

    `tickets` are its places in the queues of the folders that have the file; `before` and `done` complete when the
    previous notice and this one are processed; once it has `begun`, no reports are added. `came_at` is in seconds since
    1970, or earlier if this process had to wait for a processor.
    """

    path: bytes
    reports: list[Report]
    came_at: float
    tickets: list[Ticket]
    before: asyncio.Future[None] | None
    done: asyncio.Future[None]
    begun: bool = False


@attrs.define(eq=False)
class Documents:
    """The documents of one editor. A notification takes effect for requests that the editor sends after it."""

    _services: Services
    _folders: Folders
    _spawn: Callable[[Coroutine[Any, Any, None]], object]
    _latest: dict[bytes, _Notice] = attrs.field(factory=dict, init=False)
    _names: dict[bytes, set[bytes]] = attrs.field(factory=dict, init=False)
    _waited: int = attrs.field(factory=waited_ns, init=False)

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Handles an opened document: usually as on disk, but an editor may restore unsaved text."""
        self._take(params.text_document.uri, DocumentOpened(_encoded(params.text_document.text)))

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Handles a changed document: the user typed, or the editor reloaded the file."""
        whole = params.content_changes[-1] if params.content_changes else None
        # a change without a range has the whole text, as this server requests
        text = None if whole is None or hasattr(whole, "range") else _encoded(whole.text)
        self._take(params.text_document.uri, DocumentChanged(text))

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Handles a saved document: the typed text is the user's work."""
        self._take(params.text_document.uri, DocumentSaved())

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Handles a closed document: its unsaved text is gone."""
        self._take(params.text_document.uri, DocumentClosed())

    async def close(self) -> None:
        """Discards the documents once all notifications are processed."""
        await self._services.in_thread(self._services.workspaces.editors.drop, self)

    def _take(self, uri: str, report: Report) -> None:
        try:
            path = from_uri(uri, "uri")
        except SnapdError:
            # an editor may also open documents that are not files
            return
        before = self._latest.get(path)
        if before is not None and not before.begun and all(ticket.is_last for ticket in before.tickets):
            before.reports.append(report)
            return
        # on a busy machine, a report may have been there long before it is read, and the file written in between
        now = waited_ns()
        waited, self._waited = now - self._waited, now
        holding = self._folders.containing(path)
        notice = self._latest[path] = _Notice(
            path,
            [report],
            time.time() - waited / 1e9,
            # a path outside all folders may lead into any of them: it waits for none, and writers of all wait for it
            [self._folders.enter(folder, Access.DOCUMENT) for folder in holding or self._folders],
            None if before is None else before.done,
            asyncio.get_running_loop().create_future(),
        )
        self._spawn(self._process(notice, waits=bool(holding)))

    async def _process(self, notice: _Notice, *, waits: bool) -> None:
        try:
            if waits:
                for ticket in notice.tickets:
                    # another client may have opened the folder with other settings
                    with contextlib.suppress(SnapdError):
                        await ticket.admitted()
            if notice.before is not None:
                await notice.before
            notice.begun = True
            workspaces = [folder.workspace for folder in self._folders if folder.workspace is not None]
            await self._services.in_thread(self._report, notice, workspaces)
        finally:
            notice.done.set_result(None)
            if self._latest[notice.path] is notice:
                del self._latest[notice.path]
            for ticket in notice.tickets:
                ticket.leave()

    def _report(self, notice: _Notice, workspaces: Sequence[SharedWorkspace]) -> None:
        editors = self._services.workspaces.editors
        name = os.path.join(os.path.realpath(os.path.dirname(notice.path)), os.path.basename(notice.path))
        # an editor that has a symlink open saves to the file behind it
        names = {name, os.path.realpath(name)}
        disk = _on_disk(name, notice.came_at)
        for other in self._names.pop(notice.path, set()) - names:
            editors.take(self, other, [DocumentClosed()], disk)
        if not isinstance(notice.reports[-1], DocumentClosed):
            self._names[notice.path] = names
        for each in names:
            if editors.take(self, each, notice.reports, disk):
                for workspace in workspaces:
                    workspace.check_edits(each)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _on_disk(path: bytes, came_at: float) -> FileOnDisk:
    try:
        with open(path, "rb", buffering=0, opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if status.st_size > _MOST_BYTES:
                return FileOnDisk(None, 0, 0.0)
            data = file.readall() or b""
            data.decode()
    except (OSError, UnicodeDecodeError):
        return FileOnDisk(None, 0, 0.0)
    return FileOnDisk(data, status.st_ctime_ns, came_at - status.st_ctime)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)

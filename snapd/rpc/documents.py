"""Tracks which documents of one editor have unsaved text."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import SnapdError
from snapd.core.paths import from_uri
from snapd.rpc.scheduling.workspace_queue import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from lsprotocol import types as lsp

    from snapd.rpc.scheduling.workspace_queue import Ticket

    from .folders import Folders
    from .services import Services

_BOM = b"\xef\xbb\xbf"


@attrs.define(eq=False)
class _Notice:
    """A notification about a document.

    Attributes:
        path: the absolute path of the file, as the editor names it.
        is_unsaved: decides from the file on disk whether the document has unsaved text.
        tickets: its positions in the queues of the folders that have the file.
        before: done when the previous notice about the document is processed.
        done: done when this notice is processed.
        begun: whether it is too late to replace this notice by a later one.
    """

    path: bytes
    is_unsaved: Callable[[bytes], bool]
    tickets: list[Ticket]
    before: asyncio.Future[None] | None
    done: asyncio.Future[None]
    begun: bool = False


@attrs.define(eq=False)
class Documents:
    """The documents of one editor. A notification takes effect for the requests that the editor sends after it.

    Args:
        services: what all connections share.
        folders: the folders of the editor.
        spawn: starts a task of the connection.
    """

    _services: Services
    _folders: Folders
    _spawn: Callable[[Coroutine[Any, Any, None]], object]
    _latest: dict[bytes, _Notice] = attrs.field(factory=dict, init=False)
    _marked: dict[bytes, set[bytes]] = attrs.field(factory=dict, init=False)

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Handles an opened document: usually as on disk, but an editor may restore unsaved text."""
        document = params.text_document
        self._take(document.uri, lambda path: _differs(path, document.text, unreadable=False))

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Handles a changed document: somebody typed, or the editor read the file again."""
        whole = params.content_changes[-1] if params.content_changes else None
        # a change without a range has the whole text, which is what this server asks for
        text = None if whole is None or hasattr(whole, "range") else whole.text
        self._take(params.text_document.uri, lambda path: text is None or _differs(path, text, unreadable=True))

    def did_save_or_close(self, params: lsp.DidSaveTextDocumentParams | lsp.DidCloseTextDocumentParams) -> None:
        """Handles a saved or closed document: it has no unsaved text any more."""
        self._take(params.text_document.uri, lambda _: False)

    async def close(self) -> None:
        """Forgets the documents, once all notifications are processed."""
        await self._services.in_thread(self._services.workspaces.unsaved.drop, self)

    def _take(self, uri: str, is_unsaved: Callable[[bytes], bool]) -> None:
        try:
            path = from_uri(uri, "uri")
        except SnapdError:
            # an editor may also open what is not a file
            return
        before = self._latest.get(path)
        if before is not None and not before.begun and all(ticket.is_last for ticket in before.tickets):
            # this change replaces one that nobody has seen yet
            before.is_unsaved = is_unsaved
            return
        holding = self._folders.containing(path)
        notice = self._latest[path] = _Notice(
            path,
            is_unsaved,
            # a path outside all folders may lead into any of them; it waits for none, and writers wait for it
            [self._folders.enter(folder, Access.DOCUMENT) for folder in holding or self._folders],
            None if before is None else before.done,
            asyncio.get_running_loop().create_future(),
        )
        self._spawn(self._mark(notice, waits=bool(holding)))

    async def _mark(self, notice: _Notice, *, waits: bool) -> None:
        try:
            if waits:
                for ticket in notice.tickets:
                    # another client may have opened the folder with other settings
                    with contextlib.suppress(SnapdError):
                        await ticket.admitted()
            if notice.before is not None:
                await notice.before
            notice.begun = True
            await self._services.in_thread(self._mark_now, notice.path, notice.is_unsaved)
        finally:
            notice.done.set_result(None)
            if self._latest[notice.path] is notice:
                del self._latest[notice.path]
            for ticket in notice.tickets:
                ticket.leave()

    def _mark_now(self, path: bytes, is_unsaved: Callable[[bytes], bool]) -> None:
        mark = self._services.workspaces.unsaved.mark
        name = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        unsaved = is_unsaved(name)
        # an editor that has a symlink open saves to the file behind it
        names = {name, os.path.realpath(name)}
        for other in self._marked.pop(path, set()) - names:
            mark(self, other, False)
        for each in names:
            mark(self, each, unsaved)
        if unsaved:
            self._marked[path] = names


def _differs(path: bytes, text: str, *, unreadable: bool) -> bool:
    """Whether a text differs from a file; `unreadable` if that cannot be decided, for example in another encoding."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        with open(path, "rb", buffering=0, opener=_without_waiting) as file:
            found = file.read(len(data) + len(_BOM) + 1) or b""
    except OSError:
        return unreadable
    if found.removeprefix(_BOM) == data.removeprefix(_BOM):
        return False
    try:
        # the last character may be cut off
        codecs.getincrementaldecoder("utf-8")().decode(found)
    except UnicodeDecodeError:
        return unreadable
    return True


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)

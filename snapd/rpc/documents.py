"""The documents that one editor has open: the daemon only wants to know which of them hold text that is not saved."""

from __future__ import annotations

import asyncio
import codecs
import os
from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError
from snapd.core.paths import from_uri

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from lsprotocol import types as lsp

    from snapd.core.unsaved import Unsaved

_BOM = b"\xef\xbb\xbf"


class Documents:
    """What one editor tells of its documents, taken in the order in which it tells.

    Args:
        unsaved: told which files have unsaved text, of all editors.
        executor: where files are looked at.
    """

    def __init__(self, unsaved: Unsaved, executor: Executor) -> None:
        self._unsaved = unsaved
        self._executor = executor
        self._last: asyncio.Future[None] | None = None
        self._marked: dict[bytes, set[bytes]] = {}

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """A document was opened, most often from the disk; an editor that was closed with unsaved text brings it."""
        document = params.text_document
        self._take(document.uri, lambda path: _differs(path, document.text, unreadable=False))

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """A document was changed: typed into, or read again from the disk."""
        whole = params.content_changes[-1] if params.content_changes else None
        # without a range it is the whole text, which is what this server asks for
        text = None if whole is None or hasattr(whole, "range") else whole.text
        self._take(params.text_document.uri, lambda path: text is None or _differs(path, text, unreadable=True))

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """A document was saved."""
        self._take(params.text_document.uri, lambda _: False)

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """A document was closed; what was not saved is gone."""
        self._take(params.text_document.uri, lambda _: False)

    async def settled(self) -> None:
        """Waits until all that was told so far is known."""
        if self._last is not None:
            await asyncio.wait((self._last,))

    async def close(self) -> None:
        """The editor is gone."""
        await self.settled()
        self._unsaved.drop(self)

    def _take(self, uri: str, is_unsaved: Callable[[bytes], bool]) -> None:
        try:
            path = from_uri(uri, "uri")
        except SnapdError:
            # an editor has more than files open
            return
        self._last = asyncio.ensure_future(self._mark(self._last, path, is_unsaved))

    async def _mark(
        self, before: asyncio.Future[None] | None, path: bytes, is_unsaved: Callable[[bytes], bool]
    ) -> None:
        if before is not None:
            await asyncio.wait((before,))

        await asyncio.get_running_loop().run_in_executor(self._executor, self._mark_now, path, is_unsaved)

    def _mark_now(self, path: bytes, is_unsaved: Callable[[bytes], bool]) -> None:
        name = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        unsaved = is_unsaved(name)
        # what is typed into a symlink is saved into the file that it leads to
        names = {name, os.path.realpath(name)}
        for other in self._marked.pop(path, set()) - names:
            self._unsaved.mark(self, other, False)
        for each in names:
            self._unsaved.mark(self, each, unsaved)
        if unsaved:
            self._marked[path] = names


def _differs(path: bytes, text: str, *, unreadable: bool) -> bool:
    """Whether a text is another than that of a file; `unreadable` where nobody can tell, as for another encoding."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        with open(path, "rb", buffering=0, opener=_without_waiting) as file:
            found = file.read(len(data) + len(_BOM) + 1) or b""
    except OSError:
        return unreadable
    if found.removeprefix(_BOM) == data.removeprefix(_BOM):
        return False
    try:
        # the last character may have been cut
        codecs.getincrementaldecoder("utf-8")().decode(found)
    except UnicodeDecodeError:
        return unreadable
    return True


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)

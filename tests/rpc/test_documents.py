"""What an editor reports on a busy machine, where its reports are read late."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from snapd.core.operations.editors import Editors
from snapd.model.paths import to_uri
from snapd.rpc import documents
from snapd.rpc.language_server import lsp


class NoFolders:
    """Folders, of which none is open."""

    def containing(self, _: bytes) -> list[object]:
        return []

    def __iter__(self) -> Iterator[object]:
        return iter(())


class Services:
    """The part of the services that documents use."""

    def __init__(self) -> None:
        self.workspaces = self
        self.editors = Editors()

    async def in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments)


@pytest.mark.parametrize("waited", [0.0, 0.3])
def test_a_text_that_is_read_late_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: float) -> None:
    """The file is written 0.3 seconds before its text is reported, or the report waits that long for a processor."""
    path = tmp_path / "a.txt"
    path.write_text("1\n")
    uri, services = to_uri(os.fsencode(path)), Services()
    began = time.time()
    now = [began]
    monkeypatch.setattr(documents.time, "time", lambda: now[0])
    monkeypatch.setattr(documents, "waited_ns", lambda: int((now[0] - began) * 1e9) if waited else 0)

    async def edit() -> None:
        tasks: list[asyncio.Task[None]] = []

        def spawn(work: Coroutine[Any, Any, None]) -> None:
            tasks.append(asyncio.create_task(work))

        editor = documents.Documents(cast("Any", services), cast("Any", NoFolders()), spawn)
        editor.did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "plaintext", 1, "1\n")))
        await asyncio.gather(*tasks)
        path.write_text("1\nmine\n")
        now[0] = os.stat(path).st_ctime + 0.3
        document = lsp.VersionedTextDocumentIdentifier(2, uri)
        whole = lsp.TextDocumentContentChangeWholeDocument("1\nmine\n")
        editor.did_change(lsp.DidChangeTextDocumentParams(document, [whole]))
        editor.did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        await asyncio.gather(*tasks)

    asyncio.run(edit())
    typed = [one.typing.text for one in services.editors.typed(os.fsencode(tmp_path))]
    assert typed == ([b"1\nmine\n"] if waited else [])

"""Asks snapd for the changes of steps, with their bytes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.backend import file_bytes
from snapd.core.paths import from_uri

from .changes import Change, Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from snapd.core.model import Entry

    from .changes import Chain
    from .contents import Contents

    Ask = Callable[[str, dict[str, Any]], Any]


class Loader:
    """Reads what `step/changes` tells of.

    Args:
        ask: sends a request about the folder, and gives the result.
        folder: the folder, absolute and canonical.
        top: the root of the work tree, to which paths are relative here.
        contents: gets the bytes.
    """

    def __init__(self, ask: Ask, folder: bytes, top: bytes, contents: Contents) -> None:
        self._ask = ask
        self._folder = folder
        self._top = top
        self._contents = contents

    def path(self, name: str) -> bytes:
        """The path of a file of an answer, which may be a `file:` URI, relative to the root of the work tree."""
        full = from_uri(name, "file") if name.startswith("file:///") else os.path.join(self._folder, name.encode())
        return self.below_top(full)

    def below_top(self, full: str | bytes) -> bytes:
        """An absolute path relative to the root of the work tree."""
        return os.path.relpath(os.fsencode(full), self._top)

    def rows(self, session_ids: Iterable[str], step_ids: Iterable[str]) -> dict[bytes, dict[str, Any]]:
        """What steps changed, file by file, as the wire has it; raises `SnapdError`."""
        params = {"sessionIds": list(session_ids), "stepIds": list(step_ids)}
        return {self.path(row.get("uri", row["file"])): row for row in self._ask("step/changes", params)["files"]}

    def chains(self, rows: Mapping[bytes, dict[str, Any]]) -> dict[bytes, Chain]:
        """The changes of some of these files; raises `SnapdError`."""
        return {path: tuple(self._change(row, change) for change in row["changes"]) for path, row in rows.items()}

    def _change(self, row: dict[str, Any], change: dict[str, Any]) -> Change:
        moved = change.get("renamedFrom")
        return Change(
            old=self._side(row, change["from"], change.get("oldMode")),
            new=self._side(row, change["to"], change.get("newMode")),
            owners=tuple(Owner(by["sessionId"], by["stepId"], by.get("messageId")) for by in change["owners"]),
            moved_from=None if moved is None else self.path(moved),
            others=tuple(change.get("sharedWith", ())),
        )

    def _side(self, row: dict[str, Any], tree: str, mode: str | None) -> Entry | None:
        if mode is None:
            return None
        found = self._ask("snapshot/fileAt", {"hash": tree, "file": row.get("uri", row["file"])})
        return self._contents.add(int(mode, 8), file_bytes(found["content"], found["encoding"]))

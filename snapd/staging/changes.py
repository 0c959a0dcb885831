"""The changes of steps to files with their bytes, read from snapd and joined for each file across its renames.

Bytes are identified by SHA-1 blob ids, whatever the repository uses.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import pygit2
from pygit2.enums import MergeFavor

from snapd.backend import file_bytes
from snapd.core.compare.text import is_binary
from snapd.core.compare.threeway import merged
from snapd.model.paths import from_uri
from snapd.model.snapshot import EMPTY_BLOB, SYMLINK, Entry
from snapd.store.objects.codec import object_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from snapd.model.snapshot import ObjectId

    Ask = Callable[[str, dict[str, Any]], Any]


class Contents:
    """The bytes of files, in memory."""

    def __init__(self) -> None:
        self._data: dict[ObjectId, bytes] = {}

    def add(self, mode: int, data: bytes) -> Entry:
        """Stores the bytes of a file; returns its entry."""
        oid = object_id("blob", data)
        self._data.setdefault(oid, data)
        return Entry(mode, oid)

    def read(self, oid: ObjectId) -> bytes:
        """Returns the bytes of a blob."""
        return self._data[oid]

    def of(self, entry: Entry | None) -> bytes:
        """Returns the bytes of a file; empty for None."""
        return b"" if entry is None else self._data[entry.oid]


@attrs.frozen
class FileMerge:
    """Merges files line by line if `_by_lines`, else as a whole; stores the results in `_contents`."""

    _contents: Contents
    _by_lines: bool

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges text like `Objects.merge`, but text that both sides have is not duplicated if their changes touch."""
        result = self._merged(base, ours, theirs, MergeFavor.NORMAL, touching=False)
        if result is not None or base is None:
            return result
        result = self._merged(base, ours, theirs, MergeFavor.NORMAL)
        if result is None:
            return None
        counts = [Counter(self._contents.of(entry).split(b"\n")) for entry in (result, base, ours, theirs)]
        there, was, mine, other = counts
        added = (mine - was) & (other - was)
        return None if any(there[line] > max(mine[line], other[line]) for line in added) else result

    def merge_for_ours(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges text; where the changes overlap, ours win."""
        return self._merged(base, ours, theirs, MergeFavor.OURS)

    def empty(self, like: Entry) -> Entry:
        """Returns an empty file with the mode of another one."""
        return self._contents.add(like.mode, b"")

    def has_added(self, ours: Entry, before: Entry | None, after: Entry) -> bool:
        """Returns whether a file has all lines that a change added, in order; for other than text, all of it."""
        if ours == after:
            return True
        sides = [self._contents.of(side) for side in (ours, before, after)]
        if not self._by_lines or SYMLINK in (ours.mode, after.mode) or any(map(is_binary, sides)):
            return False
        data, old, new = sides
        hunks = pygit2.Patch.create_from(old, new, context_lines=0).hunks
        added = (line.raw_content for hunk in hunks for line in hunk.lines if line.origin == "+")
        # each match consumes the iterator, so the order counts
        lines = iter(data.split(b"\n"))
        return all(line.removesuffix(b"\n") in lines for line in added)

    def _merged(
        self, base: Entry | None, ours: Entry, theirs: Entry, favor: MergeFavor, *, touching: bool = True
    ) -> Entry | None:
        if not self._by_lines:
            return None
        result = merged(self._contents.read, base, ours, theirs, favor, touching=touching)
        return None if result is None else self._contents.add(*result)


@attrs.frozen
class Owner:
    """A step that made a change, with its session and message."""

    session_id: str
    step_id: str
    message_id: str | None = None


@attrs.frozen
class Change:
    """One change of a file; `old` or `new` is None for no file.

    `owners` made it; an operation that reverted part of an earlier change has none. `others` are steps of other
    sessions that may have made it.
    """

    old: Entry | None
    new: Entry | None
    owners: tuple[Owner, ...]
    moved_from: bytes | None = None
    others: tuple[str, ...] = ()


Chain = tuple[Change, ...]


@attrs.frozen
class Unit:
    """A file whose changes are staged as a whole or not at all; `sources` are its earlier paths, all oldest first."""

    path: bytes
    sources: tuple[bytes, ...]
    changes: Chain


def units(chains: Mapping[bytes, Chain], in_index: Callable[[bytes], bool]) -> list[Unit]:
    """Joins the changes of moved files, except if the index has separate files at the old and the new path."""
    result = {path: Unit(path, (), chain) for path, chain in chains.items()}
    for path in sorted(chains, key=lambda path: len(_origins(path, chains))):
        origin = chains[path][0].moved_from
        if origin is None or origin not in result or origin == path:
            continue
        sources = (*result[origin].sources, origin)
        if in_index(path) and any(map(in_index, sources)):
            continue
        before, after = result[origin].changes, chains[path]
        went, came = before[-1], after[0]
        # all empty files are the same blob, which proves no move
        if went.new is None and went.old is not None and came.new is not None and came.new.oid != EMPTY_BLOB:
            bridge = attrs.evolve(came, old=went.old, others=tuple(dict.fromkeys((*went.others, *came.others))))
            del result[origin]
            result[path] = Unit(path, sources, (*before[:-1], bridge, *after[1:]))
    return [result[path] for path in sorted(result)]


def _origins(path: bytes, chains: Mapping[bytes, Chain]) -> list[bytes]:
    """Returns the earlier paths of a file, newest first."""
    names: list[bytes] = []
    origin = chains[path][0].moved_from
    while origin is not None and origin in chains and origin not in (path, *names):
        names.append(origin)
        origin = chains[origin][0].moved_from
    return names


class Loader:
    """Reads the changes of steps through `step/changes`; `folder` and `top`, the work tree's root, are canonical."""

    def __init__(self, ask: Ask, folder: bytes, top: bytes, contents: Contents) -> None:
        self._ask = ask
        self._folder = folder
        self._top = top
        self._contents = contents

    def path(self, name: str) -> bytes:
        """Returns the path of a file in a response, which may be a `file:` URI."""
        full = from_uri(name, "file") if name.startswith("file:///") else os.path.join(self._folder, name.encode())
        return self.below_top(full)

    def below_top(self, full: str | bytes) -> bytes:
        """Returns an absolute path relative to the root of the work tree."""
        return os.path.relpath(os.fsencode(full), self._top)

    def rows(self, session_ids: Iterable[str], step_ids: Iterable[str]) -> dict[bytes, dict[str, Any]]:
        """Returns what steps changed, by file, as the wire has it; raises `SnapdError`."""
        params = {"sessionIds": list(session_ids), "stepIds": list(step_ids)}
        return {self.path(row.get("uri", row["file"])): row for row in self._ask("step/changes", params)["files"]}

    def chains(self, rows: Mapping[bytes, dict[str, Any]]) -> dict[bytes, Chain]:
        """Returns the changes of these files with their bytes; raises `SnapdError`."""
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
        result = self._ask("snapshot/fileAt", {"hash": tree, "file": row.get("uri", row["file"])})
        return self._contents.add(int(mode, 8), file_bytes(result["content"], result["encoding"]))

"""Each file before and after, with counts: what editors render."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from .model import TEN_MIB
from .text import decode, is_binary, line_changes

if TYPE_CHECKING:
    from .model import Change, Entry, RelPath
    from .ports import Store

_HEAD_BYTES = 8000


@attrs.frozen
class FileDelta:
    """One changed file.

    Attributes:
        path: where it is (and was, unless renamed).
        status: what happened to it.
        before: its text before; empty where binary, too large, or not asked for.
        after: its text after, likewise.
        additions: lines, as `git diff --numstat --no-renames` counts them.
        deletions: likewise.
        binary: whether git takes either side for binary.
        too_large: whether it is text over 10 MB.
        encoding: "latin-1" where the texts are not UTF-8 and shown byte by byte.
        renamed_from: its path before, where it was moved.
        old_mode: None where it was not there.
        new_mode: None where it is not there.
        size: of the texts, bytes.
    """

    path: RelPath
    status: Literal["added", "deleted", "modified"]
    before: str
    after: str
    additions: int
    deletions: int
    binary: bool
    too_large: bool
    encoding: str | None
    renamed_from: RelPath | None
    old_mode: int | None
    new_mode: int | None
    size: int


def describe(store: Store, change: Change, contents: bool, renamed_from: RelPath | None = None) -> FileDelta:
    """Describes one changed file; its blobs are read once.

    Args:
        store: where the blobs are.
        change: what changed.
        contents: whether the texts are wanted.
        renamed_from: where the file came from, if it was moved.

    Raises:
        StoreCorrupt: a blob is missing or damaged.
    """
    binary, too_large = False, False
    before = after = b""
    if any(entry is not None and store.blob_size(entry.oid) > TEN_MIB for entry in (change.old, change.new)):
        binary = any(is_binary(_head(store, entry)) for entry in (change.old, change.new))
        too_large = not binary
    else:
        before = _bytes(store, change.old)
        same = change.old is not None and change.new is not None and change.old.oid == change.new.oid
        after = before if same else _bytes(store, change.new)
        if is_binary(before) or is_binary(after):
            binary, before, after = True, b"", b""
    additions, deletions = line_changes(before, after)
    texts, encoding = decode(before, after) if contents else (["", ""], None)
    return FileDelta(
        path=change.path,
        status="added" if change.old is None else "deleted" if change.new is None else "modified",
        before=texts[0],
        after=texts[1],
        additions=additions,
        deletions=deletions,
        binary=binary,
        too_large=too_large,
        encoding=encoding,
        renamed_from=renamed_from,
        old_mode=change.old.mode if change.old else None,
        new_mode=change.new.mode if change.new else None,
        size=len(before) + len(after) if contents else 0,
    )


def _bytes(store: Store, entry: Entry | None) -> bytes:
    return b"" if entry is None else store.read_blob(entry.oid)


def _head(store: Store, entry: Entry | None) -> bytes:
    """The first bytes of a file, without reading the rest where it is stored in pieces."""
    head = b""
    if entry is not None:
        for chunk in store.blob_chunks(entry.oid):
            head += chunk[:_HEAD_BYTES]
            if len(head) >= _HEAD_BYTES:
                break
    return head

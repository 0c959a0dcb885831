"""Describes each changed file, before and after, with counts of lines: what editors render."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from snapd.core.model import TEN_MIB

from .text import decode, is_binary

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.model import Entry, RelPath
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.store import Blobs

_HEAD_BYTES = 8000


@attrs.frozen
class FileDelta:
    """One changed file.

    Attributes:
        path: where it is; also where it was, unless it was moved.
        status: what happened to it.
        before: its text before; empty if binary, too large or not asked for.
        after: its text after; empty in the same cases.
        additions: added lines, as `git diff --numstat --no-renames` counts them.
        deletions: deleted lines, counted in the same way.
        binary: whether git takes either side for binary.
        too_large: whether it is text over 10 MB.
        encoding: "latin-1" if the texts are not UTF-8 and are shown byte by byte.
        renamed_from: its path before, if it was moved.
        old_mode: its mode before; None for no file.
        new_mode: its mode after; None for no file.
        size: the size of both texts in bytes.
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


def describe(
    blobs: Blobs,
    path: RelPath,
    old: Entry | None,
    new: Entry | None,
    texts: TextDiffer,
    call: Call,
    *,
    contents: bool,
    renamed_from: RelPath | None = None,
) -> FileDelta:
    """Describes one changed file; each of its blobs is read once.

    Args:
        blobs: holds the contents of both sides.
        path: where the file is, or was.
        old: the file before; None for no file.
        new: the file after; None for no file.
        texts: compares the two sides.
        call: the request.
        contents: whether to include the texts.
        renamed_from: where the file came from, if it was moved.

    Raises:
        StoreCorrupt: a blob is missing or damaged.
        IoError, Cancelled: from `texts`.
    """
    binary, too_large = False, False
    before = _bytes(blobs, old)
    same = old is not None and new is not None and old.oid == new.oid
    after = before if same or before is None else _bytes(blobs, new)
    if before is None or after is None:
        binary = any(is_binary(_head(blobs, entry)) for entry in (old, new))
        too_large = not binary
        before = after = b""
    elif is_binary(before) or is_binary(after):
        binary, before, after = True, b"", b""
    shown, encoding = decode(before, after) if contents else (["", ""], None)
    additions, deletions = texts.line_changes(before, after, call)
    return FileDelta(
        path=path,
        status="added" if old is None else "deleted" if new is None else "modified",
        before=shown[0],
        after=shown[1],
        additions=additions,
        deletions=deletions,
        binary=binary,
        too_large=too_large,
        encoding=encoding,
        renamed_from=renamed_from,
        old_mode=old.mode if old else None,
        new_mode=new.mode if new else None,
        size=len(before) + len(after) if contents else 0,
    )


def _bytes(blobs: Blobs, entry: Entry | None) -> bytes | None:
    """Reads a file; None if it is over 10 MB."""
    return b"" if entry is None else blobs.read_small_blob(entry.oid, TEN_MIB)


def _head(blobs: Blobs, entry: Entry | None) -> bytes:
    """Reads the first bytes of a file, and not the rest if it is stored in pieces."""
    head = b""
    if entry is not None:
        for chunk in blobs.blob_chunks(entry.oid):
            head += chunk[:_HEAD_BYTES]
            if len(head) >= _HEAD_BYTES:
                break
    return head

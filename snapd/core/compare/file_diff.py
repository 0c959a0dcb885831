"""Each file before and after, with counts: what editors render."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from snapd.core.model import TEN_MIB

from .text import decode, is_binary

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.model import Entry, RelPath
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.objects import Blobs

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


def describe(
    store: Blobs,
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
        store: where the blobs are.
        path: where the file is, or was.
        old: what it was.
        new: what it is.
        texts: compares the two sides.
        call: the request.
        contents: whether the texts are wanted.
        renamed_from: where the file came from, if it was moved.

    Raises:
        StoreCorrupt: a blob is missing or damaged.
        IoError, Cancelled: from `texts`.
    """
    binary, too_large = False, False
    before = _bytes(store, old)
    same = old is not None and new is not None and old.oid == new.oid
    after = before if same or before is None else _bytes(store, new)
    if before is None or after is None:
        binary = any(is_binary(_head(store, entry)) for entry in (old, new))
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


def _bytes(store: Blobs, entry: Entry | None) -> bytes | None:
    """A file's bytes; None where it is over 10 MB."""
    return b"" if entry is None else store.read_small_blob(entry.oid, TEN_MIB)


def _head(store: Blobs, entry: Entry | None) -> bytes:
    """The first bytes of a file, without reading the rest where it is stored in pieces."""
    head = b""
    if entry is not None:
        for chunk in store.blob_chunks(entry.oid):
            head += chunk[:_HEAD_BYTES]
            if len(head) >= _HEAD_BYTES:
                break
    return head

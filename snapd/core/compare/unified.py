"""Unified diffs as `git diff --no-renames` writes them (git's `diff.c`, "Generating patch text with -p")."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from snapd.core.model import TEN_MIB, Change

from .text import decode, is_binary

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.model import Entry
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.objects import Blobs

_ABBREVIATION = 7
_NO_FILE = b"/dev/null"
_ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}


def quote(name: bytes) -> bytes:
    """Quotes a name as git does: in quotes and with escapes, if it has an unusual byte (core.quotePath)."""
    quoted = b"".join(
        _ESCAPES.get(byte) or (b"\\%03o" % byte if byte < 0x20 or byte >= 0x7F else bytes((byte,))) for byte in name
    )
    return name if quoted == name else b'"' + quoted + b'"'


def unified(blobs: Blobs, change: Change, texts: TextDiffer, call: Call) -> str:
    """Writes the part of a unified diff that is about one file.

    Args:
        blobs: holds the contents of both sides.
        change: what changed.
        texts: compares the two sides.
        call: the request.

    Returns:
        Text, shown as `snapd.core.compare.text.decode` says. A file over 10 MB is shown as a binary one is.

    Raises:
        StoreCorrupt: a blob is missing or damaged.
        IoError, Cancelled: from `texts`.
    """
    old, new = change.old, change.new
    if old is not None and new is not None and stat.S_IFMT(old.mode) != stat.S_IFMT(new.mode):
        # a file that becomes a symlink is one deleted and one added file
        halves = (Change(change.path, old, None), Change(change.path, None, new))
        return "".join(unified(blobs, half, texts, call) for half in halves)
    names, sides = _body(blobs, change)
    body = names if sides is None else names + texts.hunks(*sides, call)
    text, _ = decode(_header(change) + body)
    return text[0]


def _header(change: Change) -> bytes:
    old, new = change.old, change.new
    lines = [b"diff --git %s %s" % (quote(b"a/" + change.path), quote(b"b/" + change.path))]
    if old is None:
        assert new is not None
        lines.append(b"new file mode %o" % new.mode)
    elif new is None:
        lines.append(b"deleted file mode %o" % old.mode)
    elif old.mode != new.mode:
        lines += [b"old mode %o" % old.mode, b"new mode %o" % new.mode]
    if old is None or new is None or old.oid != new.oid:
        ids = b"index %s..%s" % (_short(old), _short(new))
        same_mode = old is not None and new is not None and old.mode == new.mode
        lines.append(ids + (b" %o" % old.mode if same_mode and old is not None else b""))
    return b"\n".join(lines) + b"\n"


def _short(entry: Entry | None) -> bytes:
    return entry.oid.hex()[:_ABBREVIATION].encode() if entry is not None else b"0" * _ABBREVIATION


def _body(blobs: Blobs, change: Change) -> tuple[bytes, tuple[bytes, bytes] | None]:
    """Writes what follows the header; and gives the two sides whose hunks follow that, if any do."""
    old, new = change.old, change.new
    if old is not None and new is not None and old.oid == new.oid:
        return b"", None
    names = [quote(b"a/" + change.path) if old else _NO_FILE, quote(b"b/" + change.path) if new else _NO_FILE]
    if any(entry is not None and blobs.blob_size(entry.oid) > TEN_MIB for entry in (old, new)):
        return b"Binary files %s and %s differ\n" % (names[0], names[1]), None
    before, after = (blobs.read_blob(entry.oid) if entry is not None else b"" for entry in (old, new))
    if any(is_binary(side) for side in (before, after)):
        return b"Binary files %s and %s differ\n" % (names[0], names[1]), None
    if not before and not after:
        return b"", None
    # a tab ends a name that has a blank in it, for tools that would cut it at the blank
    ends = [name + b"\t" if b" " in name else name for name in names]
    return b"--- %s\n+++ %s\n" % (ends[0], ends[1]), (before, after)

"""Describes changed files, before and after, with counts of lines, for editors; writes unified diffs."""

from __future__ import annotations

import re
import stat
import string
import zlib
from base64 import b85encode
from collections import Counter
from collections.abc import Iterable
from typing import Literal

import attrs

from snapd.model.call import Call
from snapd.model.snapshot import TEN_MIB, Change, Entry, RelPath

from .text import Blobs, SmallBlobs, TextDiffer, decode, is_binary

_HEAD_BYTES = 8000


@attrs.frozen
class FileDelta:
    """One changed file. Counts of lines are those of `git diff --numstat --no-renames`."""

    path: RelPath  # where it is; also where it was, unless it was moved
    status: Literal["added", "deleted", "modified"]
    before: str  # its text before; empty if binary, too large or not requested
    after: str  # its text after; empty in the same cases
    additions: int
    deletions: int
    binary: bool  # whether git treats either side as binary
    too_large: bool  # whether it is text over 10 MB
    encoding: str | None  # "latin-1" if the texts are not UTF-8 and are shown byte by byte
    renamed_from: RelPath | None  # its path before, if it was moved
    old_mode: int | None  # None for no file, as is `new_mode`
    new_mode: int | None
    size: int  # bytes of both texts together


def status_of(old: Entry | None, new: Entry | None) -> Literal["added", "deleted", "modified"]:
    """What happened to a file."""
    return "added" if old is None else "deleted" if new is None else "modified"


def describe(
    blobs: SmallBlobs,
    path: RelPath,
    old: Entry | None,
    new: Entry | None,
    texts: TextDiffer,
    call: Call,
    *,
    contents: bool,
    renamed_from: RelPath | None = None,
) -> FileDelta:
    """Describes one changed file, None for no file, with texts if `contents` is set; reads each of its blobs once."""
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
        status=status_of(old, new),
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


def _bytes(blobs: SmallBlobs, entry: Entry | None) -> bytes | None:
    """Reads a file; None if it is over 10 MB."""
    return b"" if entry is None else blobs.read_small_blob(entry.oid, TEN_MIB)


def _head(blobs: SmallBlobs, entry: Entry | None) -> bytes:
    head = b""
    if entry is not None:
        for chunk in blobs.blob_chunks(entry.oid):
            head += chunk[:_HEAD_BYTES]
            if len(head) >= _HEAD_BYTES:
                break
    return head


_PIECE = re.compile(rb"[^\n]{0,63}\n|[^\n]{1,64}")
"""A line, or 64 bytes of a longer one."""


def similarity(old: bytes, new: bytes) -> int:
    """Counts the bytes of `old` that also occur in `new`, at any place, in percent of the longer file."""
    if old == new:
        return 100
    longer = max(len(old), len(new))
    before, after = _pieces(old), _pieces(new)
    common = sum(min(count, after[piece]) * len(piece) for piece, count in before.items())
    # in two steps, each rounded down, because git counts in 60,000ths
    return common * 60_000 // longer * 100 // 60_000


def _pieces(data: bytes) -> Counter[bytes]:
    # line ends do not count in text
    return Counter(_PIECE.findall(data if is_binary(data) else data.replace(b"\r\n", b"\n")))


_ABBREVIATION = 7
_LINE_BYTES = 52
_LETTERS = f" {string.ascii_uppercase}{string.ascii_lowercase}".encode()
_NO_FILE = b"/dev/null"
_ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}


def quote(name: bytes) -> bytes:
    """Quotes a name as git does: with quotes and escapes if it has an unusual byte (core.quotePath)."""
    quoted = b"".join(
        _ESCAPES.get(byte) or (b"\\%03o" % byte if byte < 0x20 or byte >= 0x7F else bytes((byte,))) for byte in name
    )
    return name if quoted == name else b'"' + quoted + b'"'


def unified(
    blobs: Blobs, change: Change, texts: TextDiffer, call: Call, source: RelPath | None = None, *, binary: bool = False
) -> bytes:
    """Writes the part of a unified diff about one file; without `binary`, a file over 10 MB is shown like a binary one.

    `source` is where the file was if it was moved; `change.old` is the file there. With `binary`, a binary file becomes
    a patch that `git apply` accepts, as with `git diff --binary`.
    """
    old, new = change.old, change.new
    if old is not None and new is not None and stat.S_IFMT(old.mode) != stat.S_IFMT(new.mode):
        # a file that becomes a symlink is one deleted and one added file
        halves = (Change(change.path, old, None), Change(change.path, None, new))
        return b"".join(unified(blobs, half, texts, call, binary=binary) for half in halves)
    before = change.path if source is None else source
    move = b"" if source is None else _move(blobs, change, source)
    names, sides = _body(blobs, change, before)
    if binary and sides is not None and any(map(is_binary, sides)):
        patch = b"GIT binary patch\n" + _literal(sides[1]) + _literal(sides[0])
        return _header(change, before) + move + _ids(change, whole=True) + patch
    hunks = b"" if sides is None or any(map(is_binary, sides)) else texts.hunks(*sides, call)
    return _header(change, before) + move + _ids(change) + names + hunks


def as_text(parts: Iterable[bytes]) -> str:
    """Decodes the parts of a unified diff, each about one file, as `text.decode` does."""
    return "".join(decode(part)[0][0] for part in parts)


def _header(change: Change, source: RelPath) -> bytes:
    old, new = change.old, change.new
    lines = [b"diff --git %s %s" % (quote(b"a/" + source), quote(b"b/" + change.path))]
    if old is None:
        assert new is not None
        lines.append(b"new file mode %o" % new.mode)
    elif new is None:
        lines.append(b"deleted file mode %o" % old.mode)
    elif old.mode != new.mode:
        lines += [b"old mode %o" % old.mode, b"new mode %o" % new.mode]
    return b"\n".join(lines) + b"\n"


def _move(blobs: Blobs, change: Change, source: RelPath) -> bytes:
    names = b"rename from %s\nrename to %s\n" % (quote(source), quote(change.path))
    assert change.old is not None
    assert change.new is not None
    if change.old.oid == change.new.oid:
        return b"similarity index 100%\n" + names
    sides = [blobs.read_small_blob(entry.oid, TEN_MIB) for entry in (change.old, change.new)]
    if sides[0] is None or sides[1] is None:
        # git ignores the number, and computing it would take as long as comparing the files
        return names
    return b"similarity index %d%%\n" % similarity(sides[0], sides[1]) + names


def _literal(data: bytes) -> bytes:
    """Returns one side of a binary patch: git's base 85, up to 52 bytes a line, after a letter for their number."""
    packed = zlib.compress(data)
    pieces = (packed[at : at + _LINE_BYTES] for at in range(0, len(packed), _LINE_BYTES))
    lines = (_LETTERS[len(piece) : len(piece) + 1] + b85encode(piece, pad=True) + b"\n" for piece in pieces)
    return b"literal %d\n" % len(data) + b"".join(lines) + b"\n"


def _ids(change: Change, *, whole: bool = False) -> bytes:
    old, new = change.old, change.new
    if old is not None and new is not None and old.oid == new.oid:
        return b""
    same_mode = old is not None and new is not None and old.mode == new.mode
    mode = b" %o" % old.mode if same_mode and old is not None else b""
    length = None if whole else _ABBREVIATION
    return b"index %s..%s%s\n" % (_hex(old)[:length], _hex(new)[:length], mode)


def _hex(entry: Entry | None) -> bytes:
    return entry.oid.hex().encode() if entry is not None else b"0" * 40


def _body(blobs: Blobs, change: Change, source: RelPath) -> tuple[bytes, tuple[bytes, bytes] | None]:
    """Writes what follows the header; also returns the two sides whose hunks come next, if any."""
    old, new = change.old, change.new
    if old is not None and new is not None and old.oid == new.oid:
        return b"", None
    names = [quote(b"a/" + source) if old else _NO_FILE, quote(b"b/" + change.path) if new else _NO_FILE]
    if any(entry is not None and blobs.blob_size(entry.oid) > TEN_MIB for entry in (old, new)):
        return b"Binary files %s and %s differ\n" % (names[0], names[1]), None
    before, after = (blobs.read_blob(entry.oid) if entry is not None else b"" for entry in (old, new))
    if any(is_binary(side) for side in (before, after)):
        return b"Binary files %s and %s differ\n" % (names[0], names[1]), (before, after)
    if not before and not after:
        return b"", None
    # a tab ends a name that has a blank in it, for tools that would cut it at the blank
    ends = [name + b"\t" if b" " in name else name for name in names]
    return b"--- %s\n+++ %s\n" % (ends[0], ends[1]), (before, after)

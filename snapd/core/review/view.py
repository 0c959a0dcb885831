"""Shows what is pending in a file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from snapd.core.compare.hunks import hunks
from snapd.core.compare.text import is_binary
from snapd.core.model import SYMLINK, TEN_MIB
from snapd.core.timeline.model import FileSummary

from .pending_file import PendingFile, PendingHunk, PendingTexts, Rested

if TYPE_CHECKING:
    from snapd.core.model import Entry

    from .baseline import Baseline
    from .fold import FileFold
    from .texts import Texts

_DIGITS = 32


def view(fold: FileFold, texts: Texts) -> PendingTexts:
    """Shows the pending changes of a file that has some.

    Raises:
        StoreCorrupt: an object is missing or damaged.
        IoError, Cancelled: the texts were not compared.
    """
    pending = fold.pending
    assert pending is not None
    is_text = fold.is_text and pending.is_text
    before, after = (b"".join(pending.lines), b"".join(fold.lines)) if is_text else (b"", b"")
    sides = (pending.entry, fold.now)
    if not is_text and all(entry is None or entry.mode == SYMLINK for entry in sides):
        # as git does, the text of a link is its target
        before, after = (b"" if entry is None else texts.blobs.read_blob(entry.oid) for entry in sides)
    found = hunks(before, after, texts.differ, texts.call)
    blocks = list(pending.blocks(fold.writers)) if is_text else []
    found_hunks = []
    for hunk in found:
        owners = dict.fromkeys(
            step
            for block in blocks
            if _meet((block.base_start, block.base_end), hunk.old) and _meet((block.start, block.end), hunk.new)
            for step in block.steps
        )
        found_hunks.append(PendingHunk(hunk, tuple(owners or pending.steps)))
    owners = dict.fromkeys(step for hunk in found_hunks for step in hunk.owners) or pending.steps
    binary = not is_text and any(_is_binary(entry, texts) for entry in sides)
    summary = FileSummary(
        fold.path,
        "added" if pending.mode is None else "deleted" if fold.now is None else "modified",
        sum(line.startswith("+") for hunk in found for line in hunk.lines),
        sum(line.startswith("-") for hunk in found for line in hunk.lines),
        binary,
        renamed_from=pending.path if pending.mode is not None and pending.path != fold.path else None,
    )
    return PendingTexts(
        PendingFile(summary, _id(fold, pending), len(found_hunks), tuple(owners)),
        tuple(found_hunks),
        before,
        after,
        pending.mode,
        None if fold.now is None else fold.now.mode,
        not is_text and not binary and any(_is_large(entry, texts) for entry in sides),
    )


def listed(file: FileFold | Rested, texts: Texts) -> PendingFile:
    """Shows a file as a list of pending files has it; raises as `view`."""
    if isinstance(file, Rested):
        assert file.pending is not None
        return file.pending
    if file.shown is None:
        file.shown = view(file, texts).file
    return file.shown


def rested(fold: FileFold, texts: Texts) -> Rested:
    """What is to be known of a file while nothing happens to it; raises as `view`."""
    pending = None if fold.pending is None else listed(fold, texts)
    return Rested(fold.path, fold.baseline_path, fold.is_gone, pending)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


def _is_binary(entry: Entry | None, texts: Texts) -> bool:
    if entry is None or entry.mode == SYMLINK:
        return False
    data = texts.blobs.read_small_blob(entry.oid, TEN_MIB)
    return data is not None and is_binary(data)


def _is_large(entry: Entry | None, texts: Texts) -> bool:
    return entry is not None and texts.blobs.blob_size(entry.oid) > TEN_MIB


def _id(fold: FileFold, pending: Baseline) -> str:
    """Names what is shown; it stays the same as long as baseline and file do."""
    opaque = pending.entry.oid if pending.entry is not None and not pending.is_text else b""
    now = (b"", b"") if fold.now is None else (fold.now.oid, b"%o" % fold.now.mode)
    digest = hashlib.sha256()
    for part in (fold.path, pending.path, b"%o" % (pending.mode or 0), opaque, b"".join(pending.lines), *now):
        digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()[:_DIGITS]

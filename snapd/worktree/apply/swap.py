"""Replaces or deletes a file, if it is still what the plan saw.

The file that had the name in that moment is moved aside, and checked once more before it is deleted.
"""

from __future__ import annotations

import os
import secrets

import attrs

from snapd.failpoints import failpoint
from snapd.model.plan import CapturedFile
from snapd.model.snapshot import SYMLINK, Signature
from snapd.worktree.fs.rename import exchange, rename_no_replace
from snapd.worktree.fs.stable_read import blob_id, read_link, read_stable, signature

_KEPT_NAME_BYTES = 230
"""How much of a file's name fits, with our ending, into the 255 bytes that a name may have."""


def replace(source: int, temporary: bytes, target: int, name: bytes, captured: CapturedFile) -> bool:
    """Puts the new file there if the old one is still what the plan saw.

    Args:
        source: descriptor of the directory that the new file is in.
        temporary: its name there.
        target: descriptor of the directory that the old one is in.
        name: its name there.
        captured: what the plan saw.

    Returns:
        False if the old file is something else; it stays.

    Raises:
        OSError: the name has the file that it had before.
    """
    if not _still_stands(target, name, captured):
        return False
    failpoint("apply.exchange")
    # in this order, for a watcher that believes the last event of a name: the new file came after the old one went
    if not exchange(target, name, source, temporary):
        os.rename(temporary, name, src_dir_fd=source, dst_dir_fd=target)
        return True
    if not _look(source, temporary).same_content(captured.signature):
        exchange(target, name, source, temporary)
        return False
    try:
        failpoint("apply.exchanged")
        os.unlink(temporary, dir_fd=source)
    except OSError:
        # what the outcome says about the file must be true
        exchange(target, name, source, temporary)
        raise
    return True


def take_away(directory: int, name: bytes, captured: CapturedFile) -> bool:
    """Deletes a file if it is still what the plan saw.

    Args:
        directory: descriptor of its directory.
        name: its name there.
        captured: what the plan saw.

    Returns:
        False if it is something else; it stays.

    Raises:
        OSError: the file is still there, unchanged.
    """
    if not _still_stands(directory, name, captured):
        return False
    aside = b".snapd-tmp-" + secrets.token_hex(8).encode()
    os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
    if _look(directory, aside).same_content(captured.signature):
        try:
            failpoint("apply.deleted")
            os.unlink(aside, dir_fd=directory)
        except OSError:
            _put_back(directory, aside, name)
            raise
        return True
    _put_back(directory, aside, name)
    return False


def _put_back(directory: int, aside: bytes, name: bytes) -> None:
    try:
        rename_no_replace(directory, aside, directory, name)
    except FileExistsError:
        # somebody put yet another file there: both must survive, so this one gets a name of its own
        kept = name[:_KEPT_NAME_BYTES] + b".snapd-kept-" + secrets.token_hex(4).encode()
        rename_no_replace(directory, aside, directory, kept)


def _look(directory: int, name: bytes) -> Signature:
    return signature(os.stat(name, dir_fd=directory, follow_symlinks=False))


def _still_stands(directory: int, name: bytes, captured: CapturedFile) -> bool:
    """Whether a file still is what the plan saw.

    If only the ctime changed, the bytes are compared: snapd changes it itself when it deletes another name of the same
    file, and so does whoever makes a link to it.
    """
    now = _look(directory, name)
    if now == captured.signature:
        return True
    if attrs.evolve(now, ctime_ns=captured.signature.ctime_ns) != captured.signature:
        return False
    if captured.entry.mode == SYMLINK:
        found = read_link(directory, name, blob_id)
    else:
        found = read_stable(directory, name, now.size, blob_id)
    return isinstance(found, tuple) and found[:2] == (captured.entry.oid, now)

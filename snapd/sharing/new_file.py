"""A file that is made whole or not at all, and takes nobody's place."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from snapd.core.errors import InvalidParams, os_errors
from snapd.core.paths import shown
from snapd.store.files.durable import PRIVATE_FILE, write_all
from snapd.worktree.export.destination import why_closed
from snapd.worktree.fs.rename import rename_no_replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.call import Call

_OTHER_NAME = "give the name of a file that does not exist yet"


def check_new(path: str, stores: str) -> None:
    """Makes sure that a file can be made, as far as one can know before.

    Args:
        path: absolute.
        stores: the directory of all stores.

    Raises:
        InvalidParams: it exists, its folder does not, or nobody but git or snapd may write there.
        IoError: that cannot be looked at.
    """
    folder = os.path.dirname(path)
    if not os.path.basename(path):
        raise _refused(path, "it is a folder", _OTHER_NAME)
    with os_errors(path):
        if os.path.lexists(path):
            raise _exists(path)
        if not os.path.isdir(folder):
            raise _refused(path, f"there is no folder {shown(os.fsencode(folder))}", "make the folder first")
    why = why_closed(os.path.realpath(os.fsencode(folder)), os.path.realpath(os.fsencode(stores)))
    if why is not None:
        raise _refused(path, why, "name a file outside of it")


def make_file(path: str, chunks: Iterable[bytes], call: Call) -> None:
    """Makes a file durably; only the user can read it.

    Args:
        path: absolute.
        chunks: its bytes.
        call: the request.

    Raises:
        InvalidParams: there is a file of this name.
        StorageFull, IoError, Cancelled: nothing is left of it.
    """
    above, name = os.path.split(os.fsencode(path))
    temporary = f".snapd-{secrets.token_hex(8)}.tmp".encode()
    with os_errors(path):
        directory = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, PRIVATE_FILE, dir_fd=directory)
            try:
                try:
                    for chunk in chunks:
                        call.check()
                        write_all(descriptor, chunk)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                rename_no_replace(directory, temporary, directory, name)
            except BaseException:
                os.unlink(temporary, dir_fd=directory)
                raise
            os.fsync(directory)
        except FileExistsError as error:
            raise _exists(path) from error
        finally:
            os.close(directory)


def _exists(path: str) -> InvalidParams:
    return _refused(path, "it exists already", _OTHER_NAME)


def _refused(path: str, why: str, hint: str) -> InvalidParams:
    return InvalidParams(f"file: cannot write {shown(os.fsencode(path))}: {why}", hint=hint, field="file")

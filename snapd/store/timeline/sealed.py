"""A file that is believed only as it was when it was closed: its digest stands beside it.

So nothing has to be written in any order, or synced, while it is open. Whatever happened to it (its process killed, a
power cut, no space, a damaged disk, half a copy), the digest is missing or another.
"""

from __future__ import annotations

import hashlib
import os

from snapd.failpoints import failpoint
from snapd.store.files.durable import PRIVATE_FILE, remove_if_there

_CHUNK = 1 << 20


def seal(path: str) -> None:
    """Says that the file is as it should be; raises `OSError`."""
    digest = _digest(path)
    failpoint("seal.write")
    descriptor = os.open(_seal_of(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(digest)


def is_sealed(path: str) -> bool:
    """Whether the file is there, and is the one that was sealed; raises `OSError`."""
    try:
        with open(_seal_of(path), "rb") as file:
            return file.read() == _digest(path)
    except FileNotFoundError:
        return False


def fresh(path: str) -> None:
    """Puts an empty private file in place of the one that is there; raises `OSError`."""
    failpoint("seal.fresh")
    remove(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def remove(path: str) -> None:
    """Removes the file and what is said of it; raises `OSError`."""
    for leftover in (_seal_of(path), path):
        remove_if_there(leftover)


def _seal_of(path: str) -> str:
    return f"{path}.sha1"


def _digest(path: str) -> bytes:
    digest = hashlib.sha1()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest().encode()

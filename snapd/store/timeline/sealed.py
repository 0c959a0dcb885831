"""Seals a file: after it is closed, its digest is written beside it, and the file is used only if that matches.

So it needs no sync and no order of writes while it is open. Whatever happens to it (a killed process, a power cut, a
full disk, a damaged disk, half a copy), the digest is missing or does not match.
"""

from __future__ import annotations

import hashlib
import os

from snapd.failpoints import failpoint
from snapd.store.files.durable import PRIVATE_FILE, remove_if_there

_CHUNK = 1 << 20


def seal(path: str) -> None:
    """Writes the digest of the file; raises `OSError`."""
    digest = _digest(path)
    failpoint("seal.write")
    descriptor = os.open(_seal_of(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(digest)


def is_sealed(path: str) -> bool:
    """Whether the file exists and matches its digest; raises `OSError`."""
    try:
        with open(_seal_of(path), "rb") as file:
            return file.read() == _digest(path)
    except FileNotFoundError:
        return False


def fresh(path: str) -> None:
    """Replaces the file by an empty private one; raises `OSError`."""
    failpoint("seal.fresh")
    remove(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def remove(path: str) -> None:
    """Removes the file and its digest; raises `OSError`."""
    for name in (_seal_of(path), path):
        remove_if_there(name)


def _seal_of(path: str) -> str:
    return f"{path}.sha1"


def _digest(path: str) -> bytes:
    digest = hashlib.sha1()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest().encode()

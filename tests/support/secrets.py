"""Contents that must be nowhere in a store any more."""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from pathlib import Path

from tests.support.git import run_git


def blob(data: bytes) -> str:
    """The id that git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def check_gone(store: str, *secrets: bytes) -> None:
    """No file of the store has some contents: not as they are, not compressed, not as an object, nor their ids."""
    objects = run_git(store, "--git-dir=.", "cat-file", "--batch-all-objects", "--batch-check", "--unordered")
    for secret in secrets:
        assert blob(secret).encode() not in objects
    kept = run_git(store, "--git-dir=.", "cat-file", "--batch-all-objects", "--batch", "--unordered")
    for path in [path for path in Path(store).rglob("*") if path.is_file()]:
        data = path.read_bytes()
        with contextlib.suppress(zlib.error):
            data += zlib.decompress(data)
        for secret in secrets:
            assert secret not in data, path
            assert secret not in kept
            assert bytes.fromhex(blob(secret)) not in data, path
            assert blob(secret).encode() not in data, path
            assert blob(secret)[2:] not in path.name
    said = run_git(store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling")
    assert said == b"", said

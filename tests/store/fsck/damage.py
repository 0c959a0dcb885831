"""Ways to damage a file, where the objects of a store lie, and what git says of it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from snapd.model.snapshot import ObjectId
from tests.support.git import GIT

Damage = Callable[[Path], None]


def replace(path: Path, data: bytes) -> None:
    """Puts another file there: what has the old one mapped must not be torn."""
    temporary = path.with_name("damaged")
    temporary.write_bytes(data)
    temporary.chmod(0o600)
    temporary.rename(path)


def flip(path: Path) -> None:
    """Flips a bit in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    replace(path, bytes(data))


def flip_packed(pack: Path, oid: bytes) -> None:
    """Flips a bit in the middle of the entry of an object in a pack."""
    listed = subprocess.check_output([GIT, "verify-pack", "-v", pack], text=True).splitlines()
    (entry,) = (line.split() for line in listed if line.startswith(oid.hex()))
    data = bytearray(pack.read_bytes())
    data[int(entry[4]) + int(entry[3]) // 2] ^= 4
    replace(pack, bytes(data))


def flip_end(path: Path) -> None:
    """Flips a bit of the last byte."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    replace(path, bytes(data))


def cut(path: Path) -> None:
    """Cuts it off in the middle."""
    replace(path, path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    replace(path, b"")


def drop(path: Path) -> None:
    path.unlink()


def swap(path: Path) -> None:
    """A well-formed loose object, with the bytes of another."""
    replace(path, zlib.compress(b"blob 5\0other"))


ALL: tuple[Damage, ...] = (flip, cut, empty, drop)


def loose(store: Path, oid: ObjectId) -> Path:
    name = oid.hex()
    return store / "objects" / name[:2] / name[2:]


def blob_id(data: bytes) -> ObjectId:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).digest()


def places(snapshots: Mapping[ObjectId, Mapping[str, bytes]], lost: ObjectId) -> dict[bytes, set[ObjectId]]:
    """Of a model, the files whose bytes are a blob's, each with the snapshots that have it there."""
    found: dict[bytes, set[ObjectId]] = {}
    for tree, files in snapshots.items():
        for path, data in files.items():
            if blob_id(data) == lost:
                found.setdefault(path.encode(), set()).add(tree)
    return found


def everything(top: Path) -> dict[str, bytes]:
    """All files below a directory, but for what changes with each owner."""
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and path.name not in ("owner.json", "lock")
    }


def git_finds(store: Path) -> set[str]:
    """The objects that `git fsck` finds missing or damaged."""
    _, said = _git_fsck(store)
    return {word for word in re.split(r"[^0-9a-f]+", said) if len(word) == 40}


def git_is_content(store: Path) -> bool:
    """Whether `git fsck` finds nothing at all."""
    code, said = _git_fsck(store)
    return code == 0 and not re.search("missing|broken|error|corrupt", said)


def _git_fsck(store: Path) -> tuple[int, str]:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
    command = [GIT, "--git-dir=.", "fsck", "--full", "--strict", "--no-dangling"]
    done = subprocess.run(command, cwd=store, env=environment, capture_output=True, check=False)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

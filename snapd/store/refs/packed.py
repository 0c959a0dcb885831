"""The file of packed references: `packed-refs`, which a git makes that somebody runs on a store (see git-pack-refs).

A line is an id and a name; below it may stand what a tag leads to, behind a `^`. The first line may say what git may
take for granted of the others.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import os_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from snapd.core.model import ObjectId

OURS = "refs/snapd/"
PACKED = "packed-refs"

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NAME = re.compile(rf"refs/snapd/(coverage/[0-9a-f]{{40}}|(snapshots|operations)/{_DAY}|sessions/[0-9a-f]{{1,16}})")

_HEADER = b"# pack-refs with:"
_ENTRY = re.compile(rb"([0-9a-f]{40}) (refs/[^\x00-\x20\x7f]+)")
_BELOW = re.compile(rb"\^[0-9a-f]{40}")


@attrs.frozen
class PackedReferences:
    """What it says.

    Attributes:
        targets: what each points to, by name; snapd's own alone.
        legible: the lines of references that can be read, those of others too.
        is_damaged: whether that is not all that it once said.
    """

    targets: dict[str, ObjectId]
    legible: tuple[bytes, ...]
    is_damaged: bool


def is_ours(name: str) -> bool:
    """Whether snapd gives a reference such a name; what else lies below `refs/snapd` is somebody else's, or litter."""
    return _NAME.fullmatch(name) is not None


def read_packed(store: str) -> PackedReferences:
    """Reads it; nothing is packed where there is none. Raises `IoError`.

    Args:
        store: the directory that it is in.
    """
    path = os.path.join(store, PACKED)
    with os_errors(path):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return PackedReferences({}, (), is_damaged=False)
    targets: dict[str, ObjectId] = {}
    legible: list[bytes] = []
    *lines, rest = data.split(b"\n")
    # git writes its first line also where nothing is left to be packed, and ends each
    is_damaged = bool(rest) or not lines
    is_below_one = False
    for at, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line)
        # snapd's own names are plain
        if entry is not None and (entry[2].isascii() or not entry[2].startswith(OURS.encode())):
            name = os.fsdecode(entry[2])
            if is_ours(name):
                targets[name] = bytes.fromhex(entry[1].decode())
            legible.append(line + b"\n")
            is_below_one = True
        elif is_below_one and _BELOW.fullmatch(line):
            legible.append(line + b"\n")
            is_below_one = False
        elif at > 0 or not line.startswith(_HEADER):
            is_damaged = True
            is_below_one = False
    return PackedReferences(targets, tuple(legible), is_damaged)


def encode_packed(legible: Iterable[bytes]) -> bytes:
    """The bytes of such a file, of which git takes nothing for granted."""
    return b"%b \n%b" % (_HEADER, b"".join(legible))


def without(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines of such a file without those of one reference."""
    drops = False
    for line in lines:
        drops = line[41:].rstrip(b"\n") == os.fsencode(name) or (drops and line.startswith(b"^"))
        if not drops:
            yield line

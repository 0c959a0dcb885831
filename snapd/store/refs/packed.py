"""The file `packed-refs`, which git-pack-refs writes when somebody runs git on a store.

A line is an id and a name; the next line may be the target of a tag, after `^`. The first line may state what git can
assume about the others.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import attrs

from snapd.core.timeline.handover import HANDOVER_NAME
from snapd.store.files.walking import read_if_there

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from snapd.core.model import ObjectId

OURS = "refs/snapd/"
PACKED = "packed-refs"

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NAME = re.compile(
    rf"refs/snapd/(coverage/[0-9a-f]{{40}}|(snapshots|operations)/{_DAY}|"
    rf"(signatures/)?(sessions/[0-9a-f]{{1,16}}|handovers/{HANDOVER_NAME}))"
)

_HEADER = b"# pack-refs with:"
_ENTRY = re.compile(rb"([0-9a-f]{40}) (refs/[^\x00-\x20\x7f]+)")
_BELOW = re.compile(rb"\^[0-9a-f]{40}")


@attrs.frozen
class PackedReferences:
    """The contents of `packed-refs`.

    Attributes:
        targets: of snapd's own references, by name.
        legible: the readable lines, of others' references too.
        is_damaged: whether other lines are unreadable.
    """

    targets: dict[str, ObjectId]
    legible: tuple[bytes, ...]
    is_damaged: bool


def is_ours(name: str) -> bool:
    """Whether this is the name of a reference of snapd; other files below `refs/snapd` are somebody else's."""
    return _NAME.fullmatch(name) is not None


def read_packed(store: str) -> PackedReferences:
    """Reads `packed-refs`, which need not exist; raises `IoError`.

    Args:
        store: the directory of the store.
    """
    data = read_if_there(os.path.join(store, PACKED))
    if data is None:
        return PackedReferences({}, (), is_damaged=False)
    targets: dict[str, ObjectId] = {}
    legible: list[bytes] = []
    *lines, rest = data.split(b"\n")
    # git always writes the first line, and ends every line
    is_damaged = bool(rest) or not lines
    is_below_one = False
    for at, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line)
        # names of snapd's own references are ASCII
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
    """The bytes of a `packed-refs` with these lines, about which git assumes nothing."""
    return b"%b \n%b" % (_HEADER, b"".join(legible))


def without(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines of a `packed-refs` without those of one reference."""
    is_dropped = False
    for line in lines:
        is_dropped = line[41:].rstrip(b"\n") == os.fsencode(name) or (is_dropped and line.startswith(b"^"))
        if not is_dropped:
            yield line

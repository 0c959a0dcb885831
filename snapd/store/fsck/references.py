"""The references of a store as they stand on the disk: files of their own, and those that a git run by hand packed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import os_errors

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

OURS = "refs/snapd/"

_LINE = re.compile(rb"([0-9a-f]{40})\n?")
_PACKED = re.compile(rb"([0-9a-f]{40}) (refs/[^\n]+)")
_LEFTOVER = (".tmp", ".lock")


@attrs.frozen
class References:
    """What they say.

    Attributes:
        targets: what each points to, by name; snapd's own alone.
        damaged: the names of those that point to nothing legible.
    """

    targets: dict[str, ObjectId]
    damaged: tuple[str, ...]


def read_references(store: str) -> References:
    """Reads all references of snapd's own; raises `IoError`.

    Args:
        store: its directory.
    """
    targets = _packed(store)
    damaged = []
    top = os.path.join(store, OURS)
    for above, _, files in os.walk(top):
        for file in files:
            if file.endswith(_LEFTOVER):
                continue
            path = os.path.join(above, file)
            name = os.path.relpath(path, store)
            with os_errors(path), open(path, "rb") as reference:
                found = _LINE.fullmatch(reference.read(64))
            # a file hides what was packed, also where it is damaged
            targets.pop(name, None)
            if found is None:
                damaged.append(name)
            else:
                targets[name] = bytes.fromhex(found[1].decode())
    return References(dict(sorted(targets.items())), tuple(sorted(damaged)))


def _packed(store: str) -> dict[str, ObjectId]:
    path = os.path.join(store, "packed-refs")
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return {}
    found = {}
    for line in lines:
        entry = _PACKED.fullmatch(line)
        if entry is not None and entry[2].startswith(OURS.encode()):
            found[os.fsdecode(entry[2])] = bytes.fromhex(entry[1].decode())
    return found

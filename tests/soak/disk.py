"""A folder as it is on disk, and the git tree that it comes to: by our own reading, without a line of snapd's."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from typing import Any

Entry = tuple[str, str]
"""Mode, as git has it, and the id of the blob; the mode of what no snapshot can have is `special`."""
State = dict[str, Entry]
"""Files by name; names that are not UTF-8 have surrogates."""

ASIDE = re.compile(r"(\A|/)\.snapd-tmp-[0-9a-f]{16}\Z")
MAX_FILE_SIZE = 1 << 20
"""What the daemon of a soak is told; larger files are skipped."""


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Contents:
    """All bytes that were ever seen, by the id of their blob."""

    def __init__(self) -> None:
        self._of: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        oid = blob_id(data)
        self._of.setdefault(oid, data)
        return oid

    def __getitem__(self, oid: str) -> bytes:
        return self._of[oid]

    def __contains__(self, oid: str) -> bool:
        return oid in self._of


def scan(folder: str, contents: Contents) -> State:
    """All that is below a folder but `.git`."""
    found: State = {}
    for above, directories, names in os.walk(folder):
        if ".git" in directories:
            directories.remove(".git")
        links = [name for name in directories if os.path.islink(os.path.join(above, name))]
        for name in [*names, *links]:
            path = os.path.join(above, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                entry = ("120000", contents.put(os.fsencode(os.readlink(path))))
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    oid = contents.put(file.read())
                mode = "100755" if status.st_mode & 0o100 else "100644"
                entry = (mode if status.st_size <= MAX_FILE_SIZE else "special", oid)
            else:
                entry = ("special", "")
            found[os.path.relpath(path, folder)] = entry
    return found


def is_ignored(name: str) -> bool:
    """What the `.gitignore` of a soak's folders says, but for the file that is in the index all the same."""
    return name.startswith("ignored/") or (name.endswith(".log") and name != "tracked.log")


def captured(state: State) -> State:
    """What of a folder a snapshot holds."""
    return {
        name: entry
        for name, entry in state.items()
        if entry[0] != "special" and not is_ignored(name) and not ASIDE.search(name)
    }


def others(state: State) -> State:
    """What no operation may touch."""
    return {name: entry for name, entry in state.items() if entry[0] == "special" or is_ignored(name)}


def tree_id(files: Mapping[str, Entry]) -> str:
    """The id of the git tree of some files."""
    root: dict[bytes, Any] = {}
    for name, entry in files.items():
        *above, last = os.fsencode(name).split(b"/")
        node = root
        for part in above:
            node = node.setdefault(part, {})
        node[last] = entry
    return _tree(root).hex()


def _tree(node: dict[bytes, Any]) -> bytes:
    rows = []
    for name, item in node.items():
        if isinstance(item, dict):
            rows.append((name + b"/", b"40000 %s\0" % name + _tree(item)))
        else:
            mode, oid = item
            rows.append((name, f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid)))
    data = b"".join(row for _, row in sorted(rows))
    return hashlib.sha1(b"tree %d\0" % len(data) + data).digest()


def differing(one: Mapping[str, Entry], other: Mapping[str, Entry]) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))

"""Bundles: references with their objects in one file, in git's own format (gitformat-bundle(5)).

`git fetch` reads them, too, but in many versions without checking their objects, as it does for a repository; so this
uses `git index-pack`.
"""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, BinaryIO

import attrs

from snapd.model.errors import FULL, StorageFull, Untrusted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from snapd.model.call import Call
    from snapd.model.snapshot import ObjectId

    from .program import GitProgram

_SIGNATURES = (b"# v2 git bundle\n", b"# v3 git bundle\n")
_CAPABILITIES = (b"@object-format=sha1\n",)
_LINE = re.compile(rb"(-?)([0-9a-f]{40})(?: ([^\n]*))?\n")
_NAME = re.compile(r"refs/snapd/(?:signatures/)?[a-z]+/[A-Za-z0-9_-]+")
_LONGEST_LINE = 1 << 16
_MOST_LINES = 1 << 20
_HINT = "ask the person who made it for a new copy"


@attrs.frozen
class Header:
    """The header of a bundle: its references, and commits that it omits, so that the reader must have them."""

    prerequisites: Sequence[ObjectId]
    heads: Mapping[str, ObjectId]

    def encode(self) -> bytes:
        """Returns the beginning of the file; a pack follows."""
        needed = "".join(f"-{oid.hex()} \n" for oid in self.prerequisites)
        named = "".join(f"{head.hex()} {name}\n" for name, head in self.heads.items())
        return _SIGNATURES[0] + f"{needed}{named}\n".encode()


def read_header(file: BinaryIO, shown: str) -> Header:
    """Reads the header of a bundle and stops where its pack begins; `shown` is the path for errors.

    Ignores references with names that snapd never uses. Raises `Untrusted` if this is no supported bundle, and
    `OSError`.
    """
    if file.readline(_LONGEST_LINE) not in _SIGNATURES:
        raise _refused(shown, "it is not a git bundle")
    needed: list[ObjectId] = []
    heads: dict[str, ObjectId] = {}
    for _ in range(_MOST_LINES):
        line = file.readline(_LONGEST_LINE)
        if line == b"\n":
            os.lseek(file.fileno(), file.tell(), os.SEEK_SET)
            return Header(tuple(needed), heads)
        if line.startswith(b"@"):
            if line not in _CAPABILITIES:
                wanted = line.strip().decode("utf-8", "replace")
                raise _refused(shown, f"snapd does not read this kind of bundle: {wanted}")
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise _refused(shown, "its header is damaged")
        oid, name = bytes.fromhex(match[2].decode()), (match[3] or b"").decode("utf-8", "replace")
        if match[1]:
            needed.append(oid)
        elif _NAME.fullmatch(name):
            heads[name] = oid
    raise _refused(shown, "its header has no end")


def unpack(git: GitProgram, git_dir: str, file: BinaryIO, shown: str, most: int, call: Call) -> None:
    """Adds the objects of a bundle, whose header was read from `file`, to a repository.

    The repository must have or borrow what the bundle omits. Raises `Untrusted` if an object is malformed or missing,
    or if the rest of the file is over `most` bytes. After an error only temporary files are left.
    """
    words = ["index-pack", "--stdin", "--fix-thin", "--strict", f"--max-input-size={most}"]
    done = git.run(git_dir, words, call, source=file)
    if done.code == 0:
        return
    for number in FULL:
        if os.strerror(number) in done.stderr:
            raise StorageFull(f"no space left: {git_dir}", path=git_dir, errno=errno.errorcode[number])
    stderr = done.stderr.splitlines() or [f"git ended with {done.code}"]
    raise _refused(shown, f"it is damaged: {re.sub(r'^(fatal|error): *', '', stderr[0])}")


def _refused(shown: str, why: str) -> Untrusted:
    return Untrusted(f"{shown} cannot be used: {why}", hint=_HINT, file=shown)

"""What a push would send: its size, and the files that the project has never committed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from snapd.model.errors import IoError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from snapd.model.call import Call
    from snapd.model.snapshot import ObjectId

    from .program import GitProgram

_MOST_PATHS = 1_000
"""With more files than this, git is not asked which commits had them: all count as new."""


@attrs.frozen
class SizeEstimate:
    """Queries a repository with copies of sessions, whose newest commits are `heads`; raises `IoError`, `Cancelled`."""

    git: GitProgram
    git_dir: str
    heads: Sequence[ObjectId]

    def push_size(self, known: Iterable[ObjectId], call: Call) -> int:
        """Returns the size of the pack that a push sends; `known` are commits that both sides have."""
        path = self.write_push_pack(known, call)
        size = os.path.getsize(path)
        os.unlink(path)
        return size

    def write_push_pack(self, known: Iterable[ObjectId], call: Call) -> str:
        """Writes the pack that a push sends; returns its path. `known` are commits that both sides have."""
        revisions = self._revisions(known)
        path = os.path.join(self.git_dir, "weighed.pack")
        words = ["pack-objects", "--revs", "--thin", "--shallow", "--stdout", "--quiet", "--delta-base-offset"]
        self._run(words, call, data=revisions, into=path)
        return path

    def bytes_of(self, commit: ObjectId, call: Call) -> int:
        """Returns how many bytes of the copies a commit of the project has, as git stores them there."""
        listed = self._run(["ls-tree", "-r", "-t", commit.hex()], call, data=b"")
        there = {line.split()[2] for line in listed.splitlines()}
        words = ["rev-list", "--objects", "--no-object-names", "--stdin"]
        shared = there.intersection(self._run(words, call, data=self._revisions(())).split())
        data = b"".join(b"%s\n" % oid for oid in sorted(shared))
        return sum(map(int, self._run(["cat-file", "--batch-check=%(objectsize:disk)"], call, data=data).split()))

    def new_objects(self, tips: Collection[ObjectId], call: Call) -> tuple[dict[ObjectId, int], set[ObjectId]]:
        """Returns the objects of the copies that are not in the trees of some commits: sizes of blobs, and trees.

        `tips` are commits, or tags of commits; those that this machine lacks are ignored.
        """
        # by default, git considers only ancestors of the sessions, and no commit of the project is one; with this
        # option it considers the trees of all known commits, and prints these commits with a dash
        words = ["rev-list", "--objects-edge-aggressive", "--no-object-names", "--stdin"]
        lines = self._run(words, call, data=self._revisions(self.there(tips, call))).splitlines(keepends=True)
        reached = b"".join(line for line in lines if not line.startswith(b"-"))
        form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
        blobs: dict[ObjectId, int] = {}
        trees: set[ObjectId] = set()
        for line in self._run(["cat-file", form], call, data=reached).splitlines():
            oid, kind, size = line.split(b" ")
            if kind == b"blob":
                blobs[bytes.fromhex(oid.decode())] = int(size)
            elif kind == b"tree":
                trees.add(bytes.fromhex(oid.decode()))
        return blobs, trees

    def committed(self, paths: Collection[bytes], tips: Collection[ObjectId], call: Call) -> set[ObjectId]:
        """Returns the blobs that some commits or their ancestors ever had at these paths.

        If git cannot tell, the result has too few rather than too many.
        """
        known = self.there(tips, call)
        if not known or not paths or len(paths) > _MOST_PATHS:
            return set()
        words = ["--literal-pathspecs", "log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m"]
        revisions = [tip.hex() for tip in sorted(known)]
        done = self.git.run(
            self.git_dir, [*words, *revisions, "--", *(os.fsdecode(path) for path in sorted(paths))], call
        )
        if done.code:
            # such as in a shallow clone, which lacks older commits
            return set()
        fields = [line.split(b" ", 4) for line in done.out.splitlines() if line.startswith(b":")]
        return {bytes.fromhex(field[3].decode()) for field in fields}

    def there(self, wanted: Collection[ObjectId], call: Call) -> list[ObjectId]:
        """Returns which of these commits this machine has, also those behind tags."""
        if not wanted:
            return []
        data = b"".join(b"%s^{commit}\n" % oid.hex().encode() for oid in sorted(wanted))
        lines = self._run(["cat-file", "--batch-check=%(objectname) %(objecttype)"], call, data=data).splitlines()
        pairs = [line.split(b" ", 1) for line in lines]
        return [bytes.fromhex(oid.decode()) for oid, kind in pairs if kind == b"commit"]

    def _revisions(self, known: Iterable[ObjectId]) -> bytes:
        lines = [*(head.hex() for head in self.heads), *(f"^{oid.hex()}" for oid in known)]
        return "".join(f"{line}\n" for line in lines).encode()

    def _run(self, words: Sequence[str], call: Call, *, data: bytes, into: str | None = None) -> bytes:
        done = self.git.run(self.git_dir, words, call, data=data, into=into)
        if done.code:
            raise IoError(f"git {words[0]} failed: {done.stderr}", errno="EIO", path=self.git_dir)
        return done.out

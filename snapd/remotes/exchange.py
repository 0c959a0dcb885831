"""Pushes and fetches references, by the git program."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from snapd.core.errors import RemoteChanged, StorageFull, Untrusted

from .address import without_secret
from .failures import error, failed, is_full_here, remote_said, what_is_wrong
from .program import Bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId

    from .program import Finished, GitProgram

_PUSH = ("push", "--porcelain", "--atomic", "--no-verify", "--no-signed")
_QUIET = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
_REJECTED = re.compile(r"!\t[^\t]*\t\[([^\]]*)\](?: \((.*)\))?")
_STALE = "stale info"
_MOVED = re.compile(r"cannot lock ref .*(but expected|reference already exists|unable to resolve reference)")
"""What the remote's own git says where a reference was moved after it was looked at."""


class Exchange:
    """Speaks with the git repository at an address.

    Args:
        git: the program.
        bounds: the most that it may use where the other side sends.
        address: the repository, as `address.resolve` gives it.

    Attributes:
        address: as given.
    """

    def __init__(self, git: GitProgram, address: str, bounds: Bounds | None = None) -> None:
        self._git = git
        self._bounds = bounds or Bounds()
        self.address = address

    def push(
        self, git_dir: str, heads: Mapping[str, ObjectId | None], seen: Mapping[str, ObjectId], call: Call
    ) -> None:
        """Pushes references: all or none.

        Args:
            git_dir: the repository that has them.
            heads: their new targets, by name; the remote gets them under the same names, and loses those without one.
            seen: what the remote has of these, by name. A reference that somebody moved since is not pushed.
            call: the request.

        Raises:
            RemoteChanged: somebody moved one of them meanwhile; nothing was pushed.
            RemoteFailed: nothing was pushed.
            Cancelled: the request was cancelled; all was pushed, or nothing.
        """
        if not heads:
            # without a name, git would push what it is configured to
            return
        leases = [f"--force-with-lease={name}:{_hex(seen.get(name))}" for name in heads]
        # without a plus, which would have git push in spite of a lease
        refs = [f"{_hex(head)}:{name}" for name, head in heads.items()]
        self._push(git_dir, [*leases, "--", self.address, *refs], call)

    def delete(self, git_dir: str, seen: Mapping[str, ObjectId], call: Call) -> None:
        """Deletes references, if nobody moved them since they were seen; raises as `push`."""
        leases = [f"--force-with-lease={name}:{head.hex()}" for name, head in seen.items()]
        self._push(git_dir, [*leases, "--", self.address, *(f":{name}" for name in seen)], call)

    def _push(self, git_dir: str, words: Sequence[str], call: Call) -> None:
        done = self._git.run(git_dir, [*_PUSH, *words], call)
        if done.code == 0:
            return
        rejected = [
            found for line in done.out.decode("utf-8", "replace").splitlines() if (found := _REJECTED.match(line))
        ]
        if any(found[2] == _STALE for found in rejected) or (rejected and _MOVED.search(done.said)):
            shown = without_secret(self.address)
            raise RemoteChanged(f"{shown}: somebody else pushed one of these sessions meanwhile", remote=shown)
        said = next((found[2] for found in rejected if found[2] and found[2] != "atomic push failure"), None)
        if said is not None:
            why = remote_said(done)
            raise error(self.address, "refused", f"{said}: {why}" if why else said)
        raise failed(self.address, done)

    def list(self, git_dir: str, names: Sequence[str], call: Call) -> dict[str, ObjectId]:
        """Which references with these names there are, with their targets; raises `RemoteFailed`, `Cancelled`."""
        found = self._listed(git_dir, ["--refs", "--", self.address, *names], call)
        # git also gives those whose names end like this
        return {name: found[name] for name in names if name in found}

    def list_below(self, git_dir: str, prefix: str, call: Call) -> dict[str, ObjectId]:
        """The references whose names begin like this, with their targets; raises `RemoteFailed`, `Cancelled`."""
        return self._listed(git_dir, ["--refs", "--", self.address, f"{prefix}*"], call)

    def branches(self, git_dir: str, call: Call) -> frozenset[ObjectId]:
        """What its branches and tags point to; raises `RemoteFailed`, `Cancelled`."""
        return frozenset(self._listed(git_dir, ["--heads", "--tags", "--", self.address], call).values())

    def fetch_tips(self, git_dir: str, prefixes: Sequence[str], call: Call) -> None:
        """Fetches the newest commits of references, and of what they reach as little as the remote lets it.

        Args:
            git_dir: a repository that is removed afterwards: most of what these commits name is not there.
            prefixes: what the names of the references begin with, up to a slash.
            call: the request.

        Raises:
            RemoteFailed, Cancelled: they were not fetched.
        """
        # git takes no path for the name of a remote that has the rest
        address = f"file://{quote(self.address)}" if os.path.isabs(self.address) else self.address
        # patterns: git compares each of many names with each reference
        refs = [f"+{prefix}*:{prefix}*" for prefix in prefixes]
        words = ["fetch", *_QUIET, "--depth=1", "--filter=tree:0", "--", address, *refs]
        done = self._git.run(git_dir, words, call)
        # with a depth, git says no more than this where there is no such reference
        is_empty = done.code == 1 and not done.said
        if done.code and not is_empty:
            raise failed(self.address, done)

    def _listed(self, git_dir: str, words: Sequence[str], call: Call) -> dict[str, ObjectId]:
        done = self._git.run(git_dir, ["ls-remote", "--quiet", *words], call, bounds=self._bounds)
        shown = without_secret(self.address)
        if done.is_cut:
            raise Untrusted(f"{shown} lists more references than there can be", remote=shown)
        self._check_sent(done)
        if done.code:
            raise failed(self.address, done)
        lines = [line.partition(b"\t") for line in done.out.splitlines()]
        return {name.decode("utf-8", "replace"): bytes.fromhex(oid.decode()) for oid, _, name in lines}

    def fetch(self, git_dir: str, names: Sequence[str], call: Call) -> None:
        """Fetches references, with everything that they reach and neither the repository nor those that it borrows has.

        Args:
            git_dir: gets them, under the same names, and loses those of them that the remote does not have.
            names: the references, or what their names begin with; what the remote does not have is passed over.
            call: the request.

        Raises:
            Untrusted: what the remote sends is no sound git data, or over the bounds.
            RemoteFailed, StorageFull: nothing was fetched.
            Cancelled: the request was cancelled.
        """
        # with a star, git asks for what there is; a reference that is not there would be an error
        refs = [f"+{name}*:{name}*" for name in names]
        words = ["fetch", *_QUIET, "--prune", "--", self.address, *refs]
        done = self._git.run(git_dir, words, call, bounds=self._bounds)
        shown = without_secret(self.address)
        if done.code and is_full_here(done):
            raise StorageFull(f"no space is left for what comes from {shown}")
        self._check_sent(done)
        if done.code:
            raise failed(self.address, done)

    def _check_sent(self, done: Finished) -> None:
        """Raises `Untrusted` if git failed because of what the remote sent."""
        if done.code and (found := what_is_wrong(done)):
            shown = without_secret(self.address)
            raise Untrusted(f"what {shown} sends cannot be used: {found}", remote=shown)


def _hex(oid: ObjectId | None) -> str:
    return oid.hex() if oid is not None else ""

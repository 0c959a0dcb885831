"""Pushes and fetches references through the git program, and turns git's messages into snapd's errors."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import attrs

from snapd.model.errors import IoError, RemoteChanged, RemoteFailed, StorageFull, Untrusted

from .address import without_secret
from .program import Bounds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from snapd.model.call import Call
    from snapd.model.snapshot import ObjectId

    from .program import Finished, GitProgram

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
        """Returns the objects of the copies that are not in the trees of `tips`: sizes of blobs, and trees.

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
        """Returns the blobs that commits or their ancestors ever had at these paths; fewer if git cannot tell."""
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


Reason = Literal["unreachable", "refused", "interrupted", "auth"]

_REASONS: tuple[tuple[Reason, str], ...] = (
    (
        "auth",
        (
            r"authentication failed|permission denied|could not read (username|password)|terminal prompts disabled"
            r"|host key verification failed|the requested url returned error: 40[13]|access denied"
        ),
    ),
    (
        "interrupted",
        (
            r"early eof|hung up unexpectedly|unexpected disconnect|rpc failed|connection reset|broken pipe|timed out"
            r"|unexpected end|the remote end hung up|invalid index-pack output|index-pack failed|unpack-objects failed"
            r"|pack-objects died|send disconnect|fatal: expected |unexpected acknowledgment"
        ),
    ),
    (
        "unreachable",
        (
            r"could not resolve|couldn.t resolve|connection refused|does not appear to be a git repository|not found"
            r"|failed to connect|couldn.t connect|unable to connect|no such file or directory|no route to host"
            r"|could not read from remote repository|dubious ownership|unable to access|bad line length"
            r"|protocol error|invalid ls-refs|not valid: is this a git repository"
        ),
    ),
    ("refused", r"^remote: |^fatal: remote error: |remote rejected|shallow update|matches more than one"),
)
_HINTS: dict[Reason, str] = {
    "auth": "check that you have access, and that your credential helper or ssh agent works without asking you",
    "interrupted": "try again: nothing was done",
    "unreachable": "check the address and the connection, then try again",
    "refused": "ask the administrator of the remote to accept this, or choose another remote",
}
_NOISE = ("hint:", "warning:", "To ", "From ")
_FULL = re.compile(r"^(?!remote:).*(no space left on device|disk quota exceeded)", re.MULTILINE | re.IGNORECASE)
_UNSOUND = re.compile(
    r"^(?!remote:).*?(object [0-9a-f]{40}: .*|fsck error.*|pack has bad object.*|pack is corrupted.*|bad object type.*"
    r"|object of unexpected type.*|inflate returned.*|serious inflate.*|unknown object type.*|unresolved deltas.*"
    r"|delta base offset.*|failed to apply delta.*|did not send all necessary objects|sha1 collision.*|hash mismatch.*"
    r"|index-pack died of signal 2[45]|out of memory.*|attempting to allocate.*)",
    re.MULTILINE | re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

_PUSH = ("push", "--porcelain", "--atomic", "--no-verify", "--no-signed")
_QUIET = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
_REJECTED = re.compile(r"!\t[^\t]*\t\[([^\]]*)\](?: \((.*)\))?")
_STALE = "stale info"
_MOVED = re.compile(r"cannot lock ref .*(but expected|reference already exists|unable to resolve reference)")
"""What git at the remote prints if a reference changed after it was read."""


def failed(address: str, done: Finished) -> RemoteFailed:
    """Returns the error for a failed git command."""
    stderr = done.stderr.lower()
    # git has many messages for a broken connection, and often none
    reason: Reason = next(
        (reason for reason, pattern in _REASONS if re.search(pattern, stderr, re.MULTILINE)), "interrupted"
    )
    return error(address, reason, _first_line(done))


def is_local_disk_full(done: Finished) -> bool:
    """Returns whether a fetch failed because this machine has no space left."""
    return _FULL.search(done.stderr) is not None


def remote_problem(done: Finished) -> str:
    """Returns what git reports as malformed, damaged or over a limit in what a remote sent; empty if nothing."""
    match = _UNSOUND.search(done.stderr)
    return "" if match is None else _CONTROL.sub(" ", match[1])


def remote_message(done: Finished) -> str:
    """Returns the first line of the remote's own output, such as a hook's reason for a refusal; may be empty."""
    lines = [line.removeprefix("remote:").strip() for line in done.stderr.splitlines() if line.startswith("remote:")]
    return next(filter(None, lines), "")


def error(address: str, reason: Reason, stderr: str) -> RemoteFailed:
    """Returns the error of a remote; `stderr` is what git or the remote printed."""
    shown = without_secret(address)
    # a remote may send any bytes, such as terminal escapes
    stderr = _CONTROL.sub(" ", stderr.replace(address, shown)).strip()
    return RemoteFailed(f"{shown}: {stderr}", hint=_HINTS[reason], remote=shown, reason=reason)


def _first_line(done: Finished) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip() and not line.startswith(_NOISE)]
    wrong = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    line = next(iter(wrong or lines), f"git ended with {done.code}")
    return re.sub(r"^(fatal|error|remote): *", "", line)


class Exchange:
    """Exchanges references with the git repository at an address; `bounds` limits git where the remote sends data."""

    def __init__(self, git: GitProgram, address: str, bounds: Bounds | None = None) -> None:
        self._git = git
        self._bounds = bounds or Bounds()
        self.address = address

    def push(
        self, git_dir: str, heads: Mapping[str, ObjectId | None], seen: Mapping[str, ObjectId], call: Call
    ) -> None:
        """Pushes references: all or none. Raises `RemoteChanged` if one has changed since `seen`, and `RemoteFailed`.

        `heads` has their new targets by name; the remote deletes those with None. `seen` has the targets at the remote.
        """
        if not heads:
            # without a reference, git would push what it is configured to
            return
        leases = [f"--force-with-lease={name}:{_hex(seen.get(name))}" for name in heads]
        # no plus: it would override the lease
        refs = [f"{_hex(head)}:{name}" for name, head in heads.items()]
        self._push(git_dir, [*leases, "--", self.address, *refs], call)

    def delete(self, git_dir: str, seen: Mapping[str, ObjectId], call: Call) -> None:
        """Deletes references unless they changed since they were seen; raises as `push`."""
        leases = [f"--force-with-lease={name}:{head.hex()}" for name, head in seen.items()]
        self._push(git_dir, [*leases, "--", self.address, *(f":{name}" for name in seen)], call)

    def _push(self, git_dir: str, words: Sequence[str], call: Call) -> None:
        done = self._git.run(git_dir, [*_PUSH, *words], call)
        if done.code == 0:
            return
        rejected = [
            result for line in done.out.decode("utf-8", "replace").splitlines() if (result := _REJECTED.match(line))
        ]
        if any(result[2] == _STALE for result in rejected) or (rejected and _MOVED.search(done.stderr)):
            shown = without_secret(self.address)
            raise RemoteChanged(f"{shown}: someone else pushed one of these sessions meanwhile", remote=shown)
        stderr = next((result[2] for result in rejected if result[2] and result[2] != "atomic push failure"), None)
        if stderr is not None:
            why = remote_message(done)
            raise error(self.address, "refused", f"{stderr}: {why}" if why else stderr)
        raise failed(self.address, done)

    def list(self, git_dir: str, names: Sequence[str], call: Call) -> dict[str, ObjectId]:
        """Returns those of these references that exist, with their targets; raises `RemoteFailed`, `Cancelled`."""
        result = self._listed(git_dir, ["--refs", "--", self.address, *names], call)
        # git also lists references that only end in one of the names
        return {name: result[name] for name in names if name in result}

    def list_below(self, git_dir: str, prefix: str, call: Call) -> dict[str, ObjectId]:
        """Returns the references with a prefix, with their targets; raises `RemoteFailed`, `Cancelled`."""
        return self._listed(git_dir, ["--refs", "--", self.address, f"{prefix}*"], call)

    def branches(self, git_dir: str, call: Call) -> frozenset[ObjectId]:
        """Returns what its branches and tags point to; raises `RemoteFailed`, `Cancelled`."""
        return frozenset(self._listed(git_dir, ["--heads", "--tags", "--", self.address], call).values())

    def fetch_tips(self, git_dir: str, prefixes: Sequence[str], call: Call) -> None:
        """Fetches the newest commits below some prefixes, which end in a slash, with as few other objects as possible.

        Use a temporary repository: most of what these commits name is missing from it.
        """
        # git does not accept a path as a remote that has the missing objects
        address = f"file://{quote(self.address)}" if os.path.isabs(self.address) else self.address
        # patterns, because git compares each name with each reference
        refs = [f"+{prefix}*:{prefix}*" for prefix in prefixes]
        words = ["fetch", *_QUIET, "--depth=1", "--filter=tree:0", "--", address, *refs]
        done = self._git.run(git_dir, words, call)
        # with a depth, git fails without a message if no reference matches
        is_empty = done.code == 1 and not done.stderr
        if done.code and not is_empty:
            raise failed(self.address, done)

    def _listed(self, git_dir: str, words: Sequence[str], call: Call) -> dict[str, ObjectId]:
        done = self._git.run(git_dir, ["ls-remote", "--quiet", *words], call, bounds=self._bounds)
        shown = without_secret(self.address)
        if done.is_cut:
            raise Untrusted(f"{shown} lists too many references", remote=shown)
        self._check_sent(done)
        if done.code:
            raise failed(self.address, done)
        lines = [line.partition(b"\t") for line in done.out.splitlines()]
        return {name.decode("utf-8", "replace"): bytes.fromhex(oid.decode()) for oid, _, name in lines}

    def fetch(self, git_dir: str, names: Sequence[str], call: Call) -> None:
        """Fetches references with everything they reach that the repository lacks and does not borrow.

        `names` are references or prefixes. The repository gets them under the same names, and deletes those that the
        remote lacks. Raises `Untrusted` if the remote sends malformed data or more than the bounds, and `RemoteFailed`,
        `StorageFull`.
        """
        # with a star, a missing reference is not an error
        refs = [f"+{name}*:{name}*" for name in names]
        words = ["fetch", *_QUIET, "--prune", "--", self.address, *refs]
        done = self._git.run(git_dir, words, call, bounds=self._bounds)
        shown = without_secret(self.address)
        if done.code and is_local_disk_full(done):
            raise StorageFull(f"no space left for the data from {shown}")
        self._check_sent(done)
        if done.code:
            raise failed(self.address, done)

    def _check_sent(self, done: Finished) -> None:
        """Raises `Untrusted` if git failed because of what the remote sent."""
        if done.code and (result := remote_problem(done)):
            shown = without_secret(self.address)
            raise Untrusted(f"what {shown} sends cannot be used: {result}", remote=shown)


def _hex(oid: ObjectId | None) -> str:
    return oid.hex() if oid is not None else ""

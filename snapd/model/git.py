"""What changed in the user's git repository besides files: plain data, and how several changes add up."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Generic, Literal, TypeVar

import attrs

T = TypeVar("T")

GitReason = Literal["reftable", "sha256", "subfolder", "unreadable", "objects"]
"""Why a git state is not recorded; "subfolder": the folder is below the root of the repository's work tree.
"objects": it is, but not all objects that it names are kept."""

STASH = "refs/stash"
STAGED = b"staged"
"""The file of a git state that has what is staged, see `snapd.gitstate.index.encode_staged`."""


@attrs.frozen
class GitStateId:
    """Identifies a git state: a tree with the files of `.git` that make it up, see `snapd.gitstate.read`.

    The empty tree stands for no repository.
    """

    tree: bytes  # its object id


NO_GIT = GitStateId(bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904"))
"""No repository: the empty tree."""


@attrs.frozen
class GitMove:
    """A change of the git state, from one state to another."""

    before: GitStateId
    after: GitStateId


@attrs.frozen
class Pair(Generic[T]):
    """A value before and after a change."""

    before: T
    after: T


@attrs.frozen
class RefChange:
    """A ref that appeared (`before` is None), moved or went (`after` is None).

    Of the stash, both may be the same: then only entries below the top changed.
    """

    ref: str  # its full name
    before: str | None
    after: str | None
    behind: str | None = None  # the full name of the branch's upstream, if that has commits which `after` has not


@attrs.frozen
class GitChange:
    """How two git states differ; None where they do not."""

    head: Pair[str] | None = None  # the full name of a branch, or the id of a commit
    refs: tuple[RefChange, ...] = ()  # ordered by name
    staged: Pair[int] | None = None  # how many paths are staged, if what is staged changed
    operation: Pair[str] | None = None  # "merge", "rebase", "am", "cherry-pick", "revert", "bisect" or "none"
    repository: Literal["created", "deleted"] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return self == GitChange()


LeftReason = Literal[
    "moved", "checkedOut", "checkedOutElsewhere", "locked", "missing", "unrecorded", "shared", "failed"
]
"""Why a part of the git state is left as it is."""


@attrs.frozen
class LeftPart:
    """A part of the git state that is not taken back: the full name of a ref, or "head", "staged" and so on."""

    part: str
    reason: LeftReason


@attrs.frozen
class GitOutcome:
    """What an operation did to the git state, or left of what the steps did."""

    changes: GitChange
    reasons: tuple[LeftPart, ...] | None = None
    left: bool = False  # whether the request did not ask for git, and `changes` are what the steps did


def net(changes: Iterable[GitChange]) -> GitChange | None:
    """Adds up changes, oldest first; None if nothing is left. What others changed in between is ignored."""
    changes = tuple(changes)
    refs: dict[str, RefChange] = {}
    for each in chain.from_iterable(change.refs for change in changes):
        refs[each.ref] = attrs.evolve(each, before=refs.get(each.ref, each).before)
    repositories = [change.repository for change in changes if change.repository is not None]
    whole = GitChange(
        _joined(change.head for change in changes),
        tuple(refs[name] for name in sorted(refs) if name == STASH or refs[name].before != refs[name].after),
        _joined((change.staged for change in changes), is_count=True),
        _joined(change.operation for change in changes),
        # created and deleted again, or the other way round
        repositories[-1] if len(repositories) % 2 else None,
    )
    return None if whole.is_empty else whole


def _joined(pairs: Iterable[Pair[T] | None], *, is_count: bool = False) -> Pair[T] | None:
    present = [pair for pair in pairs if pair is not None]
    if not present:
        return None
    pair = Pair(present[0].before, present[-1].after)
    # the same number of paths may be others
    return pair if is_count or pair.before != pair.after else None

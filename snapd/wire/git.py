"""How the git state of a workspace changed."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

GitOperation = Literal["none", "merge", "rebase", "am", "cherry-pick", "revert", "bisect"]
GIT = (
    "Take back what the steps did to the folder's own git, too: branches, tags, `HEAD`, the stash, what is staged, an "
    "operation in progress, or `.git` itself. See [Git](#git)."
)
GitReason = Literal["reftable", "sha256", "subfolder", "unreadable", "objects"]


@attrs.frozen(kw_only=True)
class GitHead:
    """Where `HEAD` was and is: the full name of a branch, or the id of a commit."""

    before: Annotated[str, "Before the change."]
    after: Annotated[str, "After it."]


@attrs.frozen(kw_only=True)
class GitRef:
    """A branch, a tag or the stash that appeared, moved or went."""

    ref: Annotated[str, "Its full name, such as `refs/heads/main`."]
    before: Annotated[str | None, "The id of its commit or tag before the change. Absent if it appeared."] = None
    after: Annotated[
        str | None,
        "The id after the change. Absent if it went. The stash has the same one if only entries below the top changed.",
    ] = None
    behind: Annotated[
        str | None,
        "In the answer of an undo with git: the full name of the branch's upstream, such as "
        "`refs/remotes/origin/main`, if it has commits which the branch has not after the change. What was pushed "
        "stays pushed. Otherwise absent.",
    ] = None


@attrs.frozen(kw_only=True)
class GitStaged:
    """How many paths were and are staged: in how many the index differs from the tree of `HEAD`."""

    before: Annotated[int, "Before the change."]
    after: Annotated[int, "After it."]


@attrs.frozen(kw_only=True)
class GitProgress:
    """The operation in progress."""

    before: Annotated[GitOperation, "Before the change."]
    after: Annotated[GitOperation, "After it."]


@attrs.frozen(kw_only=True)
class GitChange:
    """How the folder's own git changed, besides files. See [Git](#git)."""

    head: Annotated[GitHead | None, "Present if `HEAD` is on another branch, or on another commit without one."] = None
    refs: Annotated[list[GitRef], "The refs that appeared, moved or went, ordered by name."]
    staged: Annotated[GitStaged | None, "Present if what is staged changed."] = None
    operation: Annotated[GitProgress | None, "Present if a merge, a rebase or the like began or ended."] = None
    repository: Annotated[
        Literal["created", "deleted"] | None, "Present if the repository itself appeared or went."
    ] = None


@attrs.frozen(kw_only=True)
class GitLeft:
    """A part of the git state that is left as it is."""

    part: Annotated[str, 'The full name of a ref, or `"head"`, `"staged"`, `"operation"` or `"repository"`.']
    reason: Annotated[
        Literal["moved", "checkedOut", "checkedOutElsewhere", "locked", "missing", "unrecorded", "shared", "failed"],
        'Why: it is no longer as the step left it (`"moved"`); the branch is checked out, here (`"checkedOut"`) or in '
        "another work tree; git holds a lock; objects are missing; it was not recorded; another session may have "
        'changed it (`"shared"`); git refused (`"failed"`).',
    ]


@attrs.frozen(kw_only=True)
class GitOutcome:
    """What an operation did to the folder's own git. See [Git](#git)."""

    changes: Annotated[GitChange, "What changed, or would change in a dry run; with `left`, what the steps did."]
    reasons: Annotated[list[GitLeft] | None, "The parts that were left, and why. Absent if there are none."] = None
    left: Annotated[Literal[True] | None, "True if the request did not ask for git. Otherwise absent."] = None

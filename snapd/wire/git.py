"""How the git state of a workspace changed."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

GitOperation = Literal["none", "merge", "rebase", "am", "cherry-pick", "revert", "bisect"]
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

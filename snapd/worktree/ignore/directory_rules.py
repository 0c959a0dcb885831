"""The rules of one directory: which of its names are captured."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.core.rules.ignore import IgnoreStack
    from snapd.worktree.git.index import TrackedPaths


class Scope(Enum):
    """What is captured in a directory."""

    RULES = "what the ignore rules do not exclude"
    TRACKED_ONLY = "the directory is ignored: only what the user's index holds, the request forces, or `include` names"
    ALL = "forced: everything"


@attrs.frozen(eq=False)
class DirectoryRules:
    """What decides, with the user's own index and the request's forced paths, whether a name is ignored.

    Attributes:
        scope: what is captured here.
        stack: the ignore files in force.
        nested: the indexes of repositories inside the workspace that may hold files here.
        key: a digest of `stack` and `nested`: while it stays the same, so do the decisions.
    """

    scope: Scope
    stack: IgnoreStack
    nested: tuple[TrackedPaths, ...]
    key: bytes

    def decides_as(self, other: DirectoryRules | None) -> bool:
        """Whether both decide the same about every name."""
        return other is not None and self.key == other.key and self.scope is other.scope

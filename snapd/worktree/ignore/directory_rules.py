"""What holds in one directory: which of its names are captured."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from snapd.core.rules.ignore import IgnoreStack
    from snapd.worktree.git.index import TrackedPaths


class Scope(Enum):
    """What is captured in a directory."""

    RULES = "what the ignore rules let through"
    TRACKED_ONLY = "ignored itself: only what the user's index holds or the request forces"
    ALL = "forced: everything"


@attrs.frozen(eq=False)
class DirectoryRules:
    """What decides, with the user's own index and the request's forced paths, whether a name is ignored.

    Attributes:
        scope: what is captured here.
        stack: the ignore files in force.
        nested: the indexes of repositories inside the workspace that reach here.
        key: a digest of `stack` and `nested`: where it is the same, a name need not be judged again.
    """

    scope: Scope
    stack: IgnoreStack
    nested: tuple[TrackedPaths, ...]
    key: bytes

    def decides_as(self, other: DirectoryRules | None) -> bool:
        """Whether both let the same names through."""
        return other is not None and self.key == other.key and self.scope is other.scope

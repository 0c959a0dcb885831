"""What must hold of a merge of two changes that git takes for a conflict because they touch."""

from __future__ import annotations

from collections import Counter


def has_both(found: bytes, base: bytes, ours: bytes, theirs: bytes) -> bool:
    """Whether each line is there as often as both changes say, together or, where they agree, alone."""
    counts = [Counter(data.split(b"\n")) for data in (found, base, ours, theirs)]
    for line in set().union(*counts):
        there, was, mine, other = (count[line] for count in counts)
        # a line that both have moved, each to another place, is at both
        if not min(mine, other, mine + other - was) <= there <= mine + other:
            return False
    return True

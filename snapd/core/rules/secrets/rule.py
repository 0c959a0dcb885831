"""One rule about secrets, as the list of rules has it."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REACH_BYTES = 200
"""How far behind a keyword a match may end, where the rule says nothing else."""

NAME_BYTES = 40
"""How much of the name that a secret is assigned to counts."""

_OF_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"


def entropy(secret: bytes) -> float:
    """How random some bytes look, in bits for each byte, by how often each of them occurs (Shannon).

    Args:
        secret: the bytes; none of them have no entropy.
    """
    size = len(secret)
    return -sum(count / size * math.log2(count / size) for count in Counter(secret).values())


def one_of(patterns: Iterable[str]) -> re.Pattern[bytes] | None:
    """A pattern that matches what one of these does; None if there are none.

    Args:
        patterns: ASCII; flags stand in groups, as in `(?i:...)`.

    Raises:
        re.error: one of them is none.
    """
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(joined.encode("ascii")) if joined else None


def _around(match: re.Match[bytes]) -> bytes:
    """What a pattern matched, with the rest of the name that the match begins in."""
    before = match.string[max(0, match.start() - NAME_BYTES) : match.start()]
    return before[len(before.rstrip(_OF_NAMES)) :] + match[0]


@attrs.frozen
class Rule:
    """A rule about what is in files.

    Attributes:
        id: its name; unlike those of all other rules.
        description: what it finds, for people.
        source: where it is said what these secrets look like.
        pattern: matches a secret, which is its only group. It repeats nothing without a bound, so the time of a match
            has one too.
        keywords: lower case; text that has none of them, in any case, has no match.
        everywhere: whether a match may lie anywhere; otherwise a match has, or stands behind, a long run of characters
            of which tokens are made, and is looked for there alone.
        reach: how many bytes behind the beginning of a keyword a match may end; for rules that look everywhere.
        entropy: the least bits a byte that a secret has.
        allowed: finds what makes of a secret none, such as a placeholder; None for nothing.
        allowed_around: finds the same in all that the pattern matched, and in the name that it ends; None for nothing.
        files: finds, in a path in lower case, the files that this is about; None for all.
        generated_too: whether it is also about files that a program wrote, such as those that lock dependencies.
    """

    id: str
    description: str
    source: str
    pattern: re.Pattern[bytes]
    keywords: tuple[bytes, ...]
    everywhere: bool
    reach: int
    entropy: float
    allowed: re.Pattern[bytes] | None
    allowed_around: re.Pattern[bytes] | None
    files: re.Pattern[bytes] | None
    generated_too: bool

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Rule:
        """Reads a row of the list.

        Raises:
            KeyError: something that every rule has is missing.
            re.error: a pattern is none.
        """
        return cls(
            id=row["id"],
            description=row["description"],
            source=row["source"],
            pattern=re.compile(row["pattern"].encode("ascii")),
            keywords=tuple(word.encode("ascii") for word in row["keywords"]),
            everywhere=row.get("everywhere", False),
            reach=row.get("reach", REACH_BYTES),
            entropy=float(row.get("entropy", 0)),
            allowed=one_of(row.get("allow", ())),
            allowed_around=one_of(row.get("allow_around", ())),
            files=one_of(row.get("files", ())),
            generated_too=row.get("generated_too", True),
        )

    def is_about(self, path: bytes, generated: bool) -> bool:
        """Whether to look at a file with this rule.

        Args:
            path: in lower case.
            generated: whether its name says that a program wrote it.
        """
        if generated and not self.generated_too:
            return False
        return self.files is None or self.files.search(path) is not None

    def believes(self, match: re.Match[bytes]) -> bool:
        """Whether a match is likely a secret: random enough, and nothing that is allowed."""
        secret = match[1]
        if self.allowed is not None and self.allowed.search(secret):
            return False
        if self.allowed_around is not None and self.allowed_around.search(_around(match)):
            return False
        return entropy(secret) >= self.entropy


@attrs.frozen
class NameRule:
    """A rule about names of files.

    Attributes:
        id: its name; unlike those of all other rules.
        description: what such a file holds, for people.
        source: where it is said that it does.
        pattern: finds, in a path in lower case, the end of it that counts.
    """

    id: str
    description: str
    source: str
    pattern: re.Pattern[bytes]

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> NameRule:
        """Reads a row of the list.

        Raises:
            KeyError: something that every rule has is missing.
            re.error: the pattern is none.
        """
        return cls(row["id"], row["description"], row["source"], re.compile(row["pattern"].encode("ascii")))

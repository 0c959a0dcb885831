"""Git's globs (wildmatch) as regular expressions over bytes.

The time to match is linear in the number of asterisks. A glob that only matches paths longer than any possible one
becomes no regex.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

SPECIAL = re.compile(rb"[*?\[\\]")  # the first byte that makes a glob more than a name

# tokens of a glob; any other token is the regex of exactly one byte other than '/'
_SLASH = b"/"
_STAR = b"*"
_ANY_DIRS = b"**/"
_SOME_DIRS = b"**\\/"
_REST = b"**"
_NO_BYTES = frozenset((_STAR, _ANY_DIRS, _REST))  # tokens that may match nothing
_LONGEST = 4096  # longest path on Linux, bytes
_DEEP = {_ANY_DIRS: b"(?:.*?/)??", _SOME_DIRS: b".*?/", _REST: b".*"}


# git has its own character classes, independent of the locale: its spaces lack \v and \f
_CLASSES = {
    b"alnum": rb"[0-9A-Za-z]",
    b"alpha": rb"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x01-\x1f\x7f]",
    b"digit": rb"[0-9]",
    b"graph": rb"[!-~]",
    b"lower": rb"[a-z]",
    b"print": rb"[ -~]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t\n\r]",
    b"upper": rb"[A-Z]",
    b"xdigit": rb"[0-9A-Fa-f]",
}


class NeverMatches(Exception):
    """The glob can match no path: a bracket or an escape is incomplete, or a class is unknown."""


class _Bracket:
    """Parses one bracket expression step by step, as git does.

    `members` are the bytes that it accepts; `at` is the position of the next byte to read, finally after the closing
    bracket.
    """

    def __init__(self, glob: bytes, at: int) -> None:
        self._glob = glob
        self._close = 0
        self.at = at + 1
        negated = glob[self.at : self.at + 1] in (b"!", b"^")
        self.at += negated
        positions: set[int] = set()
        previous = self._member(positions, 0)
        while self._byte() != 0x5D:
            previous = self._member(positions, previous)
        self.at += 1
        self.members = (frozenset(range(1, 256)) - positions if negated else frozenset(positions)) - {0x2F}

    def _byte(self) -> int:
        if self.at >= len(self._glob):
            raise NeverMatches
        return self._glob[self.at]

    def _unescaped(self) -> int:
        if self._byte() == 0x5C:
            self.at += 1
        byte = self._byte()
        self.at += 1
        return byte

    def _member(self, positions: set[int], previous: int) -> int:
        """Parses one member; returns the byte that a range after it would begin with, 0 for none."""
        follows = self._glob[self.at + 1 : self.at + 2]
        if self._byte() == 0x2D and previous and follows not in (b"", b"]"):
            self.at += 1
            positions.update(range(previous, self._unescaped() + 1))
            return 0
        if self._byte() == 0x5B and follows == b":":
            if self._close < self.at + 2:
                self._close = self._glob.find(b"]", self.at + 2)
            end = self._close
            if end < 0:
                raise NeverMatches
            if end > self.at + 2 and self._glob[end - 1] == 0x3A:
                positions.update(_class(self._glob[self.at + 2 : end - 1]))
                self.at = end + 1
                return 0
        byte = self._unescaped()
        positions.add(byte)
        return byte


@cache
def _class(name: bytes) -> frozenset[int]:
    if name not in _CLASSES:
        raise NeverMatches
    return frozenset(byte for byte in range(1, 128) if re.match(_CLASSES[name], bytes([byte])))


def _byte_set(members: frozenset[int]) -> bytes:
    """Returns the regex of a set of bytes, in ranges."""
    if not members:
        raise NeverMatches
    first = [byte for byte in sorted(members) if byte - 1 not in members]
    last = [byte for byte in sorted(members) if byte + 1 not in members]
    return b"[" + b"".join(b"\\x%02x-\\x%02x" % pair for pair in zip(first, last, strict=True)) + b"]"


def _star(glob: bytes, start: int, end: int, *, deep: bool) -> tuple[bytes, int]:
    """Returns the token of a run of asterisks, and the position after it."""
    if deep and end - start > 1 and (start == 0 or glob[start - 1] == 0x2F):
        if end == len(glob):
            return _REST, end
        if glob[end] == 0x2F:
            return _ANY_DIRS, end + 1
        if glob[end : end + 2] == b"\\/":
            return _SOME_DIRS, end + 2
    return _STAR, end


def _tokens(glob: bytes, *, deep: bool) -> list[bytes]:
    tokens: list[bytes] = []
    least = 0
    for token in _read_tokens(glob, deep=deep):
        least += token not in _NO_BYTES
        if least > _LONGEST:
            raise NeverMatches
        if token != _ANY_DIRS or tokens[-1:] != [token]:
            tokens.append(token)
    return tokens


def _read_tokens(glob: bytes, *, deep: bool) -> Iterator[bytes]:
    at = 0
    while at < len(glob):
        byte = glob[at : at + 1]
        at += 1
        if byte == b"*":
            end = at
            while glob[end : end + 1] == b"*":
                end += 1
            token, at = _star(glob, at - 1, end, deep=deep)
            yield token
        elif byte == b"?":
            yield b"[^/]"
        elif byte == b"[":
            bracket = _Bracket(glob, at - 1)
            at = bracket.at
            yield _byte_set(bracket.members)
        elif byte == b"\\":
            if at == len(glob):
                raise NeverMatches
            yield re.escape(glob[at : at + 1])
            at += 1
        else:
            yield re.escape(byte)


def _split(tokens: Sequence[bytes], separators: Iterable[bytes]) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[]]
    for token in tokens:
        if token in separators:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _atomic(regex: bytes, groups: Iterator[int]) -> bytes:
    """Restricts a regex to its first way to match.

    If another asterisk follows, the first match of an asterisk and the bytes after it suffices. Otherwise the time
    would grow with a power of the number of asterisks.
    """
    group = next(groups)
    return b"(?=(?P<a%d>%s))(?P=a%d)" % (group, regex, group)


def _segment_regex(tokens: Sequence[bytes], groups: Iterator[int]) -> bytes:
    head, *rest = (b"".join(part) for part in _split(tokens, {_STAR}))
    if not rest:
        return head
    middle = b"".join(_atomic(b"[^/]*?" + part, groups) for part in rest[:-1])
    return head + middle + b"[^/]*" + rest[-1]


def _regex(glob: bytes, groups: Iterator[int], *, deep: bool) -> bytes:
    """Translates a glob, in which '**' matches across '/' if `deep`; otherwise as `rooted_regex`."""
    tokens = _tokens(glob, deep=deep)
    head, *runs = (
        b"/".join(_segment_regex(segment, groups) for segment in _split(run, {_SLASH})) for run in _split(tokens, _DEEP)
    )
    stars = [_DEEP[token] for token in tokens if token in _DEEP]
    parts = [star + run for star, run in zip(stars, runs, strict=True)]
    return head + b"".join(_atomic(part, groups) for part in parts[:-1]) + b"".join(parts[-1:])


def can_match(glob: bytes) -> bool:
    """Returns whether a path of valid length may match a glob, or this is too slow to determine."""
    try:
        return len(glob) <= _LONGEST or bool(_tokens(glob, deep=True))
    except NeverMatches:
        return False


def literal_head(glob: bytes) -> bytes:
    """Returns bytes that every match of the glob begins with."""
    special = SPECIAL.search(glob)
    return glob[: special.start()] if special else glob


def rooted_regex(glob: bytes, groups: Iterator[int]) -> bytes:
    """Translates the glob of a rooted pattern into a regex, to be compiled with DOTALL and anchored by the caller.

    Git compares the bytes before the first special one separately, so '**' after such a prefix counts as at the start.
    The group numbers must be unique in a combined regex. Raises `NeverMatches`.
    """
    head = literal_head(glob)
    if len(head) > _LONGEST:
        raise NeverMatches
    return re.escape(head) + _regex(glob.removeprefix(head), groups, deep=True)


def name_regex(glob: bytes, groups: Iterator[int]) -> bytes:
    """Translates the glob of a pattern that matches only the last part of a path; otherwise as `rooted_regex`."""
    return _regex(glob, groups, deep=False)

"""Git's ignore rules as a pure function of pattern texts and paths.

A pattern text is parsed once into an `IgnoreFile`; an `IgnoreStack` holds the files that apply in one
directory, in git's order of precedence. Nothing here reads a disk or an environment: the caller brings the
texts, and says of each path whether it is a directory (a symlink never is one).

Every path is bytes, relative to one root that the caller chose, with '/' between its parts and none at
either end; the root itself is b"".
"""

from __future__ import annotations

import itertools
import re
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    _Translate = Callable[[bytes, Iterator[int]], bytes]

_BOM = b"\xef\xbb\xbf"
_SPECIAL = re.compile(rb"[*?\[\\]")

# Tokens of a glob. A token that is none of these is the regex of exactly one byte other than '/'.
_SLASH = b"/"
_STAR = b"*"
_ANY_DIRS = b"**/"
_SOME_DIRS = b"**\\/"
_REST = b"**"
_DEEP = {_ANY_DIRS: b"(?:.*?/)??", _SOME_DIRS: b".*?/", _REST: b".*"}


def _ascii(pattern: bytes) -> frozenset[int]:
    member = re.compile(pattern)
    return frozenset(byte for byte in range(1, 128) if member.match(bytes([byte])))


# Git brings its own character classes, so that no locale changes them: its spaces lack \v and \f.
_CLASSES = {
    b"alnum": _ascii(rb"[0-9A-Za-z]"),
    b"alpha": _ascii(rb"[A-Za-z]"),
    b"blank": _ascii(rb"[ \t]"),
    b"cntrl": _ascii(rb"[\x01-\x1f\x7f]"),
    b"digit": _ascii(rb"[0-9]"),
    b"graph": _ascii(rb"[!-~]"),
    b"lower": _ascii(rb"[a-z]"),
    b"print": _ascii(rb"[ -~]"),
    b"punct": _ascii(rb"[!-/:-@\[-`{-~]"),
    b"space": _ascii(rb"[ \t\n\r]"),
    b"upper": _ascii(rb"[A-Z]"),
    b"xdigit": _ascii(rb"[0-9A-Fa-f]"),
}


class _NeverMatchesError(Exception):
    """The glob can match no path: a bracket or an escape is not complete, or a class is unknown."""


@attrs.frozen
class _Pattern:
    """One line of an ignore file.

    Attributes:
        glob: The pattern without '!', without the slash in front and without the slash at its end.
        negated: Whether the line began with '!'.
        dir_only: Whether the pattern ended in '/'.
        rooted: Whether the whole path is matched, not its last part alone.
    """

    glob: bytes
    negated: bool
    dir_only: bool
    rooted: bool


def _trim(line: bytes) -> bytes:
    """Take the spaces off the end of a line, but not one that a backslash escapes."""
    kept = line.rstrip(b" ")
    escapes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if escapes % 2 and len(kept) < len(line) else kept


def _unrooted(pattern: _Pattern) -> _Pattern:
    """Give a pattern '**/name' the form 'name', which matches the same paths and is looked for faster."""
    name = pattern.glob.removeprefix(b"**/")
    if name and len(name) < len(pattern.glob) and b"/" not in name:
        return attrs.evolve(pattern, glob=name, rooted=False)
    return pattern


def _parse_lines(text: bytes) -> Iterator[_Pattern]:
    for raw in text.removeprefix(_BOM).split(b"\n"):
        if raw.startswith(b"#"):
            continue
        line = _trim(raw.removesuffix(b"\r").partition(b"\0")[0])
        negated = line.startswith(b"!")
        glob = line[1:] if negated else line
        dir_only = glob.endswith(b"/")
        glob = glob.removesuffix(b"/")
        if glob:
            yield _unrooted(_Pattern(glob.removeprefix(b"/"), negated, dir_only, rooted=b"/" in glob))


class _Bracket:
    """Reads one bracket expression, step for step as git does.

    Attributes:
        at: Where the next byte is read; when all is read, the place behind the closing bracket.
        members: The bytes that the expression accepts.
    """

    def __init__(self, glob: bytes, at: int) -> None:
        self._glob = glob
        self.at = at + 1
        negated = glob[self.at : self.at + 1] in (b"!", b"^")
        self.at += negated
        found: set[int] = set()
        previous = self._member(found, 0)
        while self._byte() != 0x5D:
            previous = self._member(found, previous)
        self.at += 1
        self.members = (frozenset(range(1, 256)) - found if negated else frozenset(found)) - {0x2F}

    def _byte(self) -> int:
        if self.at >= len(self._glob):
            raise _NeverMatchesError
        return self._glob[self.at]

    def _unescaped(self) -> int:
        if self._byte() == 0x5C:
            self.at += 1
        byte = self._byte()
        self.at += 1
        return byte

    def _member(self, found: set[int], previous: int) -> int:
        """Read one member; the answer is what a range that follows would begin with, 0 for nothing."""
        follows = self._glob[self.at + 1 : self.at + 2]
        if self._byte() == 0x2D and previous and follows not in (b"", b"]"):
            self.at += 1
            found.update(range(previous, self._unescaped() + 1))
            return 0
        if self._byte() == 0x5B and follows == b":":
            end = self._glob.find(b"]", self.at + 2)
            if end < 0:
                raise _NeverMatchesError
            if end > self.at + 2 and self._glob[end - 1] == 0x3A:
                found.update(self._class(self._glob[self.at + 2 : end - 1]))
                self.at = end + 1
                return 0
        byte = self._unescaped()
        found.add(byte)
        return byte

    @staticmethod
    def _class(name: bytes) -> frozenset[int]:
        if name not in _CLASSES:
            raise _NeverMatchesError
        return _CLASSES[name]


def _byte_set(members: frozenset[int]) -> bytes:
    """Write a set of bytes as a regex."""
    if not members:
        raise _NeverMatchesError
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(members)) + b"]"


def _star(glob: bytes, start: int, end: int, *, deep: bool) -> tuple[bytes, int]:
    """Name the token of a run of asterisks, and say where the glob goes on behind it."""
    if deep and end - start > 1 and (start == 0 or glob[start - 1] == 0x2F):
        if end == len(glob):
            return _REST, end
        if glob[end] == 0x2F:
            return _ANY_DIRS, end + 1
        if glob[end : end + 2] == b"\\/":
            return _SOME_DIRS, end + 2
    return _STAR, end


def _tokens(glob: bytes, *, deep: bool) -> Iterator[bytes]:
    at = 0
    while at < len(glob):
        byte = glob[at : at + 1]
        at += 1
        if byte == b"*":
            end = at + len(glob[at:]) - len(glob[at:].lstrip(b"*"))
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
                raise _NeverMatchesError
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
    """Let a regex match in its first way only.

    What an asterisk and the bytes behind it can match first is enough where another asterisk follows. To
    try no other way keeps the time of a match from growing with a power of the number of asterisks.
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
    """Translate a glob to a regex.

    Args:
        glob: The glob.
        groups: Numbers that no other regex in the same combined one has used.
        deep: Whether '**' may match across '/'.

    Returns:
        The regex, to be compiled with DOTALL and anchored by the caller.

    Raises:
        _NeverMatchesError: No path can match.
    """
    tokens = list(_tokens(glob, deep=deep))
    head, *runs = (
        b"/".join(_segment_regex(segment, groups) for segment in _split(run, {_SLASH})) for run in _split(tokens, _DEEP)
    )
    stars = [_DEEP[token] for token in tokens if token in _DEEP]
    parts = [star + run for star, run in zip(stars, runs, strict=True)]
    return head + b"".join(_atomic(part, groups) for part in parts[:-1]) + b"".join(parts[-1:])


def _head(glob: bytes) -> bytes:
    """Give bytes that whatever matches the glob begins with."""
    special = _SPECIAL.search(glob)
    return glob[: special.start()] if special else glob


def _rooted_regex(glob: bytes, groups: Iterator[int]) -> bytes:
    """Translate the glob of a rooted pattern.

    Git compares what stands in front of the first special byte by itself and gives only the remainder to
    the glob matcher, so '**' behind such a prefix counts as '**' at the start.
    """
    head = _head(glob)
    return re.escape(head) + _regex(glob.removeprefix(head), groups, deep=True)


def _name_regex(glob: bytes, groups: Iterator[int]) -> bytes:
    return _regex(glob, groups, deep=False)


def _combine(globs: dict[int, bytes], translate: _Translate) -> re.Pattern[bytes] | None:
    """Join globs into one regex in which the glob with the highest number is tried first.

    An empty group at the end of each branch, named by the number of the glob, tells which branch matched:
    a group in front would hide the first byte of the branch from the regex engine, which is what it
    rejects a branch by.
    """
    groups = itertools.count()
    branches = []
    for number, glob in reversed(globs.items()):
        try:
            branches.append(b"%s(?P<p%d>)" % (translate(glob, groups), number))
        except _NeverMatchesError:
            continue
    return re.compile(b"(?:" + b"|".join(branches) + b")\\Z", re.DOTALL) if branches else None


def _branch(regex: re.Pattern[bytes] | None, text: bytes) -> int:
    found = regex.match(text) if regex else None
    return int(found.lastgroup[1:]) if found and found.lastgroup else -1


def _tail(glob: bytes) -> bytes:
    """Give bytes that whatever matches the glob ends with. The slash of '**/' is not certain to be there."""
    return re.split(rb"[*?\[\]\\]", glob)[-1].removeprefix(b"/")


@attrs.frozen
class _Globs:
    """Globs in three combined regexes; two of them need be tried only on a text that begins or ends aright."""

    heads: tuple[bytes, ...]
    tails: tuple[bytes, ...]
    headed: re.Pattern[bytes] | None
    tailed: re.Pattern[bytes] | None
    free: re.Pattern[bytes] | None

    @classmethod
    def of(cls, globs: dict[int, bytes], translate: _Translate) -> _Globs | None:
        """Compile globs.

        Args:
            globs: The globs by their number, in ascending order.
            translate: Makes the regex of one glob.

        Returns:
            The compiled globs; None if there are none.
        """
        headed = {number: glob for number, glob in globs.items() if _head(glob)}
        tailed = {number: glob for number, glob in globs.items() if number not in headed and _tail(glob)}
        free = {number: glob for number, glob in globs.items() if number not in headed and number not in tailed}
        compiled = cls(
            heads=tuple({_head(glob) for glob in headed.values()}),
            tails=tuple({_tail(glob) for glob in tailed.values()}),
            headed=_combine(headed, translate),
            tailed=_combine(tailed, translate),
            free=_combine(free, translate),
        )
        return compiled if globs else None

    def last(self, text: bytes) -> int:
        """Give the highest number of a glob that matches; -1 if none does.

        Args:
            text: The name or the path to match.

        Returns:
            The number.
        """
        found = _branch(self.free, text) if self.free else -1
        if text.startswith(self.heads):
            found = max(found, _branch(self.headed, text))
        if text.endswith(self.tails):
            found = max(found, _branch(self.tailed, text))
        return found


@attrs.frozen
class _Matcher:
    """Finds the last of many patterns that matches, without asking each of them."""

    names: dict[bytes, int]
    paths: dict[bytes, int]
    suffixes: dict[bytes, int]
    endings: tuple[bytes, ...]
    lengths: tuple[int, ...]
    name_globs: _Globs | None
    path_globs: _Globs | None

    @classmethod
    def of(cls, patterns: dict[int, _Pattern]) -> _Matcher:
        """Sort patterns by how they are best looked for.

        Args:
            patterns: The patterns by their number, in ascending order.

        Returns:
            The matcher.
        """
        names: dict[bytes, int] = {}
        paths: dict[bytes, int] = {}
        suffixes: dict[bytes, int] = {}
        name_globs: dict[int, bytes] = {}
        path_globs: dict[int, bytes] = {}
        for number, pattern in patterns.items():
            glob = pattern.glob
            if not _SPECIAL.search(glob):
                (paths if pattern.rooted else names)[glob] = number
            elif pattern.rooted:
                path_globs[number] = glob
            elif glob.startswith(b"*") and not _SPECIAL.search(glob, 1):
                suffixes[glob[1:]] = number
            else:
                name_globs[number] = glob
        return cls(
            names=names,
            paths=paths,
            suffixes=suffixes,
            endings=tuple(suffixes),
            lengths=tuple({len(suffix) for suffix in suffixes}),
            name_globs=_Globs.of(name_globs, _name_regex),
            path_globs=_Globs.of(path_globs, _rooted_regex),
        )

    def last(self, path: bytes) -> int:
        """Find the last pattern that matches.

        Args:
            path: The path, relative to where the patterns are rooted.

        Returns:
            The number of the pattern; -1 if none matches.
        """
        name = path[path.rfind(b"/") + 1 :]
        found = max(self.names.get(name, -1), self.paths.get(path, -1))
        if name.endswith(self.endings):
            found = max(found, self._last_suffix(name))
        if self.name_globs:
            found = max(found, self.name_globs.last(name))
        if self.path_globs:
            found = max(found, self.path_globs.last(path))
        return found

    def _last_suffix(self, name: bytes) -> int:
        return max([self.suffixes.get(name[len(name) - length :], -1) for length in self.lengths])


@attrs.frozen
class IgnoreFile:
    """The patterns of one ignore file. Files of the same text and base are equal.

    Attributes:
        text: The bytes of the file.
        base: The directory that the patterns are rooted in; b"" for the root.
    """

    text: bytes
    base: bytes
    _patterns: tuple[_Pattern, ...] = attrs.field(eq=False, repr=False)
    _prefix: bytes = attrs.field(eq=False, repr=False)

    @classmethod
    def parse(cls, text: bytes, base: bytes = b"") -> IgnoreFile:
        """Parse an ignore file. No text is an error: a pattern that is malformed matches nothing.

        Args:
            text: The bytes of the file.
            base: The directory that the patterns are rooted in, relative to the root of the paths that
                will be matched; b"" for that root itself.

        Returns:
            The parsed file.
        """
        return cls(text, base, tuple(_parse_lines(text)), base + b"/" if base else b"")

    @cached_property
    def _for_dirs(self) -> _Matcher:
        return _Matcher.of(dict(enumerate(self._patterns)))

    @cached_property
    def _for_files(self) -> _Matcher:
        numbered = dict(enumerate(self._patterns))
        if not any(pattern.dir_only for pattern in self._patterns):
            return self._for_dirs
        return _Matcher.of({number: each for number, each in numbered.items() if not each.dir_only})

    def match(self, path: bytes, is_dir: bool) -> bool | None:
        """Judge one path, without regard to the directories above it.

        Args:
            path: The path, relative to the same root as the base of this file.
            is_dir: Whether the path is a directory; a symlink is none, wherever it points.

        Returns:
            True if the last pattern that matches ignores the path, False if it is a negated one, None if
            no pattern matches or the path is not below the base.
        """
        if not path.startswith(self._prefix):
            return None
        matcher = self._for_dirs if is_dir else self._for_files
        number = matcher.last(path[len(self._prefix) :])
        return None if number < 0 else not self._patterns[number].negated


@attrs.frozen
class IgnoreStack:
    """All the ignore files that apply in one directory.

    Attributes:
        outer: Files that hold for the whole tree, the weakest first: the user's global excludes, then the
            repository's info/exclude.
        own: Files whose word is final where they ignore a path. Each stands for itself: a negated pattern
            takes back only what the same file ignores.
        per_dir: The ignore files of the directories from the root down, the outermost first.
    """

    outer: tuple[IgnoreFile, ...] = ()
    own: tuple[IgnoreFile, ...] = ()
    per_dir: tuple[IgnoreFile, ...] = ()

    def entering(self, file: IgnoreFile) -> IgnoreStack:
        """Extend the stack by the ignore file of a deeper directory.

        Args:
            file: The parsed file, whose base is that directory.

        Returns:
            The stack that applies in that directory; this one is unchanged.
        """
        return IgnoreStack(self.outer, self.own, (*self.per_dir, file))

    def ignored(self, path: bytes, is_dir: bool) -> bool:
        """Judge one path in the directory of this stack, without regard to the directories above it.

        Args:
            path: The path, relative to the root.
            is_dir: Whether the path is a directory; a symlink is none, wherever it points.

        Returns:
            Whether the path is ignored. Below an ignored directory everything is, which this does not see.
        """
        for file in self.own:
            if file.match(path, is_dir):
                return True
        for file in reversed(self.per_dir):
            answer = file.match(path, is_dir)
            if answer is not None:
                return answer
        for file in reversed(self.outer):
            answer = file.match(path, is_dir)
            if answer is not None:
                return answer
        return False

    def ignored_deep(self, path: bytes, is_dir: bool, gitignores: Callable[[bytes], IgnoreFile | None]) -> bool:
        """Judge a path together with every directory above it.

        Args:
            path: The path, relative to the root; b"" is the root and never ignored.
            is_dir: Whether the path is a directory; a symlink is none, wherever it points.
            gitignores: Gives the ignore file of a directory, or None where it has none. It is asked for
                the root first, then for each directory on the way down until one is ignored.

        Returns:
            Whether the path or a directory above it is ignored by the files of this stack and those that
            `gitignores` gave.
        """
        if not path:
            return False
        stack = self._with(gitignores(b""))
        end = path.find(b"/")
        while end >= 0:
            directory = path[:end]
            if stack.ignored(directory, True):
                return True
            stack = stack._with(gitignores(directory))
            end = path.find(b"/", end + 1)
        return stack.ignored(path, is_dir)

    def _with(self, file: IgnoreFile | None) -> IgnoreStack:
        return self if file is None else self.entering(file)

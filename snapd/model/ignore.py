"""Git's ignore rules as a pure function of pattern texts and paths; a symlink is not a directory.

Paths are bytes relative to a root of the caller's choice, with '/' between the parts; the root is b"".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import attrs

from snapd.model.snapshot import RuleText
from snapd.model.wildmatch import SPECIAL, NeverMatches, can_match, literal_head, name_regex, rooted_regex

_Translate = Callable[[bytes, Iterator[int]], bytes]

_BOM = b"\xef\xbb\xbf"
RULES_BYTES = 512 << 10  # a longer ignore file counts as unreadable
_GLOB_BYTES = 32 << 10  # in one file, else it is unreadable: compiling 10 KiB takes up to a second
_FEW = 64


@attrs.frozen
class _Pattern:
    """One line of an ignore file."""

    glob: bytes  # without '!' and without leading and trailing slash
    negated: bool  # the line began with '!'
    dir_only: bool  # it ended in '/'
    rooted: bool  # the whole path is matched, not only its last part


def _trim(line: bytes) -> bytes:
    """Strips trailing spaces, except one escaped by a backslash."""
    kept = line.rstrip(b" ")
    escapes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if escapes % 2 and len(kept) < len(line) else kept


def _unrooted(pattern: _Pattern) -> _Pattern:
    """Simplifies '**/name' to 'name', which matches the same paths faster."""
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
        if glob and can_match(glob):
            yield _unrooted(_Pattern(glob.removeprefix(b"/"), negated, dir_only, rooted=b"/" in glob))


def _combine(globs: dict[int, bytes], translate: _Translate) -> re.Pattern[bytes] | None:
    """Joins globs into one regex that tries the glob with the highest number first."""
    groups = itertools.count()
    branches = []
    for number, glob in reversed(globs.items()):
        try:
            branches.append(b"%s(?P<p%d>)" % (translate(glob, groups), number))
        except NeverMatches:
            continue
    return re.compile(b"(?:" + b"|".join(branches) + b")\\Z", re.DOTALL) if branches else None


def _branch(regex: re.Pattern[bytes] | None, text: bytes) -> int:
    result = regex.match(text) if regex else None
    return int(result.lastgroup[1:]) if result and result.lastgroup else -1


def _tail(glob: bytes) -> bytes:
    """Returns bytes that every match of the glob ends with, without the optional slash of '**/'."""
    return re.split(rb"[*?\[\]\\]", glob)[-1].removeprefix(b"/")


@attrs.frozen
class _Globs:
    """Globs in three combined regexes, two of which only apply to texts with certain starts or ends."""

    heads: tuple[bytes, ...]
    tails: tuple[bytes, ...]
    headed: re.Pattern[bytes] | None
    tailed: re.Pattern[bytes] | None
    free: re.Pattern[bytes] | None

    @classmethod
    def of(cls, globs: dict[int, bytes], translate: _Translate) -> _Globs | None:
        """Compiles globs, numbered in ascending order; None if there are none."""
        headed = {number: glob for number, glob in globs.items() if literal_head(glob)}
        tailed = {number: glob for number, glob in globs.items() if number not in headed and _tail(glob)}
        free = {number: glob for number, glob in globs.items() if number not in headed and number not in tailed}
        compiled = cls(
            heads=tuple({literal_head(glob) for glob in headed.values()}),
            tails=tuple({_tail(glob) for glob in tailed.values()}),
            headed=_combine(headed, translate),
            tailed=_combine(tailed, translate),
            free=_combine(free, translate),
        )
        return compiled if globs else None

    def last(self, text: bytes) -> int:
        """Returns the highest number of a glob that matches; -1 if none does."""
        position = _branch(self.free, text) if self.free else -1
        if text.startswith(self.heads):
            position = max(position, _branch(self.headed, text))
        if text.endswith(self.tails):
            position = max(position, _branch(self.tailed, text))
        return position


def _is_suffix(glob: bytes) -> bool:
    return glob.startswith(b"*") and not SPECIAL.search(glob, 1)


@attrs.frozen
class _Matcher:
    """Finds the last of many patterns that matches, without trying each of them."""

    names: dict[bytes, int]
    paths: dict[bytes, int]
    suffixes: dict[bytes, int]
    endings: tuple[bytes, ...]
    lengths: tuple[int, ...]
    name_globs: _Globs | None
    path_globs: _Globs | None

    @classmethod
    def of(cls, patterns: dict[int, _Pattern]) -> _Matcher:
        """Sorts patterns, numbered in ascending order, by the fastest way to match them."""
        names: dict[bytes, int] = {}
        paths: dict[bytes, int] = {}
        suffixes: dict[bytes, int] = {}
        name_globs: dict[int, bytes] = {}
        path_globs: dict[int, bytes] = {}
        for number, pattern in patterns.items():
            glob = pattern.glob
            if not SPECIAL.search(glob):
                (paths if pattern.rooted else names)[glob] = number
            elif pattern.rooted:
                path_globs[number] = glob
            elif _is_suffix(glob):
                suffixes[glob[1:]] = number
            else:
                name_globs[number] = glob
        return cls(
            names=names,
            paths=paths,
            suffixes=suffixes,
            endings=tuple(suffixes),
            lengths=tuple({len(suffix) for suffix in suffixes}),
            name_globs=_Globs.of(name_globs, name_regex),
            path_globs=_Globs.of(path_globs, rooted_regex),
        )

    def last(self, path: bytes) -> int:
        """Returns the number of the last pattern that matches a path relative to their root; -1 if none does."""
        name = path[path.rfind(b"/") + 1 :]
        position = max(self.names.get(name, -1), self.paths.get(path, -1))
        if len(self.endings) > _FEW or name.endswith(self.endings):
            position = max(position, *[self.suffixes.get(name[len(name) - length :], -1) for length in self.lengths])
        if self.name_globs:
            position = max(position, self.name_globs.last(name))
        if self.path_globs:
            position = max(position, self.path_globs.last(path))
        return position


@attrs.frozen
class IgnoreFile:
    """The patterns of one ignore file; equal if text and base are."""

    text: bytes
    base: bytes  # the directory that the patterns are rooted in; b"" for the root
    unreadable: bool  # no patterns, because the file or its globs are too long
    _patterns: tuple[_Pattern, ...] = attrs.field(eq=False, repr=False)
    _prefix: bytes = attrs.field(eq=False, repr=False)

    @classmethod
    def parse(cls, text: bytes, base: bytes = b"", *, bounded: bool = True) -> IgnoreFile:
        """Parses an ignore file; a malformed pattern matches nothing. Only with `bounded`, it may be unreadable."""
        patterns: tuple[_Pattern, ...] = ()
        unreadable = bounded and len(text) > RULES_BYTES
        if not unreadable:
            patterns = tuple(_parse_lines(text))
            globs = (each.glob for each in patterns if each.rooted or not _is_suffix(each.glob))
            unreadable = bounded and sum(len(glob) for glob in globs if SPECIAL.search(glob)) > _GLOB_BYTES
        return cls(text, base, unreadable, () if unreadable else patterns, base + b"/" if base else b"")

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
        """Matches one path without its parents; True: ignored, False: by a negated pattern not, None: no match."""
        if not path.startswith(self._prefix):
            return None
        matcher = self._for_dirs if is_dir else self._for_files
        number = matcher.last(path[len(self._prefix) :])
        return None if number < 0 else not self._patterns[number].negated

    @cached_property
    def above(self) -> IgnoreFile:
        """The directories above what its patterns match, as 'a' and 'a/*' of 'a/*/key'."""
        lines = [
            b"/" + b"/".join(parts[:depth]) + b"/"
            for parts in (pattern.glob.split(b"/") for pattern in self._patterns if pattern.rooted)
            if parts[0] != b"**"
            for depth in range(1, len(parts))
        ]
        return IgnoreFile.parse(b"\n".join(lines), self.base)


@attrs.frozen
class IgnoreStack:
    """All ignore files that apply in one directory."""

    outer: tuple[IgnoreFile, ...] = ()  # for the whole tree: the user's global excludes, then info/exclude
    own: tuple[IgnoreFile, ...] = ()  # override all others where they ignore a path; each is separate
    per_dir: tuple[IgnoreFile, ...] = ()  # from the root down
    included: tuple[IgnoreFile, ...] = ()  # not ignored by `outer` and `per_dir`, even below ignored directories

    def entering(self, file: IgnoreFile) -> IgnoreStack:
        """Returns the stack for a deeper directory with this ignore file."""
        return attrs.evolve(self, per_dir=(*self.per_dir, file))

    def includes(self, path: bytes, is_dir: bool) -> bool:
        """Returns whether `included` matches a path and `own` does not, without its parent directories."""
        return any(file.match(path, is_dir) for file in self.included) and not self._is_own(path, is_dir)

    def may_contain_included(self, directory: bytes) -> bool:
        """Returns whether `included` may match something below a directory that `own` does not ignore."""
        return any(file.above.match(directory, True) for file in self.included) and not self._is_own(directory, True)

    def _is_own(self, path: bytes, is_dir: bool) -> bool:
        return any(file.match(path, is_dir) for file in self.own)

    def ignored(self, path: bytes, is_dir: bool) -> bool:
        """Returns whether a path in the directory of this stack is ignored; the path is as in `IgnoreFile.match`."""
        for file in self.own:
            if file.match(path, is_dir):
                return True
        if self.included and self.includes(path, is_dir):
            return False
        for file in itertools.chain(reversed(self.per_dir), reversed(self.outer)):
            answer = file.match(path, is_dir)
            if answer is not None:
                return answer
        return False

    def ignored_deep(self, path: bytes, is_dir: bool, gitignores: Callable[[bytes], IgnoreFile | None]) -> bool:
        """Returns whether a path or a directory above it is ignored; the root never is.

        `gitignores` returns a directory's ignore file; it is called from the root down until one is ignored.
        """
        if not path:
            return False
        stack = self._with(gitignores(b""))
        is_above_ignored = False
        end = path.find(b"/")
        while end >= 0:
            directory = path[:end]
            is_above_ignored = (
                not stack.includes(directory, True) if is_above_ignored else stack.ignored(directory, True)
            )
            if is_above_ignored and not stack.may_contain_included(directory):
                return True
            stack = stack._with(gitignores(directory))
            end = path.find(b"/", end + 1)
        return not stack.includes(path, is_dir) if is_above_ignored else stack.ignored(path, is_dir)

    def _with(self, file: IgnoreFile | None) -> IgnoreStack:
        return self if file is None else self.entering(file)


def stack_of(texts: Iterable[RuleText]) -> IgnoreStack:
    """Stacks the ignore files among some rules in git's order of precedence, `.gitignore` files outermost first."""
    files = [(text.kind, IgnoreFile.parse(text.text, text.base)) for text in texts]
    stack = IgnoreStack(
        outer=tuple(file for kind, file in files if kind in ("global", "info")),
        own=tuple(file for kind, file in files if kind == "own"),
        included=tuple(file for kind, file in files if kind == "included"),
    )
    for kind, file in files:
        if kind == "gitignore":
            stack = stack.entering(file)
    return stack

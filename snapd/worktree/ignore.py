"""Decides which files of a workspace are captured: reads the ignore rules and applies them to names."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import attrs

from snapd.model.errors import InvalidParams, did_you_mean, os_errors
from snapd.model.ignore import RULES_BYTES, IgnoreFile, IgnoreStack, stack_of
from snapd.model.paths import parents
from snapd.model.snapshot import RelPath, RuleText, Signature, file_clock_ns
from snapd.store.adopt import OpenBlobs
from snapd.worktree.fs.stable_read import StatCache, is_racy, read_small, signature
from snapd.worktree.git.config import GitUser as GitUser
from snapd.worktree.git.index import EntryPlaces, GitIndex, MalformedIndex, TrackedPaths, read_index, same_paths
from snapd.worktree.git.index_seed import IndexSeed
from snapd.worktree.git.repository import Repository, find_repository, nested_repository, user_excludes

logger = logging.getLogger(__name__)

WORKSPACE_FILE = ".snapd.toml"
_WORKSPACE_FILE_BYTES = 64 << 10
_DOTS = 100  # in one line, outside of strings: no valid key has so many parts
_STRING = re.compile(rb"""'[^'\n]*'?|"(?:[^"\\\n]|\\.)*"?""")
"""A string, or the start of one: the search for its end must not begin again at each quote."""


@attrs.frozen
class WorkspaceRules:
    """The ignore rules of a workspace."""

    prefix: bytes  # its path in the repository around it
    stack: IgnoreStack
    tracked: TrackedPaths  # in the user's git index
    texts: tuple[RuleText, ...]  # patterns from outside the tree, for the snapshot's coverage


@attrs.frozen
class _KnownIndex:
    """What was read of an index; `signature` is None if it may have changed since without another one."""

    signature: Signature | None
    tracked: TrackedPaths
    places: EntryPlaces | None


class RuleSource:
    """Reads the rules for each scan; opens no file while none that they depend on changed."""

    def __init__(self, root: bytes, root_descriptor: int, user: GitUser) -> None:
        self._root = root
        self._descriptor = root_descriptor
        self._user = user
        self._last: WorkspaceRules | None = None
        self._settings: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        self._stats = StatCache()
        self._repository: Repository | None = None
        self._indexes: dict[tuple[bytes, bytes, bytes], _KnownIndex] = {}
        self._nested: dict[RelPath, tuple[StatCache, TrackedPaths | None]] = {}
        self.parsed: GitIndex | None = None
        self._folders: list[str] | None = None
        self.earlier: Callable[[], Iterable[bytes]] = tuple
        """Returns the texts of the folder's own file in snapshots, newest first."""

    def of_folder(self) -> tuple[tuple[str, ...], str | None]:
        """Returns the patterns of the folder's own file, or the last valid ones and why; raises `IoError`."""
        try:
            self._folders = workspace_excludes(self._descriptor)
        except InvalidParams as error:
            if self._folders is None:
                self._folders = next(
                    (patterns for text in self.earlier() if (patterns := _valid(text)) is not None), []
                )
            return tuple(self._folders), error.message
        return tuple(self._folders), None

    def read(self, exclude: Iterable[str], include: Iterable[str] = ()) -> WorkspaceRules:
        """Returns the current rules; the same object as last time, if they are the same.

        Raises `InvalidParams` if there are too many patterns, and `IoError` if the folder cannot be read.
        """
        settings = tuple(exclude), tuple(include)
        self.parsed = None
        if self._last is not None and settings == self._settings and self._stats.unchanged():
            return self._last
        stats = StatCache()
        with os_errors(self._root):
            repository = find_repository(self._root, stats)
        outer = self._repository_texts(repository, stats)
        if repository is not None and self._is_foreign(repository, outer):
            # the surrounding repository ignores this folder as a whole: it is not part of that project
            repository = None
            outer = self._repository_texts(None, stats)
        prefix = _prefix(repository, self._root)
        excluded, included = settings
        stats.stat_at(WORKSPACE_FILE.encode(), self._descriptor)
        if folders := self.of_folder()[0]:
            # otherwise a rule that ignores its own file could be neither seen nor undone
            excluded = (*excluded, *folders, f"!/{WORKSPACE_FILE}")
        own = [RuleText("own", prefix, text) for text in _text(excluded)]
        own += [RuleText("included", prefix, text) for text in _text(included)]
        if any(IgnoreFile.parse(each.text).unreadable for each in own):
            hint = "leave some out of 'exclude' and 'include', or write them without '*', '?' and '['"
            raise InvalidParams("exclude: there are too many patterns", hint=hint, field="exclude")
        tracked = NOTHING_TRACKED
        if repository is not None:
            tracked = self._read_index(repository, stats, strip=prefix, add=b"", keep=True)
        texts = (*outer, *own, *(RuleText("unreadable", os.fsencode(path), b"") for path in stats.refused))
        rules = WorkspaceRules(prefix, stack_of(texts), tracked, texts)
        if self._last is None or rules != self._last:
            self._last = rules
        self._settings, self._stats, self._repository = settings, stats, repository
        return self._last

    def seed(self, open_blobs: OpenBlobs) -> IndexSeed | None:
        """Returns the project's index as of the last `read`; None if there is none to trust. Raises `IoError`."""
        index, self.parsed = self.parsed, None
        if self._repository is None or self._last is None:
            return None
        return IndexSeed.load(self._repository, self._user, open_blobs, self._last.prefix, index)

    def nested(self, path: RelPath) -> TrackedPaths | None:
        """Returns the index of the repository in a directory, if any; the same object while it does not change."""
        known = self._nested.get(path)
        if known is not None and known[0].unchanged():
            return known[1]
        stats = StatCache()
        repository = nested_repository(os.path.join(self._root, path), stats)
        tracked = None
        if repository is not None:
            tracked = self._read_index(repository, stats, strip=b"", add=path)
            if known is not None and tracked == known[1]:
                tracked = known[1]
        self._nested[path] = stats, tracked
        return tracked

    def nested_changed(self) -> bool:
        """Returns whether a repository that `nested` has read may have changed; reports each change once."""
        changed = False
        for path, (stats, _) in list(self._nested.items()):
            if not stats.unchanged():
                del self._nested[path]
                changed = changed or os.path.isdir(os.path.join(self._root, path))
        return changed

    def _repository_texts(self, repository: Repository | None, stats: StatCache) -> list[RuleText]:
        texts = []
        everywhere = user_excludes(self._user, repository, stats)
        if everywhere:
            texts.append(("core.excludesFile", RuleText("global", b"", everywhere)))
        if repository is not None:
            stats.stat(repository.exclude_path)
            if local := read_small(repository.exclude_path, most=RULES_BYTES, cut=True):
                texts.append((os.fsdecode(repository.exclude_path), RuleText("info", b"", local)))
            texts += _gitignores_above(repository, self._root, stats)
        unreadable = {path: None for path, text in texts if IgnoreFile.parse(text.text, text.base).unreadable}
        stats.refused |= unreadable
        return [text for path, text in texts if path not in unreadable]

    def _is_foreign(self, repository: Repository, texts: list[RuleText]) -> bool:
        prefix, stack = _prefix(repository, self._root), stack_of(texts)
        return bool(prefix) and any(stack.ignored(path, True) for path in (*reversed(parents(prefix)), prefix))

    def _read_index(
        self, repository: Repository, stats: StatCache, strip: bytes, add: bytes, *, keep: bool = False
    ) -> TrackedPaths:
        path = repository.index_path
        key = (path, strip, add)
        looked_at = file_clock_ns()
        status = stats.stat(path)
        if status is None:
            self._indexes.pop(key, None)
            return NOTHING_TRACKED
        known = self._indexes.get(key)
        if known is not None and known.signature == signature(status):
            return known.tracked
        size = repository.hash_size
        try:
            places = None if known is None or known.places is None else same_paths(path, known.places, hash_size=size)
            if known is not None and places is not None:
                tracked = known.tracked
            else:
                index = read_index(path, hash_size=size, with_places=True)
                self.parsed = index if keep else self.parsed
                tracked, places = TrackedPaths.from_index(index, strip=strip, add=add), index.places
        except (MalformedIndex, OSError) as error:
            # the ignore rules now apply to what it held, and nothing ignored is ever deleted
            logger.warning(
                "cannot read the git index %s, its ignored files are not captured: %s", os.fsdecode(path), error
            )
            # it may depend on a shared index that reappears
            stats.mark_uncertain()
            stats.refused[os.fsdecode(path)] = None
            self._indexes.pop(key, None)
            return NOTHING_TRACKED
        certain = None if is_racy(status.st_ctime_ns, looked_at) else signature(status)
        self._indexes[key] = _KnownIndex(certain, tracked, places)
        return tracked


NOTHING_TRACKED = TrackedPaths(())


def _text(patterns: tuple[str, ...]) -> list[bytes]:
    """Returns the text of an ignore file with these patterns, if any."""
    return ["\n".join(patterns).encode("utf-8", "surrogateescape")] if patterns else []


def workspace_excludes(root_descriptor: int) -> list[str]:
    """Returns the patterns in a workspace's own file; raises `InvalidParams`, which names the key, `IoError`."""
    text = read_small(WORKSPACE_FILE.encode(), root_descriptor, _WORKSPACE_FILE_BYTES, cut=True)
    return [] if text is None else _patterns(text)


def _valid(text: bytes) -> list[str] | None:
    try:
        return _patterns(text)
    except InvalidParams:
        return None


def _patterns(text: bytes) -> list[str]:
    try:
        document = parsed(text)
    except ValueError as error:
        hint = "correct the file, or remove it: its last valid patterns hold meanwhile"
        raise _wrong(str(error), hint, WORKSPACE_FILE) from error
    for key in document:
        if key != "exclude":
            others = "all other settings belong into config.toml"
            hint = f"{did_you_mean(key, ['exclude'])}remove the key: {others}"
            raise _wrong(f"unknown key {key!r}: a workspace may only set 'exclude'", hint, key)
    exclude = document.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(pattern, str) for pattern in exclude):
        hint = 'write it as a list of patterns, such as exclude = ["*.log"]'
        raise _wrong("exclude: expected a list of strings", hint, "exclude")
    if any(IgnoreFile.parse(each).unreadable for each in _text(tuple(exclude))):
        hint = "leave some out, or write them without '*', '?' and '['"
        raise _wrong("exclude: there are too many patterns", hint, "exclude")
    return exclude


def _wrong(what: str, hint: str, field: str) -> InvalidParams:
    return InvalidParams(f"{WORKSPACE_FILE}: {what}", hint=hint, field=field, file=WORKSPACE_FILE)


def parsed(data: bytes) -> dict[str, Any]:
    """Parses TOML; raises `ValueError` also for input on which tomllib takes quadratic time."""
    if len(data) > _WORKSPACE_FILE_BYTES:
        raise ValueError(f"it has more than {_WORKSPACE_FILE_BYTES >> 10} KiB")
    if any(line.count(b".") > _DOTS for line in _STRING.sub(b"", data).split(b"\n")):
        raise ValueError("a key has too many parts")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _prefix(repository: Repository | None, root: bytes) -> bytes:
    if repository is None or repository.root == root:
        return b""
    return os.path.relpath(root, repository.root)


def _gitignores_above(repository: Repository, root: bytes, stats: StatCache) -> list[tuple[str, RuleText]]:
    """Returns the `.gitignore` files from the repository's root down to the workspace, outermost first."""
    texts = []
    prefix = _prefix(repository, root)
    for base in (b"", *reversed(parents(prefix))) if prefix else ():
        path = os.path.join(repository.root, base, b".gitignore")
        stats.stat(path, follow=False)
        # git does not follow a symlink here
        if not os.path.islink(path) and (text := read_small(path, most=RULES_BYTES, cut=True)):
            texts.append((os.fsdecode(path), RuleText("gitignore", base, text)))
    return texts


class Scope(Enum):
    """What is captured in a directory."""

    RULES = "what the ignore rules do not exclude"
    TRACKED_ONLY = "the directory is ignored: only what the user's index holds, the request forces, or `include` names"
    ALL = "forced: everything"


@attrs.frozen(eq=False)
class DirectoryRules:
    """What decides, with the index and the forced paths, whether a name of a directory is ignored."""

    scope: Scope
    stack: IgnoreStack
    nested: tuple[TrackedPaths, ...]  # of repositories in the workspace that may hold files here
    key: bytes  # a digest of `stack` and `nested`

    def decides_as(self, other: DirectoryRules | None) -> bool:
        """Returns whether both decide the same about every name."""
        return other is not None and self.key == other.key and self.scope is other.scope


class RuleEvaluator:
    """The rules of one scan, overridden by `forced` files and directories; the source reads nested repositories."""

    def __init__(self, rules: WorkspaceRules, source: RuleSource, forced: tuple[RelPath, ...]) -> None:
        self.prefix = rules.prefix
        texts = (part for text in rules.texts for part in (text.kind.encode(), text.base, text.text))
        self.root = DirectoryRules(Scope.RULES, rules.stack, (), _key(b"", rules.prefix, *texts))
        self._tracked = rules.tracked
        self._source = source
        self._forced = frozenset(forced)
        self._above_forced = frozenset(above for path in forced for above in parents(path))

    def entering(
        self, path: RelPath, above: DirectoryRules | None, before: DirectoryRules | None
    ) -> DirectoryRules | None:
        """Returns a directory's rules without its `.gitignore`, None if ignored; `before` are the last scan's."""
        if above is None:
            return self.root
        scope = before.scope if before is not None else self.scope_of(path, True, above)
        return None if scope is None else attrs.evolve(above, scope=scope)

    def inside(
        self, rules: DirectoryRules, path: RelPath, gitignore: IgnoreFile | None, has_git: bool
    ) -> DirectoryRules:
        """Returns what `entering` returned, with the directory's `.gitignore`, and its `.git` if any."""
        if gitignore is not None:
            rules = attrs.evolve(
                rules,
                stack=rules.stack.entering(gitignore),
                key=_key(rules.key, b"gitignore", gitignore.base, gitignore.text),
            )
        if path and has_git and (held := self._source.nested(path)) is not None:
            rules = attrs.evolve(
                rules, nested=(*rules.nested, held), key=_key(rules.key, b"index", path, *_parts(held))
            )
        return rules

    def scope_of(self, path: RelPath, is_directory: bool, rules: DirectoryRules) -> Scope | None:
        """Returns what is captured of a name; None if it is ignored."""
        if rules.scope is Scope.ALL or (self._forced and not self._forced.isdisjoint((path, *parents(path)))):
            return Scope.ALL
        if not is_directory and self._tracked.holds(path):
            return Scope.RULES
        match_path = self.prefix + b"/" + path if self.prefix else path
        if rules.scope is Scope.RULES and not rules.stack.ignored(match_path, is_directory):
            return Scope.RULES
        if rules.stack.includes(match_path, is_directory):
            return Scope.RULES
        if not is_directory and any(nested.holds(path) for nested in rules.nested):
            return Scope.RULES
        if is_directory and (
            self._tracked.below(path)
            or any(nested.below(path) for nested in rules.nested)
            or path in self._above_forced
            or rules.stack.may_contain_included(match_path)
        ):
            return Scope.TRACKED_ONLY
        return None


def differing(one: TrackedPaths, other: TrackedPaths) -> frozenset[RelPath]:
    """Returns the paths about which two indexes differ."""
    if one is other:
        return frozenset()
    return frozenset(one.paths) ^ frozenset(other.paths) | one.links ^ other.links | one.sparse ^ other.sparse


def digest(tracked: TrackedPaths, forced: tuple[RelPath, ...]) -> bytes:
    """Returns a digest of an index and the forced paths."""
    return _key(b"", *_parts(tracked), b"\0".join(forced))


def _parts(tracked: TrackedPaths) -> tuple[bytes, ...]:
    return tuple(b"\0".join(sorted(paths)) for paths in (tracked.paths, tracked.links, tracked.sparse))


def _key(above: bytes, *parts: bytes) -> bytes:
    digest = hashlib.sha1(above)
    for part in parts:
        digest.update(b"%d\0" % len(part))
        digest.update(part)
    return digest.digest()

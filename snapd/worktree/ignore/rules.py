"""Reads the rules that decide which files of a workspace are ignored, and which are captured anyway.

Everything is read as data: snapd never runs what the user's git configures.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from snapd.model.errors import InvalidParams, did_you_mean, os_errors
from snapd.model.ignore import RULES_BYTES, IgnoreFile, IgnoreStack, stack_of
from snapd.model.snapshot import RelPath, RuleText, Signature, file_clock_ns
from snapd.store.adopt import OpenBlobs
from snapd.worktree.fs.stable_read import is_racy, read_small, signature
from snapd.worktree.fs.stat_cache import StatCache
from snapd.worktree.git.index import GitIndex, MalformedIndex, TrackedPaths, read_index
from snapd.worktree.git.index_seed import IndexSeed
from snapd.worktree.git.repository import GitUser as GitUser
from snapd.worktree.git.repository import Repository, find_repository, nested_repository, user_excludes

logger = logging.getLogger(__name__)

WORKSPACE_FILE = ".snapd.toml"
_WORKSPACE_FILE_BYTES = 64 << 10
_DOTS = 100
"""In one line, outside of strings: a key of so many parts means nothing."""
_STRING = re.compile(rb"""'[^'\n]*'?|"(?:[^"\\\n]|\\.)*"?""")
"""A string, or what begins like one: a search for its end must not begin again at each quote."""


@attrs.frozen
class WorkspaceRules:
    """The ignore rules of a workspace.

    Attributes:
        prefix: the workspace relative to the repository around it.
        stack: the ignore files in force at the workspace root.
        tracked: what the user's git index holds.
        texts: the patterns from outside the tree, for the snapshot's coverage.
    """

    prefix: bytes
    stack: IgnoreStack
    tracked: TrackedPaths
    texts: tuple[RuleText, ...]


class RuleSource:
    """Reads the rules for each look; opens no file while none of those that they rest on changed.

    Args:
        root: the workspace, absolute.
        root_descriptor: the same, open.
        user: whose git configuration counts.
    """

    def __init__(self, root: bytes, root_descriptor: int, user: GitUser) -> None:
        self._root = root
        self._descriptor = root_descriptor
        self._user = user
        self._last: WorkspaceRules | None = None
        self._settings: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        self._stats = StatCache()
        self._repository: Repository | None = None
        self._indexes: dict[tuple[bytes, bytes, bytes], tuple[Signature, TrackedPaths]] = {}
        self._nested: dict[RelPath, tuple[StatCache, TrackedPaths | None]] = {}
        self._parsed: GitIndex | None = None
        self._folders: list[str] | None = None
        self.earlier: Callable[[], Iterable[bytes]] = tuple
        """Gives the texts that the folder's own file had in snapshots, the newest first."""

    def of_folder(self) -> tuple[list[str], str | None]:
        """The patterns of the folder's own file, and what is wrong with it: then the last valid ones hold.

        Raises:
            IoError: the disk or the process is in trouble, or a snapshot is damaged.
        """
        try:
            self._folders = workspace_excludes(self._descriptor)
        except InvalidParams as error:
            if self._folders is None:
                self._folders = next((found for text in self.earlier() if (found := _valid(text)) is not None), [])
            return self._folders, error.message
        return self._folders, None

    def read(self, exclude: Iterable[str], include: Iterable[str] = ()) -> WorkspaceRules:
        """The rules as they are now.

        Args:
            exclude: snapd's own patterns for this workspace.
            include: patterns of what is captured although git ignores it.

        Returns:
            The same object as last time, if they are the same.

        Raises:
            InvalidParams: the settings have too many patterns.
            IoError: the folder cannot be read.
        """
        settings = tuple(exclude), tuple(include)
        self._parsed = None
        if self._last is not None and settings == self._settings and self._stats.unchanged():
            return self._last
        stats = StatCache()
        with os_errors(self._root):
            repository = find_repository(self._root, stats)
        outer = self._repository_texts(repository, stats)
        if repository is not None and self._is_foreign(repository, outer):
            # the repository around this folder ignores it as a whole: it is no part of that project
            repository = None
            outer = self._repository_texts(None, stats)
        prefix = _prefix(repository, self._root)
        excluded, included = settings
        stats.stat_at(WORKSPACE_FILE.encode(), self._descriptor)
        if folders := tuple(self.of_folder()[0]):
            # a rule that hides itself could not be seen, nor taken back
            excluded = (*excluded, *folders, f"!/{WORKSPACE_FILE}")
        own = [RuleText("own", prefix, text) for text in _text(excluded)]
        own += [RuleText("included", prefix, text) for text in _text(included)]
        if any(IgnoreFile.parse(each.text).unreadable for each in own):
            hint = "leave some out of 'exclude' and 'include', or write them without '*', '?' and '['"
            raise InvalidParams("exclude: there are too many patterns", hint=hint, field="exclude")
        tracked = self._tracked(repository, prefix, stats)
        texts = (*outer, *own, *(RuleText("unreadable", os.fsencode(path), b"") for path in stats.refused))
        rules = WorkspaceRules(prefix, stack_of(texts), tracked, texts)
        if self._last is None or rules != self._last:
            self._last = rules
        self._settings, self._stats, self._repository = settings, stats, repository
        return self._last

    def seed(self, open_blobs: OpenBlobs) -> IndexSeed | None:
        """What the index of the project knows about the contents of its files, as of the last `read`.

        Args:
            open_blobs: reads blobs of the project's own git.

        Returns:
            None if there is no repository, or its index cannot be trusted.

        Raises:
            IoError: the disk is in trouble.
        """
        index, self._parsed = self._parsed, None
        if self._repository is None or self._last is None:
            return None
        return IndexSeed.load(self._repository, self._user, open_blobs, self._last.prefix, index)

    def nested(self, path: RelPath) -> TrackedPaths | None:
        """What the index of a repository inside the workspace holds, as paths of the workspace.

        Args:
            path: the directory that has a `.git`.

        Returns:
            None if that is no repository; the same object as last time, if it is the same.
        """
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
        """Whether the index or the `.git` of a repository that `nested` has read may have changed since.

        Each change is reported once: the caller then visits the directories and calls `nested` for the repositories. A
        repository whose directory is gone has not changed: its files are gone too.
        """
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
            texts += _above(repository, self._root, stats)
        unreadable = {path: None for path, text in texts if IgnoreFile.parse(text.text, text.base).unreadable}
        stats.refused |= unreadable
        return [text for path, text in texts if path not in unreadable]

    def _is_foreign(self, repository: Repository, texts: list[RuleText]) -> bool:
        prefix = _prefix(repository, self._root)
        parts = prefix.split(b"/") if prefix else []
        stack = stack_of(texts)
        return any(stack.ignored(b"/".join(parts[:depth]), True) for depth in range(1, len(parts) + 1))

    def _tracked(self, repository: Repository | None, prefix: bytes, stats: StatCache) -> TrackedPaths:
        if repository is None:
            return NOTHING_TRACKED
        return self._read_index(repository, stats, strip=prefix, add=b"", keep=True)

    def _read_index(
        self, repository: Repository, stats: StatCache, strip: bytes, add: bytes, *, keep: bool = False
    ) -> TrackedPaths:
        path = repository.index_path
        key = (path, strip, add)
        looked_at = file_clock_ns()
        found = stats.stat(path)
        if found is None:
            self._indexes.pop(key, None)
            return NOTHING_TRACKED
        known = self._indexes.get(key)
        if known is not None and known[0] == signature(found):
            return known[1]
        try:
            index = read_index(path, hash_size=repository.hash_size)
        except (MalformedIndex, OSError) as error:
            # the ignore rules now apply to what it held, and nothing ignored is ever deleted
            logger.warning(
                "cannot read the git index %s, its ignored files are not captured: %s", os.fsdecode(path), error
            )
            # it may rest on a shared index that comes back
            stats.distrust()
            stats.refused[os.fsdecode(path)] = None
            self._indexes.pop(key, None)
            return NOTHING_TRACKED
        if keep:
            self._parsed = index
        tracked = TrackedPaths.from_index(index, strip=strip, add=add)
        if is_racy(found.st_ctime_ns, looked_at):
            self._indexes.pop(key, None)
        else:
            self._indexes[key] = (signature(found), tracked)
        return tracked


NOTHING_TRACKED = TrackedPaths(())


def _text(patterns: tuple[str, ...]) -> list[bytes]:
    """The text of an ignore file with these patterns, if there are any."""
    return ["\n".join(patterns).encode("utf-8", "surrogateescape")] if patterns else []


def workspace_excludes(root_descriptor: int) -> list[str]:
    """The patterns in a workspace's own file.

    Args:
        root_descriptor: the workspace, open.

    Raises:
        InvalidParams: the file is wrong; names the key.
        IoError: the disk or the process is in trouble.
    """
    found = read_small(WORKSPACE_FILE.encode(), root_descriptor, _WORKSPACE_FILE_BYTES, cut=True)
    return [] if found is None else _patterns(found)


def _valid(text: bytes) -> list[str] | None:
    try:
        return _patterns(text)
    except InvalidParams:
        return None


def _patterns(text: bytes) -> list[str]:
    try:
        document = _parsed(text)
    except ValueError as error:
        hint = "correct the file, or remove it: its last valid patterns hold meanwhile"
        raise InvalidParams(
            f"{WORKSPACE_FILE}: {error}", hint=hint, field=WORKSPACE_FILE, file=WORKSPACE_FILE
        ) from error
    for key in document:
        if key != "exclude":
            raise InvalidParams(
                f"{WORKSPACE_FILE}: unknown key {key!r}: a workspace may only set 'exclude'",
                hint=f"{did_you_mean(key, ['exclude'])}remove the key: all other settings belong into config.toml",
                field=key,
                file=WORKSPACE_FILE,
            )
    exclude = document.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(pattern, str) for pattern in exclude):
        raise InvalidParams(
            f"{WORKSPACE_FILE}: exclude: expected a list of strings",
            hint='write it as a list of patterns, such as exclude = ["*.log"]',
            field="exclude",
            file=WORKSPACE_FILE,
        )
    if any(IgnoreFile.parse(each).unreadable for each in _text(tuple(exclude))):
        raise InvalidParams(
            f"{WORKSPACE_FILE}: exclude: there are too many patterns",
            hint="leave some out, or write them without '*', '?' and '['",
            field="exclude",
            file=WORKSPACE_FILE,
        )
    return exclude


def _parsed(data: bytes) -> dict[str, Any]:
    """The document in a file; raises `ValueError` also where tomllib would take a time that grows with a square."""
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


def _above(repository: Repository, root: bytes, stats: StatCache) -> list[tuple[str, RuleText]]:
    """The `.gitignore` files from the repository's root down to the workspace, outermost first."""
    texts = []
    prefix = _prefix(repository, root)
    parts = prefix.split(b"/") if prefix else []
    for depth in range(len(parts)):
        base = b"/".join(parts[:depth])
        path = os.path.join(repository.root, base, b".gitignore")
        stats.stat(path, follow=False)
        # git does not follow a symlink here
        if not os.path.islink(path) and (text := read_small(path, most=RULES_BYTES, cut=True)):
            texts.append((os.fsdecode(path), RuleText("gitignore", base, text)))
    return texts

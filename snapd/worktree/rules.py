"""Gathers what says which files of a workspace are ignored, and which are captured all the same.

All of it is read as data: nothing that the user's git configures is run or obeyed otherwise.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import InvalidParams
from snapd.core.ignore import IgnoreStack
from snapd.core.model import RuleText, Signature
from snapd.core.target import stack_of

from .disk import read_small, signature
from .gitindex import MalformedIndex, TrackedPaths, read_index
from .project import Repository, find_repository, nested_repository, user_excludes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.model import RelPath

logger = logging.getLogger(__name__)

WORKSPACE_FILE = ".snapd.toml"


@attrs.frozen
class GitUser:
    """Where the user's git configuration lies.

    Attributes:
        home: the home directory.
        xdg_config_home: `$XDG_CONFIG_HOME`, None where it is not set.
    """

    home: str
    xdg_config_home: str | None = None


@attrs.frozen
class Rules:
    """What is ignored in a workspace.

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
    """Reads the rules anew for each look, and gives the same object back while nothing changed.

    Args:
        root: the workspace, absolute.
        root_descriptor: the same, open.
        user: whose git configuration counts.
    """

    def __init__(self, root: bytes, root_descriptor: int, user: GitUser) -> None:
        self._root = root
        self._descriptor = root_descriptor
        self._user = user
        self._last: Rules | None = None
        self._indexes: dict[tuple[bytes, bytes, bytes], tuple[Signature, TrackedPaths]] = {}

    def read(self, exclude: Iterable[str]) -> Rules:
        """The rules as they are now.

        Args:
            exclude: snapd's own patterns for this workspace.

        Raises:
            InvalidParams: the workspace's `.snapd.toml` is not as it should be; names the key.
        """
        repository = find_repository(self._root)
        outer = self._repository_texts(repository)
        if repository is not None and self._is_foreign(repository, outer):
            # the repository around us ignores this folder as a whole: it is not its project
            repository = None
            outer = self._repository_texts(None)
        prefix = _prefix(repository, self._root)
        own = "\n".join([*exclude, *self._workspace_excludes()]).encode("utf-8", "surrogateescape")
        texts = tuple(outer + ([RuleText("own", prefix, own)] if own else []))
        tracked = self._tracked(repository, prefix)
        rules = Rules(prefix, stack_of(texts), tracked, texts)
        if self._last is None or rules != self._last:
            self._last = rules
        return self._last

    def nested(self, path: RelPath) -> TrackedPaths | None:
        """What the index of a repository inside the workspace holds, as paths of the workspace.

        Args:
            path: the directory that has a `.git`.

        Returns:
            None where that is no repository.
        """
        repository = nested_repository(os.path.join(self._root, path))
        if repository is None:
            return None
        return self._read_index(repository.index_path, repository.hash_size, strip=b"", add=path)

    def _repository_texts(self, repository: Repository | None) -> list[RuleText]:
        texts = []
        everywhere = user_excludes(self._user.home, self._user.xdg_config_home, repository)
        if everywhere:
            texts.append(RuleText("global", b"", everywhere))
        if repository is not None:
            if local := read_small(repository.exclude_path):
                texts.append(RuleText("info", b"", local))
            texts += _above(repository, self._root)
        return texts

    def _is_foreign(self, repository: Repository, texts: list[RuleText]) -> bool:
        prefix = _prefix(repository, self._root)
        parts = prefix.split(b"/") if prefix else []
        stack = stack_of(texts)
        return any(stack.ignored(b"/".join(parts[:depth]), True) for depth in range(1, len(parts) + 1))

    def _tracked(self, repository: Repository | None, prefix: bytes) -> TrackedPaths:
        if repository is None:
            return NOTHING_TRACKED
        return self._read_index(repository.index_path, repository.hash_size, strip=prefix, add=b"")

    def _read_index(self, path: bytes, hash_size: int, strip: bytes, add: bytes) -> TrackedPaths:
        try:
            status = signature(os.stat(path))
        except OSError:
            return NOTHING_TRACKED
        key = (path, strip, add)
        known = self._indexes.get(key)
        if known is not None and known[0] == status:
            return known[1]
        try:
            tracked = TrackedPaths.from_index(read_index(path, hash_size=hash_size), strip=strip, add=add)
        except (MalformedIndex, OSError) as error:
            # what it held falls back under the ignore rules, and nothing ignored is ever deleted
            logger.warning("the index %s cannot be read: %s", os.fsdecode(path), error)
            tracked = NOTHING_TRACKED
        self._indexes[key] = (status, tracked)
        return tracked

    def _workspace_excludes(self) -> list[str]:
        found = read_small(WORKSPACE_FILE.encode(), self._descriptor)
        if found is None:
            return []
        try:
            document: dict[str, Any] = tomllib.loads(found.decode("utf-8"))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InvalidParams(f"{WORKSPACE_FILE}: {error}", field=WORKSPACE_FILE, file=WORKSPACE_FILE) from error
        for key in document:
            if key != "exclude":
                raise InvalidParams(
                    f"{WORKSPACE_FILE}: unknown key {key!r}: a workspace may only set 'exclude'",
                    field=key,
                    file=WORKSPACE_FILE,
                )
        exclude = document.get("exclude", [])
        if not isinstance(exclude, list) or not all(isinstance(pattern, str) for pattern in exclude):
            raise InvalidParams(
                f"{WORKSPACE_FILE}: exclude: expected a list of strings", field="exclude", file=WORKSPACE_FILE
            )
        return exclude


NOTHING_TRACKED = TrackedPaths(())


def _prefix(repository: Repository | None, root: bytes) -> bytes:
    if repository is None or repository.root == root:
        return b""
    return os.path.relpath(root, repository.root)


def _above(repository: Repository, root: bytes) -> list[RuleText]:
    """The `.gitignore` files between the repository's root and the workspace, outermost first."""
    texts = []
    prefix = _prefix(repository, root)
    parts = prefix.split(b"/") if prefix else []
    for depth in range(len(parts)):
        base = b"/".join(parts[:depth])
        path = os.path.join(repository.root, base, b".gitignore")
        # git does not follow a symlink here
        if not os.path.islink(path) and (text := read_small(path)):
            texts.append(RuleText("gitignore", base, text))
    return texts

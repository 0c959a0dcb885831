"""Decides which names of the work tree are captured."""

from __future__ import annotations

import hashlib
from enum import Enum

import attrs

from snapd.model.ignore import IgnoreFile, IgnoreStack
from snapd.model.paths import parents
from snapd.model.snapshot import RelPath
from snapd.worktree.git.index import TrackedPaths

from .rules import RuleSource, WorkspaceRules


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


class RuleEvaluator:
    """The rules of one look.

    Args:
        rules: what is ignored in the workspace.
        source: where they come from; reads the repositories inside the workspace.
        forced: ignored files or directories to capture anyway.
    """

    def __init__(self, rules: WorkspaceRules, source: RuleSource, forced: tuple[RelPath, ...]) -> None:
        self.prefix = rules.prefix
        self.root = DirectoryRules(Scope.RULES, rules.stack, (), _root_key(rules))
        self._tracked = rules.tracked
        self._source = source
        self._forced = frozenset(forced)
        self._above_forced = frozenset(above for path in forced for above in parents(path))

    def entering(
        self, path: RelPath, above: DirectoryRules | None, before: DirectoryRules | None
    ) -> DirectoryRules | None:
        """The rules for a directory, without its own `.gitignore`.

        Args:
            path: the directory.
            above: the rules of the directory above; None for the root, or if they are not known yet.
            before: the rules of the directory as of the last look, if there was one.

        Returns:
            None if the directory is ignored now.
        """
        if above is None:
            return self.root
        scope = before.scope if before is not None else self.scope_of(path, True, above)
        return None if scope is None else attrs.evolve(above, scope=scope)

    def inside(
        self, rules: DirectoryRules, path: RelPath, gitignore: IgnoreFile | None, has_git: bool
    ) -> DirectoryRules:
        """The rules inside a directory.

        Args:
            rules: what `entering` returned.
            path: the directory.
            gitignore: its `.gitignore`.
            has_git: whether it has a `.git`.
        """
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
        """What is captured of a name; None if it is ignored."""
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
            or rules.stack.leads_to_included(match_path)
        ):
            return Scope.TRACKED_ONLY
        return None


def differing(one: TrackedPaths, other: TrackedPaths) -> frozenset[RelPath]:
    """The paths about which two indexes differ."""
    if one is other:
        return frozenset()
    return frozenset(one.paths) ^ frozenset(other.paths) | one.links ^ other.links | one.sparse ^ other.sparse


def digest(tracked: TrackedPaths, forced: tuple[RelPath, ...]) -> bytes:
    """A digest of an index and the forced paths."""
    return _key(b"", *_parts(tracked), b"\0".join(forced))


def _parts(tracked: TrackedPaths) -> tuple[bytes, ...]:
    return tuple(b"\0".join(sorted(paths)) for paths in (tracked.paths, tracked.links, tracked.sparse))


def _root_key(rules: WorkspaceRules) -> bytes:
    parts = [rules.prefix]
    for text in rules.texts:
        parts += [text.kind.encode(), text.base, text.text]
    return _key(b"", *parts)


def _key(above: bytes, *parts: bytes) -> bytes:
    digest = hashlib.sha1(above)
    for part in parts:
        digest.update(b"%d\0" % len(part))
        digest.update(part)
    return digest.digest()

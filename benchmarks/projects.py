"""Git projects as people have them: each way makes one of the same files, in a state that a first snapshot may meet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from .git_algorithm import run_git
from .trees import copy_tree

if TYPE_CHECKING:
    from collections.abc import Callable

_LATER_NS = 1_000_000_000
_LFS_CLEAN = "sha256sum | sed 's/^/version https:\\/\\/git-lfs.github.com\\/spec\\/v1\\noid sha256:/'"
"""What Git LFS stores in place of a file, but for the size, without a need for Git LFS."""


class ProjectState(NamedTuple):
    """A state of a project.

    Attributes:
        says: what is particular, for the table.
        make: makes such a project of another one whose objects are packed: of its path, at a path that is free.
    """

    says: str
    make: Callable[[str, str], None]


def _loose(source: str, target: str) -> None:
    copy_tree(source, target)
    _git(target, "init", "-q")
    _git(target, "add", ".")
    _git(target, "commit", "-q", "-m", "bench")
    _age_index(target)


def _clone(source: str, target: str, *options: str) -> None:
    _git(source, "clone", "-q", *options, f"file://{source}", target)
    _age_index(target)


def _touched(source: str, target: str) -> None:
    _clone(source, target)
    for path in _files(target)[::2]:
        os.utime(os.path.join(target, path), follow_symlinks=False)


def _racy(source: str, target: str) -> None:
    _clone(source, target)
    oldest = min(os.lstat(os.path.join(target, path)).st_mtime_ns for path in _files(target))
    _set_index_time(target, oldest)


def _alternates(source: str, target: str) -> None:
    _git(source, "clone", "-q", "--shared", source, target)
    _age_index(target)


def _partial(source: str, target: str) -> None:
    _git(source, "config", "uploadpack.allowFilter", "true")
    _git(source, "config", "uploadpack.allowAnySHA1InWant", "true")
    _clone(source, target, "--filter=blob:none")


def _linked(source: str, target: str) -> None:
    _git(source, "worktree", "add", "-q", "--detach", target)
    _age_index(target)


def _split(source: str, target: str) -> None:
    _clone(source, target)
    _git(target, "update-index", "--split-index")
    _age_index(target)


def _autocrlf(source: str, target: str) -> None:
    _clone(source, target, "-c", "core.autocrlf=true")


def _lfs(source: str, target: str) -> None:
    copy_tree(source, target)
    with open(os.path.join(target, ".gitattributes"), "w", encoding="ascii") as file:
        file.write("*.md filter=lfs diff=lfs merge=lfs -text\n")
    _git(target, "init", "-q")
    _git(target, "config", "filter.lfs.clean", _LFS_CLEAN)
    _git(target, "add", ".")
    _git(target, "commit", "-q", "-m", "bench")
    _git(target, "gc", "--quiet")
    _age_index(target)


STATES = {
    "loose": ProjectState("loose objects", _loose),
    "touched": ProjectState("half of the files touched since", _touched),
    "racy": ProjectState("an index as old as the files", _racy),
    "alternates": ProjectState("objects in another repository", _alternates),
    "partial": ProjectState("a partial clone", _partial),
    "linked": ProjectState("a linked work tree", _linked),
    "split": ProjectState("a split index", _split),
    "autocrlf": ProjectState("core.autocrlf", _autocrlf),
    "lfs": ProjectState("Git LFS", _lfs),
}
"""By the names of their rows, without `first-`."""


def _git(directory: str, *arguments: str) -> bytes:
    return run_git(["-c", "gc.auto=0", "-c", "protocol.file.allow=always", *arguments], directory)


def _files(tree: str) -> list[str]:
    return [os.fsdecode(path) for path in _git(tree, "ls-files", "-z").split(b"\0") if path]


def _age_index(tree: str) -> None:
    """Has the index be written a second after the files, as one that git wrote for a later command."""
    _set_index_time(tree, os.stat(_index(tree)).st_mtime_ns + _LATER_NS)


def _set_index_time(tree: str, time_ns: int) -> None:
    os.utime(_index(tree), ns=(time_ns, time_ns))


def _index(tree: str) -> str:
    return os.path.join(tree, os.fsdecode(_git(tree, "rev-parse", "--git-path", "index").rstrip(b"\n")))

"""What the git of a project, and of its user, says about other machines: read as data, and nothing of it is run."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING

import attrs
import pygit2

from .repository import variables

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

    from .repository import GitUser, Repository

_URL = re.compile(r"remote\.(.+)\.url", re.DOTALL)
_LETS_IN = re.compile(r"credential\..*|core\.(askpass|sshcommand)|ssh\.variant", re.DOTALL)
_TAGS = "refs/tags/"
_REMOTES = b"refs/remotes/"
_NEAR = 1_000
"""This many commits before HEAD are looked at for one that a branch of a remote names."""
_TIPS = ("refs/heads/", "refs/remotes/", _TAGS)


def named_remotes(repository: Repository, user: GitUser) -> dict[str, str]:
    """The first address of each remote of a project, by its name; none if its configuration cannot be read.

    Args:
        repository: of the project.
        user: whose home directory the configuration may name.
    """
    found: dict[str, str] = {}
    for name, value in variables(_path(repository.common_dir, "config"), user.home) or ():
        remote = _URL.fullmatch(name)
        if remote is not None:
            found.setdefault(remote[1], value)
    return found


def access_settings(user: GitUser) -> list[tuple[str, str]]:
    """The variables of the user's and the system's git that let git in at other machines, in their order.

    A project's own configuration does not count: whoever made the project could have any program run.
    """
    return [
        (name, value)
        for path in user.configs
        if os.path.exists(path)
        for name, value in variables(path, user.home) or ()
        if _LETS_IN.fullmatch(name)
    ]


@attrs.frozen
class Tips:
    """What the references of a project point to.

    Attributes:
        branches: the newest commits of its branches and of those of its remotes, and that of HEAD.
        tags: its tags, which may be objects of their own.
    """

    branches: frozenset[ObjectId] = frozenset()
    tags: frozenset[ObjectId] = frozenset()


def tips(repository: Repository) -> Tips:
    """What the references of a project point to.

    Nothing is said of a reference that cannot be read: to take less for known makes a plan say more.
    """
    try:
        opened = pygit2.Repository(_path(repository.git_dir, ""), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        names = [*opened.raw_listall_references(), b"HEAD"]
    except (pygit2.GitError, ValueError):
        return Tips()
    branches: set[ObjectId] = set()
    tags: set[ObjectId] = set()
    for raw in names:
        name = os.fsdecode(raw)
        if not name.startswith(_TIPS) and name != "HEAD":
            continue
        try:
            target = opened.lookup_reference(name).resolve().target
        except (pygit2.GitError, KeyError, ValueError, pygit2.InvalidSpecError):
            continue
        oid = bytes(target.raw) if isinstance(target, pygit2.Oid) else bytes.fromhex(target)
        (tags if name.startswith(_TAGS) else branches).add(oid)
    return Tips(frozenset(branches), frozenset(tags))


def likely_shared(repository: Repository) -> ObjectId | None:
    """The commit of a project that is nearest to its HEAD and that others are likely to have; None if there is none.

    It is one that a branch of a remote names, or from which one goes on; in a project without these, that of HEAD.
    """
    try:
        opened = pygit2.Repository(_path(repository.git_dir, ""), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        if opened.head_is_unborn:
            return None
        head = opened.head.peel(pygit2.Commit)
        names = [name for name in opened.raw_listall_references() if name.startswith(_REMOTES)]
        published = [opened.lookup_reference(os.fsdecode(name)).peel(pygit2.Commit) for name in names]
        if not published:
            return bytes(head.id.raw)
        tips = {commit.id for commit in published}
        walk = islice(opened.walk(head.id, pygit2.enums.SortMode.TIME), _NEAR)
        found = next((commit.id for commit in walk if commit.id in tips), None)
        if found is None:
            # HEAD has other commits than all of these, or is behind them
            newest = max(published, key=lambda commit: commit.commit_time)
            found = _merge_base(opened, head.id, newest.id)
    except (pygit2.GitError, KeyError, ValueError):
        # such as a reference that cannot be read; without a commit that both sides have, everything is sent
        return None
    return None if found is None else bytes(found.raw)


def _merge_base(repository: pygit2.Repository, one: pygit2.Oid, other: pygit2.Oid) -> pygit2.Oid | None:
    return repository.merge_base(one, other)


def _path(directory: bytes, name: str) -> str:
    return os.path.join(os.fsdecode(directory), name)

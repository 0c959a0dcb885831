"""Finds the git repository that a folder belongs to and reads what it says, as data.

Git is never run, nothing is written, and no GIT_* variable of the environment has an effect.
"""

from __future__ import annotations

import logging
import os
import pwd
import re
import stat
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
import pygit2
from pygit2.enums import Option

from .disk import regular

if TYPE_CHECKING:
    from collections.abc import Iterator

_log = logging.getLogger(__name__)

_HEAD = re.compile(rb"ref:[ \t\n\r]*refs/|[0-9a-fA-F]{40}")
_MAX_GITFILE = 1 << 20
_home_lock = threading.Lock()


@attrs.frozen
class Repository:
    """Where a repository keeps its parts. Every path is absolute.

    Attributes:
        root: The directory that holds `.git`, without symlinks.
        git_dir: The directory of this work tree's own files: HEAD, the index.
        common_dir: The directory of what all work trees of the repository share: objects, configuration.
        hash_size: Size of an object name in bytes: 20, or 32 in a SHA-256 repository.
    """

    root: bytes
    git_dir: bytes
    common_dir: bytes
    hash_size: int

    @property
    def index_path(self) -> bytes:
        """The index file; there is none before anything was added."""
        return os.path.join(self.git_dir, b"index")

    @property
    def exclude_path(self) -> bytes:
        """The file of the repository's own ignore patterns; there need not be one."""
        return os.path.join(self.common_dir, b"info", b"exclude")


class _BadGitFileError(Exception):
    """A file named `.git` that does not lead to a repository."""


def find_repository(folder: bytes) -> Repository | None:
    """Find the repository whose work tree a folder is in, as git run in that folder would.

    A directory `.git` that is no repository is passed over; a file `.git` that leads to none ends the search,
    as does the edge of the file system, and a folder inside of a git directory has no work tree.

    Args:
        folder: An absolute path. Symlinks in it are resolved first.

    Returns:
        The repository, None if there is none.

    Raises:
        OSError: The folder cannot be read.
    """
    current = os.path.realpath(folder)
    device = os.stat(current).st_dev
    while True:
        try:
            found = _repository_at(current)
        except _BadGitFileError:
            return None
        parent = os.path.dirname(current)
        if found or _is_git_dir(current) or parent == current or os.stat(parent).st_dev != device:
            return found
        current = parent


def nested_repository(directory: bytes | int) -> Repository | None:
    """Read the repository whose `.git` is in a directory, without looking further up.

    Args:
        directory: The directory: an absolute path, or an open descriptor.

    Returns:
        The repository; None if the directory holds no valid `.git`.
    """
    try:
        if isinstance(directory, int):
            os.stat(b".git", dir_fd=directory)
            directory = os.fsencode(os.readlink(f"/proc/self/fd/{directory}"))
        return _repository_at(os.path.realpath(directory))
    except (OSError, _BadGitFileError):
        return None


def user_excludes(
    home: str, xdg_config_home: str | None, repository: Repository | None, system_config: str = "/etc/gitconfig"
) -> bytes | None:
    """Read the file of the user's own ignore patterns: the one that `core.excludesFile` names, or the default.

    A configuration file that is malformed is passed over with a warning in the log. Sections `includeIf` have
    no effect.

    Args:
        home: The user's home directory.
        xdg_config_home: The value of XDG_CONFIG_HOME; None or '' if it is not set.
        repository: The repository whose configuration counts too; None if there is none.
        system_config: The configuration file of the system.

    Returns:
        The text of the file; None if there is none or it cannot be read.
    """
    xdg = xdg_config_home or os.path.join(home, ".config")
    configs = [system_config, os.path.join(xdg, "git", "config"), os.path.join(home, ".gitconfig")]
    if repository:
        configs += _repository_configs(repository)
    value: str | None = None
    with _home(home):
        for config in configs:
            value = _last_value(config, "core.excludesfile", value)
    if value is None:
        return _read(os.path.join(xdg, "git", "ignore"))
    path = _expanded(value, home, repository)
    return _read(path) if path else None


def _repository_at(root: bytes) -> Repository | None:
    """Read the `.git` of a directory.

    Raises:
        _BadGitFileError: It is a file that leads to no repository.
    """
    dot_git = os.path.join(root, b".git")
    try:
        mode = os.stat(dot_git).st_mode
    except OSError:
        return None
    git_dir = os.path.realpath(_gitfile_target(dot_git)) if stat.S_ISREG(mode) else dot_git
    if not _is_git_dir(git_dir):
        if stat.S_ISREG(mode):
            raise _BadGitFileError
        return None
    common_dir = _common_dir(git_dir)
    return Repository(root, git_dir, common_dir, _hash_size(common_dir))


def _gitfile_target(path: bytes) -> bytes:
    try:
        with open(path, "rb", opener=regular) as file:
            text = file.read(_MAX_GITFILE + 1)
    except OSError:
        raise _BadGitFileError from None
    target = text.removeprefix(b"gitdir: ").rstrip(b"\r\n")
    if not text.startswith(b"gitdir: ") or len(text) > _MAX_GITFILE or not target or b"\0" in target:
        raise _BadGitFileError
    return os.path.join(os.path.dirname(path), target)


def _is_git_dir(path: bytes) -> bool:
    if not _has_head(path):
        return False
    common_dir = _common_dir(path)
    return all(os.access(os.path.join(common_dir, name), os.X_OK) for name in (b"objects", b"refs"))


def _has_head(git_dir: bytes) -> bool:
    path = os.path.join(git_dir, b"HEAD")
    try:
        if os.path.islink(path):
            return os.readlink(path).startswith(b"refs/")
        with open(path, "rb", opener=regular) as file:
            return _HEAD.match(file.read(255)) is not None
    except OSError:
        return False


def _common_dir(git_dir: bytes) -> bytes:
    """Follow the file `commondir`, which the git directory of an additional work tree has."""
    try:
        with open(os.path.join(git_dir, b"commondir"), "rb", opener=regular) as file:
            target = file.read().rstrip(b"\r\n")
    except OSError:
        return git_dir
    return os.path.realpath(os.path.join(git_dir, target.partition(b"\0")[0]))


def _hash_size(common_dir: bytes) -> int:
    config = os.fsdecode(os.path.join(common_dir, b"config"))
    return 32 if _last_value(config, "extensions.objectformat", None) == "sha256" else 20


def _repository_configs(repository: Repository) -> list[str]:
    shared = os.fsdecode(os.path.join(repository.common_dir, b"config"))
    own = os.fsdecode(os.path.join(repository.git_dir, b"config.worktree"))
    return [shared, own] if _is_true(_last_value(shared, "extensions.worktreeconfig", None)) else [shared]


def _is_true(value: str | None) -> bool:
    try:
        return value is not None and pygit2.Config.parse_bool(value)
    except (pygit2.GitError, ValueError):
        return False


@contextmanager
def _home(home: str) -> Iterator[None]:
    """Let '~/' in the include.path of a configuration file mean a given home, not that of the environment."""
    with _home_lock:
        before = pygit2.option(Option.GET_HOMEDIR)
        pygit2.option(Option.SET_HOMEDIR, home)
        try:
            yield
        finally:
            pygit2.option(Option.SET_HOMEDIR, before or "")


def _last_value(path: str, name: str, otherwise: str | None) -> str | None:
    """Read one variable of one configuration file and of those that it includes.

    Args:
        path: The file, which need not exist.
        name: The variable, in lower case.
        otherwise: What to give if the file does not set the variable, or is malformed.

    Returns:
        The last value.
    """
    # libgit2 would wait for ever for a FIFO to be written to
    if not os.path.isfile(path):
        return otherwise
    try:
        config = pygit2.Config()
        config.add_file(path)
        values = [value for value in config.get_multivar(name) if value is not None]
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        _log.warning("the git configuration file %s is passed over: %s", path, error)
        return otherwise
    return values[-1] if values else otherwise


def _expanded(value: str, home: str, repository: Repository | None) -> str | None:
    """Give the path that a value of the configuration means; None if it means none."""
    if value.startswith("~"):
        user, _, rest = value[1:].partition("/")
        folder = _home_of(user) if user else home
        return folder and os.path.join(folder, rest)
    if os.path.isabs(value):
        return value
    return os.path.join(os.fsdecode(repository.root), value) if value and repository else None


def _home_of(user: str) -> str | None:
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        _log.warning("core.excludesFile names the home of %s, a user who is not known", user)
        return None


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", opener=regular) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        _log.warning("the user's ignore file is passed over: %s", error)
        return None

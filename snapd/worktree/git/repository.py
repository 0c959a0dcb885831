"""Finds the git repository that a folder belongs to, and reads its settings as data.

It never runs git, writes nothing, and ignores the GIT_* variables of the environment.
"""

from __future__ import annotations

import errno
import logging
import os
import pwd
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import pygit2
from pygit2.enums import Option

from snapd.model.ignore import RULES_BYTES
from snapd.worktree.fs.stable_read import SMALL_BYTES, read_bounded, resolved
from snapd.worktree.fs.stat_cache import StatCache

_DEEPEST = 10
"""How deep libgit2 follows includes in included files."""
_FILES = 100
"""The most files that it may be made to read, each as often as it is included."""
_PATH = re.compile(r"(?:^|\])[ \t]*path[ \t]*=[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def includes_only_files(path: str, home: str) -> bool:
    """Whether all that libgit2 opens for a configuration file is regular files, or missing, and not too much of it.

    libgit2 waits forever for a pipe that nobody writes to, and reads a file as often as others include it.
    Every key `path` counts, in any section: one too many does no harm.

    Args:
        path: the file.
        home: what `~/` stands for.

    Raises:
        OSError: a file cannot be read.
    """
    pending = [(path, 0)]
    count = size = 0
    while pending:
        config, depth = pending.pop()
        try:
            mode = os.stat(config).st_mode
        except (OSError, ValueError):
            # libgit2 ignores missing files
            continue
        if not stat.S_ISREG(mode):
            return False
        if depth > _DEEPEST:
            continue
        data = read_bounded(config)
        count, size = count + 1, size + len(data)
        if count > _FILES or size > SMALL_BYTES:
            return False
        text = os.fsdecode(data).replace("\r\n", "\n").replace("\\\n", "")
        for value in _PATH.findall(text):
            named = _unquoted(value)
            if named.startswith("~/"):
                named = os.path.join(home, named[2:])
            pending.append((os.path.join(os.path.dirname(config), named), depth + 1))
    return True


def _unquoted(value: str) -> str:
    """A value without the quotes, backslashes and comments of git-config(1)."""
    found: list[str] = []
    quoted, characters = False, iter(value)
    for character in characters:
        if character == '"':
            quoted = not quoted
        elif character == "\\":
            following = next(characters, "")
            found.append(_ESCAPES.get(following, following))
        elif character in "#;" and not quoted:
            break
        else:
            found.append(character)
    return "".join(found).rstrip(" \t")


_log = logging.getLogger(__name__)

_HEAD = re.compile(rb"ref:[ \t\n\r]*refs/|[0-9a-fA-F]{40}")
_ANY_INCLUDE = re.compile(rb"include", re.IGNORECASE)
_INCLUDE = re.compile(rb"include(?!if)", re.IGNORECASE)
_KNOWN_FILTER = "filter.lfs."
"""What `git lfs install` configures. A pointer has the size of its file only by chance, at some 128 bytes."""
_home_lock = threading.Lock()


@attrs.frozen
class GitUser:
    """Where the user's git configuration lies, and the system's.

    Attributes:
        home: the home directory.
        xdg_config_home: `$XDG_CONFIG_HOME`, None where it is not set.
        system_config: the configuration file of the system.
        system_attributes: the attribute file of the system.
    """

    home: str
    xdg_config_home: str | None = None
    system_config: str = "/etc/gitconfig"
    system_attributes: str = "/etc/gitattributes"

    @property
    def config_folder(self) -> str:
        """The folder of the user's own files for git."""
        return os.path.join(self.xdg_config_home or os.path.join(self.home, ".config"), "git")

    @property
    def configs(self) -> list[str]:
        """The configuration files, the weakest first; they need not exist."""
        return [
            self.system_config,
            os.path.join(self.config_folder, "config"),
            os.path.join(self.home, ".gitconfig"),
        ]


@attrs.frozen
class Repository:
    """Where a repository keeps its parts. Every path is absolute.

    Attributes:
        root: the directory that has `.git`, without symlinks.
        git_dir: the directory of this work tree's own files: HEAD, the index.
        common_dir: the directory of what all work trees of the repository share: objects, configuration.
        hash_size: size of an object id, bytes: 20, or 32 in a SHA-256 repository.
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
        """The file with the repository's own ignore patterns; it need not exist."""
        return os.path.join(self.common_dir, b"info", b"exclude")


class _BadGitFileError(Exception):
    """A file named `.git` that does not lead to a repository."""


def find_repository(folder: bytes, stats: StatCache | None = None) -> Repository | None:
    """The repository whose work tree a folder is in, as git run in that folder would find it.

    It ignores a directory `.git` that is no repository. A file `.git` that leads to none ends the search, as does the
    edge of the file system; and a folder inside a git directory has no work tree.

    Args:
        folder: absolute; symlinks in it are resolved first.
        stats: notes the files that the answer rests on.

    Raises:
        OSError: the folder cannot be read.
    """
    stats = stats or StatCache()
    current = os.path.realpath(folder)
    device = os.stat(current).st_dev
    while True:
        try:
            found = _repository_at(current, stats)
        except _BadGitFileError:
            return None
        parent = os.path.dirname(current)
        if found or _is_git_dir(current, stats) or parent == current or os.stat(parent).st_dev != device:
            return found
        current = parent


def nested_repository(directory: bytes | int, stats: StatCache | None = None) -> Repository | None:
    """The repository whose `.git` is in a directory; None if there is no valid one.

    Args:
        directory: an absolute path, or an open descriptor.
        stats: as for `find_repository`.
    """
    try:
        if isinstance(directory, int):
            os.stat(b".git", dir_fd=directory)
            directory = os.fsencode(os.readlink(f"/proc/self/fd/{directory}"))
        return _repository_at(os.path.realpath(directory), stats or StatCache())
    except (OSError, _BadGitFileError):
        return None


def user_excludes(user: GitUser, repository: Repository | None, stats: StatCache | None = None) -> bytes | None:
    """The text of the user's own ignore patterns, in the file that `core.excludesFile` names, or the default one.

    A malformed configuration file only causes a warning in the log. Sections `includeIf` have no effect.

    Args:
        user: whose configuration counts.
        repository: its configuration counts too.
        stats: as for `find_repository`.

    Returns:
        None if there is no such file, or it cannot be read.
    """
    stats = stats or StatCache()
    configs = user.configs
    if repository:
        configs += _repository_configs(repository, stats)
    value: str | None = None
    with _home(user.home):
        for config in configs:
            value = _last_value(config, "core.excludesfile", value, stats)
    if value is None:
        return _read(os.path.join(user.config_folder, "ignore"), stats)
    path = expanded(value, user.home, repository)
    return _read(path, stats) if path else None


@attrs.frozen
class AttributeSettings:
    """What the configuration says about attributes.

    Attributes:
        files: the attribute files of the system and the user: every one that could be in force. They need not exist.
        fold: whether git may ignore case in patterns.
    """

    files: tuple[str, ...]
    fold: bool


def attribute_settings(repository: Repository, user: GitUser) -> AttributeSettings | None:
    """Where attributes come from besides the repository; what a condition includes counts in any case.

    Returns:
        None if a configuration file cannot be read, if attributes come from a tree (`attr.tree`), or if filters other
        than those of Git LFS are configured: they may have been in use under attributes that are gone.
    """
    files = [user.system_attributes, os.path.join(user.config_folder, "attributes")]
    fold = False
    pending = user.configs + _repository_configs(repository, StatCache())
    read: set[str] = set()
    with _home(user.home):
        while pending:
            config = pending.pop()
            if config in read or not os.path.isfile(config):
                continue
            read.add(config)
            found = variables(config, user.home)
            if found is None:
                return None
            for name, value in found:
                if name == "attr.tree" or (name.startswith("filter.") and not name.startswith(_KNOWN_FILTER)):
                    return None
                if name == "core.attributesfile":
                    files.append(expanded(value, user.home, repository) or "")
                elif name == "core.ignorecase":
                    fold = fold or value == "" or _is_true(value)
                elif name.startswith("includeif.") and (included := expanded(value, user.home, None)):
                    pending.append(included)
                elif name.startswith("includeif."):
                    pending.append(os.path.join(os.path.dirname(config), value))
    return AttributeSettings(tuple(path for path in files if path), fold)


def variables(path: str, home: str) -> list[tuple[str, str]] | None:
    """The variables of a configuration file and of those that it includes; None where one is malformed."""
    try:
        config = pygit2.Config()
        _add_file(config, path, home)
        return [(entry.name, entry.value or "") for entry in config]
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        _log.warning("the git configuration file %s cannot be read: %s", path, error)
        return None


def _repository_at(root: bytes, stats: StatCache) -> Repository | None:
    """The repository of the `.git` in a directory; raises `_BadGitFileError` for a file that leads to none."""
    dot_git = os.path.join(root, b".git")
    status = stats.stat(dot_git)
    if status is None:
        return None
    is_file = stat.S_ISREG(status.st_mode)
    git_dir = _gitfile_target(dot_git) if is_file else dot_git
    if not _is_git_dir(git_dir, stats):
        if is_file:
            raise _BadGitFileError
        return None
    common_dir = _common_dir(git_dir, stats)
    return Repository(root, git_dir, common_dir, _hash_size(common_dir, stats))


def _gitfile_target(path: bytes) -> bytes:
    try:
        text = read_bounded(path)
    except OSError:
        raise _BadGitFileError from None
    target = text.removeprefix(b"gitdir: ").rstrip(b"\r\n")
    if not text.startswith(b"gitdir: ") or not target or b"\0" in target:
        raise _BadGitFileError
    git_dir = resolved(os.path.join(os.path.dirname(path), target))
    if git_dir is None:
        raise _BadGitFileError
    return git_dir


def _is_git_dir(path: bytes, stats: StatCache) -> bool:
    if not _has_head(path, stats):
        return False
    common_dir = _common_dir(path, stats)
    parts = [os.path.join(common_dir, name) for name in (b"objects", b"refs")]
    return all(stats.stat(part) is not None and os.access(part, os.X_OK) for part in parts)


def _has_head(git_dir: bytes, stats: StatCache) -> bool:
    path = os.path.join(git_dir, b"HEAD")
    status = stats.stat(path, follow=False)
    try:
        if status is not None and stat.S_ISLNK(status.st_mode):
            return os.readlink(path).startswith(b"refs/")
        return _HEAD.match(read_bounded(path, 255, cut=True)) is not None
    except OSError:
        return False


def _common_dir(git_dir: bytes, stats: StatCache) -> bytes:
    """Follows the file `commondir`, which the git directory of an additional work tree has."""
    path = os.path.join(git_dir, b"commondir")
    stats.stat(path)
    try:
        target = read_bounded(path).rstrip(b"\r\n")
    except OSError as error:
        if error.errno == errno.EFBIG:
            stats.refused[os.fsdecode(path)] = None
        return git_dir
    return resolved(os.path.join(git_dir, target.partition(b"\0")[0])) or git_dir


def _hash_size(common_dir: bytes, stats: StatCache) -> int:
    config = os.fsdecode(os.path.join(common_dir, b"config"))
    return 32 if _last_value(config, "extensions.objectformat", None, stats) == "sha256" else 20


def _repository_configs(repository: Repository, stats: StatCache) -> list[str]:
    shared = os.fsdecode(os.path.join(repository.common_dir, b"config"))
    own = os.fsdecode(os.path.join(repository.git_dir, b"config.worktree"))
    apart = _last_value(shared, "extensions.worktreeconfig", None, stats)
    return [shared, own] if _is_true(apart) else [shared]


def _is_true(value: str | None) -> bool:
    try:
        return value is not None and pygit2.Config.parse_bool(value)
    except (pygit2.GitError, ValueError):
        return False


@contextmanager
def _home(home: str) -> Iterator[None]:
    """Lets `~/` in the `include.path` of a configuration file mean a given home, not that of the environment."""
    with _home_lock:
        before = pygit2.option(Option.GET_HOMEDIR)
        pygit2.option(Option.SET_HOMEDIR, home)
        try:
            yield
        finally:
            pygit2.option(Option.SET_HOMEDIR, before or "")


def _last_value(path: str, name: str, otherwise: str | None, stats: StatCache) -> str | None:
    """The last value of a variable in a configuration file and those that it includes.

    Args:
        path: the file, which need not exist.
        name: the variable, in lower case.
        otherwise: what to return if the file does not set the variable, or is malformed.
        stats: as for `find_repository`.
    """
    status = stats.stat(path)
    # libgit2 would wait forever for a FIFO to be written to
    if status is None or not stat.S_ISREG(status.st_mode):
        return otherwise
    try:
        if _mentions_include(path):
            # only libgit2 knows which files it includes
            stats.distrust()
        config = pygit2.Config()
        _add_file(config, path, pygit2.option(Option.GET_HOMEDIR) or "")
        values = [value for value in config.get_multivar(name) if value is not None]
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        _log.warning("ignoring the git configuration file %s, which cannot be read: %s", path, error)
        stats.refused[path] = None
        return otherwise
    return values[-1] if values else otherwise


def _add_file(config: pygit2.Config, path: str, home: str) -> None:
    """Adds a file and those that it includes; raises `ValueError` where libgit2 would wait for a pipe, or read much."""
    if _mentions_include(path, conditional=True) and not includes_only_files(path, home):
        raise ValueError("it includes something that is not a regular file, or too much")
    config.add_file(path)


def _mentions_include(path: str, *, conditional: bool = False) -> bool:
    return (_ANY_INCLUDE if conditional else _INCLUDE).search(read_bounded(path)) is not None


def expanded(value: str, home: str, repository: Repository | None) -> str | None:
    """The path that a value of the configuration means; None if it means none.

    Args:
        value: of the variable.
        home: the home directory of the user.
        repository: a relative path is below its root; without one, it means nothing.
    """
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
        _log.warning("core.excludesFile names the home of %s, an unknown user: check its spelling", user)
        return None


def _read(path: str, stats: StatCache) -> bytes | None:
    stats.stat(path)
    try:
        return read_bounded(path, RULES_BYTES, cut=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        _log.warning("ignoring the user's ignore file, which cannot be read: %s", error)
        return None

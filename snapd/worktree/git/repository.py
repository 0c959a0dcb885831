"""Finds the git repository around a folder, and reads its settings, objects and branches.

It never runs git, writes nothing, limits what it reads, and ignores the GIT_* environment variables.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

import attrs

from snapd.model.errors import os_errors
from snapd.model.ignore import RULES_BYTES
from snapd.model.snapshot import Entry, RelPath
from snapd.store.adopt import OpenBlobs
from snapd.worktree.fs.stable_read import StatCache, read_bounded, read_small, resolved

from .config import GitUser, expanded, home_directory, is_true, last_value, logger, variables

_HEAD = re.compile(rb"ref:[ \t\n\r]*refs/|[0-9a-fA-F]{40}")
_KNOWN_FILTER = "filter.lfs."
"""What `git lfs install` configures; a pointer (some 128 bytes) has its file's size only by chance."""
_URL = re.compile(r"remote\.(.+)\.url", re.DOTALL)


@attrs.frozen
class Repository:
    """Where a repository keeps its parts; all paths are absolute."""

    root: bytes  # the directory that has `.git`, without symlinks
    git_dir: bytes  # of this work tree alone: HEAD, the index
    common_dir: bytes  # shared by all its work trees: objects, configuration
    hash_size: int  # of an object id, bytes: 20, or 32 for SHA-256

    @property
    def index_path(self) -> bytes:
        """The index file; missing until something was added."""
        return os.path.join(self.git_dir, b"index")

    @property
    def exclude_path(self) -> bytes:
        """The repository's own ignore file; it need not exist."""
        return os.path.join(self.common_dir, b"info", b"exclude")

    @property
    def config_path(self) -> str:
        """The configuration file that all work trees share."""
        return os.fsdecode(os.path.join(self.common_dir, b"config"))

    @property
    def objects(self) -> bytes:
        """The directory of the repository's own objects."""
        return os.path.join(self.common_dir, b"objects")


class _BadGitFileError(Exception):
    """A file named `.git` does not lead to a repository."""


def find_repository(folder: bytes, stats: StatCache | None = None) -> Repository | None:
    """Returns the repository whose work tree has a folder, as git run there would find it; raises `OSError`.

    An invalid `.git` directory is skipped; an invalid `.git` file ends the search. `stats` collects the files that the
    result depends on.
    """
    stats = stats or StatCache()
    current = os.path.realpath(folder)
    device = os.stat(current).st_dev
    while True:
        try:
            repository = _repository_at(current, stats)
        except _BadGitFileError:
            return None
        parent = os.path.dirname(current)
        if repository or _is_git_dir(current, stats) or parent == current or os.stat(parent).st_dev != device:
            return repository
        current = parent


def nested_repository(directory: bytes | int, stats: StatCache | None = None) -> Repository | None:
    """Returns the repository whose `.git` is in a directory (path or descriptor); None if none is valid."""
    try:
        if isinstance(directory, int):
            os.stat(b".git", dir_fd=directory)
            directory = os.fsencode(os.readlink(f"/proc/self/fd/{directory}"))
        return _repository_at(os.path.realpath(directory), stats or StatCache())
    except (OSError, _BadGitFileError):
        return None


def _repository_at(root: bytes, stats: StatCache) -> Repository | None:
    """Returns the repository of a directory's `.git`; raises `_BadGitFileError` for an invalid file."""
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
    config = os.fsdecode(os.path.join(common_dir, b"config"))
    is_sha256 = last_value(config, "extensions.objectformat", None, stats) == "sha256"
    return Repository(root, git_dir, common_dir, 32 if is_sha256 else 20)


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
    """Follows the `commondir` file, which the git directory of an additional work tree has."""
    path = os.path.join(git_dir, b"commondir")
    stats.stat(path)
    try:
        target = read_bounded(path).rstrip(b"\r\n")
    except OSError as error:
        if error.errno == errno.EFBIG:
            stats.refused[os.fsdecode(path)] = None
        return git_dir
    return resolved(os.path.join(git_dir, target.partition(b"\0")[0])) or git_dir


def user_excludes(user: GitUser, repository: Repository | None, stats: StatCache | None = None) -> bytes | None:
    """Returns the user's own ignore file, from `core.excludesFile` or the default place; None if unreadable.

    A malformed configuration only causes a log warning. `includeIf` has no effect.
    """
    stats = stats or StatCache()
    configs = user.configs
    if repository:
        configs += _repository_configs(repository, stats)
    value: str | None = None
    with home_directory(user.home):
        for config in configs:
            value = last_value(config, "core.excludesfile", value, stats)
    if value is None:
        return _read(os.path.join(user.config_folder, "ignore"), stats)
    path = expanded(value, user.home, repository.root if repository else None)
    return _read(path, stats) if path else None


@attrs.frozen
class AttributeSettings:
    """The configured attribute files, which need not exist, and whether git may ignore case in patterns (`fold`)."""

    files: tuple[str, ...]
    fold: bool


def attribute_settings(repository: Repository, user: GitUser) -> AttributeSettings | None:
    """Returns where attributes come from besides the repository; conditional includes always count.

    None if they cannot be trusted: an unreadable configuration, `attr.tree`, or filters other than those of Git LFS.
    """
    files = [user.system_attributes, os.path.join(user.config_folder, "attributes")]
    fold = False
    pending = user.configs + _repository_configs(repository, StatCache())
    read: set[str] = set()
    with home_directory(user.home):
        while pending:
            config = pending.pop()
            if config in read or not os.path.isfile(config):
                continue
            read.add(config)
            settings = variables(config, user.home)
            if settings is None:
                return None
            for name, value in settings:
                if name == "attr.tree" or (name.startswith("filter.") and not name.startswith(_KNOWN_FILTER)):
                    return None
                if name == "core.attributesfile":
                    files.append(expanded(value, user.home, repository.root) or "")
                elif name == "core.ignorecase":
                    fold = fold or value == "" or is_true(value)
                elif name.startswith("includeif."):
                    pending.append(expanded(value, user.home) or os.path.join(os.path.dirname(config), value))
    return AttributeSettings(tuple(path for path in files if path), fold)


def _repository_configs(repository: Repository, stats: StatCache) -> list[str]:
    shared = repository.config_path
    own = os.fsdecode(os.path.join(repository.git_dir, b"config.worktree"))
    apart = last_value(shared, "extensions.worktreeconfig", None, stats)
    return [shared, own] if is_true(apart) else [shared]


def _read(path: str, stats: StatCache) -> bytes | None:
    stats.stat(path)
    try:
        return read_bounded(path, RULES_BYTES, cut=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        logger.warning("ignoring the user's ignore file, which cannot be read: %s", error)
        return None


def named_remotes(repository: Repository, user: GitUser) -> dict[str, str]:
    """Returns the first URL of each remote, by name; empty if the configuration cannot be read."""
    urls: dict[str, str] = {}
    for name, value in variables(repository.config_path, user.home) or ():
        remote = _URL.fullmatch(name)
        if remote is not None:
            urls.setdefault(remote[1], value)
    return urls


_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_CONTROLS = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_DEPTH = 5
_MOST = 256  # directories


def unquoted(line: bytes) -> bytes:
    """Returns the path that a line begins with, if that is quoted; else the line."""
    quoted = _QUOTED.match(line)
    return _ESCAPE.sub(_unescaped, quoted[1]) if quoted else line


def _unescaped(escape: re.Match[bytes]) -> bytes:
    text = escape[1]
    return bytes((int(text, 8) if len(text) == 3 else _CONTROLS.get(text[0], text[0]),))


def object_directories(objects: bytes) -> tuple[bytes, ...]:
    """Returns a repository's object directory and its `info/alternates`, as deep as git; without symlinks."""
    directories: dict[bytes, None] = {}
    level = [os.path.realpath(objects)]
    for _ in range(_DEPTH + 2):
        fresh = [
            directory for directory in dict.fromkeys(level) if directory not in directories and os.path.isdir(directory)
        ]
        directories.update(dict.fromkeys(fresh[: _MOST - len(directories)]))
        borrowed = (each for directory in fresh for each in _alternates(directory))
        level = list(islice(borrowed, _MOST))
    return tuple(directories)


def own_object_directories(root: bytes) -> tuple[bytes, ...]:
    """Returns `object_directories` of the repository around a canonical path, if any; raises `IoError`."""
    repository = _sha1_repository(root)
    return () if repository is None else object_directories(repository.objects)


def _sha1_repository(root: bytes) -> Repository | None:
    with os_errors(root):
        repository = find_repository(root)
    return None if repository is None or repository.hash_size != 20 else repository


def _alternates(objects: bytes) -> Iterator[bytes]:
    text = read_small(os.path.join(objects, b"info", b"alternates")) or b""
    lines = (line for line in text.split(b"\n") if line and not line.startswith(b"#") and b"\0" not in line)
    named = (resolved(os.path.join(objects, unquoted(line))) for line in islice(lines, _MOST))
    return (path for path in named if path is not None)


_PACKED = re.compile(rb"^([0-9a-f]{40}) (refs/heads/.+)$", re.MULTILINE)
_STASHED = re.compile(rb"^[0-9a-f]{40} ([0-9a-f]{40}) ", re.MULTILINE)
_ID = re.compile(rb"[0-9a-f]{40}")
_HEADS = b"refs/heads/"
_MOST_TIPS = 50  # the latest branches, and the latest stash entries


def files_of_other_branches(
    root: bytes, paths: Collection[RelPath], open_blobs: OpenBlobs
) -> Iterator[tuple[bytes | None, Mapping[RelPath, Entry]]]:
    """Yields the stash entries (name None) and branches not checked out here, with their files at some paths."""
    repository = _sha1_repository(root)
    if repository is None:
        return
    prefix = os.path.relpath(root, repository.root)
    names = {os.path.normpath(os.path.join(prefix, path)): path for path in paths}
    blobs = open_blobs(object_directories(repository.objects))
    for branch, name in _tips(repository):
        if _ID.fullmatch(name):
            files = blobs.files_at(bytes.fromhex(name.decode()), names, is_stash=branch is None)
            yield branch, {names[path]: entry for path, entry in files.items()}


def _tips(repository: Repository) -> list[tuple[bytes | None, bytes]]:
    """Returns the latest stash entries, then the last written branches, each with the id of its commit."""
    shared = repository.common_dir
    stash = _STASHED.findall(read_small(os.path.join(shared, b"logs", b"refs", b"stash")) or b"")
    packed = {name: oid for oid, name in _PACKED.findall(read_small(os.path.join(shared, b"packed-refs")) or b"")}
    heads = [os.path.join(at, name) for at, _, names in os.walk(os.path.join(shared, _HEADS)) for name in names]
    heads = sorted(heads, key=lambda path: os.lstat(path).st_mtime_ns)[-_MOST_TIPS:]
    loose = {os.path.relpath(path, shared): (read_small(path) or b"").strip() for path in heads}
    here = (read_small(os.path.join(repository.git_dir, b"HEAD")) or b"").removeprefix(b"ref:").strip()
    branches = [(name.removeprefix(_HEADS), oid) for name, oid in {**packed, **loose}.items() if name != here]
    return [*((None, oid) for oid in stash[: -_MOST_TIPS - 1 : -1]), *branches[::-1][:_MOST_TIPS]]

"""Reads the user's and the project's git configuration as data: no program that it names is run."""

from __future__ import annotations

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

from snapd.worktree.fs.stable_read import SMALL_BYTES, StatCache, read_bounded

logger = logging.getLogger(__name__)

_DEEPEST = 10  # levels of includes that libgit2 follows
_FILES = 100  # files it may be made to read, counted as often as included
_PATH = re.compile(r"(?:^|\])[ \t]*path[ \t]*=[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_ANY_INCLUDE = re.compile(rb"include", re.IGNORECASE)
_INCLUDE = re.compile(rb"include(?!if)", re.IGNORECASE)
_ACCESS = re.compile(r"credential\..*|core\.(askpass|sshcommand)|ssh\.variant", re.DOTALL)
_home_lock = threading.Lock()


@attrs.frozen
class GitUser:
    """Where the user's and the system's git configuration is; `xdg_config_home` is None if unset."""

    home: str
    xdg_config_home: str | None = None
    system_config: str = "/etc/gitconfig"
    system_attributes: str = "/etc/gitattributes"

    @property
    def config_folder(self) -> str:
        """The folder of the user's own git files."""
        return os.path.join(self.xdg_config_home or os.path.join(self.home, ".config"), "git")

    @property
    def configs(self) -> list[str]:
        """The configuration files, lowest priority first; they need not exist."""
        return [
            self.system_config,
            os.path.join(self.config_folder, "config"),
            os.path.join(self.home, ".gitconfig"),
        ]


def variables(path: str, home: str) -> list[tuple[str, str]] | None:
    """Returns the variables of a configuration file and its includes; None if one is malformed."""
    try:
        config = pygit2.Config()
        _add_file(config, path, home)
        return [(entry.name, entry.value or "") for entry in config]
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        logger.warning("the git configuration file %s cannot be read: %s", path, error)
        return None


def last_value(path: str, name: str, otherwise: str | None, stats: StatCache) -> str | None:
    """Returns a variable's last value in a file and its includes, or `otherwise` if unset or malformed."""
    status = stats.stat(path)
    # libgit2 would wait forever for a FIFO to be written to
    if status is None or not stat.S_ISREG(status.st_mode):
        return otherwise
    try:
        if _mentions_include(path):
            # only libgit2 knows which files it includes
            stats.mark_uncertain()
        config = pygit2.Config()
        _add_file(config, path, pygit2.option(Option.GET_HOMEDIR) or "")
        values = [value for value in config.get_multivar(name) if value is not None]
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        logger.warning("ignoring the git configuration file %s, which cannot be read: %s", path, error)
        stats.refused[path] = None
        return otherwise
    return values[-1] if values else otherwise


def _add_file(config: pygit2.Config, path: str, home: str) -> None:
    """Adds a file and its includes; raises `ValueError` where libgit2 would wait for a pipe or read too much."""
    if _mentions_include(path, conditional=True) and not includes_only_files(path, home):
        raise ValueError("it includes something that is not a regular file, or too much")
    config.add_file(path)


def _mentions_include(path: str, *, conditional: bool = False) -> bool:
    return (_ANY_INCLUDE if conditional else _INCLUDE).search(read_bounded(path)) is not None


def includes_only_files(path: str, home: str) -> bool:
    """Returns whether all that libgit2 would open for a configuration file is regular or missing, and not too large.

    libgit2 would wait forever for a pipe without a writer. Every key `path` counts, in any section. Raises `OSError`.
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
    """Returns a value without the quotes, backslashes and comments of git-config(1)."""
    kept: list[str] = []
    quoted, characters = False, iter(value)
    for character in characters:
        if character == '"':
            quoted = not quoted
        elif character == "\\":
            following = next(characters, "")
            kept.append(_ESCAPES.get(following, following))
        elif character in "#;" and not quoted:
            break
        else:
            kept.append(character)
    return "".join(kept).rstrip(" \t")


@contextmanager
def home_directory(home: str) -> Iterator[None]:
    """Makes `~/` in `include.path` stand for `home` instead of the home of the environment."""
    with _home_lock:
        before = pygit2.option(Option.GET_HOMEDIR)
        pygit2.option(Option.SET_HOMEDIR, home)
        try:
            yield
        finally:
            pygit2.option(Option.SET_HOMEDIR, before or "")


def is_true(value: str | None) -> bool:
    """Returns whether git reads a value as true."""
    try:
        return value is not None and pygit2.Config.parse_bool(value)
    except (pygit2.GitError, ValueError):
        return False


def expanded(value: str, home: str, base: bytes | None = None) -> str | None:
    """Returns the path of a value, with `home` for `~`, and below `base` if relative; None if it is none."""
    if value.startswith("~"):
        user, _, rest = value[1:].partition("/")
        folder = _home_of(user) if user else home
        return folder and os.path.join(folder, rest)
    if os.path.isabs(value):
        return value
    return os.path.join(os.fsdecode(base), value) if value and base else None


def _home_of(user: str) -> str | None:
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        logger.warning("core.excludesFile names the home of %s, an unknown user: check its spelling", user)
        return None


def access_settings(user: GitUser) -> list[tuple[str, str]]:
    """Returns the variables for authenticating at other machines, in order; not the project's, which is untrusted."""
    return [(name, value) for name, value in _personal_variables(user) if _ACCESS.fullmatch(name)]


def _personal_variables(user: GitUser) -> Iterator[tuple[str, str]]:
    for path in user.configs:
        if os.path.exists(path):
            yield from variables(path, user.home) or ()


@attrs.frozen
class SigningSettings:
    """The user's and the system's git settings for ssh signatures; None for what is not set."""

    format: str | None = None  # `gpg.format`; None means OpenPGP
    key: str | None = None  # `user.signingKey`: a public key, or the path of a file
    program: str | None = None  # `gpg.ssh.program`; None means `ssh-keygen`
    allowed_signers: str | None = None  # the file with trusted keys, absolute
    revoked: str | None = None  # the file with revoked keys, absolute


def signing_settings(user: GitUser) -> SigningSettings:
    """Returns the settings, without the project's; relative file names count as unset: they are the project's."""
    values = dict(_personal_variables(user))

    def file(name: str) -> str | None:
        return expanded(values.get(name, ""), user.home) or None

    program = values.get("gpg.ssh.program") or None
    return SigningSettings(
        values.get("gpg.format"),
        values.get("user.signingkey") or None,
        expanded(program, user.home) if program and "/" in program else program,
        file("gpg.ssh.allowedsignersfile"),
        file("gpg.ssh.revocationfile"),
    )

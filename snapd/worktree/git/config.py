"""Checks that a git configuration only includes files: libgit2 waits forever for a pipe that nobody writes to."""

from __future__ import annotations

import os
import re
import stat

from snapd.worktree.fs.stable_read import regular

_DEEPEST = 10
"""How deep libgit2 follows includes in included files."""
_PATH = re.compile(r"(?:^|\])[ \t]*path[ \t]*=[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def includes_only_files(path: str, home: str) -> bool:
    """Whether everything that libgit2 opens for a configuration file is a regular file, or missing.

    Every key `path` counts, in any section: one too many does no harm.

    Args:
        path: the file.
        home: what `~/` stands for.

    Raises:
        OSError: a file cannot be read.
    """
    seen: set[str] = set()
    pending = [(path, 0)]
    while pending:
        config, depth = pending.pop()
        try:
            mode = os.stat(config).st_mode
        except (OSError, ValueError):
            # libgit2 ignores missing files
            continue
        if not stat.S_ISREG(mode):
            return False
        if config in seen or depth > _DEEPEST:
            continue
        seen.add(config)
        with open(config, "rb", opener=regular) as file:
            text = os.fsdecode(file.read()).replace("\r\n", "\n").replace("\\\n", "")
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

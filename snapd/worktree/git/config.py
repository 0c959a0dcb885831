"""Checks that a git configuration includes only files, and few bytes.

libgit2 waits forever for a pipe that nobody writes to, and reads a file as often as others include it.
"""

from __future__ import annotations

import os
import re
import stat

from snapd.worktree.fs.stable_read import SMALL_BYTES, read_bounded

_DEEPEST = 10
"""How deep libgit2 follows includes in included files."""
_FILES = 100
"""The most files that it may be made to read, each as often as it is included."""
_PATH = re.compile(r"(?:^|\])[ \t]*path[ \t]*=[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def includes_only_files(path: str, home: str) -> bool:
    """Whether all that libgit2 opens for a configuration file is regular files, or missing, and not too much of it.

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

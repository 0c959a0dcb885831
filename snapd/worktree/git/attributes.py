"""Finds the paths that git's attributes may have converted without changing the size.

Conversions of line ends only ever take bytes away on the way into the repository, and add them on the way out. A
filter, another encoding and `$Id$` keywords (a checkout may put one name of an object in place of another) can leave
the size as it is. The answers err on the side of "may": a line that unsets an attribute is ignored.
See gitattributes(5).
"""

from __future__ import annotations

import re
from collections import defaultdict

from snapd.core.rules.ignore import RULES_BYTES, IgnoreFile

ATTRIBUTES_BYTES = RULES_BYTES
"""Below a larger attribute file no entry is trusted. Git ignores one over 100 MB."""
_UNSEEN = (b"filter", b"working-tree-encoding", b"ident")
_MACRO = b"[attr]"
_BLANK = re.compile(rb"[ \t\r]+")


class Conversions:
    """Gathers the lines of attribute files that may set a conversion that keeps the size.

    Each line is looked at once, and once more when an attribute that it sets turns out to be a macro that sets one.

    Args:
        fold: whether git ignores case in names here (`core.ignoreCase`).
    """

    def __init__(self, fold: bool) -> None:
        self._fold = fold
        self._names = set(_UNSEEN)
        self._seen: set[tuple[bytes, bytes]] = set()
        self._waiting: dict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
        self._files: dict[bytes, list[IgnoreFile]] = {}
        self._whole: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._files or self._whole)

    def add(self, text: bytes, base: bytes) -> None:
        """Takes in an attribute file.

        Args:
            text: its bytes.
            base: the directory that its patterns are rooted in, relative to the repository; b"" for its root.
        """
        if len(text) > ATTRIBUTES_BYTES:
            self.add_all(base)
        if (text, base) in self._seen or base in self._whole:
            return
        self._seen.add((text, base))
        in_force: dict[bytes, dict[bytes, None]] = defaultdict(dict)
        for pattern, *words in _lines(text):
            # a blank may stand before the name of a macro
            first, *rest = words if pattern == _MACRO and words else (pattern, *words)
            name = first if pattern != _MACRO else _MACRO + first
            # a quoted pattern may have blanks, so what looks like attributes may be part of it
            for attribute in {word.partition(b"=")[0] for word in rest}:
                if attribute in self._names:
                    self._set(name, base, in_force)
                    break
                self._waiting[attribute].append((name, base))
        for each, patterns in in_force.items():
            self._gather(list(patterns), each)

    def add_all(self, base: bytes) -> None:
        """Treats everything below a directory as converted: its attributes cannot be read."""
        self._whole.add(base)

    def may_convert(self, path: bytes) -> bool:
        """Whether a file may have been converted.

        Args:
            path: of the file, relative to the repository.
        """
        above = path
        while above:
            above = above.rpartition(b"/")[0]
            if above in self._whole or any(file.match(path, False) for file in self._files.get(above, ())):
                return True
        return False

    def _set(self, name: bytes, base: bytes, in_force: dict[bytes, dict[bytes, None]]) -> None:
        """Notes a pattern that sets a conversion; or a macro, with the lines that use it."""
        pending = [(name, base)]
        while pending:
            name, base = pending.pop()
            if name.startswith(_MACRO):
                macro = name.removeprefix(_MACRO)
                self._names.add(macro)
                pending += self._waiting.pop(macro, ())
            else:
                in_force[base][name] = None

    def _gather(self, patterns: list[bytes], base: bytes) -> None:
        file = IgnoreFile.parse(b"\n".join(patterns), base)
        if self._fold or file.unreadable or any(pattern.startswith((b'"', b"!")) for pattern in patterns):
            self.add_all(base)
        else:
            self._files.setdefault(base, []).append(file)


def _lines(text: bytes) -> list[list[bytes]]:
    lines = (line.partition(b"\0")[0].strip(b" \t\r") for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return [_BLANK.split(line) for line in lines if line and not line.startswith(b"#")]

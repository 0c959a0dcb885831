"""Finds the paths that git's attributes may have converted without changing the size.

Conversions of line ends only ever take bytes away on the way into the repository, and add them on the way out. A
filter, another encoding and `$Id$` keywords (a checkout may put one name of an object in place of another) can leave
the size as it is. The answers err on the side of "may": a line that unsets an attribute is ignored.
See gitattributes(5).
"""

from __future__ import annotations

import re

from snapd.core.rules.ignore import IgnoreFile

_UNSEEN = frozenset((b"filter", b"working-tree-encoding", b"ident"))
_MACRO = b"[attr]"
_BLANK = re.compile(rb"[ \t\r]+")


class Conversions:
    """Gathers the lines of attribute files that may set a conversion that keeps the size.

    Args:
        fold: whether git ignores case in names here (`core.ignoreCase`).
    """

    def __init__(self, fold: bool) -> None:
        self._fold = fold
        self._names = set(_UNSEEN)
        self._texts: dict[tuple[bytes, bytes], None] = {}
        self._files: list[IgnoreFile] = []
        self._whole: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._files or self._whole)

    def add(self, text: bytes, base: bytes) -> None:
        """Takes in an attribute file.

        Args:
            text: its bytes.
            base: the directory that its patterns are rooted in, relative to the repository; b"" for its root.
        """
        if (text, base) in self._texts:
            return
        self._texts[text, base] = None
        if self._define(text):
            # a new macro gives a meaning to lines that were ignored
            self._files.clear()
            for known, known_base in self._texts:
                self._gather(known, known_base)
        else:
            self._gather(text, base)

    def add_all(self, base: bytes) -> None:
        """Treats everything below a directory as converted: its attributes cannot be read."""
        self._whole.append(base + b"/" if base else b"")

    def may_convert(self, path: bytes) -> bool:
        """Whether a file may have been converted.

        Args:
            path: of the file, relative to the repository.
        """
        if any(path.startswith(front) for front in self._whole):
            return True
        return any(file.match(path, False) for file in self._files)

    def _define(self, text: bytes) -> bool:
        """Learns the macros that set a conversion; returns whether there is a new one."""
        before = len(self._names)
        macros = [words for words in _lines(text) if words[0].startswith(_MACRO)] if _MACRO in text else []
        for _ in macros:
            for words in macros:
                # a blank may stand before the name
                name, *rest = words if words[0] != _MACRO else words[1:] or words
                if self._sets(rest):
                    self._names.add(name.removeprefix(_MACRO))
        return len(self._names) > before

    def _sets(self, words: list[bytes]) -> bool:
        return any(word.partition(b"=")[0] in self._names for word in words)

    def _gather(self, text: bytes, base: bytes) -> None:
        if not any(name in text for name in self._names):
            return
        patterns = []
        for pattern, *words in _lines(text):
            if pattern.startswith(_MACRO):
                continue
            # a quoted pattern may have blanks, so what looks like attributes may be part of it
            if not self._sets(words):
                continue
            if self._fold or pattern.startswith((b'"', b"!")):
                self.add_all(base)
            else:
                patterns.append(pattern)
        if patterns:
            self._files.append(IgnoreFile.parse(b"\n".join(patterns), base))


def _lines(text: bytes) -> list[list[bytes]]:
    lines = (line.partition(b"\0")[0].strip(b" \t\r") for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return [_BLANK.split(line) for line in lines if line and not line.startswith(b"#")]

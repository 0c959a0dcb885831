"""Converts the bytes of files to those of their blobs, as `git add` does.

`git hash-object` converts line ends, encodings, keywords and filters. But unlike `git add`, it does not look at the
index, where CRLF keeps git from converting a file whose line ends it detects.
"""

from __future__ import annotations

import os
import tempfile
from functools import cached_property
from typing import TYPE_CHECKING

from snapd.model.paths import parents

from .index import blobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .index import Index
    from .repository import Repository

_ASKED = ("text", "crlf", "eol", "filter", "ident", "working-tree-encoding", "merge")
_NONE = frozenset({"unspecified", "unset"})
_MERGED_BY_LINES = frozenset({"unspecified", "set", "text", "union"})
_ATTRIBUTES = b".gitattributes"
_AT_ONCE = 200
"""How many paths one command gets as arguments."""


class CannotCleanError(Exception):
    """Only `git add` can determine the blob of a file, for the reason given."""

    def __init__(self, path: bytes, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


class Cleaner:
    """Converts files of a repository; reads the attributes of `paths` first. Raises `GitFailed` if git cannot."""

    def __init__(self, repository: Repository, index: Index, paths: Iterable[bytes]) -> None:
        self._repository = repository
        self._index = index
        self._attributes: dict[bytes, dict[str, str]] = {}
        data = b"".join(path + b"\0" for path in paths)
        text = repository.ask("check-attr", "-z", "--stdin", *_ASKED, data=data).split(b"\0")[:-1] if data else []
        for path, name, value in zip(text[::3], text[1::3], text[2::3], strict=True):
            self._attributes.setdefault(path, {})[name.decode()] = value.decode("utf-8", "replace")
        self._detects = repository.setting("core.autocrlf").lower() in ("true", "yes", "on", "1", "input")

    def merges_lines(self, path: bytes) -> bool:
        """Returns whether two changes of a file may be merged line by line; not if git merges it differently."""
        return self._attributes[path]["merge"] in _MERGED_BY_LINES

    def clean(self, files: Sequence[tuple[bytes, bytes, bytes]]) -> list[bytes]:
        """Returns the bytes of the blobs of files.

        Each file is its path, its path in the index, and its bytes; symlinks are not allowed. Raises `CannotCleanError`
        if that needs the file in the work tree, and `GitFailed` if git cannot convert a file.
        """
        has_returns = any(b"\r" in data and self._line_ends(path) == "auto" for path, _, data in files)
        crlf = self._with_crlf if has_returns else frozenset[bytes]()
        converted: dict[tuple[bytes, bytes], bytes] = {}
        for path, place, data in files:
            if self._converts(path, data, keeps=place in crlf):
                if place in crlf and self._line_ends(path) == "auto":
                    raise CannotCleanError(path, "conversions")
                converted[path, data] = data
        if converted:
            self._check_attributes({path for path, _ in converted})
            converted = self._by_git(list(converted))
        return [converted.get((path, data), data) for path, _, data in files]

    def _by_git(self, files: Sequence[tuple[bytes, bytes]]) -> dict[tuple[bytes, bytes], bytes]:
        repository = self._repository
        with tempfile.TemporaryDirectory(prefix="snapd-stage-") as folder:
            # intermediate objects must not be added to the repository
            apart = {
                "GIT_OBJECT_DIRECTORY": folder,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(repository.objects),
            }
            oids = []
            for path, data in files:
                words = ("hash-object", "-w", "--stdin", b"--path=" + path)
                oids.append(repository.ask(*words, data=data, variables=apart).decode("ascii").strip())
            result = blobs(repository, oids, apart)
        return {file: result[oid] for file, oid in zip(files, oids, strict=True)}

    def _converts(self, path: bytes, data: bytes, *, keeps: bool) -> bool:
        """Returns whether git may convert these bytes; `keeps` is whether detected line ends stay as they are."""
        attributes = self._attributes[path]
        if attributes["filter"] not in _NONE | {"set"} or attributes["working-tree-encoding"] not in _NONE | {"set"}:
            return True
        if attributes["ident"] == "set" and b"$Id" in data:
            return True
        ends = self._line_ends(path)
        return b"\r" in data and (ends == "always" or (ends == "auto" and not keeps))

    def _line_ends(self, path: bytes) -> str:
        """Returns when git converts the line ends of a file: "always", "auto" (if it looks like text), "never"."""
        attributes = self._attributes[path]
        text = attributes["text"] if attributes["text"] != "unspecified" else attributes["crlf"]
        if text == "unset":
            return "never"
        if text in ("set", "input"):
            return "always"
        if text == "auto":
            return "auto"
        if attributes["eol"] in ("lf", "crlf"):
            return "always"
        return "auto" if self._detects else "never"

    @cached_property
    def _with_crlf(self) -> frozenset[bytes]:
        """Returns the files that have CRLF in the index."""
        asked = sorted(path for path in self._attributes if path in self._index.files)
        matches = set()
        for at in range(0, len(asked), _AT_ONCE):
            output = self._repository.ask(
                "--literal-pathspecs", "ls-files", "-z", "--eol", "--", *asked[at : at + _AT_ONCE]
            )
            for line in output.split(b"\0")[:-1]:
                ends, _, path = line.partition(b"\t")
                if ends.startswith((b"i/crlf", b"i/mixed")):
                    matches.add(path)
        return frozenset(matches)

    def _check_attributes(self, paths: Iterable[bytes]) -> None:
        """Raises `CannotCleanError` if attributes are only in the index, where `git hash-object` does not look."""
        for path in sorted(paths):
            for above in (b"", *parents(path)):
                name = os.path.join(above, _ATTRIBUTES)
                if name in self._index.files and not os.path.lexists(os.path.join(self._repository.top, name)):
                    raise CannotCleanError(path, "attributes")

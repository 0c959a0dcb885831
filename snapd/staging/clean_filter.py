"""Turns the bytes of files into those of blobs, as `git add` does.

Line ends, encodings, keywords and filters are git's own work: `git hash-object` does it. But that does not look at the
index, where `git add` does: a file whose line ends git detects keeps its CRLF if it has them there already.
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
    """Nobody but `git add` knows the bytes of the blob of a file, and why."""

    def __init__(self, path: bytes, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


class Cleaner:
    """Knows the attributes of files.

    Args:
        repository: with the files.
        index: as it is.
        paths: the files that will be asked for, relative to the root of the work tree.

    Raises:
        GitFailed: git cannot tell.
    """

    def __init__(self, repository: Repository, index: Index, paths: Iterable[bytes]) -> None:
        self._repository = repository
        self._index = index
        self._attributes: dict[bytes, dict[str, str]] = {}
        data = b"".join(path + b"\0" for path in paths)
        told = repository.ask("check-attr", "-z", "--stdin", *_ASKED, data=data).split(b"\0")[:-1] if data else []
        for path, name, value in zip(told[::3], told[1::3], told[2::3], strict=True):
            self._attributes.setdefault(path, {})[name.decode()] = value.decode("utf-8", "replace")
        self._detects = repository.setting("core.autocrlf").lower() in ("true", "yes", "on", "1", "input")

    def merges_lines(self, path: bytes) -> bool:
        """Whether two changes of a file may be merged line by line; not if git merges it in another way."""
        return self._attributes[path]["merge"] in _MERGED_BY_LINES

    def clean(self, files: Sequence[tuple[bytes, bytes, bytes]]) -> list[bytes]:
        """The bytes of the blobs that git would make of files.

        Args:
            files: for each its path, the path that the index has it under, and its bytes. Symlinks are not among them.

        Raises:
            CannotCleanError: only git itself can do it, with the file in the work tree.
            GitFailed: git cannot convert a file.
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
            # what is only an intermediate does not become an object of the repository
            apart = {
                "GIT_OBJECT_DIRECTORY": folder,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(repository.objects),
            }
            oids = []
            for path, data in files:
                words = ("hash-object", "-w", "--stdin", b"--path=" + path)
                oids.append(repository.ask(*words, data=data, variables=apart).decode("ascii").strip())
            found = blobs(repository, oids, apart)
        return {file: found[oid] for file, oid in zip(files, oids, strict=True)}

    def _converts(self, path: bytes, data: bytes, *, keeps: bool) -> bool:
        """Whether git may make other bytes of these.

        Args:
            path: of the file.
            data: its bytes.
            keeps: whether line ends that git detects stay as they are.
        """
        attributes = self._attributes[path]
        if attributes["filter"] not in _NONE | {"set"} or attributes["working-tree-encoding"] not in _NONE | {"set"}:
            return True
        if attributes["ident"] == "set" and b"$Id" in data:
            return True
        ends = self._line_ends(path)
        return b"\r" in data and (ends == "always" or (ends == "auto" and not keeps))

    def _line_ends(self, path: bytes) -> str:
        """Whether git converts the line ends of a file: "always", "auto" (if it looks like text), "never"."""
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
        """Those of the files that the index has with CRLF in them."""
        asked = sorted(path for path in self._attributes if path in self._index.files)
        found = set()
        for at in range(0, len(asked), _AT_ONCE):
            told = self._repository.ask(
                "--literal-pathspecs", "ls-files", "-z", "--eol", "--", *asked[at : at + _AT_ONCE]
            )
            for line in told.split(b"\0")[:-1]:
                ends, _, path = line.partition(b"\t")
                if ends.startswith((b"i/crlf", b"i/mixed")):
                    found.add(path)
        return frozenset(found)

    def _check_attributes(self, paths: Iterable[bytes]) -> None:
        """Makes sure that no attributes are in the index alone, where `git hash-object` does not look."""
        for path in sorted(paths):
            for above in (b"", *parents(path)):
                name = os.path.join(above, _ATTRIBUTES)
                if name in self._index.files and not os.path.lexists(os.path.join(self._repository.top, name)):
                    raise CannotCleanError(path, "attributes")

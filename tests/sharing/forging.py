"""Forges sessions in a bare repository, without git or snapd looking at what is written."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pygit2

from snapd.model.errors import SnapdError
from snapd.sharing.formats import SIGNATURES
from snapd.store.timeline.chain import pins
from snapd.store.timeline.codec import decode_event
from tests.support.git import run_git

_COMMIT = re.compile(
    rb"tree (?P<tree>[0-9a-f]{40})\n(?:parent [0-9a-f]{40}\n)?(?P<who>author [^\n]*\ncommitter [^\n]*\n)\n"
    rb"(?P<name>\w+)\n\n(?P<payload>[^\n]*)\n"
)
_NOWHERE = bytes(20)


@attrs.define
class Commit:
    """An event as a commit, to be changed.

    Attributes:
        tree: of the commit.
        who: the lines of author and committer, and any other ones.
        name: of the type of the event.
        payload: its JSON.
        parents: other ones than the event before; None for that.
    """

    tree: bytes
    who: bytes
    name: bytes
    payload: bytes
    parents: Sequence[bytes] | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The JSON, read."""
        found: dict[str, Any] = json.loads(self.payload)
        return found

    def say(self, document: object) -> None:
        """Puts other JSON in place of its own."""
        self.payload = json.dumps(document, separators=(",", ":")).encode()

    def change(self, name: str, value: object) -> None:
        """Puts another value into a field of the JSON, named by a path with dots."""
        document: Any = self.document
        *above, last = name.split(".")
        place = document
        for part in above:
            place = place[part]
        place[last] = value
        self.say(document)

    def encode(self, parent: bytes | None) -> bytes:
        """The bytes."""
        parents = self.parents if self.parents is not None else [parent] if parent is not None else []
        lines = b"".join(b"parent %s\n" % each.hex().encode() for each in parents)
        return b"tree %s\n%s%s\n%s\n\n%s\n" % (self.tree.hex().encode(), lines, self.who, self.name, self.payload)


class Forge:
    """The sessions of a bare repository, to be changed.

    Args:
        path: where it lies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._odb = pygit2.Repository(str(path)).odb

    @property
    def references(self) -> list[str]:
        """The names of the sessions."""
        names = run_git(self.path, "for-each-ref", "--format=%(refname)", "refs/snapd").decode().split()
        return [name for name in names if not name.startswith(SIGNATURES)]

    def write(self, kind: int, data: bytes) -> bytes:
        """Writes an object, whatever is in it; gives its id."""
        return bytes(self._odb.write(kind, data).raw)

    def blob(self, data: bytes) -> bytes:
        """Writes a file."""
        return self.write(pygit2.enums.ObjectType.BLOB, data)

    def tree(self, *entries: tuple[bytes, bytes, bytes]) -> bytes:
        """Writes a directory: mode, name and id of each entry, in this order."""
        return self.write(pygit2.enums.ObjectType.TREE, b"".join(b"%s %s\0%s" % entry for entry in entries))

    def commits(self, name: str) -> list[Commit]:
        """The events of a session, oldest first."""
        found = []
        for oid in run_git(self.path, "rev-list", "--reverse", name).decode().split():
            data = run_git(self.path, "cat-file", "commit", oid)
            parsed = _COMMIT.fullmatch(data)
            assert parsed is not None
            tree = bytes.fromhex(parsed["tree"].decode())
            found.append(Commit(tree, parsed["who"], parsed["name"], parsed["payload"]))
        return found

    def keep(self, commit: Commit) -> None:
        """Has the tree of a commit keep what its event names, as it should, if that can be read."""
        event, _ = decode_event(commit.payload.decode(), _NOWHERE)
        kept = pins(event)
        for data in kept.trees.values():
            self.write(pygit2.enums.ObjectType.TREE, data)
        commit.tree = kept.tree

    def put(self, name: str, commits: Sequence[Commit]) -> bytes:
        """Has a reference name these events; gives the newest."""
        head: bytes | None = None
        for commit in commits:
            head = self.write(pygit2.enums.ObjectType.COMMIT, commit.encode(head))
        assert head is not None
        self.name(name, head)
        return head

    def name(self, name: str | bytes, target: bytes) -> None:
        """Makes a reference, without looking at what it names or whether it may have that name."""
        path = os.path.join(os.fsencode(self.path), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(target.hex().encode() + b"\n")

    def with_tree(self, name: str, tree: bytes) -> None:
        """Has the newest event with a folder say that the folder was another one."""
        commits = self.commits(name)
        commit = next(commit for commit in reversed(commits) if commit.document["head"] is not None)
        commit.change("head", [tree.hex(), commit.document["head"][1]])
        self.keep(commit)
        self.put(name, commits)

    def with_coverage(self, name: str, data: bytes) -> None:
        """Has the newest event with a folder name another list of what is not in its tree."""
        commits = self.commits(name)
        commit = next(commit for commit in reversed(commits) if commit.document["head"] is not None)
        commit.change("head", [commit.document["head"][0], self.blob(data).hex()])
        self.keep(commit)
        self.put(name, commits)

    def changed(self, name: str, kind: str, change: Callable[[Commit], object]) -> None:
        """Changes the newest event of a kind, and has its commit keep what it names if that can be read."""
        commits = self.commits(name)
        commit = next(commit for commit in reversed(commits) if commit.name == kind.encode())
        change(commit)
        with contextlib.suppress(SnapdError):
            # what cannot be read is the point
            self.keep(commit)
        self.put(name, commits)

"""Many sessions of many machines at one remote, made at once: what a year of pushes leaves there, in a minute.

They are sessions as any other: each was made by the code that makes the copies that are pushed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import attrs

from snapd.model.snapshot import EMPTY_TREE, REGULAR, TREE, Coverage, TreeEntry
from snapd.model.timeline import Event, SessionEnded, SessionStarted, Span, StepBegun, StepEnded
from snapd.sharing.outgoing import OutgoingRepository
from snapd.store.objects.codec import encode_tree, object_id
from snapd.store.objects.pack_entry import pack_object
from snapd.store.objects.pack_writer import PackWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from snapd.model.snapshot import ObjectId
    from snapd.store.objects.codec import ObjectKind

DAY = 86_400_000
"""Milliseconds."""
_DIRECTORIES = 10
_FILES = 16


@attrs.frozen
class Member:
    """A session of the crowd.

    Attributes:
        number: of the session.
        host: the machine that pushes it.
        began: milliseconds since 1970.
        is_ended: whether its agent is done.
    """

    number: int
    host: str
    began: int
    is_ended: bool = True

    @property
    def session_id(self) -> str:
        """Its name."""
        return f"session-{self.number:08d}"

    @property
    def step_id(self) -> str:
        """The name of its only step."""
        return object_id("blob", b"step %d" % self.number).hex()[:16]


class Project:
    """A small project: ten directories of 16 files each, with a commit."""

    def __init__(self) -> None:
        # the first event of a session keeps nothing; git itself sends its empty tree along
        self.objects: dict[ObjectId, tuple[ObjectKind, bytes]] = {EMPTY_TREE: ("tree", b"")}
        self._directories: list[list[TreeEntry]] = []
        for directory in range(_DIRECTORIES):
            entries = [
                TreeEntry(b"f%02d.txt" % at, REGULAR, self._add("blob", _text(directory, at))) for at in range(_FILES)
            ]
            self._directories.append(entries)
            self._add("tree", encode_tree(entries))
        self._top = [
            TreeEntry(b"d%02d" % at, TREE, object_id("tree", encode_tree(entries)))
            for at, entries in enumerate(self._directories)
        ]
        self.tree = self._add("tree", encode_tree(self._top))
        who = "A <a@example.com> 1700000000 +0000"
        self.commit = self._add("commit", f"tree {self.tree.hex()}\nauthor {who}\ncommitter {who}\n\none\n".encode())

    def changed(self, number: int) -> tuple[ObjectId, dict[ObjectId, tuple[ObjectKind, bytes]]]:
        """The tree after a line was added to one file, and the objects that are new in it."""
        directory, at = number % _DIRECTORIES, number // _DIRECTORIES % _FILES
        text = _text(directory, at) + b"line of session %d\n" % number
        entries = list(self._directories[directory])
        entries[at] = TreeEntry(entries[at].name, REGULAR, object_id("blob", text))
        below = encode_tree(entries)
        top = list(self._top)
        top[directory] = TreeEntry(top[directory].name, TREE, object_id("tree", below))
        whole = encode_tree(top)
        new: dict[ObjectId, tuple[ObjectKind, bytes]] = {entries[at].oid: ("blob", text)}
        new |= {object_id("tree", data): ("tree", data) for data in (below, whole)}
        return object_id("tree", whole), new

    def _add(self, kind: ObjectKind, data: bytes) -> ObjectId:
        oid = object_id(kind, data)
        self.objects[oid] = (kind, data)
        return oid


def create_remote(remote: str, project: Project) -> None:
    """Makes a bare repository with the commit of the project as its branch `main`."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", remote], check=True)
    writer = PackWriter(os.path.join(remote, "objects", "pack"))
    for oid, (kind, data) in project.objects.items():
        writer.add(oid, pack_object(kind, data))
    writer.finish()
    _set_references(remote, {"refs/heads/main": project.commit})


def populate(remote: str, project: Project, members: Iterable[Member]) -> int:
    """Adds sessions to a remote, as if each had been pushed.

    Args:
        remote: a bare repository that `found` made; nobody else uses it.
        project: that it has.
        members: the sessions.

    Returns:
        How many there are.
    """
    by_host: dict[str, list[Member]] = {}
    for member in members:
        by_host.setdefault(member.host, []).append(member)
    heads: dict[str, ObjectId] = {}
    target = os.path.join(remote, "objects", "pack")
    writer = PackWriter(target)
    written: set[ObjectId] = set()
    try:
        for host, some in by_host.items():
            with OutgoingRepository([os.path.join(remote, "objects")], host) as outgoing:
                for member in some:
                    tree, new = project.changed(member.number)
                    for oid, (kind, data) in new.items():
                        if oid not in written:
                            written.add(oid)
                            writer.add(oid, pack_object(kind, data))
                    outgoing.add_session(member.session_id, _events(outgoing, project.tree, tree, member))
                outgoing.finish()
                _move_packs(outgoing.path, target)
                heads |= outgoing.heads
        writer.finish()
    finally:
        writer.discard()
    _set_references(remote, heads)
    return len(heads)


def _events(outgoing: OutgoingRepository, before: ObjectId, after: ObjectId, member: Member) -> Iterator[Event]:
    first, second = (outgoing.snapshot(tree, Coverage()) for tree in (before, after))
    session, step, began = member.session_id, member.step_id, member.began
    yield Event(1, began, None, None, SessionStarted(session, "agent", f"Task {member.number}"))
    yield Event(2, began, first, None, StepBegun(step, session, 0, None, None, None, "Edit", "add a line"))
    span = Span(first, second, (step,))
    yield Event(3, began + 5000, second, span, StepEnded(step, None, changed=True, spoken_for=True))
    if member.is_ended:
        yield Event(4, began + 9000, second, None, SessionEnded(session))


def _text(directory: int, at: int) -> bytes:
    return b"".join(b"%d %d %d\n" % (directory, at, line) for line in range(60))


def _move_packs(source: str, target: str) -> None:
    directory = os.path.join(source, "objects", "pack")
    # the index last: without it, git does not see the pack
    for name in sorted(os.listdir(directory), reverse=True):
        shutil.move(os.path.join(directory, name), os.path.join(target, name))


def _set_references(remote: str, heads: Mapping[str, ObjectId]) -> None:
    # as a host that packs them now and then has them; `update-ref` would sync each by itself
    listed = subprocess.run(
        ["git", "-C", remote, "for-each-ref", "--format=%(refname) %(objectname)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    pairs = (line.split(" ") for line in listed.splitlines())
    merged = {**dict(pairs), **{name: head.hex() for name, head in heads.items()}}
    with open(os.path.join(remote, "packed-refs"), "w", encoding="ascii") as file:
        file.writelines(f"{head} {name}\n" for name, head in sorted(merged.items()))

"""The commit of a handover: the folder as its tree, the record as its message, and the events before it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import StoreCorrupt
from snapd.core.model import REGULAR, TREE, TreeEntry
from snapd.core.timeline.handover import Handover, Taken
from snapd.core.timeline.model import SnapshotId
from snapd.store.objects.codec import encode_commit, encode_tree, object_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from snapd.core.model import ObjectId

HANDOVERS = "refs/snapd/handovers/"

_COMMIT = re.compile(
    r"tree (?P<tree>[0-9a-f]{40})\n(?:parent (?P<parent>[0-9a-f]{40})\n)?"
    r"author [^\n]*\ncommitter [^\n]*\n\nhandover\n\n(?P<payload>[^\n]*)\n"
)
_FOLDER, _COVERAGE, _COMMITTED = b"folder", b"folder.coverage", b"committed"


@attrs.frozen
class HandoverCommit:
    """A handover as git has it.

    Attributes:
        handover: the record.
        tree: of the commit.
        events: the newest commit of the events; None if there are none.
    """

    handover: Handover
    tree: ObjectId
    events: ObjectId | None


def tree_of(handover: Handover) -> tuple[ObjectId, bytes]:
    """The tree that keeps the objects of a handover: its id and its bytes."""
    entries = [
        TreeEntry(_FOLDER, TREE, handover.folder.tree),
        TreeEntry(_COVERAGE, REGULAR, handover.folder.coverage),
    ]
    if handover.committed is not None:
        entries.append(TreeEntry(_COMMITTED, TREE, handover.committed))
    data = encode_tree(entries)
    return object_id("tree", data), data


def encode(handover: Handover, events: ObjectId | None, host: str) -> bytes:
    """The bytes of the commit of a handover; `host` is the machine that makes the commit."""
    document = {
        "version": 1,
        "id": handover.handover_id,
        "name": handover.name,
        "host": handover.host,
        "milliseconds": handover.milliseconds,
        "sessions": handover.sessions,
        "commits": [commit.hex() for commit in handover.commits],
        "since": handover.since,
        "kept": [path.decode("utf-8", "surrogateescape") for path in handover.kept],
        "taken": [[taken.host, taken.milliseconds] for taken in handover.taken],
    }
    seconds = (handover.taken[-1].milliseconds if handover.taken else handover.milliseconds) // 1000
    payload = json.dumps(document, separators=(",", ":"))
    return encode_commit(tree_of(handover)[0], events, seconds, f"handover\n\n{payload}", host)


def original(found: HandoverCommit, host: str) -> ObjectId:
    """The commit of a handover as a machine made it, before others noted in it that they took it over."""
    return object_id("commit", encode(attrs.evolve(found.handover, taken=()), found.events, host))


def decode(commit: ObjectId, data: bytes, read_tree: Callable[[ObjectId], Iterable[TreeEntry]]) -> HandoverCommit:
    """The handover in a commit.

    Args:
        commit: its id.
        data: its bytes.
        read_tree: gives the entries of a tree.

    Raises:
        StoreCorrupt: it is none.
    """
    found = _COMMIT.fullmatch(data.decode("ascii", "replace"))
    if found is None:
        raise StoreCorrupt(f"commit {commit.hex()} is not a handover of snapd", object=commit.hex())
    tree = bytes.fromhex(found["tree"])
    entries = {entry.name: entry.oid for entry in read_tree(tree)}
    try:
        document: dict[str, Any] = json.loads(found["payload"])
        if document["version"] != 1:
            raise ValueError(f"version {document['version']}")
        handover = Handover(
            _text(document["id"]),
            _text(document["name"]),
            _text(document["host"]),
            int(document["milliseconds"]),
            tuple(map(_text, document["sessions"])),
            SnapshotId(entries[_FOLDER], entries[_COVERAGE]),
            tuple(map(bytes.fromhex, document["commits"])),
            entries.get(_COMMITTED),
            tuple(map(_text, document["since"])),
            tuple(path.encode("utf-8", "surrogateescape") for path in document["kept"]),
            tuple(Taken(_text(host), int(milliseconds)) for host, milliseconds in document["taken"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise StoreCorrupt(f"commit {commit.hex()} is not a handover of this version", object=commit.hex()) from error
    parent = found["parent"]
    return HandoverCommit(handover, tree, None if parent is None else bytes.fromhex(parent))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value

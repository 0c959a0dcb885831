"""The formats of what travels beside the events of sessions: handovers and signatures.

The commit of a handover has the folder as its tree, the record as its message, and the events before it.

The signature of a session or a handover is an annotated tag, signed as git signs one with an ssh key.
`refs/snapd/signatures/sessions/<name>` names the tag for `refs/snapd/sessions/<name>`. The events themselves stay as
they are, so the same events make the same commits, signed or not, and whoever does not know of signatures never sees
one. `git verify-tag` checks it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import Any

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.handover import Handover, TakeoverRecord
from snapd.model.snapshot import REGULAR, TREE, ObjectId, TreeEntry
from snapd.model.timeline import SnapshotId
from snapd.model.trees import ReadTree
from snapd.store.objects.codec import encode_commit, encode_tree, object_id

HANDOVERS = "refs/snapd/handovers/"

_COMMIT = re.compile(
    r"tree (?P<tree>[0-9a-f]{40})\n(?:parent (?P<parent>[0-9a-f]{40})\n)?"
    r"author [^\n]*\ncommitter [^\n]*\n\nhandover\n\n(?P<payload>[^\n]*)\n"
)
_FOLDER, _COVERAGE, _COMMITTED = b"folder", b"folder.coverage", b"committed"

SIGNATURES = "refs/snapd/signatures/"
MOST_BYTES = 1 << 16
"""The size of a tag, at most: the largest keys and certificates make a few thousand bytes."""

NAMESPACE = "git"
"""What git signs, to ssh-keygen."""

_OURS = "refs/snapd/"
_SAID = "Signed for whoever fetches it."
_TAG = re.compile(
    r"(?P<payload>object (?P<signed>[0-9a-f]{40})\ntype commit\ntag snapd/(?P<name>[a-z]+/[A-Za-z0-9_-]+)\n"
    rf"tagger snapd <snapd@[A-Za-z0-9.-]+> (?P<seconds>[0-9]{{1,10}}) \+0000\n\n{re.escape(_SAID)}\n)"
    r"(?P<signature>-----BEGIN SSH SIGNATURE-----\n(?P<armored>(?:[A-Za-z0-9+/=]+\n)+)-----END SSH SIGNATURE-----\n)",
)
_MAGIC = b"SSHSIG"


@attrs.frozen
class HandoverCommit:
    """A handover as git has it: the record, the tree of its commit, and the newest commit of its events."""

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


def encode_handover(handover: Handover, events: ObjectId | None, host: str) -> bytes:
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
    return object_id("commit", encode_handover(attrs.evolve(found.handover, taken=()), found.events, host))


def decode_handover(commit: ObjectId, data: bytes, read_tree: ReadTree) -> HandoverCommit:
    """The handover in a commit, given its id and its bytes; raises `StoreCorrupt` if it is none."""
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
            handover_id=_text(document["id"]),
            name=_text(document["name"]),
            host=_text(document["host"]),
            milliseconds=int(document["milliseconds"]),
            sessions=tuple(map(_text, document["sessions"])),
            folder=SnapshotId(entries[_FOLDER], entries[_COVERAGE]),
            commits=tuple(map(bytes.fromhex, document["commits"])),
            committed=entries.get(_COMMITTED),
            since=tuple(map(_text, document["since"])),
            kept=tuple(path.encode("utf-8", "surrogateescape") for path in document["kept"]),
            taken=tuple(TakeoverRecord(_text(host), int(milliseconds)) for host, milliseconds in document["taken"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise StoreCorrupt(f"commit {commit.hex()} is not a handover of this version", object=commit.hex()) from error
    parent = found["parent"]
    return HandoverCommit(handover, tree, None if parent is None else bytes.fromhex(parent))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


@attrs.frozen
class SignatureTag:
    """A signature.

    Attributes:
        reference: the name of the reference of what is signed.
        signed: the commit that is signed.
        seconds: when, since 1970, as the signer says.
        payload: the bytes that are signed.
    """

    reference: str
    signed: ObjectId
    seconds: int
    payload: bytes
    signature: bytes
    key: str


def signature_of(reference: str) -> str:
    """The name of the reference of a signature, by the name of that of what is signed; works for beginnings, too."""
    return SIGNATURES + reference.removeprefix(_OURS)


def signed_by(reference: str) -> str:
    """The inverse of `signature_of`."""
    return _OURS + reference.removeprefix(SIGNATURES)


def payload_of(reference: str, commit: ObjectId, seconds: int, host: str) -> bytes:
    """What a machine signs of a session or a handover: its newest commit, at a time in seconds since 1970."""
    lines = [
        f"object {commit.hex()}",
        "type commit",
        f"tag snapd/{reference.removeprefix(_OURS)}",
        f"tagger snapd <snapd@{host}> {seconds} +0000",
        "",
        _SAID,
    ]
    return ("\n".join(lines) + "\n").encode()


def decode_tag(tag: ObjectId, data: bytes) -> SignatureTag:
    """Reads a tag, given its id and its bytes; raises `StoreCorrupt` if it is no signature that snapd makes."""
    found = _TAG.fullmatch(data.decode("ascii", "replace"))
    key = None if found is None else fingerprint_in(found["armored"])
    if found is None or key is None:
        raise StoreCorrupt(f"tag {tag.hex()} is no signature of snapd", object=tag.hex())
    return SignatureTag(
        _OURS + found["name"],
        bytes.fromhex(found["signed"]),
        int(found["seconds"]),
        found["payload"].encode(),
        found["signature"].encode(),
        key,
    )


def fingerprint_in(armored: str) -> str | None:
    """The fingerprint of the key in a signature without its first and last line; None if it has none."""
    try:
        data = base64.b64decode(armored.replace("\n", ""), validate=True)
    except binascii.Error:
        return None
    # PROTOCOL.sshsig of OpenSSH: magic, version, then the public key, with its length before it
    start = len(_MAGIC) + 8
    length = int.from_bytes(data[start - 4 : start], "big")
    if not data.startswith(_MAGIC) or not 0 < length <= len(data) - start:
        return None
    return fingerprint(data[start : start + length])


def fingerprint(key: bytes) -> str:
    """The fingerprint of a public key, as ssh shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")

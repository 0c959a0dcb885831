"""The formats of handovers and signatures, which travel beside the events of sessions.

The commit of a handover has the folder as its tree, the record as its message, and the commit of the newest event as
its parent.

A signature is an annotated tag with an ssh signature, as git makes it; `git verify-tag` checks it.
`refs/snapd/signatures/sessions/<name>` is the tag for `refs/snapd/sessions/<name>`. The events do not change, so the
same events make the same commits, signed or not, and readers that do not know of signatures never see one.
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
"""The maximum size of a tag: the largest keys and certificates take a few thousand bytes."""

NAMESPACE = "git"
"""The ssh-keygen namespace of git's signatures."""

_OURS = "refs/snapd/"
_REASONS = "Signed for whoever fetches it."
_TAG = re.compile(
    r"(?P<payload>object (?P<signed>[0-9a-f]{40})\ntype commit\ntag snapd/(?P<name>[a-z]+/[A-Za-z0-9_-]+)\n"
    rf"tagger snapd <snapd@[A-Za-z0-9.-]+> (?P<seconds>[0-9]{{1,10}}) \+0000\n\n{re.escape(_REASONS)}\n)"
    r"(?P<signature>-----BEGIN SSH SIGNATURE-----\n(?P<armored>(?:[A-Za-z0-9+/=]+\n)+)-----END SSH SIGNATURE-----\n)",
)
_MAGIC = b"SSHSIG"


@attrs.frozen
class HandoverCommit:
    """A decoded handover: the record, the tree of its commit, and the newest commit of its events."""

    handover: Handover
    tree: ObjectId
    events: ObjectId | None


def tree_of(handover: Handover) -> tuple[ObjectId, bytes]:
    """Returns the id and bytes of the tree that keeps the objects of a handover."""
    entries = [
        TreeEntry(_FOLDER, TREE, handover.folder.tree),
        TreeEntry(_COVERAGE, REGULAR, handover.folder.coverage),
    ]
    if handover.committed is not None:
        entries.append(TreeEntry(_COMMITTED, TREE, handover.committed))
    data = encode_tree(entries)
    return object_id("tree", data), data


def encode_handover(handover: Handover, events: ObjectId | None, host: str) -> bytes:
    """Returns the bytes of the commit of a handover; `host` is the machine that makes the commit."""
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


def original(handover_commit: HandoverCommit, host: str) -> ObjectId:
    """Returns the id of a handover's commit as it was made, without the notes of takeovers."""
    return object_id(
        "commit", encode_handover(attrs.evolve(handover_commit.handover, taken=()), handover_commit.events, host)
    )


def decode_handover(commit: ObjectId, data: bytes, read_tree: ReadTree) -> HandoverCommit:
    """Decodes the commit of a handover; raises `StoreCorrupt` if it is none."""
    match = _COMMIT.fullmatch(data.decode("ascii", "replace"))
    if match is None:
        raise StoreCorrupt(f"commit {commit.hex()} is not a handover of snapd", object=commit.hex())
    tree = bytes.fromhex(match["tree"])
    entries = {entry.name: entry.oid for entry in read_tree(tree)}
    try:
        document: dict[str, Any] = json.loads(match["payload"])
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
    parent = match["parent"]
    return HandoverCommit(handover, tree, None if parent is None else bytes.fromhex(parent))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


@attrs.frozen
class SignatureTag:
    """A signature of the commit `signed` at `reference`.

    `seconds` is the signer's time since 1970, and `payload` the signed bytes.
    """

    reference: str
    signed: ObjectId
    seconds: int
    payload: bytes
    signature: bytes
    key: str


def signature_of(reference: str) -> str:
    """Returns the reference of the signature for a reference; works for prefixes, too."""
    return SIGNATURES + reference.removeprefix(_OURS)


def signed_by(reference: str) -> str:
    """The inverse of `signature_of`."""
    return _OURS + reference.removeprefix(SIGNATURES)


def payload_of(reference: str, commit: ObjectId, seconds: int, host: str) -> bytes:
    """Returns what a machine signs: the newest commit at a reference, at a time in seconds since 1970."""
    lines = [
        f"object {commit.hex()}",
        "type commit",
        f"tag snapd/{reference.removeprefix(_OURS)}",
        f"tagger snapd <snapd@{host}> {seconds} +0000",
        "",
        _REASONS,
    ]
    return ("\n".join(lines) + "\n").encode()


def decode_tag(tag: ObjectId, data: bytes) -> SignatureTag:
    """Decodes a tag; raises `StoreCorrupt` if it is not a signature in snapd's format."""
    match = _TAG.fullmatch(data.decode("ascii", "replace"))
    key = None if match is None else fingerprint_in(match["armored"])
    if match is None or key is None:
        raise StoreCorrupt(f"tag {tag.hex()} is no signature of snapd", object=tag.hex())
    return SignatureTag(
        _OURS + match["name"],
        bytes.fromhex(match["signed"]),
        int(match["seconds"]),
        match["payload"].encode(),
        match["signature"].encode(),
        key,
    )


def fingerprint_in(armored: str) -> str | None:
    """Returns the key's fingerprint in a signature without its first and last line; None if there is none."""
    try:
        data = base64.b64decode(armored.replace("\n", ""), validate=True)
    except binascii.Error:
        return None
    # PROTOCOL.sshsig of OpenSSH: magic, version, the length of the public key, the public key
    start = len(_MAGIC) + 8
    length = int.from_bytes(data[start - 4 : start], "big")
    if not data.startswith(_MAGIC) or not 0 < length <= len(data) - start:
        return None
    return fingerprint(data[start : start + length])


def fingerprint(key: bytes) -> str:
    """Returns the fingerprint of a public key, as ssh shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")

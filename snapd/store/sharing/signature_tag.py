"""The signature of a session or a handover: an annotated tag, signed as git signs one with an ssh key.

`refs/snapd/signatures/sessions/<name>` names the tag for `refs/snapd/sessions/<name>`. The events themselves stay as
they are, so the same events make the same commits, signed or not, and whoever does not know of signatures never sees
one. `git verify-tag` checks it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import StoreCorrupt

if TYPE_CHECKING:
    from snapd.core.model import ObjectId

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
class SignatureTag:
    """A signature.

    Attributes:
        reference: the name of the reference of what is signed.
        signed: the commit that is signed.
        seconds: when, since 1970, as the signer says.
        payload: the bytes that are signed.
        signature: the signature, armored.
        key: the fingerprint of the key.
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
    """What is to be signed.

    Args:
        reference: the name of the reference of the session or the handover.
        commit: its newest commit.
        seconds: the time, since 1970.
        host: the machine that signs.
    """
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
    """Reads a tag, given its id and its bytes.

    Raises:
        StoreCorrupt: it is no signature that snapd makes.
    """
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

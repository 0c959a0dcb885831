"""What one machine hands over to another, and the signature of what came, as far as this one could check it."""

from __future__ import annotations

from typing import Literal

import attrs

from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.timeline import SessionId, SnapshotId

SignatureState = Literal["good", "partial", "unknown", "bad", "unchecked"]


@attrs.frozen
class SignatureStatus:
    """What is known of the signature of a session, or of a handover.

    Attributes:
        state: "good" if a key that the user allows signed all of it; "partial" if such a key signed only what came
            first; "unknown" if the user does not allow the key; "bad" if it does not sign this; "unchecked" if nobody
            could check it.
        signer: whose key it is, as the user's file of allowed signers says; None if that does not name the key.
        key: the fingerprint of the key; None if the signature cannot be read.
        signed: when it was signed, as the signer says, milliseconds since 1970; None if the signature cannot be read.
        reason: why it is not good, as a sentence without an end; None if it is.
    """

    state: SignatureState
    signer: str | None = None
    key: str | None = None
    signed: int | None = None
    reason: str | None = None


HANDOVER_NAME = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
"""What a handover may be called, as a regular expression: it becomes a part of the name of a reference."""


@attrs.frozen
class TakeoverRecord:
    """Somebody took the work over, on this machine, milliseconds since 1970."""

    host: str
    milliseconds: int


@attrs.frozen
class HandoverRecord:
    """What a folder remembers of a handover; see `Handover`.

    Attributes:
        tree: all files that were handed over.
        is_own: whether this folder handed over; if not, it took over.
    """

    handover_id: str
    name: str
    tree: ObjectId
    is_own: bool
    since: tuple[str, ...] = ()
    kept: tuple[RelPath, ...] = ()


@attrs.frozen
class Handover:
    """The record of a handover.

    Attributes:
        handover_id: random; tells it from all others.
        name: by which others ask for it.
        host: the machine that hands over.
        milliseconds: when, since 1970.
        folder: all files, those included that no commit has; and the ignored ones that were asked for.
        commits: the commit that the work goes on from, and those before it, newest first; none without git.
        committed: `folder` as it would be with the first of `commits`; None without git.
        since: the handovers that this one goes on from, newest first. A machine that made one of them, or took it over,
            needs only what changed since.
        kept: files that the folder may have although `folder` lacks them, because they are ignored, too large, or stay
            on that machine: nobody deletes them.
        taken: who took it over, in the order of time.
    """

    handover_id: str
    name: str
    host: str
    milliseconds: int
    sessions: tuple[SessionId, ...]
    folder: SnapshotId
    commits: tuple[ObjectId, ...] = ()
    committed: ObjectId | None = None
    since: tuple[str, ...] = ()
    kept: tuple[RelPath, ...] = ()
    taken: tuple[TakeoverRecord, ...] = ()

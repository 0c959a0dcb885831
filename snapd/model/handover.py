"""The record of a handover of work between machines, and the status of its signature."""

from __future__ import annotations

from typing import Literal

import attrs

from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.timeline import SessionId, SnapshotId

SignatureState = Literal["good", "partial", "unknown", "bad", "unchecked"]


@attrs.frozen
class SignatureStatus:
    """The status of the signature of a session or handover.

    `state` is "good" if all is signed with a key that the user allows, "partial" if only the first part is, "unknown"
    if the key is not allowed, "bad" if the signature does not match, "unchecked" if it could not be checked.
    """

    state: SignatureState
    signer: str | None = None  # as in the user's allowed signers; None if the key is not there
    key: str | None = None  # its fingerprint; None if the signature cannot be read
    signed: int | None = None  # milliseconds since 1970, as the signer claims; None if unreadable
    reason: str | None = None  # why it is not good, without a full stop; None if it is


HANDOVER_NAME = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"  # a regular expression: it becomes part of a reference name


@attrs.frozen
class TakeoverRecord:
    """A takeover of the work, by the machine `host`, milliseconds since 1970."""

    host: str
    milliseconds: int


@attrs.frozen
class HandoverRecord:
    """What a folder stores about a handover, see `Handover`."""

    handover_id: str
    name: str
    tree: ObjectId  # all files that were handed over
    is_own: bool  # False if this folder took over
    since: tuple[str, ...] = ()
    kept: tuple[RelPath, ...] = ()


@attrs.frozen
class Handover:
    """The record of a handover."""

    handover_id: str  # random and unique
    name: str  # by which others request it
    host: str  # the machine that hands over
    milliseconds: int  # since 1970
    sessions: tuple[SessionId, ...]
    folder: SnapshotId  # all files, also uncommitted ones, and ignored ones that were requested
    commits: tuple[ObjectId, ...] = ()  # the base commit and its ancestors, newest first; none without git
    committed: ObjectId | None = None  # `folder` with the first of `commits`; None without git
    since: tuple[str, ...] = ()  # earlier ones, newest first: a machine that has one needs only later changes
    kept: tuple[RelPath, ...] = ()  # not in `folder` (ignored, too large, or local): never deleted
    taken: tuple[TakeoverRecord, ...] = ()  # ordered by time

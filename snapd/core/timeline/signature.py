"""The signature of what came from another machine, as far as this one could check it."""

from __future__ import annotations

from typing import Literal

import attrs

SignatureState = Literal["good", "partial", "unknown", "bad", "unchecked"]


@attrs.frozen
class Signature:
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

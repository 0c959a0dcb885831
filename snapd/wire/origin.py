"""Where sessions of other machines came from, and what is known of who signed them."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs


@attrs.frozen(kw_only=True)
class Origin:
    """Where a fetched session came from."""

    remote: Annotated[str, "The address that it was fetched from, without a password."]
    host: Annotated[str, "The machine that added to it last, as that names itself."]


@attrs.frozen(kw_only=True)
class Signature:
    """What is known of the signature of what was fetched, by the user's own git configuration."""

    state: Annotated[
        Literal["good", "partial", "unknown", "bad", "unchecked"],
        '`"good"`: all of it is signed with a key of the allowed signers. `"partial"`: what came first is, and '
        'what was added later is not. `"unknown"`: it is signed, with another key. `"bad"`: the '
        'signature does not fit, or its key was revoked. `"unchecked"`: it could not be checked.',
    ]
    signer: Annotated[str | None, "Whose key it is, as the allowed signers say. Absent if they do not."] = None
    key: Annotated[str | None, "The fingerprint of the key. Absent if the signature cannot be read."] = None
    signed_at: Annotated[
        str | None, "When it was signed, as the signer says, as RFC 3339 in UTC. Absent in the same case."
    ] = None
    reason: Annotated[str | None, "Why it is not good, in words for people. Absent if it is."] = None

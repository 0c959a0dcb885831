"""What is known of a signature, in words."""

from __future__ import annotations

from typing import Any

from snapd.cli.terminal.filenames import printable
from snapd.cli.terminal.times import clock, local_now, moment

STYLES = {"good": "green", "partial": "yellow", "unknown": "yellow", "bad": "red", "unchecked": "yellow"}
"""The colours of the states."""


def signature_words(signature: dict[str, Any] | None) -> str:
    """Says in one line who signed something, and what is wrong with that.

    Args:
        signature: as answers have it; None for what is not signed.
    """
    if signature is None:
        return "not signed"
    state, reason = signature["state"], printable(signature.get("reason", ""))
    if state == "bad":
        return f"bad signature: {reason}"
    if state == "unchecked":
        return f"signature not checked: {reason}"
    who = f"by {printable(signature['signer'])}" if "signer" in signature else f"with {printable(signature['key'])}"
    when = f" at {clock(moment(signature['signedAt']), local_now())}"
    if state == "good":
        return f"signed {who}{when}"
    if state == "partial":
        return f"signed {who}{when}, but {reason}"
    return f"signed {who}{when}: {reason}"


def signature_word(signature: dict[str, Any]) -> str:
    """The same for a list, where there is little room."""
    match signature["state"]:
        case "good":
            return f"signed by {printable(signature['signer'])}"
        case "partial":
            return "signed in part"
        case "unknown":
            return "signed with an unknown key"
        case "bad":
            return "bad signature"
        case _:
            return "signature not checked"

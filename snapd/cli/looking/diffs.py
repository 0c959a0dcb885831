"""Unified diffs as the daemon answers them."""

from __future__ import annotations

from typing import Any

from snapd.cli.terminal.pager import ENCODING


def diff_text(result: dict[str, Any]) -> str:
    """The text of a diff that was asked for with `exact`; `pager.ENCODING` makes its exact bytes of it."""
    if "encoding" not in result:
        return str(result["diff"])
    from base64 import b64decode

    return b64decode(result["diff"]).decode(*ENCODING)

"""The shapes of the values that requests take and give, and of the params of notifications."""

from __future__ import annotations

from typing import Any, TypedDict

from snapd_client.protocol import *  # noqa: F403 - all of them are public here too


class InitializeResult(TypedDict):
    """The part of LSP's `InitializeResult` that snapd always gives."""

    serverInfo: dict[str, Any]
    capabilities: dict[str, Any]

"""The types of requests' params and results, and of the params of notifications."""

from __future__ import annotations

from typing import Any, TypedDict

from snapd_client.protocol import *  # noqa: F403 - all of them are public here too


class InitializeResult(TypedDict):
    """The part of LSP's `InitializeResult` that snapd always returns."""

    serverInfo: dict[str, Any]
    capabilities: dict[str, Any]

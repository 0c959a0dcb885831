"""The revisions of MCP that this server supports, and the terms of a connection.

Up to 2025-11-25, a client states its name and abilities once, with `initialize`. Since 2026-07-28, each request states
them in its `_meta`, without a handshake. One connection may use both.
"""

from __future__ import annotations

from typing import Any

import attrs

from snapd._version import __version__
from snapd.wire.errors import INVALID_PARAMS

from .messages import RpcError

HANDSHAKES = ("2025-06-18", "2025-11-25")
"""The revisions with `initialize`, the newest last."""
STATELESS = ("2026-07-28",)
"""The revisions without a handshake."""
SUPPORTED = (*HANDSHAKES, *STATELESS)

UNSUPPORTED_VERSION = -32022
"""The code of `UnsupportedProtocolVersionError` (2026-07-28)."""

_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_SERVER = "io.modelcontextprotocol/serverInfo"

INFO = {"name": "snapd", "title": "snapd", "version": __version__}
CAPABILITIES: dict[str, Any] = {"tools": {}}
INSTRUCTIONS = (
    "snapd keeps snapshots of this folder and a timeline of what agents and the user changed in it, step by step. "
    "`history` and `show` tell what happened, `diff` what changed since. `undo` takes back exactly what steps changed "
    "and keeps what others wrote since, also in the same files; it does not need git. Tools that change files answer "
    "with a plan first: read it, and show it to the user if it is more than they asked for."
)


@attrs.frozen
class RevisionTerms:
    """The revision of a request, and whether the client can show forms to the user (form elicitation)."""

    version: str
    shows_forms: bool

    @property
    def is_stateless(self) -> bool:
        """Whether the server asks the client by results instead of requests."""
        return self.version in STATELESS

    def complete(self, result: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
        """Adds the fields that the revision requires in all results, and in `cacheable` ones a lifetime."""
        if not self.is_stateless:
            return result
        # the tools stay the same as long as this process runs, which may end at any time
        caching = {"ttlMs": 0, "cacheScope": "public"} if cacheable else {}
        return {"resultType": "complete", **result, **caching, "_meta": {_SERVER: INFO}}


def shake_hands(params: dict[str, Any]) -> RevisionTerms:
    """The terms after `initialize`: the requested version if supported, else the newest. Raises `RpcError`."""
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(INVALID_PARAMS, "protocolVersion: expected a string")
    version = wanted if wanted in HANDSHAKES else HANDSHAKES[-1]
    return RevisionTerms(version, _shows_forms("capabilities", params.get("capabilities", {})))


def stated(params: dict[str, Any]) -> RevisionTerms | None:
    """The terms that a request states, or None. Raises `RpcError` if they are incomplete or not supported."""
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise RpcError(INVALID_PARAMS, "_meta: expected an object")
    if _VERSION not in meta:
        return None
    version = meta[_VERSION]
    if version not in STATELESS:
        raise RpcError(
            UNSUPPORTED_VERSION,
            f"_meta.{_VERSION}: this server speaks {', '.join(STATELESS)} without a handshake",
            {"supported": list(SUPPORTED), "requested": str(version)},
        )
    if _CAPABILITIES not in meta:
        raise RpcError(INVALID_PARAMS, f"_meta.{_CAPABILITIES}: is missing")
    return RevisionTerms(version, _shows_forms(f"_meta.{_CAPABILITIES}", meta[_CAPABILITIES]))


def _shows_forms(name: str, capabilities: Any) -> bool:
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"{name}: expected an object")
    elicitation = capabilities.get("elicitation")
    # before 2025-11-25 it is an empty object and means forms; since then it may name forms, URLs, or both
    return isinstance(elicitation, dict) and (not elicitation or isinstance(elicitation.get("form"), dict))

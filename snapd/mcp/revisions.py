"""The revisions of MCP that this server speaks, and what a client and it agreed on.

Up to 2025-11-25, a client says who it is and what it can do once, with `initialize`. Since 2026-07-28, each request
says so in its `_meta`, and there is no handshake. One connection may use both.
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
"""The revisions in which each request stands for itself."""
SUPPORTED = (*HANDSHAKES, *STATELESS)

UNSUPPORTED_VERSION = -32022
"""`UnsupportedProtocolVersionError` of 2026-07-28."""

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
    """What holds for a request.

    Attributes:
        version: the revision.
        shows_forms: whether the client can ask the person (form elicitation).
    """

    version: str
    shows_forms: bool

    @property
    def is_stateless(self) -> bool:
        """Whether what the server needs from the client is asked for in results, not by requests."""
        return self.version in STATELESS

    def complete(self, result: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
        """A result as the revision wants it.

        Args:
            result: without what all results have.
            cacheable: whether it is one of those for which the revision has the client told how long they hold.
        """
        if not self.is_stateless:
            return result
        # the tools are those of the program that runs: they hold as long as it does, but nobody knows how long
        caching = {"ttlMs": 0, "cacheScope": "public"} if cacheable else {}
        return {"resultType": "complete", **result, **caching, "_meta": {_SERVER: INFO}}


def shake_hands(params: dict[str, Any]) -> RevisionTerms:
    """The terms that an `initialize` leads to: the version that it asks for if it is known, else the newest.

    Raises:
        RpcError: the params are wrong.
    """
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(INVALID_PARAMS, "protocolVersion: expected a string")
    version = wanted if wanted in HANDSHAKES else HANDSHAKES[-1]
    return RevisionTerms(version, _shows_forms("capabilities", params.get("capabilities", {})))


def stated(params: dict[str, Any]) -> RevisionTerms | None:
    """The terms that a request itself states; None if it states none, and those of the handshake hold.

    Raises:
        RpcError: it is of a revision that this server does not speak, or it states too little.
    """
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
    # until 2025-11-25 it was an empty object and meant forms; since then it may name forms, addresses, or both
    return isinstance(elicitation, dict) and (not elicitation or isinstance(elicitation.get("form"), dict))

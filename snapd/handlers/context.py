"""What a handler is given besides its params."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Hashable

    from snapd.core.call import Call
    from snapd.core.workspace import Workspace


@attrs.frozen
class Context:
    """Where a request runs.

    Attributes:
        workspace: the one that it is about.
        roots: the paths under which the client may name its files, the canonical one first.
        client: who asks: the same for all that one client asks.
        call: its cancellation and progress.
    """

    workspace: Workspace
    roots: tuple[bytes, ...]
    client: Hashable
    call: Call

    @property
    def enabled(self) -> bool:
        """Whether this client wants snapshots at all."""
        return self.workspace.policy.enabled(self.client)

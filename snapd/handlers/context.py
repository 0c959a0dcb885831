"""The context in which a handler runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Hashable

    from snapd.core.call import Call
    from snapd.core.workspace import Workspace


@attrs.frozen
class Context:
    """What a handler gets besides the params of its request.

    Attributes:
        workspace: the workspace of the request.
        roots: the paths under which the client may name its files, the canonical one first.
        client: identifies the client; the same object for all its requests.
        call: the cancellation and progress of the request.
    """

    workspace: Workspace
    roots: tuple[bytes, ...]
    client: Hashable
    call: Call

    @property
    def enabled(self) -> bool:
        """Whether this client has snapshots turned on."""
        return self.workspace.policy.enabled(self.client)

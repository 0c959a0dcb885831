"""The context in which a handler runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import InvalidParams

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

    def need_snapshots(self, purpose: str) -> None:
        """Makes sure that this client has snapshots turned on.

        Args:
            purpose: what there is nothing for otherwise, such as "begin a step on".

        Raises:
            InvalidParams: it has not.
        """
        if not self.enabled:
            raise InvalidParams(
                f"snapshots are off for this client, so there is nothing to {purpose}",
                hint="turn the setting `snapshot` on",
                field="params",
            )

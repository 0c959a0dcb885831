"""A user whose git would start things at every occasion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.rpc.machine import Machine

if TYPE_CHECKING:
    from tests.hazards.traps import Traps


class HostileMachine(Machine):
    """A machine whose daemons find traps in their home, on their path and in their variables.

    Args:
        traps: what must not run.
    """

    def __init__(self, traps: Traps) -> None:
        super().__init__()
        self._traps = traps
        traps.fill_home(self.home, self.config)

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(**{**self._traps.environment(), **more})

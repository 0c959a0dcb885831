"""Which settings hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Hashable

    from snapd.core.model import CaptureSettings
    from snapd.core.rules.retention import Retention


SettingSource = Literal["default", "file", "environment", "client", "otherClient", "folder"]


@attrs.frozen
class SettingInUse:
    """A setting as it holds for a workspace.

    Attributes:
        name: of the setting.
        value: what it is; patterns are a tuple of strings.
        source: where that comes from: nobody said anything, the user's file, the environment of the process that
            answers, the client that asks, another client, or the folder itself.
    """

    name: str
    value: bool | float | str | tuple[str, ...] | None
    source: SettingSource


class Policy(Protocol):
    """Which settings hold for a workspace, at the moment of asking."""

    @property
    def capture(self) -> CaptureSettings:
        """What is captured."""

    @property
    def kept(self) -> Retention:
        """What is kept for how long."""

    def enabled(self, client: Hashable) -> bool:
        """Whether a client that has the workspace open wants snapshots at all."""

    def in_use(self, client: Hashable) -> tuple[SettingInUse, ...]:
        """All settings, as that client sees them, but for what the folder's own file adds."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the user's file, whose last good values hold then; None where it is all right."""

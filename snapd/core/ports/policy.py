"""The settings of a workspace."""

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
    """A setting in force for a workspace.

    Attributes:
        name: of the setting.
        value: its value; patterns are a tuple of strings.
        source: where the value comes from: the default, the user's file, the environment of the process that answers,
            the client that asks, another client, or the folder itself.
    """

    name: str
    value: bool | float | str | tuple[str, ...] | None
    source: SettingSource


class Policy(Protocol):
    """The settings of a workspace at the moment."""

    @property
    def capture(self) -> CaptureSettings:
        """What to capture."""

    @property
    def kept(self) -> Retention:
        """What to keep for how long."""

    @property
    def keeps_prompts(self) -> bool:
        """Whether to keep the texts of messages."""

    @property
    def tells_agents(self) -> bool:
        """Whether agents are told what others did to their work."""

    def enabled(self, client: Hashable) -> bool:
        """Whether a client of the workspace wants snapshots at all."""

    def in_use(self, client: Hashable) -> tuple[SettingInUse, ...]:
        """Lists all settings as a client sees them, without what the folder's own file adds."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the user's file, whose last good values stay in force; None if it is all right."""

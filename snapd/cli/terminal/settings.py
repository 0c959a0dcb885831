"""The settings in force, as people read them."""

from __future__ import annotations

from typing import Any

from snapd.settings.table import SETTINGS

from .output import printable, size

_SOURCES = {
    "default": "default",
    "file": "config.toml",
    "environment": "environment",
    "client": "this command",
    "otherClient": "another connected editor or agent",
    "folder": "the folder's .snapd.toml",
}


def settings(status: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The name of each setting, its value, and where that comes from.

    Args:
        status: the answer of `snapshot/status`.
    """
    return [
        (row["name"], printable(_value(row["name"], row["value"])), _SOURCES.get(row["source"], row["source"]))
        for row in status.get("settings", [])
    ]


def _value(name: str, value: Any) -> str:
    known = SETTINGS.get(name)
    if isinstance(value, bool):
        return "on" if value else "off"
    if known is not None and value == (list(known.default) if isinstance(value, list) else known.default):
        return known.shown_default.strip("`")
    if known is not None and known.kind.unit == "bytes":
        return size(value)
    if known is not None and known.kind.unit == "days":
        return f"{value:g} day{'' if value == 1 else 's'}"
    # a daemon that is newer than this command may know more settings
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

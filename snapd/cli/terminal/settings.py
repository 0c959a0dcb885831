"""The settings in force, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .output import printable, size

if TYPE_CHECKING:
    from collections.abc import Callable

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
    if name in _WORDS:
        return _WORDS[name](value)
    if isinstance(value, bool):
        return "on" if value else "off"
    # a daemon that is newer than this command may know more settings
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def _days(count: float) -> str:
    return f"{count:g} day{'' if count == 1 else 's'}"


_WORDS: dict[str, Callable[[Any], str]] = {
    "max_file_size": size,
    "data_dir": lambda path: path or "the user's data directory",
    "retention": _days,
    "max_snapshots": lambda count: str(count or "no limit"),
    "max_store_size": lambda count: size(count) if count else "no limit",
}
"""How people say values that say too little. The table of settings would take longer to load than the answer takes."""

"""Settings: one table of keys, and how each place says them; `settings.py` tells which of them hold."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any, Literal, get_args

import attrs

from snapd.core.errors import InvalidParams
from snapd.core.model import CaptureSettings
from snapd.core.rules.retention import Retention

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Layer = dict[str, Any]
"""The settings that one place gives, checked."""


WatcherSetting = Literal["auto", "watchdog", "none"]


@attrs.frozen
class Settings:
    """What holds for a client.

    Attributes:
        snapshot: whether snapshots are taken; off gives `null` hashes.
        exclude: patterns in `.gitignore` syntax, in addition to git's rules.
        max_file_size: bytes; larger files are skipped.
        data_dir: where stores lie; None for the user's data directory. A relative one is inside each workspace.
        retention: days that snapshots are kept.
        max_snapshots: how many stay of each session, and of those that belong to none; 0 for all.
        max_store_size: bytes that a store may take; 0 for any size.
        watcher: what says that something may have changed; for a workspace that is opened from now on.
        allow_foreign: folders that are opened though they, or folders around them, are somebody else's; from the
            user's file alone.
    """

    snapshot: bool = True
    exclude: tuple[str, ...] = ()
    max_file_size: int = 64 * 1024 * 1024
    data_dir: str | None = None
    retention: float = 7.0
    max_snapshots: int = 0
    max_store_size: int = 0
    watcher: WatcherSetting = "auto"
    allow_foreign: tuple[str, ...] = ()

    @classmethod
    def of(cls, *layers: Layer) -> Settings:
        """The settings that layers give together, the last the strongest."""
        merged: Layer = {}
        for layer in layers:
            merged |= layer
        return cls(**merged)

    @property
    def capture(self) -> CaptureSettings:
        """What of it says how a workspace is captured."""
        return CaptureSettings(exclude=self.exclude, max_file_size=self.max_file_size)

    @property
    def kept(self) -> Retention:
        """What of it says what is kept for how long."""
        return Retention(self.retention, self.max_snapshots, self.max_store_size)


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("expected true or false")
    return value


def _patterns(value: Any) -> tuple[str, ...]:
    if type(value) is not list or not all(type(item) is str for item in value):
        raise ValueError("expected a list of strings")
    if any("\n" in item or "\0" in item for item in value):
        raise ValueError("a pattern cannot hold a line break")
    return tuple(value)


def _bytes(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError("expected a number of bytes, at least 1")
    return value


def _limit(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("expected a number, 0 for no limit")
    return value


def _path(value: Any) -> str:
    if type(value) is not str or not value or "\0" in value:
        raise ValueError("expected a path")
    return value


def _days(value: Any) -> float:
    try:
        days = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        days = math.inf
    if not math.isfinite(days) or days < 0:
        raise ValueError("expected a number of days, at least 0")
    return days


def _folders(value: Any) -> tuple[str, ...]:
    if type(value) is not list or not all(type(item) is str and os.path.isabs(item) for item in value):
        raise ValueError("expected a list of absolute paths")
    if any("\0" in item for item in value):
        raise ValueError("a path cannot hold a NUL")
    return tuple(value)


def _watcher(value: Any) -> WatcherSetting:
    for watcher in get_args(WatcherSetting):
        if value == watcher:
            found: WatcherSetting = watcher
            return found
    raise ValueError(f"expected one of {', '.join(get_args(WatcherSetting))}")


_KEYS: dict[str, Callable[[Any], Any]] = {
    "snapshot": _boolean,
    "exclude": _patterns,
    "max_file_size": _bytes,
    "data_dir": _path,
    "retention": _days,
    "max_snapshots": _limit,
    "max_store_size": _limit,
    "watcher": _watcher,
    "allow_foreign": _folders,
}
_OF_THE_FILE = frozenset({"allow_foreign"})
"""What neither a variable nor a client may set: both can come with a folder, from the settings of its editor."""

_WORDS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}
_NOT_SETTINGS = frozenset({"SNAPD_RUNTIME_DIR", "SNAPD_TOKEN"})


def read_file(path: str) -> Layer:
    """The user's settings file; nothing where there is none.

    Raises:
        InvalidParams: it is no TOML, or has an unknown key or a wrong value; names file and key.
    """
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidParams(f"{path}: {error}", field=path, file=path) from error
    return {key: _checked(key, value, path, f"{path}: {key}") for key, value in document.items()}


def read_environment(environment: Mapping[str, str]) -> Layer:
    """The `SNAPD_*` variables. `SNAPD_EXCLUDE` holds patterns separated by line breaks.

    Raises:
        InvalidParams: an unknown variable or a wrong value; names it.
    """
    layer: Layer = {}
    for name, text in environment.items():
        if not name.startswith("SNAPD_") or name in _NOT_SETTINGS:
            continue
        key = name[len("SNAPD_") :].lower()
        if key == "data_dir":
            continue  # moves the data as a whole, see locations: a store in each workspace is a setting of its own
        if key in _OF_THE_FILE:
            raise InvalidParams(f"{name}: only the settings file may say that", field=key, file="environment")
        layer[key] = _checked(key, _from_text(key, text), "environment", name)
    return layer


def read_options(options: Any, where: str) -> tuple[Layer, list[str]]:
    """Settings that a client sends: `initializationOptions`, or those of `workspace/didChangeConfiguration`.

    Args:
        options: as sent; keys in camelCase or snake_case; may be below a key `snapd`.
        where: what it is, for errors.

    Returns:
        The settings, and the names of keys that are none: a newer client may know more.

    Raises:
        InvalidParams: a wrong value; names the key.
    """
    # some languages, such as Lua, cannot tell an empty object from an empty array
    if options is None or options == [] or options == {"snapd": []}:
        return {}, []
    if type(options) is not dict:
        raise InvalidParams(f"{where}: expected an object", field=where)
    if type(options.get("snapd")) is dict:
        options = options["snapd"]
    layer: Layer = {}
    unknown = []
    for name, value in options.items():
        key = _snake(name)
        if key == "token" or value is None:
            continue
        if key in _OF_THE_FILE:
            raise InvalidParams(f"{where}.{name}: only the settings file may say that", field=key, file=where)
        if key in _KEYS:
            layer[key] = _checked(key, value, where, f"{where}.{name}")
        else:
            unknown.append(name)
    return layer, unknown


OF_THE_CLIENT = "snapshot"
"""The one setting that each client has for itself: it may come with a client's environment, for it harms nobody."""


def for_the_daemon(environment: Layer, file: str) -> tuple[Layer, str | None]:
    """What of a client's environment counts where a daemon answers that others share.

    Args:
        environment: of `read_environment`.
        file: the user's settings.

    Returns:
        What to send, and what to tell of the rest; None where there is none.
    """
    own = {key: value for key, value in environment.items() if key == OF_THE_CLIENT}
    rest = [f"SNAPD_{key.upper()}" for key in environment if key not in own]
    if not rest:
        return own, None
    verb = "has" if len(rest) == 1 else "have"
    return own, f"{', '.join(rest)} {verb} no effect on the daemon, which serves others too: use {file}"


def as_options(layer: Layer) -> dict[str, Any]:
    """A layer as the `initializationOptions` that say the same."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in layer.items()}


def _checked(key: str, value: Any, file: str, shown: str) -> Any:
    check = _KEYS.get(key)
    if check is None:
        raise InvalidParams(f"{shown}: unknown setting; there are {', '.join(_KEYS)}", field=key, file=file)
    try:
        return check(value)
    except ValueError as error:
        raise InvalidParams(f"{shown}: {error}", field=key, file=file) from error


def _from_text(key: str, text: str) -> Any:
    if key == "snapshot":
        return _WORDS.get(text.lower(), text)
    if key == "exclude":
        return [line for line in text.split("\n") if line]
    if key in ("max_file_size", "retention", "max_snapshots", "max_store_size"):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def _snake(name: str) -> str:
    return "".join("_" + char.lower() if char.isupper() else char for char in name)

"""Reads the settings of each source: the user's file, the environment, a client."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from snapd.environment import NO_SETTINGS
from snapd.model.errors import InvalidParams, did_you_mean

from .table import SETTINGS, Layer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .table import Setting

_OF_CONNECTION = frozenset({"token", "findRoot", "onlyOpen"})
"""Initialization options that are not settings."""
_PREFIX = "SNAPD_"
_OF_SNAP_PACKAGES = """
    SNAPD_APPARMOR_REEXEC SNAPD_ASSERTS_FORMATS SNAPD_AUTH_DATA_FILENAME SNAPD_BASES_CHANNEL SNAPD_CATALOG_REFRESH
    SNAPD_CHECK_HEALTH_HOOK_TIMEOUT SNAPD_CONFIGURE_HOOK_TIMEOUT SNAPD_DEBUG SNAPD_DEBUG_DUMP_IOCTL SNAPD_DEBUG_HTTP
    SNAPD_DEBUG_SYSTEM_KEY_RETRY SNAPD_DOWNLOAD_MEAS_WINDOW SNAPD_FAULT_INJECT SNAPD_FIPS_BOOTSTRAP
    SNAPD_LAST_WARNING_TIMESTAMP_FILENAME SNAPD_MIN_DOWNLOAD_SPEED SNAPD_PREREQS_CHANNEL SNAPD_PRESEED
    SNAPD_REBOOT_DELAY SNAPD_REVERT_TO_REV SNAPD_SHUTDOWN_DELAY SNAPD_SLOW_STARTUP SNAPD_UNSAFE_IO
    SNAPD_USE_DELTAS_EXPERIMENTAL
"""
"""The variables of the other snapd, which installs snap packages: no settings of ours, and no misspelt ones."""
_ANY_CASE = {name: row for row in SETTINGS.values() for name in (row.name, row.json_name)}


def read_file(path: str) -> Layer:
    """Reads the user's settings file, if any; raises `InvalidParams`, with file and key, for a mistake in it."""
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidParams(f"{path}: {error}", hint="correct the file", field=path, file=path) from error
    layer: Layer = {}
    for name, value in document.items():
        shown = f"{path}: {name}"
        layer[name] = _check(_known(name, path, shown, str), value, path, shown)
    return layer


def read_environment(environment: Mapping[str, str]) -> Layer:
    """Reads the `SNAPD_*` variables; raises `InvalidParams` for an unknown one or an invalid value."""
    layer: Layer = {}
    for name, text in environment.items():
        if not name.startswith(_PREFIX) or name in NO_SETTINGS or name in _OF_SNAP_PACKAGES.split():
            continue
        row = _known(name.removeprefix(_PREFIX).lower(), "environment", name, lambda known: SETTINGS[known].variable)
        if row.source == "not environment":
            continue  # `SNAPD_DATA_DIR` moves all data, see `locations`; the setting moves the stores alone
        layer[row.name] = _check_outside_file(row, row.kind.parse(text), "environment", name)
    return layer


def read_options(options: Any, where: str) -> tuple[Layer, list[str]]:
    """Reads a client's `initializationOptions` or `workspace/didChangeConfiguration`; `where` names it in errors.

    Keys are camelCase or snake_case, possibly below a key `snapd`. Returns the settings and the unknown keys, because a
    newer client may have more. Raises `InvalidParams` for an invalid value.
    """
    # some languages, such as Lua, cannot distinguish an empty object from an empty array
    if options is None or options == [] or options == {"snapd": []}:
        return {}, []
    if type(options) is not dict:
        raise InvalidParams(f"{where}: expected an object", field=where)
    if type(options.get("snapd")) is dict:
        options = options["snapd"]
    layer: Layer = {}
    unknown = []
    for name, value in options.items():
        row = _ANY_CASE.get(name)
        if name in _OF_CONNECTION or value is None:
            continue
        if row is None:
            unknown.append(name)
        else:
            layer[row.name] = _check_outside_file(row, value, where, f"{where}.{name}")
    return layer, unknown


def split_environment(environment: Layer, file: str) -> tuple[Layer, str | None]:
    """Splits a client's environment into what a daemon may get, and a message about the rest; None for empty parts."""
    own = {name: value for name, value in environment.items() if SETTINGS[name].per_client}
    rest = [SETTINGS[name].variable for name in environment if name not in own]
    if not rest:
        return own, None
    verb = "has" if len(rest) == 1 else "have"
    return own, f"{', '.join(rest)} {verb} no effect on the daemon, which serves others too: use {file}"


def as_options(layer: Layer) -> dict[str, Any]:
    """Returns a layer as `initializationOptions`."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in layer.items()}


def _known(name: str, file: str, shown: str, spelled: Callable[[str], str]) -> Setting:
    if name not in SETTINGS:
        hint = f"{did_you_mean(name, SETTINGS, spelled)}the settings are {', '.join(map(spelled, SETTINGS))}"
        raise InvalidParams(f"{shown}: unknown setting", hint=hint, field=name, file=file)
    return SETTINGS[name]


def _check(row: Setting, value: Any, file: str, shown: str) -> Any:
    """Returns the value as `Settings` holds it; errors call the setting `shown`."""
    try:
        return row.kind.check(value)
    except ValueError as error:
        raise InvalidParams(f"{shown}: {error}", field=row.name, file=file) from error


def _check_outside_file(row: Setting, value: Any, source: str, shown: str) -> Any:
    """Like `_check`, for a source other than the user's file."""
    if row.source == "file":
        hint = "set it in config.toml"
        raise InvalidParams(f"{shown}: only config.toml may set it", hint=hint, field=row.name, file=source)
    return _check(row, value, source, shown)

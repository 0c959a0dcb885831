"""`snapd doctor`: what a user or a bug report needs to know about this installation and this folder."""

from __future__ import annotations

import os
import platform
import shutil
from typing import TYPE_CHECKING, Any

from snapd import __version__
from snapd.core.errors import SnapdError
from snapd.launch import connect
from snapd.locations import Locations, check_socket_path

from .asking import ask, backend
from .exit_codes import DONE, FAILED
from .output import Painter, print_json, size, watching

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_LITTLE_SPACE = 1 << 30


def doctor(options: argparse.Namespace) -> int:
    """Runs every check, also after one has failed."""
    locations = Locations.from_environment(os.environ)
    checks: dict[str, Callable[[], str]] = {
        "version": _version,
        "settings": lambda: _settings(locations),
        "data": lambda: _data(locations),
        "runtime": lambda: _runtime(locations),
        "daemon": lambda: _daemon(options, locations),
        "folder": lambda: _folder(options),
    }
    results = []
    for name, check in checks.items():
        try:
            results.append({"check": name, "ok": True, "found": check()})
        except SnapdError as error:
            results.append({"check": name, "ok": False, "found": error.message})
        except OSError as error:
            results.append({"check": name, "ok": False, "found": str(error)})
    _print(options, results)
    return DONE if all(result["ok"] for result in results) else FAILED


def _print(options: argparse.Namespace, results: list[dict[str, Any]]) -> None:
    if options.json:
        print_json({"checks": results})
        return
    painter = Painter(options)
    for result in results:
        mark = painter.paint("ok ", "green") if result["ok"] else painter.paint("bad", "red")
        print(f"{mark} {result['check'].ljust(9)} {result['found']}")


def _version() -> str:
    import pygit2

    return f"snapd {__version__}, Python {platform.python_version()}, libgit2 {pygit2.LIBGIT2_VERSION}"


def _settings(locations: Locations) -> str:
    from snapd.config import read_environment, read_file

    layer = {**read_file(locations.config_file), **read_environment(os.environ)}
    return f"{locations.config_file}: " + (", ".join(f"{key}={value!r}" for key, value in layer.items()) or "defaults")


def _data(locations: Locations) -> str:
    existing = locations.data
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(f"{existing} cannot be written to")
    free = shutil.disk_usage(existing).free
    if free < _LITTLE_SPACE:
        raise OSError(f"{locations.data}: only {size(free)} free")
    return f"{locations.data}, {size(free)} free"


def _runtime(locations: Locations) -> str:
    locations.make_runtime()
    check_socket_path(locations.socket)
    return locations.runtime


def _daemon(options: argparse.Namespace, locations: Locations) -> str:
    path = os.path.abspath(options.socket) if options.socket else locations.socket
    connection = connect(path)
    if connection is None:
        return "not running; it is started when it is needed"
    connection.close()
    return f"running at {path}"


def _folder(options: argparse.Namespace) -> str:
    with backend(options) as found:
        status = ask(found, "snapshot/status", {})
        last = status.get("lastHash")
        if last is None:
            return f"{status['workspaceUri']}: no snapshot yet, watcher {watching(status)}"
        count = len(ask(found, "snapshot/listFiles", {"hash": last})["files"])
    store = size(status["store"]["bytes"])
    return f"{status['workspaceUri']}: {count} files in the last snapshot, store {store}, watcher {watching(status)}"

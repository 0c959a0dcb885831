"""Asks the daemon, or this process where told so, and shows progress meanwhile."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapd.core.errors import InvalidParams
from snapd.locations import Locations

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from snapd.backend import Backend, Report


@contextmanager
def backend(options: argparse.Namespace) -> Iterator[Backend]:
    """The one who answers for the folder of a command.

    Raises:
        SnapdError: there is none.
    """
    folder = os.path.abspath(options.directory)
    locations = Locations.from_environment(os.environ)
    found = _local(locations, folder) if options.no_daemon else _remote(locations, folder, options.socket)
    try:
        yield found
    finally:
        found.close()


def _remote(locations: Locations, folder: str, socket: str | None) -> Backend:
    from snapd_client import Client

    from snapd.backend import RemoteBackend
    from snapd.launch import ensure_daemon

    path = os.path.abspath(socket) if socket else locations.socket
    ensure_daemon(locations, path).close()
    return RemoteBackend(lambda: Client.connect(path), folder, _own_settings())


def _own_settings() -> dict[str, Any]:
    """What this command's environment says, which a daemon started elsewhere has not seen."""
    names = {name for name in os.environ if name.startswith("SNAPD_")} - {"SNAPD_DATA_DIR", "SNAPD_RUNTIME_DIR"}
    if not names:
        return {}
    from snapd.config import read_environment

    layer = read_environment(os.environ)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in layer.items()}


def _local(locations: Locations, folder: str) -> Backend:
    from snapd.backend import LocalBackend
    from snapd.config import Settings, read_environment, read_file
    from snapd.workspaces import Workspaces, current_umask

    settings = Settings.of(read_file(locations.config_file), read_environment(os.environ))
    workspaces = Workspaces(locations, os.environ.get("XDG_CONFIG_HOME"), current_umask(), None)
    return LocalBackend(workspaces, folder, settings)


def ask(found: Backend, method: str, params: dict[str, Any]) -> Any:
    """The result of a request, with a progress bar on a terminal where it takes long.

    Raises:
        SnapdError: what the request was answered with.
    """
    given = {name: value for name, value in params.items() if value is not None}
    if not sys.stderr.isatty():
        return found.request(method, given)
    with _bar() as report:
        return found.request(method, given, report)


def pages(found: Backend, method: str, params: dict[str, Any], key: str) -> Iterator[Any]:
    """All items of a paged answer."""
    cursor: str | None = None
    while True:
        page = ask(found, method, {**params, "cursor": cursor})
        yield from page[key]
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def resolve(found: Backend, hash_: str) -> str:
    """The hash that a word of the command line stands for.

    Raises:
        InvalidParams: 'last', and there is none.
    """
    if hash_ != "last":
        return hash_
    last = ask(found, "snapshot/status", {}).get("lastHash")
    if last is None:
        raise InvalidParams("there is no snapshot of this folder yet", field="hash")
    return str(last)


def in_folder(options: argparse.Namespace, path: str) -> str:
    """A path of the command line: relative to where the command runs, which `-C` moves."""
    return os.path.abspath(os.path.join(options.directory, path))


@contextmanager
def _bar() -> Iterator[Report]:
    """A progress bar that appears with the first report: requests that are quick never make one."""
    bar: Any = None
    task: Any = None

    def report(message: str, percentage: int | None) -> None:
        nonlocal bar, task
        if bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            bar.start()
            task = bar.add_task(message, total=None)
        bar.update(task, description=message, total=None if percentage is None else 100, completed=percentage or 0)

    try:
        yield report
    finally:
        if bar is not None:
            bar.stop()

"""Sends requests to the daemon, or to this process with `--no-daemon`, and shows their progress."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.naming import ANSWERS, learn_answers
from snapd.cli.terminal.output import print_once, printable
from snapd.environment import NO_SETTINGS, spool_directory
from snapd.folders.root import folder_around, has_history, is_folder_of, overlapping, store_of
from snapd.locations import Locations, stores_directory
from snapd.model.errors import InvalidParams, IoError
from snapd.settings import data_dir

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from snapd_client import Client
    from snapd_client.methods import typed_function
    from snapd_client.protocol import FormerHistory

    from snapd.backend import Backend, RemoteBackend, Report
    from snapd.settings.table import Settings
else:

    def typed_function(function):
        """Types nothing at run time."""
        return function


_SILENT = frozenset({"step", "session", "mcp", "complete"})
"""The commands run by agents and shells, whose output nobody reads."""


def folder_of(options: argparse.Namespace) -> str:
    """Returns the absolute folder of a command, existing or not; reports if it is not the directory that was named."""
    directory: str = os.path.abspath(options.directory)
    if options.here or not os.path.isdir(directory):
        return directory
    locations = Locations.from_environment(os.environ)
    folder = folder_around(directory, locations, data_dir(locations.config_file))
    if folder != directory and options.command not in _SILENT:
        print_once(f"snapd: in {printable(folder)}; --here stays in this folder")
    if options.command not in (*_SILENT, "adopt", "status", "doctor"):
        _suggest_former(folder, locations)
    if options.command not in _SILENT and not is_known(folder):
        above = folder
        while above != (above := os.path.dirname(above)) and not is_known(above):
            pass
        if is_known(above):
            text = f"no snapshots of {printable(folder)} itself yet; {printable(above)} has its files"
            print_once(f"snapd: {text}: 'snapd -C {shell_name(above)}' works there")
    return folder


def former_words(histories: list[FormerHistory]) -> list[str]:
    """Returns the lines about each history that a folder may take over."""
    return [
        f"the folder was {shell_name(each['folder'])}: 'snapd adopt {shell_name(each['folder'])}' takes its history"
        if each["reason"] == "moved"
        else "another folder was at this path; its history is kept: 'snapd adopt' takes it"
        for each in histories
    ]


def _suggest_former(folder: str, locations: Locations) -> None:
    """Reports, with the first command in a folder, that it may take over a former history."""
    real = os.path.realpath(folder)
    store = store_of(real, locations, data_dir(locations.config_file))
    known = has_history(store)
    if known and is_folder_of(store, real):
        return
    # imported late, since it is rarely needed
    from snapd.folders.former import former_histories, is_another

    former = [] if known else former_histories(store, real)
    matches: list[FormerHistory] = [{"folder": each.folder, "store": each.store, "reason": each.why} for each in former]
    if is_another(store, real):
        matches.append({"folder": real, "store": store, "reason": "replaced"})
    for words in former_words(matches):
        print_once(f"snapd: {printable(words)}")


def is_known(folder: str) -> bool:
    """Whether a folder has snapshots or sessions; opens and creates nothing."""
    locations = Locations.from_environment(os.environ)
    return has_history(store_of(folder, locations, data_dir(locations.config_file)))


def known_folder_around(directory: str) -> str:
    """Returns the folder around a directory, or itself, that has snapshots; opens and creates nothing."""
    path = os.path.abspath(directory)
    locations = Locations.from_environment(os.environ)
    folder = folder_around(path, locations, data_dir(locations.config_file))
    if not is_known(folder):
        raise InvalidParams(
            f"there are no snapshots of {printable(path)}",
            hint="name a folder in which an agent worked under snapd",
            field="--from",
        )
    return folder


def folders_with_same_files(folder: str) -> list[str]:
    """Returns the other folders that have snapshots of files of a folder."""
    locations = Locations.from_environment(os.environ)
    return overlapping(os.path.realpath(folder), stores_directory(os.path.realpath(locations.data)))


TAKE_ONE = "'snapd track' takes one"
_CATCH_UP_SECONDS = 10.0
"""How long a command may first spend on recording events that agents could not record before."""
_QUIET_SECONDS = 0.5
"""How long a request may take before its progress is shown."""


class NoDaemon(IoError):
    """The daemon cannot be started or reached."""


@contextmanager
def open_backend(options: argparse.Namespace, folder: str | None = None) -> Iterator[Backend]:
    """Yields the backend for the folder of a command, or for another one, given as an absolute path."""
    folder = folder or folder_of(options)
    result = _local(folder) if options.no_daemon else connected(options.socket, folder, None)[0]
    try:
        yield result
        if not getattr(options, "json", False):
            # ids may be printed afterwards
            learn_answers()
    finally:
        result.close()


def daemon_at(socket: str | None) -> tuple[Locations, str]:
    """Returns the user's directories, and the path of the command's socket, by default the user's own."""
    locations = Locations.from_environment(os.environ)
    return locations, os.path.abspath(socket) if socket else locations.socket


def connected(
    socket: str | None, folder: str, timeout: float | None, *, only_open: bool = False
) -> tuple[RemoteBackend, Client]:
    """Connects to the daemon (socket None: the user's own), starting it if needed, and opens a folder in it.

    `timeout` is in seconds for each answer. With `only_open`, opens the folder only if another client has it open.
    """
    from snapd.backend import RemoteBackend, connect

    locations, path = daemon_at(socket)
    own = own_settings(locations)
    try:
        starting = partial(print, "snapd: starting the daemon...", file=sys.stderr) if sys.stderr.isatty() else None
        client = connect(path, timeout, locations, starting)
    except IoError as error:
        from snapd.settings.sources import read_file

        # a daemon does not start with wrong settings: raise that error
        read_file(locations.config_file)
        raise NoDaemon(error.message, hint=error.hint, **error.data) from error
    if path == locations.socket and os.path.lexists(spool_directory(locations.data)):
        from snapd.hook.main import catch_up

        catch_up(os.environ, _CATCH_UP_SECONDS)
    return RemoteBackend(client, folder, {**own, "onlyOpen": True} if only_open else own), client


def own_settings(locations: Locations) -> dict[str, Any]:
    """Returns the settings in this command's environment to send to a daemon; warns about those without effect."""
    if not {name for name in os.environ if name.startswith("SNAPD_")} - NO_SETTINGS - {"SNAPD_DATA_DIR"}:
        return {}
    from snapd.settings.sources import as_options, read_environment, split_environment

    own, unheard = split_environment(read_environment(os.environ), locations.config_file)
    if unheard is not None:
        print_once(f"snapd: {unheard}")
    return as_options(own)


def _local(folder: str) -> Backend:
    from snapd.backend import open_local
    from snapd.settings.sources import read_environment

    locations = Locations.from_environment(os.environ)
    return open_local(locations, os.environ.get("XDG_CONFIG_HOME"), folder, read_environment(os.environ))


def settings_of(options: argparse.Namespace, locations: Locations) -> Settings:
    """Returns the settings for stores that this process works on itself; variables count only with `--no-daemon`."""
    from snapd.settings.sources import read_environment, read_file
    from snapd.settings.table import Settings

    file = read_file(locations.config_file)
    if options.no_daemon:
        return Settings.of(file, read_environment(os.environ))
    own_settings(locations)
    return Settings.of(file)


@typed_function
def ask(backend: Backend, method: Any, params: Any = None) -> Any:
    """Returns the result of a request; a long one shows a progress bar on a terminal."""
    with _bar() if sys.stderr.isatty() else nullcontext() as report:
        answer = backend.request(method, params, report)
    ANSWERS.append((backend, answer))
    return answer


def pages(connection: Backend, method: str, params: dict[str, Any], key: str) -> Iterator[Any]:
    """Yields all items of a paged answer."""
    from snapd.backend import pages

    return pages(lambda method, params: ask(connection, method, params), method, params, key)


def in_folder(options: argparse.Namespace, path: str) -> str:
    """Returns a path of the command line relative to where the command runs, which `-C` changes."""
    full = os.path.abspath(os.path.join(options.directory, path))
    try:
        full.encode("utf-8")
    except UnicodeEncodeError:
        from snapd.model.paths import to_uri

        # JSON cannot represent such a name
        return to_uri(os.fsencode(full))
    return full


@contextmanager
def _bar() -> Iterator[Report]:
    """Yields a progress bar that appears with the first report after half a second: quick requests never show one."""
    bar: Any = None
    task: Any = None
    begun = time.monotonic()

    def report(message: str, percentage: int | None) -> None:
        nonlocal bar, task
        if bar is None:
            if time.monotonic() - begun < _QUIET_SECONDS:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            from snapd.cli.terminal.streams import Output, Text

            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(file=Text(Output(2), "utf-8", line_buffering=True, obeyed=True)),
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

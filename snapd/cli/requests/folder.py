"""Finds the folder of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.terminal.output import print_once, printable
from snapd.core.errors import InvalidParams
from snapd.locations import Locations, project_id, store_path, stores_directory
from snapd.root import has_history, overlapping, root_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_SILENT = frozenset({"step", "session", "complete"})
"""The commands that hooks and shells run: nobody reads what they print."""


def folder_of(options: argparse.Namespace) -> str:
    """Finds the folder that a command works on, and says so if it is not the directory that the user named.

    Args:
        options: of the command; `directory` and `here` are read.

    Returns:
        The folder, absolute.
    """
    directory: str = os.path.abspath(options.directory)
    if options.here:
        return directory
    locations = Locations.from_environment(os.environ)
    folder = root_of(directory, locations.home, _stores(locations))
    if folder != directory and options.command not in _SILENT:
        print_once(f"snapd: in {printable(folder)}; --here stays in this folder")
    return folder


def is_known(folder: str) -> bool:
    """Whether there are snapshots of a folder, or sessions in it; nothing is opened or made to find out."""
    return has_history(_stores(Locations.from_environment(os.environ))(folder))


def others_with(folder: str) -> list[str]:
    """Lists the other folders that have snapshots of files of a folder."""
    locations = Locations.from_environment(os.environ)
    return overlapping(os.path.realpath(folder), stores_directory(os.path.realpath(locations.data)))


def _stores(locations: Locations) -> Callable[[str], str]:
    data = _data_dir(locations)

    def store_of(folder: str) -> str:
        above = os.path.join(folder, data) if data else locations.data
        return store_path(os.path.realpath(above), project_id(os.path.realpath(os.fsencode(folder))))

    return store_of


def _data_dir(locations: Locations) -> str | None:
    if not os.path.exists(locations.config_file):
        return None
    from snapd.settings.sources import read_file
    from snapd.settings.table import Settings

    try:
        return Settings.of(read_file(locations.config_file)).data_dir
    except InvalidParams:
        # the command itself reports that, where it matters
        return None

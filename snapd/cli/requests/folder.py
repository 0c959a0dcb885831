"""Finds the folder of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.terminal.filenames import shell_name
from snapd.cli.terminal.output import print_once, printable
from snapd.folders.root import folder_around, has_history, is_folder_of, overlapping, store_of
from snapd.locations import Locations, stores_directory
from snapd.model.errors import InvalidParams
from snapd.settings import data_dir

if TYPE_CHECKING:
    import argparse

    from snapd_client.protocol import FormerHistory

_SILENT = frozenset({"step", "session", "mcp", "complete"})
"""The commands run by agents and shells, whose output nobody reads."""


def folder_of(options: argparse.Namespace) -> str:
    """Returns the absolute folder that a command works on, and reports if it is not the directory that the user named.

    Reads `directory` and `here` of the options. A directory that does not exist is returned as it is, to be refused.
    """
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
            rows = f"no snapshots of {printable(folder)} itself yet; {printable(above)} has its files"
            print_once(f"snapd: {rows}: 'snapd -C {shell_name(above)}' works there")
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
    # imported late: almost always, the folder is the one that it was
    from snapd.folders.former import former_histories, is_another

    former = [] if known else former_histories(store, real)
    rows: list[FormerHistory] = [{"folder": each.folder, "store": each.store, "reason": each.why} for each in former]
    if is_another(store, real):
        rows.append({"folder": real, "store": store, "reason": "replaced"})
    for words in former_words(rows):
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

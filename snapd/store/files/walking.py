"""Looks at files that may be removed meanwhile; what cannot be looked at raises, and does not count as missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_if_there(path: str) -> bytes | None:
    """The bytes of a file, None if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


def status_if_there(path: str) -> os.stat_result | None:
    """The status of a file, symlinks not followed, None if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            return os.lstat(path)
        except FileNotFoundError:
            return None


def names_if_there(path: str) -> list[str]:
    """The sorted names in a directory, none if it does not exist; raises `IoError`."""
    with os_errors(path):
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []


def walked(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, top down; a directory that does not exist, or is removed meanwhile, is skipped.

    Args:
        top: the directory.

    Raises:
        IoError: a directory cannot be listed.
    """

    def raise_unless_missing(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    with os_errors(top):
        yield from os.walk(top, onerror=raise_unless_missing)


def files_below(top: str, without: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """The files in a directory and all below, with their status; those that are removed meanwhile are skipped.

    Args:
        top: the directory.
        without: the name of a directory in `top` that is left out.

    Raises:
        IoError: a directory cannot be listed, or a file cannot be looked at.
    """
    for above, directories, files in walked(top):
        if above == top and without in directories:
            directories.remove(without)
        for name in files:
            path = os.path.join(above, name)
            status = status_if_there(path)
            if status is not None:
                yield path, status

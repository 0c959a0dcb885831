"""Walks directories, and raises for one that cannot be listed: to treat it as empty would miss its files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors

if TYPE_CHECKING:
    from collections.abc import Iterator


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

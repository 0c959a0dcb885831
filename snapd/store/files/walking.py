"""Walks directories and tells of what cannot be listed: to take it for empty would miss what is in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors

if TYPE_CHECKING:
    from collections.abc import Iterator


def walked(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, top down; what goes meanwhile, or is not there, has nothing.

    Args:
        top: the directory.

    Raises:
        IoError: one cannot be listed.
    """

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    with os_errors(top):
        yield from os.walk(top, onerror=tell)

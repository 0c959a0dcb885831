"""The settings: the table of all of them, where their values come from, and which of the values hold."""

from __future__ import annotations

import os

from snapd.model.errors import InvalidParams


def data_dir(config_file: str) -> str | None:
    """The setting `data_dir` in the user's file; None without one, or where the file is wrong, which others report."""
    if not os.path.exists(config_file):
        return None
    from .sources import read_file
    from .table import Settings

    try:
        return Settings.of(read_file(config_file)).data_dir
    except InvalidParams:
        return None

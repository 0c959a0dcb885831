"""The settings: their table, their sources, and which values are in force."""

from __future__ import annotations

import os

from snapd.model.errors import InvalidParams


def data_dir(config_file: str) -> str | None:
    """Returns the setting `data_dir` of the user's file; None if absent, or if the file has a mistake."""
    if not os.path.exists(config_file):
        return None
    from .sources import read_file
    from .table import Settings

    try:
        return Settings.of(read_file(config_file)).data_dir
    except InvalidParams:
        return None

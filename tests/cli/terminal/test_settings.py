"""Settings in words: the documentation of each says how its default is to be read."""

from __future__ import annotations

from typing import Any

import pytest

from snapd.cli.terminal.output import settings
from snapd.settings.table import SETTINGS


def said(name: str, value: Any) -> str:
    ((_, text, source),) = settings({"settings": [{"name": name, "value": value, "source": "file"}]})
    assert source == "config.toml"
    return text


@pytest.mark.parametrize("name", SETTINGS)
def test_defaults_are_said_as_they_are_documented(name: str) -> None:
    row = SETTINGS[name]
    shown = {"`true`": "on", "`false`": "off"}.get(row.shown_default, row.shown_default.strip("`"))
    assert said(name, list(row.default) if isinstance(row.default, tuple) else row.default) == shown


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("snapshot", False, "off"),
        ("exclude", ["*.log", "tmp/"], "*.log, tmp/"),
        ("max_file_size", 1 << 20, "1 MiB"),
        ("max_store_size", 5 << 30, "5 GiB"),
        ("max_snapshots", 12, "12"),
        ("retention", 1.0, "1 day"),
        ("retention", 0.5, "0.5 days"),
        ("data_dir", "/big\n", "/big\\n"),
        ("of_a_newer_daemon", ["a"], "a"),
    ],
)
def test_values(name: str, value: Any, text: str) -> None:
    assert said(name, value) == text

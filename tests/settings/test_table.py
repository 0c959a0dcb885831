"""The table of settings, and what follows from it: the documentation and the settings of the VS Code extension."""

from __future__ import annotations

import json

import pytest

from scripts.generate.__main__ import CONFIGURATION, ROOT
from scripts.generate.markdown import with_settings
from snapd.settings.table import SETTINGS, Settings

DOCUMENT = ROOT / CONFIGURATION


def test_the_documentation_has_the_table() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert with_settings(text) == text
    assert with_settings(text.replace("64 MiB", "1 byte")) == text


def test_a_document_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(LookupError):
        with_settings("no table\n")


def test_each_default_fits_its_setting() -> None:
    settings = Settings()
    for name, row in SETTINGS.items():
        assert getattr(settings, name) == row.default
        if row.default is not None:
            given = list(row.default) if isinstance(row.default, tuple) else row.default
            assert row.kind.check(given) == row.default


def test_the_extension_has_the_same_defaults() -> None:
    package = json.loads((DOCUMENT.parents[1] / "vscode-extension" / "package.json").read_text("utf-8"))
    offered = package["contributes"]["configuration"]["properties"]
    shared = {
        name: offered[f"snapd.{row.json_name}"] for name, row in SETTINGS.items() if f"snapd.{row.json_name}" in offered
    }
    assert shared.keys() == {"exclude", "max_file_size"}
    assert shared["exclude"]["default"] == list(SETTINGS["exclude"].default)
    assert shared["max_file_size"]["default"] == SETTINGS["max_file_size"].default
    assert shared["max_file_size"]["minimum"] == 1

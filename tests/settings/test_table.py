"""The table of settings, and what follows from it: the documentation and the settings of the VS Code extension."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from snapd.settings.__main__ import DOCUMENT, main
from snapd.settings.table import SETTINGS, Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_the_documentation_has_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_a_table_that_is_out_of_date_is_written(tmp_path: Path) -> None:
    document = tmp_path / "configuration.md"
    text = DOCUMENT.read_text("utf-8")
    document.write_text(text.replace("64 MiB", "1 byte"), "utf-8")
    assert main(["--check"], document) == 1
    assert main([], document) == 0
    assert document.read_text("utf-8") == text
    assert main(["--check"], document) == 0


def test_a_document_without_a_place_for_the_table_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "configuration.md"
    document.write_text("no table\n")
    with pytest.raises(SystemExit):
        main([], document)


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

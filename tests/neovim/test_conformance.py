"""The plugin's client passes the scenarios that every client passes."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.conformance import MATCHING, SCENARIOS
from tests.neovim.editor import Neovim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.running import Home

LOAD = f"conformance = dofile({str(Path(__file__).parent / 'conformance.lua')!r})"
_numbers = count()


@pytest.fixture(scope="module")
def editor(home: Home) -> Iterator[Neovim]:
    """One Neovim for all scenarios: each has a folder, and so a connection, of its own."""
    made = Neovim(home, home.path)
    made.lua(LOAD)
    yield made
    made.close()


def test_what_fits_a_pattern(editor: Neovim) -> None:
    for case in MATCHING:
        texts = [json.dumps(case[part]) for part in ("pattern", "value")]
        assert editor.lua("return conformance.fits(...)", *texts) == case["fits"], case


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(home: Home, editor: Neovim, name: str) -> None:
    number = next(_numbers)
    folder, outside = home.at(f"c{number}"), home.at(f"outside{number}")
    os.mkdir(folder)
    os.mkdir(outside)
    kept = {
        "folder": folder,
        "folderUri": Path(folder).as_uri(),
        "outside": outside,
        "outsideFile": os.path.join(outside, "file"),
    }
    editor.lua("conformance.begin(...)", name, json.dumps(SCENARIOS[name]), kept)
    ended = editor.lua_until("return conformance.ended[...]", name)
    assert ended == "well"
    told = [message for message in editor.messages if outside not in message]
    assert told == []

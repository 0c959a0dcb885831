"""What a stranger sees in their first hour is what the transcripts say."""

from __future__ import annotations

import pytest

from tests.cli.first_hour import TRANSCRIPTS, replay

pytestmark = pytest.mark.slow


def test_the_transcripts_are_true() -> None:
    written = {path.stem: path.read_text("utf-8") for path in TRANSCRIPTS.iterdir()}
    # if this is as it should be: python -m tests.cli.first_hour
    assert replay() == written

"""Reasons as people read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import snapd
from snapd.cli.terminal.reasons import in_words

PROTOCOL = Path(snapd.__file__).parent / "wire" / "prose.md"


def test_each_reason_of_a_conflict_has_words() -> None:
    table = PROTOCOL.read_text("utf-8").partition("has one of these reasons:")[2].partition("\n\n## ")[0]
    reasons = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert len(reasons) > 5
    assert [reason for reason in reasons if in_words(reason) == reason] == []


@pytest.mark.parametrize(
    ("reason", "words"),
    [("changedSince", "changed since"), ("EACCES", "permission denied"), ("laterOnes", "laterOnes")],
)
def test_in_words(reason: str, words: str) -> None:
    assert in_words(reason) == words

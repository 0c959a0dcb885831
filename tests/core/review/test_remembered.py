"""Which files are kept with their texts: few of any length, or many that are short."""

from __future__ import annotations

from typing import Any

import pytest

from snapd.core.review import pending as remembered
from snapd.core.review.fold import FileFold
from snapd.core.review.pending import RememberedFiles

NO_TEXTS: Any = object()
"""Nothing is compared: these files have nothing pending."""


def fold(number: int, lines: int) -> FileFold:
    return FileFold(b"f%d" % number, None, [b"line"] * lines, [], [], is_text=True)


def kept(files: RememberedFiles) -> list[bytes]:
    return [file.path for file in files]


@pytest.fixture(autouse=True)
def _bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "WITH_TEXTS", 3)
    monkeypatch.setattr(remembered, "WITH_LINES", 100)


def test_many_short_files_are_kept() -> None:
    files = RememberedFiles()
    for number in range(10):
        files.put(b"f%d" % number, fold(number, 10))
    files.compact(NO_TEXTS)
    assert len(kept(files)) == 10


def test_of_longer_ones_those_that_changed_last_are_kept() -> None:
    files = RememberedFiles()
    for number in range(10):
        files.put(b"f%d" % number, fold(number, 25))
    files.compact(NO_TEXTS)
    assert kept(files) == [b"f6", b"f7", b"f8", b"f9"]


def test_a_few_are_kept_however_long() -> None:
    files = RememberedFiles()
    for number in range(5):
        files.put(b"f%d" % number, fold(number, 1000))
    files.compact(NO_TEXTS)
    assert kept(files) == [b"f2", b"f3", b"f4"]


def test_what_changes_again_counts_once_and_what_goes_counts_no_more() -> None:
    files = RememberedFiles()
    for number in range(4):
        for lines in (1000, 20):
            files.put(b"f%d" % number, fold(number, lines))
    files.put(b"gone", fold(9, 1000))
    files.put(b"gone", None)
    files.put(b"f4", fold(4, 20))
    files.compact(NO_TEXTS)
    assert len(kept(files)) == 5
    files.put(b"f5", fold(5, 1))
    files.compact(NO_TEXTS)
    assert kept(files) == [b"f1", b"f2", b"f3", b"f4", b"f5"]

"""One of the histories that `make soak` goes through for as long as one likes; and the oracle of them."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from pathlib import Path
from random import Random

import pytest

from tests.support.amounts import amount
from tests.support.places import DISK

from .client import Tape
from .figures import Figures
from .histories import histories
from .lines import Overlap, Text, merge
from .problems import Broken


def told(seed: int, count: int, kills: float) -> Figures:
    above = Path(tempfile.mkdtemp(prefix="history-", dir=DISK)).resolve()
    tape = Tape()
    try:
        asyncio.run(histories(above / "all", seed, 0, count, tape, kills))
    except Broken as broken:
        raise AssertionError(f"{broken}\n{above} is kept; before it:\n{tape.diary.last()}") from broken
    shutil.rmtree(above)
    return tape.figures


def test_some_histories() -> None:
    count = amount(1, 4)
    figures = told(27, count, 0.0)
    assert figures.histories == count
    assert figures.undos_foretold > 3 * count
    assert figures.dry_runs_compared > 20 * count


def test_a_history_with_kills() -> None:
    # when a kill comes is not the seed's to say, and so neither is what comes after it
    assert told(6, 1, 0.05).histories == 1


def test_the_oracle_merges_as_git_does(tmp_path: Path) -> None:
    """`git merge-file` is asked about random edits of a text of which each line occurs once."""
    clean = overlapping = 0
    for seed in range(60):
        dice = Random(seed)
        base = tuple(b"line %d\n" % number for number in range(8))
        ours, theirs = _edited(base, "ours", dice), _edited(base, "theirs", dice)
        for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
            (tmp_path / name).write_bytes(b"".join(text))
        # its exit code is the number of conflicts
        command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
        found = subprocess.run(command, check=False, cwd=tmp_path, stdout=subprocess.PIPE, timeout=60).stdout
        try:
            merged = b"".join(merge(base, ours, theirs) or ())
        except Overlap:
            overlapping += 1
            assert b"<<<<<<<" in found or ours == theirs or _is_part(base, ours, theirs), f"seed {seed}"
        else:
            clean += 1
            assert merged == found, f"seed {seed}"
    assert min(clean, overlapping) >= 10


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [(None, None, (b"a",), (b"a",)), ((b"a",), None, None, None), ((b"a",), (b"a",), None, None)],
)
def test_the_oracle_merges_files_that_come_and_go(
    base: Text | None, ours: Text | None, theirs: Text | None, merged: Text | None
) -> None:
    assert merge(base, ours, theirs) == merged


def test_the_oracle_loses_no_line_of_a_file_that_one_side_deletes() -> None:
    with pytest.raises(Overlap):
        merge((b"a",), (b"a", b"b"), None)


def _edited(text: Text, author: str, dice: Random) -> Text:
    lines = list(text)
    for number in range(dice.randint(0, 2)):
        at = dice.randint(0, len(lines))
        lines[at : at + dice.randint(0, 2)] = [b"%s %d %x\n" % (author.encode(), number, dice.getrandbits(32))]
    return tuple(lines)


def _is_part(base: Text, ours: Text, theirs: Text) -> bool:
    """Whether both did the same at some place: git takes what they have in common out of the conflict."""
    return bool(({*base} - {*ours}) & ({*base} - {*theirs}))

"""What the index of a log finds, against a list that is looked through from end to end."""

from __future__ import annotations

import random

import pytest

from snapd.model.snapshot import RecordKind
from snapd.store.log import Record, RecordIndex
from tests.support.amounts import amount

CASES = amount(200, 3000)
# so that many trees have beginnings in common
TREES = [
    bytes([first, second, 0x12, 0x34, *([third] * 16)])
    for first in (0, 1, 255)
    for second in (0, 255)
    for third in range(2)
]


def filled(source: random.Random) -> tuple[RecordIndex, list[Record]]:
    """An index, asked in between, and all that was put into it; now and then, the clock goes back."""
    index, model = RecordIndex(), []
    seconds = 1000
    seq = 0
    for _ in range(source.randrange(12)):
        seq += source.randrange(1, 4)
        seconds += source.choice((0, 1, 5, 5, 5, -7))
        record = Record(seq, RecordKind.TRACK, source.choice(TREES), b"", seconds)
        index.add(record)
        model.append(record)
        if source.random() < 0.2:
            index.beginning("00")
    return index, model


@pytest.mark.parametrize("seed", range(CASES))
def test_it_finds_what_is_there(seed: int) -> None:
    source = random.Random(seed)
    index, model = filled(source)
    newest = model[::-1]
    for below in (None, *range(model[-1].seq + 2 if model else 2)):
        for until in (None, *range(980, 1070, 3)):
            wanted = [
                record
                for record in newest
                if (below is None or record.seq < below) and (until is None or record.seconds <= until)
            ]
            assert list(index.newest_first(below, until)) == wanted
    for tree in TREES:
        assert index.of(tree) == next((record for record in newest if record.tree == tree), None)
    for prefix in ("00001", "000012340", "0", "ff", "ffff12", "fe", "01ff1234", "00ff1234" + "0" * 32):
        last = {record.tree: record for record in model}.values()
        expected = [record for record in newest if record in last and record.tree.hex().startswith(prefix)]
        assert index.beginning(prefix) == expected

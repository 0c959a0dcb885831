"""The lines that two changes of a text both want: git's own conflicts are the oracle."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from snapd.core.actions.undo.contested import MOST_LINES, dispute
from snapd.core.compare.text import DirectDiffer
from snapd.model.call import Call
from snapd.model.snapshot import Dispute


def find(left: str, now: str, wanted: str) -> Dispute | None:
    return dispute(left.encode(), now.encode(), wanted.encode(), DirectDiffer(), Call())


def lines(text: str) -> str:
    """A line for each letter."""
    return "".join(f"{letter}\n" for letter in text)


@pytest.mark.parametrize(
    ("left", "now", "wanted", "expected"),
    [
        ("abcde", "abXde", "abYde", Dispute(3, ("X",), ("c",), ("Y",))),
        ("abcde", "pqabXde", "abYde", Dispute(5, ("X",), ("c",), ("Y",))),
        ("abcde", "abde", "abYde", Dispute(3, (), ("c",), ("Y",))),
        ("abcde", "aXYde", "abZZe", Dispute(2, ("X", "Y", "d"), ("b", "c", "d"), ("b", "Z", "Z"))),
        ("ab", "aXb", "aYb", Dispute(2, ("X",), (), ("Y",))),
        ("abc", "aXc", "aXc", None),
        ("abc", "Xbc", "abY", None),
        ("", "X", "Y", Dispute(1, ("X",), (), ("Y",))),
    ],
)
def test_the_lines_in_question(left: str, now: str, wanted: str, expected: Dispute | None) -> None:
    assert find(lines(left), lines(now), lines(wanted)) == expected


def test_what_is_not_about_lines() -> None:
    assert find("a\0", "b\0", "c\0") is None
    # a last line without an end is a line
    assert find("a", "b", "c") == Dispute(1, ("b",), ("a",), ("c",))
    long = find("a\n", "b\n" * 500, "c\n")
    assert long is not None
    assert len(long.now) == MOST_LINES


@pytest.mark.parametrize("seed", range(30))
def test_they_are_gits_first_conflict(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    base = [f"line {number}" for number in range(12)]

    def edited(who: str) -> list[str]:
        found = list(base)
        for _ in range(dice.randint(1, 2)):
            start = dice.randrange(len(found))
            found[start : start + dice.randint(0, 3)] = [f"{who}{dice.random()}" for _ in range(dice.randint(0, 2))]
        return found

    now, wanted = edited("now "), edited("wanted ")
    for name, side in (("now", now), ("left", base), ("wanted", wanted)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side))
    command = ["git", "merge-file", "-p", "--diff3", "now", "left", "wanted"]
    merged = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, text=True).stdout.splitlines()
    found = find(*("".join(f"{line}\n" for line in side) for side in (base, now, wanted)))
    if found is None:
        return
    # git's may be larger, where changes only touch
    first = merged.index("<<<<<<< now")
    middle, base_at, last = merged.index("=======", first), merged.index("||||||| left", first), 0
    last = merged.index(">>>>>>> wanted", first)
    for shown, theirs in (
        (found.now, merged[first + 1 : base_at]),
        (found.left, merged[base_at + 1 : middle]),
        (found.wanted, merged[middle + 1 : last]),
    ):
        assert "\n".join(shown) in "\n".join(theirs)
    assert tuple(now[found.line - 1 : found.line - 1 + len(found.now)]) == found.now

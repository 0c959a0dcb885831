"""The vocabulary for people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

import snapd
from snapd.wire import values, words

PROTOCOL = Path(snapd.__file__).parent / "wire" / "prose.md"
LIGHT, DARK, EDITOR, BLACK = "#f9fafb", "#13161b", "#1e1e1e", "#000000"


def test_each_reason_of_a_conflict_has_words() -> None:
    table = PROTOCOL.read_text("utf-8").partition("has one of these reasons:")[2].partition("\n\n## ")[0]
    reasons = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert len(reasons) > 5
    assert {*reasons, *get_args(values.SkipReason)} - words.REASONS.keys() == set()


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("changedSince", "changed since"),
        ("EACCES", "permission denied"),
        ("ENOTTY", "inappropriate ioctl for device"),
        ("laterOnes", "laterOnes"),
    ],
)
def test_a_reason(reason: str, expected: str) -> None:
    assert words.reason_text(reason) == expected


def test_the_kinds_of_the_wire_have_words() -> None:
    assert words.OUTCOMES.keys() == set(get_args(values.OutcomeKind))
    assert words.OPERATIONS.keys() == set(get_args(values.RevertKind))
    assert words.SNAPSHOT_KINDS.keys() == set(get_args(values.TakenKind))
    assert words.error_title("planChanged") == "plan changed meanwhile"
    assert words.error_title("fromTheFuture") == "fromTheFuture"


@pytest.mark.parametrize("colour", words.PALETTE, ids=lambda colour: str(colour.name))
def test_an_agent_can_be_read_on_both_grounds(colour: words.AgentColour) -> None:
    assert _contrast(colour.light, LIGHT) >= 4.5
    assert min(_contrast(colour.dark, DARK), _contrast(colour.dark, EDITOR)) >= 4.5
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (levels[(colour.terminal - 16) // base % 6] for base in (36, 6, 1))
    shown = f"#{red:02x}{green:02x}{blue:02x}"
    assert min(_contrast(shown, "#ffffff"), _contrast(shown, BLACK)) >= 3.7


def test_an_agent_keeps_its_colour() -> None:
    assert words.agent_colour("claude").name == "orange"
    # as in the tests of the clients
    assert [words.agent_colour(name).name for name in ("my-agent", "агент", "")] == ["blue", "orange", "orange"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"state": "open"}, False),
        ({"state": "applied"}, True),
        ({"state": "applied", "tool": "Read", "partId": "1"}, True),
        ({"state": "applied", "description": "think"}, False),
        ({"state": "applied", "files": [{}], "partId": "1"}, False),
        ({"state": "applied", "uncaptured": [{}], "partId": "1"}, False),
        ({"state": "undone", "late": True, "partId": "1"}, False),
    ],
)
def test_which_steps_are_empty(step: dict[str, Any], expected: bool) -> None:
    assert words.is_empty({"files": [], **step}) is expected


def test_what_was_done_to_git() -> None:
    a, b, c, d = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
    change = {
        "head": {"before": "refs/heads/main", "after": a},
        "refs": [
            {"ref": "refs/heads/main", "before": a, "after": b, "behind": "refs/remotes/origin/main"},
            {"ref": "refs/heads/topic", "before": a},
            {"ref": "refs/stash", "before": c, "after": c},
            {"ref": "refs/tags/v1", "after": d},
        ],
        "staged": {"before": 0, "after": 2},
        "operation": {"before": "merge", "after": "none"},
        "repository": "created",
    }
    # as in the tests of the TypeScript client
    assert words.git_words(change) == (
        "repository created, HEAD main → aaaaaaa, main aaaaaaa → bbbbbbb (behind origin/main), "
        "branch topic deleted, stash changed, tag v1 created at ddddddd, staged 0 → 2, merge ended"
    )


def _contrast(one: str, other: str) -> float:
    lower, higher = sorted((_luminance(one), _luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

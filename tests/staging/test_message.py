"""The message that is proposed for a commit."""

from __future__ import annotations

import pytest

from snapd.staging.planning import proposed


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ([], "else"),
        (["", " \n"], "else"),
        (["Add a discount"], "Add a discount"),
        (["  Add\na   discount\n"], "Add a discount"),
        (["# Add a discount\x1b[31m"], "Add a discount[31m"),
        (["Add it", "Fix it", "Add it"], "Add it\n\n- Add it\n- Fix it"),
        (["w" * 80], f"{'w' * 71}…\n\n- {'w' * 70}\n  {'w' * 10}"),
        (
            [f"please, {'do ' * 22}and nothing else"],
            f"please, {'do ' * 20}do…\n\n- please, {' '.join(['do'] * 21)}\n  do and nothing else",
        ),
    ],
)
def test_messages(prompts: list[str], expected: str) -> None:
    assert proposed(prompts, "else") == expected


def test_long_lists_are_cut() -> None:
    lines = proposed([f"prompt {number} {'x' * 400}" for number in range(25)], "else").splitlines()
    assert lines[-1] == "- and 5 more"
    assert sum(line.startswith("- prompt") for line in lines) == 20
    assert max(map(len, lines)) <= 72
    assert not any(line.startswith("#") for line in proposed(["#1\n#2", "#3"], "#4").splitlines())

"""The row of changes that the steps of a session make."""

from __future__ import annotations

from typing import Any

from snapd.cli.commands.bisect import name_of
from snapd.cli.commands.bisect_trials import changes_of, span


def step(
    index: int,
    begun: int,
    ended: int | None,
    trees: str,
    state: str = "applied",
    parent: int | None = None,
    session: str = "s",
) -> dict[str, Any]:
    made: dict[str, Any] = {"stepId": f"{session}{index}", "sessionId": session, "index": index}
    made |= {"state": state, "from": trees[0]}
    made["startedAt"] = f"2026-01-01T00:00:{begun:02}.000Z"
    if ended is not None:
        made |= {"endedAt": f"2026-01-01T00:00:{ended:02}.000Z", "to": trees[1]}
    if parent is not None:
        made["parentStepId"] = f"s{parent}"
    return made


def row(*steps: dict[str, Any]) -> list[tuple[str, str]]:
    """Each change as its snapshots and the steps that were open; the session is `s`."""
    found = changes_of(
        [step for step in steps if step["sessionId"] == "s"], [step for step in steps if step["sessionId"] != "s"]
    )
    return [(each.before + each.after, " ".join(step["stepId"] for step in each.steps)) for each in found]


def test_steps_that_follow_each_other() -> None:
    assert row(step(0, 1, 2, "ab"), step(1, 2, 3, "bc"), step(2, 5, 6, "cd")) == [
        ("ab", "s0"),
        ("bc", "s1"),
        ("cd", "s2"),
    ]


def test_a_step_that_changed_nothing_is_no_change() -> None:
    assert row(step(0, 1, 2, "aa"), step(1, 3, 4, "ab"), step(2, 5, 6, "bb")) == [("ab", "s1")]
    assert row() == row(step(0, 1, 2, "aa")) == []


def test_what_somebody_changes_between_two_steps_is_none_of_theirs() -> None:
    assert row(step(0, 1, 2, "ab"), step(1, 3, 4, "cd")) == [("ab", "s0"), ("bc", ""), ("cd", "s1")]


def test_the_order_is_that_of_time() -> None:
    assert row(step(1, 3, 4, "bc"), step(0, 1, 2, "ab")) == [("ab", "s0"), ("bc", "s1")]
    # all within one millisecond: each begins before it ends, and ends before the next one begins
    at_once = (step(0, 1, 1, "ab"), step(1, 1, 1, "bc"), step(2, 1, 1, "cd"))
    assert row(*at_once) == [("ab", "s0"), ("bc", "s1"), ("cd", "s2")]


def test_steps_that_overlap() -> None:
    both = (step(0, 1, 5, "ad"), step(1, 2, 7, "be"))
    assert row(*both) == [("ab", "s0"), ("bd", "s0 s1"), ("de", "s1")]


def test_a_part_is_named_and_not_the_whole() -> None:
    steps = (step(0, 1, 8, "ae"), step(1, 2, 3, "bc", parent=0), step(2, 5, 6, "cd", parent=0))
    assert row(*steps) == [("ab", "s0"), ("bc", "s1"), ("cd", "s2"), ("de", "s0")]


def test_what_was_undone_and_what_is_open_is_not_tried() -> None:
    steps = (step(0, 1, 2, "ab"), step(1, 3, 4, "bc", "undone"), step(2, 5, 6, "bd", "partly"))
    assert row(*steps, step(3, 7, None, "d", "open")) == [("ab", "s0"), ("bd", "s2")]
    # it was undone after another step began on what it had left
    steps = (step(0, 1, 2, "ab"), step(1, 3, 4, "bc", "undone"), step(2, 5, 6, "cd"))
    assert row(*steps) == [("ab", "s0"), ("bc", "s1"), ("cd", "s2")]
    assert row(step(0, 1, 2, "ab", "undone"), step(1, 3, None, "b", "open")) == []


def test_steps_of_other_sessions_are_told_apart() -> None:
    mine = (step(0, 1, 4, "ad"), step(1, 7, 8, "fg"))
    before, within = step(0, 0, 0, "xa", session="t"), step(1, 2, 3, "bc", session="t")
    between, after = step(2, 5, 6, "de", session="t"), step(3, 9, 10, "gh", session="t")
    assert row(*mine, before, within, between, after) == [
        ("ab", "s0"),
        ("bc", "s0 t1"),
        ("cd", "s0"),
        ("de", "t2"),
        ("ef", ""),
        ("fg", "s1"),
    ]


def test_a_long_step_of_another_session_is_told_of_and_its_ends_are_not_tried() -> None:
    around = step(0, 0, 9, "xz", session="t")
    assert row(step(0, 1, 2, "ab"), step(1, 3, 4, "cd"), around) == [("ab", "t0 s0"), ("bc", "t0"), ("cd", "t0 s1")]
    going_on = step(0, 2, None, "b", "open", session="t")
    assert row(step(0, 1, 3, "ac"), going_on) == [("ab", "s0"), ("bc", "s0 t0")]


def test_from_when_to_when() -> None:
    steps = [step(0, 1, 2, "ab", "undone"), step(1, 3, 4, "bc"), step(2, 5, 6, "cd"), step(3, 7, None, "d", "open")]
    assert span(steps) == ("2026-01-01T00:00:03.000Z", "2026-01-01T00:00:06.000Z")
    assert span(steps[:1]) is None


def test_the_names_of_snapshots() -> None:
    changes = changes_of([step(0, 1, 2, "ab"), step(1, 3, 4, "cd"), step(2, 5, 8, "dg"), step(3, 6, 7, "ef")])
    assert [name_of(state, changes) for state in range(len(changes) + 1)] == [
        "before the first step",
        "after s0",
        "before s1",
        "after s1",
        "before s3",
        "after s3",
        "after the last step",
    ]

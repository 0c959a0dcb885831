"""What happened to files that no snapshot has is one line."""

from __future__ import annotations

from typing import Any

from snapd.cli.terminal.reasons import format_uncaptured


def step(**changes: str) -> dict[str, Any]:
    return {"uncaptured": [{"file": f"{name}.env", "change": change} for name, change in changes.items()]}


def test_the_line() -> None:
    assert format_uncaptured([{}, {"uncaptured": []}]) is None
    assert format_uncaptured([step(a="deleted")]) == "not in snapshots: a.env was deleted"
    # what happened last counts
    assert format_uncaptured([step(b="deleted", a="deleted"), step(b="changed")]) == (
        "not in snapshots: a.env was deleted; b.env was changed"
    )
    many = dict.fromkeys("gfedcba", "changed")
    assert format_uncaptured([step(**many)]) == (
        "not in snapshots: a.env, b.env, c.env, d.env, e.env and 2 more were changed"
    )

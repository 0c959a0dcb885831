"""What happened to files that no snapshot has is one line."""

from __future__ import annotations

from typing import Any

from snapd.cli.terminal.reasons import not_in_snapshots


def step(**changes: str) -> dict[str, Any]:
    return {"uncaptured": [{"file": f"{name}.env", "change": change} for name, change in changes.items()]}


def test_the_line() -> None:
    assert not_in_snapshots([{}, {"uncaptured": []}]) is None
    assert not_in_snapshots([step(a="deleted")]) == "not in snapshots: a.env was deleted"
    # what happened last counts
    assert not_in_snapshots([step(b="deleted", a="deleted"), step(b="changed")]) == (
        "not in snapshots: a.env was deleted; b.env was changed"
    )
    many = dict.fromkeys("gfedcba", "changed")
    assert not_in_snapshots([step(**many)]) == (
        "not in snapshots: a.env, b.env, c.env, d.env, e.env and 2 more were changed"
    )

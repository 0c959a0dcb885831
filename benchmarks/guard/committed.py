"""The counts that are committed, and how others differ from them."""

from __future__ import annotations

import json
import os

Counts = dict[str, dict[str, int]]
"""By row and by what was counted."""

COMMITTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts.json")


class BadCounts(Exception):
    """The file does not hold counts."""


def dump(counts: Counts) -> str:
    """The text of a file of counts: one count a line, in the order of names."""
    return json.dumps(counts, indent=1, sort_keys=True) + "\n"


def load(path: str = COMMITTED) -> Counts:
    """Reads a file of counts.

    Raises:
        BadCounts: it holds none.
    """
    with open(path, encoding="ascii") as file:
        text = file.read()
    try:
        result: Counts = {
            str(row): {str(name): int(count) for name, count in counts.items()}
            for row, counts in json.loads(text).items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise BadCounts(f"{path}: {error}; make it anew with: make bench-guard ACCEPT=1") from error
    return result


def differences(committed: Counts, counts: Counts) -> list[str]:
    """One line for each count that is not the committed one; what is not counted at all counts as 0."""
    lines = []
    for row in sorted(committed.keys() | counts.keys()):
        old, new = committed.get(row, {}), counts.get(row, {})
        for name in sorted(old.keys() | new.keys()):
            was, now = old.get(name, 0), new.get(name, 0)
            if was != now:
                lines.append(f"{row}: {name}: committed {was:,}, found {now:,} ({now - was:+,})")
    return lines

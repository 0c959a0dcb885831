"""Directories under watch, for tests of the clocks."""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from snapd.watch.clock import Clock, Marks


@attrs.define(eq=False)
class Spot:
    """A directory under watch."""

    name: str
    watch: int = -1


def watch(clock: Clock, folder: Path | bytes, spot: Spot) -> Spot:
    """Has a directory watched as `spot`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        clock.watch(descriptor, spot)
    finally:
        os.close(descriptor)
    return spot


def names(marks: Marks) -> dict[str, set[bytes]]:
    """What is marked, by the name of the place; nothing may be everything."""
    assert not marks.everything
    return {place.name: found for place, found in marks.names.items() if isinstance(place, Spot)}

"""What came and is gone again: each sequence of events as the kernel tells it."""

from __future__ import annotations

import pytest

from snapd.watch.inotify_clock import TransientNames
from snapd.watch.queues import CREATE, DELETE, MODIFY, MOVED_FROM, MOVED_TO, Event

Steps = list[tuple[int, bytes] | tuple[int, bytes, int]]

LOST: dict[str, Steps] = {
    "removed": [(CREATE, b"t"), (MODIFY, b"t"), (DELETE, b"t")],
    "replaced": [(CREATE, b"t"), (MOVED_FROM, b"n", 1), (MOVED_TO, b"t", 1)],
    "renamed and removed": [(CREATE, b"t"), (MOVED_FROM, b"t", 1), (MOVED_TO, b"u", 1), (DELETE, b"u")],
    "moved in and removed": [(MOVED_TO, b"t", 1), (DELETE, b"t")],
    "moved out": [(CREATE, b"t"), (MOVED_FROM, b"t", 1)],
    "in place of another, and removed": [(DELETE, b"t"), (CREATE, b"t"), (DELETE, b"t")],
    "saved twice": [
        (CREATE, b"~", 0),
        (MOVED_FROM, b"~", 1),
        (MOVED_TO, b"t", 1),
        (CREATE, b"~", 0),
        (MOVED_FROM, b"~", 2),
        (MOVED_TO, b"t", 2),
    ],
    "exchanged and removed": [
        (CREATE, b"t"),
        (MOVED_FROM, b"t", 1),
        (MOVED_TO, b"u", 1),
        (MOVED_FROM, b"u", 2),
        (MOVED_TO, b"t", 2),
        (DELETE, b"t"),
    ],
}
KEPT: dict[str, Steps] = {
    "came": [(CREATE, b"t"), (MODIFY, b"t")],
    "went": [(MODIFY, b"t"), (DELETE, b"t")],
    "renamed": [(CREATE, b"t"), (MOVED_FROM, b"t", 1), (MOVED_TO, b"u", 1)],
    "moved in": [(MOVED_TO, b"t", 1)],
    "an old one moved out": [(MOVED_FROM, b"t", 1)],
    "an old one renamed, moved out": [(MOVED_FROM, b"t", 1), (MOVED_TO, b"u", 1), (MOVED_FROM, b"u", 2)],
    "an old one replaced by another": [(MOVED_FROM, b"t", 1), (MOVED_TO, b"u", 1)],
    "made anew": [(DELETE, b"t"), (CREATE, b"t")],
    "our own": [
        (CREATE, b"own"),
        (MOVED_FROM, b"own", 1),
        (MOVED_TO, b"t", 1),
        (MOVED_FROM, b"t", 2),
        (MOVED_TO, b"own", 2),
        (DELETE, b"own"),
    ],
}


def lost(comings: TransientNames, steps: Steps) -> bool:
    """Whether something of that is lost."""
    found = [comings.follow(Event(1, mask, name, *cookie)) for mask, name, *cookie in steps]
    return comings.moved_out() or any(found)


@pytest.mark.parametrize("steps", LOST.values(), ids=LOST.keys())
def test_what_came_and_is_gone_is_lost(steps: Steps) -> None:
    assert lost(TransientNames(lambda name: name == b"own"), steps)


@pytest.mark.parametrize("steps", KEPT.values(), ids=KEPT.keys())
def test_what_is_there_or_was_seen_is_not(steps: Steps) -> None:
    assert not lost(TransientNames(lambda name: name == b"own"), steps)


def test_a_look_has_seen_what_came() -> None:
    comings = TransientNames(lambda _: False)
    assert not lost(comings, [(CREATE, b"t")])
    assert comings.has_new_names(1)
    assert not comings.has_new_names(2)
    comings.end()
    assert not comings.has_new_names(1)
    assert not lost(comings, [(DELETE, b"t")])


def test_names_are_those_of_their_directory() -> None:
    comings = TransientNames(lambda _: False)
    comings.follow(Event(1, CREATE, b"t"))
    assert not comings.follow(Event(2, DELETE, b"t"))
    assert comings.follow(Event(1, DELETE, b"t"))

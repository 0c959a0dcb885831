"""What goes and what stays: decided from what the store has, without looking at anything.

The clock is not believed blindly. What was recorded has an order of its own (its sequence), and its times are only a
hint of how much time went by in between. See `ages`.

What goes with age: snapshots; and sessions that have ended, each as a whole, together with all that they are linked
with. Never what an open session names, the newest snapshot, and the newest event. What events name that stay, stays
too, however old and whatever the limits are: what can be shown can be brought back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import ObjectId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

DAY_SECONDS = 86400.0

PLAUSIBLE_SECONDS = 31 * DAY_SECONDS
"""Nothing happened for so long: that is believed at once. A longer leap may be a clock that was set wrong."""

LASTING_SECONDS = DAY_SECONDS
"""A longer leap is believed once the time after it has gone on for so long, by what was recorded and by now."""


@attrs.frozen
class Retention:
    """What is configured for a workspace.

    Attributes:
        days: that snapshots are kept.
        max_snapshots: as of `Limits`; 0 for all.
        max_bytes: as of `Limits`; 0 for any size.
    """

    days: float = 7.0
    max_snapshots: int = 0
    max_bytes: int = 0

    def limits(self, now: float, days: float | None = None) -> Limits:
        """What that means now.

        Args:
            now: seconds since 1970.
            days: instead of its own.
        """
        seconds = (self.days if days is None else days) * DAY_SECONDS
        return Limits(now, seconds, self.max_snapshots or None, self.max_bytes or None)


@attrs.frozen
class Limits:
    """What is to be kept.

    Attributes:
        now: seconds since 1970.
        older_than: seconds: what is older goes; 0 or less has everything go that may.
        max_snapshots: how many stay of each session, and of those that belong to none; None for all.
        max_bytes: what the store may take; None for any size.
    """

    now: float
    older_than: float
    max_snapshots: int | None = None
    max_bytes: int | None = None


@attrs.frozen
class SnapshotDate:
    """A snapshot that was recorded; one tree can be recorded several times.

    Attributes:
        seq: its place among the snapshots.
        seconds: since 1970, when it was taken, by the clock of then.
        tree: its tree.
    """

    seq: int
    seconds: float
    tree: ObjectId


@attrs.frozen
class Chain:
    """Events that go together: those of a session, or the operations of a day that belong to none.

    Attributes:
        name: of the chain.
        last: the place of its newest event among the times of `Inventory`.
        began: seconds since 1970.
        ended: likewise, of its newest event; None while the session goes on.
        is_session: whether it is a session.
        trees: of the snapshots that its events name.
    """

    name: str
    last: int
    began: float
    ended: float | None
    is_session: bool
    trees: frozenset[ObjectId]


@attrs.frozen
class Inventory:
    """What a store has.

    Attributes:
        snapshots: in their order.
        newest: the `seq` of the one that stays in any case, None where there is none.
        times: seconds since 1970 of each event, in their order.
        chains: of these events.
        links: names of chains, two by two, of which one has an event that names something of the other.
    """

    snapshots: Sequence[SnapshotDate]
    newest: int | None
    times: Sequence[float]
    chains: Sequence[Chain]
    links: Sequence[tuple[str, str]]


@attrs.frozen
class Removal:
    """What goes.

    Attributes:
        snapshots: by their `seq`.
        chains: by their names.
    """

    snapshots: frozenset[int] = frozenset()
    chains: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.chains)


def ages(times: Sequence[float], now: float) -> list[float]:
    """How old each of some records is, seconds, as far as that can be believed.

    An age is the sum of the times that went by between records, up to now. A clock that goes back adds nothing. A leap
    over `PLAUSIBLE_SECONDS` adds nothing either, until the time after it has lasted for `LASTING_SECONDS`. Nothing is
    older than its own time says, unless that is in the future; and nothing is older than what was recorded before it.

    So no age is more than the truth, unless a clock was wrong by weeks for more than a day; what was recorded by a
    wrong clock itself is taken for no older than what was recorded before it. Where an age is less than the truth, it
    catches up when the records go whose times were wrong.

    Args:
        times: seconds since 1970 by the clock of then, in the order in which the records were made.
        now: likewise, of now.
    """
    found: list[float] = []
    age = lasted = 0.0
    for later, earlier in pairwise([now, *reversed(times)]):
        passed = later - earlier
        if 0 <= passed <= PLAUSIBLE_SECONDS:
            age += passed
            lasted += passed
        else:
            if passed > 0 and lasted >= LASTING_SECONDS:
                age += passed
            lasted = 0.0
        found.append(age)
    found.reverse()
    for place, time in enumerate(times):
        if place:
            found[place] = min(found[place], found[place - 1])
        if time <= now:
            found[place] = min(found[place], now - time)
    return found


def expired(inventory: Inventory, limits: Limits, keep: Collection[ObjectId] = ()) -> Removal:
    """What goes by age and by number.

    Args:
        inventory: what there is.
        limits: what is to be kept; its `max_bytes` is none of this function's concern: see `droppable`.
        keep: trees of which the newest snapshot stays.
    """
    by_event = ages(inventory.times, limits.now)
    old = {chain.name for chain in _ended(inventory) if _is_old(by_event[chain.last], limits)}
    chains = _unlinked(old, inventory.links)
    staying = [chain for chain in inventory.chains if chain.name not in chains]
    needed = _needed(inventory, staying, keep)
    by_snapshot = ages([taken.seconds for taken in inventory.snapshots], limits.now)
    aged = {
        taken.seq
        for taken, age in zip(inventory.snapshots, by_snapshot, strict=True)
        if taken.seq not in needed and _is_old(age, limits)
    }
    left = [taken for taken in inventory.snapshots if taken.seq not in aged]
    return Removal(frozenset(aged | (_surplus(left, staying, limits.max_snapshots) - needed)), frozenset(chains))


def droppable(inventory: Inventory, now: float, keep: Collection[ObjectId] = ()) -> list[Removal]:
    """What may go where space is short: piece by piece, the oldest first.

    Args:
        inventory: what there is.
        now: seconds since 1970.
        keep: as of `expired`.
    """
    by_event = ages(inventory.times, now)
    free = _unlinked({chain.name for chain in _ended(inventory)}, inventory.links)
    groups = _groups(free, inventory.links)
    by_name = {chain.name: chain for chain in inventory.chains}
    staying = [chain for chain in inventory.chains if chain.name not in free]
    newest_of = {taken.tree: taken.seq for taken in inventory.snapshots}
    needed = _needed(inventory, staying, keep)
    # what a session names goes with it, and not before the youngest of those that name it
    pieces: list[tuple[float, set[int], frozenset[str]]] = []
    named: set[int] = set()
    for group in sorted(groups, key=lambda group: min(by_event[by_name[name].last] for name in group)):
        trees = {tree for name in group for tree in by_name[name].trees}
        snapshots = {newest_of[tree] for tree in trees if tree in newest_of} - named - needed
        named |= snapshots
        pieces.append((min(by_event[by_name[name].last] for name in group), snapshots, frozenset(group)))
    by_snapshot = ages([taken.seconds for taken in inventory.snapshots], now)
    for taken, age in zip(inventory.snapshots, by_snapshot, strict=True):
        if taken.seq not in needed and taken.seq not in named:
            pieces.append((age, {taken.seq}, frozenset()))
    # the sort is stable, and of two that are as old the one that was recorded first goes first
    pieces.sort(key=lambda piece: -piece[0])
    return [Removal(frozenset(snapshots), names) for _, snapshots, names in pieces]


def union(pieces: Iterable[Removal]) -> Removal:
    """All of several."""
    snapshots: set[int] = set()
    chains: set[str] = set()
    for piece in pieces:
        snapshots |= piece.snapshots
        chains |= piece.chains
    return Removal(frozenset(snapshots), frozenset(chains))


def _is_old(age: float, limits: Limits) -> bool:
    return age > limits.older_than or limits.older_than <= 0


def _ended(inventory: Inventory) -> list[Chain]:
    """The chains that may go, as far as they themselves are concerned: no session goes on, and not the newest event."""
    return [chain for chain in inventory.chains if chain.ended is not None and chain.last != len(inventory.times) - 1]


def _needed(inventory: Inventory, staying: Iterable[Chain], keep: Collection[ObjectId]) -> set[int]:
    """The newest snapshot, and that of each tree which is named."""
    trees = {*keep, *(tree for chain in staying for tree in chain.trees)}
    newest_of = {taken.tree: taken.seq for taken in inventory.snapshots}
    needed = {newest_of[tree] for tree in trees if tree in newest_of}
    if inventory.newest is not None:
        needed.add(inventory.newest)
    return needed


def _surplus(snapshots: Sequence[SnapshotDate], chains: Iterable[Chain], most: int | None) -> set[int]:
    """Those that are beyond the number of each session in whose time they were taken, or of those in that of none."""
    if most is None:
        return set()
    sessions = [chain for chain in chains if chain.is_session]
    counts: dict[str | None, int] = {}
    surplus = set()
    for taken in reversed(snapshots):
        # snapshots are told by the second, events by the millisecond
        during = [
            chain.name
            for chain in sessions
            if int(chain.began) <= taken.seconds and (chain.ended is None or taken.seconds <= chain.ended)
        ]
        among: list[str | None] = [*during] or [None]
        if all(counts.get(name, 0) >= most for name in among):
            surplus.add(taken.seq)
        for name in among:
            counts[name] = counts.get(name, 0) + 1
    return surplus


def _unlinked(chains: set[str], links: Iterable[tuple[str, str]]) -> set[str]:
    """Those of the chains that are linked with each other at most."""
    pairs = list(links)
    free = set(chains)
    count = -1
    while count != len(free):
        count = len(free)
        for here, there in pairs:
            if not {here, there} <= free:
                free -= {here, there}
    return free


def _groups(names: Collection[str], links: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Names that are linked, however far, in a set each."""
    of = {name: {name} for name in names}
    for here, there in links:
        if here in of and there in of and of[here] is not of[there]:
            joined = of[here] | of[there]
            for name in joined:
                of[name] = joined
    return list({id(group): group for group in of.values()}.values())

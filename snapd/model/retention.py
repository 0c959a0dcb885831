"""Decides what retention removes, from an inventory of the store alone.

Events that only record a snapshot expire with age; so do ended sessions, each with all that it is linked to. What an
open session names, the newest snapshot and the newest event never expire, nor do snapshots that remaining events name:
what can be shown can be restored. Clocks are not trusted blindly, see `ages`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import attrs

from snapd.model.snapshot import ObjectId

DAY_SECONDS = 86400.0

PLAUSIBLE_SECONDS = 31 * DAY_SECONDS  # a longer gap may come from a clock that was set wrong

LASTING_SECONDS = DAY_SECONDS  # a longer gap counts once the records after it span this time


@attrs.frozen
class Retention:
    """The retention settings of a workspace; 0 is no limit for `max_snapshots` and `max_bytes`, see `Limits`."""

    days: float = 7.0
    max_snapshots: int = 0
    max_bytes: int = 0

    def limits(self, now: float, days: float | None = None) -> Limits:
        """Returns the limits at a time, seconds since 1970; `days` overrides the settings."""
        seconds = (self.days if days is None else days) * DAY_SECONDS
        return Limits(now, seconds, self.max_snapshots or None, self.max_bytes or None)


@attrs.frozen
class Limits:
    """The limits of what to keep; None is no limit."""

    now: float  # seconds since 1970
    older_than: float  # age in seconds beyond which records expire; all that may, if <= 0
    max_snapshots: int | None = None  # of each session, and of those outside all sessions
    max_bytes: int | None = None  # size of the store


@attrs.frozen
class DatedSnapshot:
    """A recorded snapshot; one tree can be recorded several times."""

    at: int  # index of its event in `Inventory.times`
    seq: int
    tree: ObjectId
    chain: str | None  # None if its event only records the snapshot, and may expire alone


@attrs.frozen
class Chain:
    """Events that expire together: those of a session, or of one day's operations outside all sessions."""

    name: str
    first: int  # index of its oldest event in `Inventory.times`
    last: int  # index of its newest event
    is_open: bool  # a session that goes on
    is_session: bool
    trees: frozenset[ObjectId]  # of the snapshots that its events name


@attrs.frozen
class Inventory:
    """The dated contents of a store."""

    times: Sequence[float]  # of each event, seconds since 1970, in the order of the events
    snapshots: Sequence[DatedSnapshot]  # in the order in which they were recorded
    chains: Sequence[Chain]
    links: Sequence[tuple[str, str]]  # pairs of names; an event of one names something of the other
    base: int | None  # the event whose snapshot and chain stay in any case

    def count(self, removal: Removal) -> int:
        """Returns how many snapshots a removal removes."""
        return sum(taken.seq in removal.snapshots or taken.chain in removal.chains for taken in self.snapshots)


@attrs.frozen
class Removal:
    """What to remove: the `seq` of events that only record a snapshot, and the names of chains."""

    snapshots: frozenset[int] = frozenset()
    chains: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.chains)


def ages(times: Sequence[float], now: float) -> list[float]:
    """Returns the age of each record in seconds, as far as the clock can be believed.

    `times` are in seconds since 1970, in the order in which the records were made. An age is the sum of the gaps
    between records up to now. A clock that goes back adds nothing, nor does a gap over `PLAUSIBLE_SECONDS`, until the
    records after it span `LASTING_SECONDS`. No record is older than its own time, unless that is in the future, or than
    the record before it.

    So no age exceeds the truth, unless a clock was wrong by weeks for more than a day; an age that is too low catches
    up once the records with wrong times are removed.
    """
    matches: list[float] = []
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
        matches.append(age)
    matches.reverse()
    for place, time in enumerate(times):
        if place:
            matches[place] = min(matches[place], matches[place - 1])
        if time <= now:
            matches[place] = min(matches[place], now - time)
    return matches


def expired(inventory: Inventory, limits: Limits, keep: Collection[ObjectId] = ()) -> Removal:
    """Returns what to remove by age and number; the newest snapshot of each tree in `keep` stays."""
    by_event = ages(inventory.times, limits.now)
    old = {chain.name for chain in _ended(inventory) if _is_old(by_event[chain.last], limits)}
    chains = _unlinked(old, inventory.links)
    staying = [chain for chain in inventory.chains if chain.name not in chains]
    needed = _needed(inventory, staying, keep)
    single = [taken for taken in inventory.snapshots if taken.chain is None]
    aged = {taken.seq for taken in single if taken.seq not in needed and _is_old(by_event[taken.at], limits)}
    left = [taken for taken in inventory.snapshots if taken.seq not in aged and taken.chain not in chains]
    surplus = _surplus(left, staying, limits.max_snapshots) & {taken.seq for taken in single}
    return Removal(frozenset(aged | (surplus - needed)), frozenset(chains))


def droppable(inventory: Inventory, now: float, keep: Collection[ObjectId] = ()) -> list[Removal]:
    """Returns what may be removed if the store is too large, piece by piece, oldest first; `keep` as in `expired`."""
    by_event = ages(inventory.times, now)
    free = _unlinked({chain.name for chain in _ended(inventory)}, inventory.links)
    groups = _groups(free, inventory.links)
    by_name = {chain.name: chain for chain in inventory.chains}
    staying = [chain for chain in inventory.chains if chain.name not in free]
    single = [taken for taken in inventory.snapshots if taken.chain is None]
    newest_of = {taken.tree: taken.seq for taken in single}
    needed = _needed(inventory, staying, keep)
    # the snapshots of a session are removed with it, or with the youngest session that names them
    pieces: list[tuple[float, set[int], frozenset[str]]] = []
    named: set[int] = set()
    for group in sorted(groups, key=lambda group: min(by_event[by_name[name].last] for name in group)):
        trees = {tree for name in group for tree in by_name[name].trees}
        snapshots = {newest_of[tree] for tree in trees if tree in newest_of} - named - needed
        named |= snapshots
        pieces.append((min(by_event[by_name[name].last] for name in group), snapshots, frozenset(group)))
    pieces += [
        (by_event[taken.at], {taken.seq}, frozenset())
        for taken in single
        if taken.seq not in needed and taken.seq not in named
    ]
    # the sort is stable: of two pieces of the same age, the one recorded first goes first
    pieces.sort(key=lambda piece: -piece[0])
    return [Removal(frozenset(snapshots), names) for _, snapshots, names in pieces]


def union(pieces: Iterable[Removal]) -> Removal:
    """Joins several removals into one."""
    snapshots: set[int] = set()
    chains: set[str] = set()
    for piece in pieces:
        snapshots |= piece.snapshots
        chains |= piece.chains
    return Removal(frozenset(snapshots), frozenset(chains))


def _is_old(age: float, limits: Limits) -> bool:
    return age > limits.older_than or limits.older_than <= 0


def _ended(inventory: Inventory) -> list[Chain]:
    """Returns the chains that may be removed alone: no open session, and without an event that stays."""
    newest = max((chain.last for chain in inventory.chains), default=None)
    kept = {taken.chain for taken in inventory.snapshots if taken.seq == inventory.base}
    return [
        chain for chain in inventory.chains if not chain.is_open and chain.last != newest and chain.name not in kept
    ]


def _needed(inventory: Inventory, staying: Iterable[Chain], keep: Collection[ObjectId]) -> set[int]:
    """Returns the event that stays in any case, and the newest event for each tree that has to stay."""
    names = {chain.name for chain in staying}
    trees = {*keep, *(tree for chain in staying for tree in chain.trees)}
    trees -= {taken.tree for taken in inventory.snapshots if taken.chain in names}
    newest_of = {taken.tree: taken.seq for taken in inventory.snapshots if taken.chain is None}
    needed = {newest_of[tree] for tree in trees if tree in newest_of}
    return needed if inventory.base is None else {*needed, inventory.base}


def _surplus(snapshots: Sequence[DatedSnapshot], chains: Iterable[Chain], most: int | None) -> set[int]:
    """Returns the snapshots beyond the limit of each session that was open then, or outside of sessions."""
    if most is None:
        return set()
    sessions = [chain for chain in chains if chain.is_session]
    counts: dict[str | None, int] = {}
    surplus = set()
    for taken in reversed(snapshots):
        during = [
            chain.name for chain in sessions if chain.first <= taken.at and (chain.is_open or taken.at <= chain.last)
        ]
        among: list[str | None] = [*during] or [None]
        if all(counts.get(name, 0) >= most for name in among):
            surplus.add(taken.seq)
        for name in among:
            counts[name] = counts.get(name, 0) + 1
    return surplus


def _unlinked(chains: set[str], links: Iterable[tuple[str, str]]) -> set[str]:
    """Returns the chains that are only linked to each other."""
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
    """Groups names that are linked, directly or through others."""
    of = {name: {name} for name in names}
    for here, there in links:
        if here in of and there in of and of[here] is not of[there]:
            joined = of[here] | of[there]
            for name in joined:
                of[name] = joined
    return list({id(group): group for group in of.values()}.values())

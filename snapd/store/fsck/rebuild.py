"""Rebuilds chains of events that have lost a reference or a commit, from the positions that the other commits state.

Commits that cannot be read are left out, and so are events that depend on them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import ObjectId
from snapd.model.timeline import Event, SessionStarted, StepBegun, StepEnded, StepId
from snapd.store.files.durable import NewerFormat
from snapd.store.objects.codec import decode_commit, object_id
from snapd.store.refs.database import PACKED, References
from snapd.store.timeline.chain import CHAINS, SESSIONS, SNAPSHOTS, ChainLink, chain_of, decode_link, encode_link, pins
from snapd.store.timeline.codec import encode_event
from snapd.store.timeline.database import Database

from .inventory import ObjectInventory
from .walk import Reachable

_PARENT = re.compile(rb"\A(tree [0-9a-f]{40}\n)(?:parent [0-9a-f]{40}\n)?")


@attrs.define
class RebuiltChains:
    """Rebuilt chains: the new targets of references (None: nothing is left), and events that depend on a lost one."""

    targets: dict[str, ObjectId | None] = attrs.field(factory=dict)
    commits: dict[ObjectId, bytes] = attrs.field(factory=dict)
    left_out: list[ChainLink] = attrs.field(factory=list)


@attrs.define
class _Stray:
    """Commits of snapd that no reference reaches; `followed` has the parents of those of a newer snapd."""

    links: dict[ObjectId, ChainLink] = attrs.field(factory=dict)
    followed: set[ObjectId | None] = attrs.field(factory=set)


def lost_references(
    named: Reachable, references: References, commits: Mapping[ObjectId, bytes], known: Mapping[str, ObjectId]
) -> list[str]:
    """Returns the names of references that were lost, not removed by snapd.

    snapd always keeps the newest event. Other unreachable commits have expired, unless unreadable packed references may
    have reached them. If a newer snapd wrote to the store, nothing counts as lost. `known` has the newest commits of
    the timeline's chains, if its database is sound.
    """
    if named.newer:
        return []
    stray = _stray(named, commits)
    there = {*references.targets, *references.damaged}
    is_any = PACKED in references.damaged
    latest = max((link.event.seq for link in named.links.values()), default=0)
    gone = {link.chain for link in stray.links.values() if link.event.seq > latest or is_any}
    gone |= {name for name, commit in known.items() if commit in commits}
    gone -= there
    if not gone:
        return []
    # an earlier repair has left out events that depend on a lost one
    return sorted(
        {link.chain for link in _fitting(RebuiltChains(), _candidates(RebuiltChains(), gone, named, stray))} & gone
    )


def rebuildable_chains(named: Reachable, commits: Mapping[ObjectId, bytes], names: Iterable[str]) -> list[str]:
    """Returns those lost, damaged or broken chains that cannot contain anything of a newer snapd."""
    stray = _stray(named, commits)
    # the events of all chains depend on each other
    is_newer = bool(
        named.newer
        or stray.followed & stray.links.keys()
        or any(stray.followed & set(chain.commits) for chain in named.chains)
    )
    return [] if is_newer else [*names]


def rebuild(
    named: Reachable, commits: Mapping[ObjectId, bytes], holdings: ObjectInventory, names: Iterable[str]
) -> RebuiltChains:
    """Rebuilds chains that are lost, damaged or broken off, from all commits of snapd that can be read."""
    stray = _stray(named, commits)
    rebuilt = RebuiltChains()
    asked = {name for name in names if name.startswith(CHAINS)}
    present = {chain.name: list(reversed(chain.commits)) for chain in named.chains}
    for commit, link in [*stray.links.items()]:
        # what expired and was removed in part stays so: nothing depends on it
        if link.chain.startswith(SNAPSHOTS) and not holdings.has(link.tree):
            del stray.links[commit]
    if not asked:
        return rebuilt
    chains: dict[str, list[ObjectId]] = {}
    for link in _fitting(rebuilt, _candidates(rebuilt, asked, named, stray)):
        chains.setdefault(link.chain, []).append(link.commit)
    commits = {**commits, **rebuilt.commits}
    for name in {*asked, *present}:
        ordered = chains.get(name, [])
        if name in asked or ordered != present.get(name):
            rebuilt.targets[name] = _linked(rebuilt, ordered, commits)
    return rebuilt


def _candidates(rebuilt: RebuiltChains, asked: set[str], named: Reachable, stray: _Stray) -> list[ChainLink]:
    """Returns all events that can be part of the chains, in order; a session without its beginning gets a new one."""
    links = dict(named.links)
    taken = {link.event.seq for link in links.values()}
    for commit, link in stray.links.items():
        if link.chain in asked and link.event.seq not in taken:
            links[commit] = link
            taken.add(link.event.seq)
    begun = {link.chain for link in links.values() if isinstance(link.event.what, SessionStarted)}
    for chain in sorted(asked - begun):
        begins = [link for link in links.values() if link.chain == chain and isinstance(link.event.what, StepBegun)]
        if chain.startswith(SESSIONS) and begins:
            first = min(begins, key=lambda link: link.event.seq)
            free = next((seq for seq in range(first.event.seq - 1, 0, -1) if seq not in taken), None)
            if free is not None:
                link = _beginning(rebuilt, chain, first, free)
                links[link.commit] = link
                taken.add(free)
    return sorted(links.values(), key=lambda link: link.event.seq)


def _beginning(rebuilt: RebuiltChains, chain: str, first: ChainLink, seq: int) -> ChainLink:
    """Makes a new beginning of a session from what its first step states."""
    assert isinstance(first.event.what, StepBegun)
    started = SessionStarted(first.event.what.session_id, None, None)
    event = Event(seq, first.event.milliseconds, None, None, started)
    payload = encode_event(event, None)
    tree = pins(event).tree
    data = encode_link(event, payload, tree, None)
    commit = object_id("commit", data)
    rebuilt.commits[commit] = data
    return ChainLink(chain, commit, tree, event, payload)


def _fitting(rebuilt: RebuiltChains, links: list[ChainLink]) -> list[ChainLink]:
    """Returns the events without those that depend on a lost one."""
    fitting: list[ChainLink] = []
    with closing(Database.made(None, ())) as database:
        for link in links:
            database.begin()
            try:
                database.add(link, fitting[-1].event.seq if fitting else None)
                database.commit()
            except (ValueError, sqlite3.IntegrityError):
                database.roll_back()
                rebuilt.left_out.append(link)
            else:
                fitting.append(link)
    return fitting


def _linked(rebuilt: RebuiltChains, ordered: list[ObjectId], commits: Mapping[ObjectId, bytes]) -> ObjectId | None:
    """Makes each commit the parent of the next one; returns the last."""
    before: ObjectId | None = None
    for commit in ordered:
        parent = b"" if before is None else b"parent %s\n" % before.hex().encode()
        data = _PARENT.sub(rb"\g<1>" + parent, commits[commit])
        before = object_id("commit", data)
        if before != commit:
            rebuilt.commits[before] = data
    return before


def _stray(named: Reachable, commits: Mapping[ObjectId, bytes]) -> _Stray:
    stray = _Stray()
    events: list[tuple[ObjectId, ChainLink]] = []
    sessions: dict[StepId, str] = {}
    for link in named.links.values():
        if isinstance(link.event.what, StepBegun):
            sessions[link.event.what.step_id] = link.event.what.session_id
    for commit, data in commits.items():
        if commit in named.links or commit in named.newer:
            continue
        try:
            link, _ = decode_link("", commit, data)
        except NewerFormat:
            stray.followed.add(decode_commit(data, commit)[1])
            continue
        except StoreCorrupt:
            # a commit of another program is not part of our chains
            continue
        events.append((commit, link))
        if isinstance(link.event.what, StepBegun):
            sessions[link.event.what.step_id] = link.event.what.session_id
    for commit, link in events:
        what = link.event.what
        if isinstance(what, StepEnded):
            if what.step_id not in sessions:
                # the step has lost its beginning, so its session is unknown
                continue
            session_id: str | None = sessions[what.step_id]
        else:
            session_id = getattr(what, "session_id", None)
        stray.links[commit] = attrs.evolve(link, chain=chain_of(link.event, session_id))
    return stray

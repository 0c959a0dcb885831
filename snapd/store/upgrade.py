"""Brings a store of an older format to the current format, when it is first opened.

Before format 3, each note was a file of its own, and so was an intent. In format 1, a snapshot was not an event: a
chain of records for each day, `refs/snapd/snapshots/<day>`, had them, and `refs/snapd/coverage/<blob>` kept their
coverages. The cause of a record follows from its time and tree. The records become events, and all events get new
numbers, in one frame of the journal; the version is written last, so an interrupted upgrade begins again.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs

from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import ObjectId
from snapd.model.timeline import (
    Edited,
    Event,
    Kept,
    MessageSent,
    Operated,
    Recorded,
    SnapshotId,
    StepBegun,
    StepEnded,
    StepsLeft,
)
from snapd.store.files.durable import NewerFormat, read_if_there, remove_if_there, sync_directory
from snapd.store.files.quarantine import Quarantine
from snapd.store.notes import LINEAGE, NUMBERS, SWEEP, Notes
from snapd.store.object_store import ObjectBatch
from snapd.store.refs.database import read_references
from snapd.store.repository import FORMAT_VERSION, ShadowRepository, version_of, write_config
from snapd.store.timeline.chain import CHAINS, SNAPSHOTS, ChainLink, chain_of, encode_link, pins, walk
from snapd.store.timeline.codec import encode_event

logger = logging.getLogger(__name__)

_INTENT_START = 12
"""The bytes before an intent in its file: the format, and a checksum."""
_COVERAGE = "refs/snapd/coverage/"
_RECORD = re.compile(
    r"tree (?P<tree>[0-9a-f]{40})\n(?:parent (?P<parent>[0-9a-f]{40})\n)?"
    r"author [^\n]*\ncommitter [^\n]*> (?P<seconds>[0-9]+) \+0000\n\n"
    r"(?P<kind>track|before|after|partly|look)\n\ncoverage: (?P<coverage>[0-9a-f]{40})\nseq: (?P<seq>[0-9]+)\n"
)
_MADE: Mapping[str, tuple[type, ...]] = {
    "track": (StepBegun, StepEnded, MessageSent, Kept, StepsLeft),
    "after": (Operated,),
    "partly": (Operated,),
    "look": (Edited, Operated),
}
"""The kinds of events that made a record of a kind, besides requests."""
_NEAR = 100
"""The number of events after the last one among which the cause of a record is searched."""
_FAR = 1_000_000
"""Added to the newest readable `seq`: no lost event has such a number."""


@attrs.frozen
class _Record:
    seq: int
    kind: Literal["track", "before", "after", "partly", "look"]
    snapshot: SnapshotId
    seconds: int

    def was_made_by(self, event: Event) -> bool:
        """Whether the time and the tree match; the state that an operation left may differ from its head."""
        if not isinstance(event.what, _MADE.get(self.kind, ())) or event.head is None:
            return False
        is_near = self.seconds * 1000 - 1000 <= event.milliseconds <= self.seconds * 1000 + 999
        return is_near and (self.kind in ("after", "partly") or event.head.tree == self.snapshot.tree)

    def as_event(self, operation_id: str | None) -> Event:
        """Returns the event that only records it, without its number."""
        kind: Any = "after" if self.kind == "partly" else self.kind
        what = Recorded(kind, self.snapshot, self.kind in ("track", "after"), operation_id)
        return Event(0, self.seconds * 1000, None, None, what)


def upgrade(repository: ShadowRepository) -> None:
    """Upgrades a store if necessary; after `StorageFull` or `IoError`, the next opening goes on.

    Raises `WrittenByNewer` if a newer snapd wrote an event; then nothing was changed.
    """
    _take_files_in(repository)
    version = version_of(repository.path)
    if version == FORMAT_VERSION:
        return
    if version == 1:
        _make_events(repository)
    write_config(repository.path)


def _take_files_in(repository: ShadowRepository) -> None:
    """Moves the content of older files into the journal and the notes.

    The files decide, not the version in the config, which may have been lost and written anew.
    """
    notes = Notes(repository.path)

    def keep_intent(data: bytes) -> None:
        repository.journal.flush(intent=_intent_of(data))

    writers: Mapping[str, Callable[[bytes], None]] = {
        "intent": keep_intent,
        "notifications": lambda data: notes.keep(NUMBERS, _number_of(data)),
        "unswept": lambda data: notes.keep(SWEEP, data.decode("ascii").strip()),
        "handovers.json": lambda data: notes.keep(LINEAGE, data.decode("utf-8")),
    }
    for name, write in writers.items():
        path = os.path.join(repository.path, name)
        with os_errors(path):
            if not os.path.isfile(path):
                continue
            try:
                write(read_if_there(path) or b"")
            except ValueError as error:
                logger.warning("%s is damaged, and is moved to quarantine: %s", path, error)
                Quarantine(repository.path).move(path, str(error))
            remove_if_there(path)
            sync_directory(repository.path)


def _intent_of(data: bytes) -> bytes:
    start, payload = data[:_INTENT_START], data[_INTENT_START:]
    if start != b"snapdI1\n" + zlib.crc32(payload).to_bytes(4, "big"):
        raise ValueError("its checksum does not match")
    return payload


def _number_of(data: bytes) -> str:
    match = re.fullmatch(rb"([1-9][0-9]*) ([0-9a-f]{8})\n", data)
    if match is None or zlib.crc32(match[1]) != int(match[2], 16):
        raise ValueError("its checksum does not match")
    return match[1].decode("ascii")


def _make_events(repository: ShadowRepository) -> None:
    references = read_references(repository.path).whole()
    days = {
        name: records
        for name, head in references.items()
        if name.startswith(SNAPSHOTS) and (records := [*_records(repository, head)])
    }
    moved: Mapping[str, ObjectId] = {}
    if days:
        records = sorted((record for result in days.values() for record in result), key=lambda record: record.seq)
        chains = {name: head for name, head in references.items() if name.startswith(CHAINS) and name not in days}
        moved = _convert(repository, records, chains)
    for name in references:
        # if events made all records of a day, nothing is left of it
        if name.startswith(_COVERAGE) or (name in days and name not in moved):
            repository.references.delete(name)
    repository.references.sync()


def _records(repository: ShadowRepository, head: ObjectId) -> Iterator[_Record]:
    """Yields the readable records of a day, newest first; none if they are events already."""
    commit: str | None = head.hex()
    while commit is not None:
        try:
            match = _RECORD.fullmatch(repository.read_commit(bytes.fromhex(commit)).decode("ascii", "replace"))
        except StoreCorrupt:
            return
        if match is None:
            return
        kind: Any = match["kind"]
        snapshot = SnapshotId(bytes.fromhex(match["tree"]), bytes.fromhex(match["coverage"]))
        yield _Record(int(match["seq"]), kind, snapshot, int(match["seconds"]))
        commit = match["parent"]


def _convert(
    repository: ShadowRepository, records: Sequence[_Record], chains: Mapping[str, ObjectId]
) -> Mapping[str, ObjectId]:
    """Writes all events anew, including those of some records; returns the new targets of their chains."""
    links, is_whole = _links(repository, chains)
    of = {link.event.seq: link.chain for link in links}
    if is_whole:
        first, events = 1, _merged(records, [link.event for link in links])
    else:
        # a repair has to find the events as they are
        first = max((link.event.seq for link in links), default=0) + _FAR
        events = [record.as_event(None) for record in records]
    moved: dict[str, ObjectId] = {}
    with ObjectBatch(repository) as batch:
        for seq, event in enumerate(events, first):
            chain = of[event.seq] if event.seq else chain_of(event, None)
            numbered = attrs.evolve(event, seq=seq)
            kept = pins(numbered)
            for data in kept.trees.values():
                batch.encoded_tree(data)
            payload = encode_event(numbered, seq - 1 if seq > first else None)
            moved[chain] = batch.commit_object(encode_link(numbered, payload, kept.tree, moved.get(chain)))
        batch.commit()
    repository.journal.flush(moved)
    repository.journal.publish()
    return moved


def _links(repository: ShadowRepository, heads: Mapping[str, ObjectId]) -> tuple[list[ChainLink], bool]:
    """Returns the readable events, by `seq`, and whether these are all."""
    links: list[ChainLink] = []
    is_whole = True
    for chain, head in heads.items():
        try:
            # includes the events before an unreadable one
            links.extend(walk(chain, head, repository.read_commit))
        except NewerFormat:
            raise
        except StoreCorrupt:
            is_whole = False
    return sorted(links, key=lambda link: link.event.seq), is_whole


def _merged(records: Sequence[_Record], events: Sequence[Event]) -> list[Event]:
    """Merges all events in order; those of records have no number, and events that caused a record are marked so."""
    matches = list(events)
    alone: deque[tuple[int, Event]] = deque()
    # the place after the last event that made a record, and after the last record
    place = 0
    for record in records:
        near = range(place, min(len(matches), place + _NEAR))
        maker = next((at for at in near if record.was_made_by(matches[at])), None)
        if maker is not None:
            matches[maker] = _with_residue(matches[maker], record)
            place = maker + 1
            continue
        operation = next((at for at in near if _begins_with(record, matches[at])), None)
        if operation is not None:
            place = operation
        while place < len(matches) and matches[place].milliseconds < record.seconds * 1000:
            place += 1
        named = None if operation is None else getattr(matches[operation].what, "operation_id", None)
        alone.append((place, record.as_event(named)))
    merged: list[Event] = []
    for at, event in enumerate([*matches, None]):
        while alone and alone[0][0] <= at:
            merged.append(alone.popleft()[1])
        if event is not None:
            merged.append(event)
    return merged


def _begins_with(record: _Record, event: Event) -> bool:
    """Whether a record has the state before an operation."""
    what = event.what
    return (
        record.kind == "before"
        and isinstance(what, Operated)
        and what.before.tree == record.snapshot.tree
        and event.milliseconds >= record.seconds * 1000 - 1000
    )


def _with_residue(event: Event, record: _Record) -> Event:
    what = event.what
    if not isinstance(what, Operated) or record.kind not in ("after", "partly"):
        return event
    after = None if record.snapshot == event.head else record.snapshot
    return attrs.evolve(event, what=attrs.evolve(what, after=after, is_base=record.kind == "after"))

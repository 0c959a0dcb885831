"""The log of snapshots: one commit each, reachable from `refs/snapd/snapshots/<day>`, in the shadow repository.

The commit's tree is the snapshot, so that git can show it and no garbage collection drops it. Its coverage, which a
tree cannot express, is a blob, kept by `refs/snapd/coverage/<blob>`; it seldom changes, so most snapshots share one. A
sequence number gives the order, never the clock; the day only groups snapshots that expire together.
"""

from __future__ import annotations

import datetime
import re
import threading
import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from types import MappingProxyType

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import StoreCorrupt, UnknownSnapshot
from snapd.model.snapshot import Coverage, ObjectId, RecordKind, Snapshot, Taken, TakenQuery
from snapd.model.timeline import SnapshotId
from snapd.store.files.durable import WrittenByNewer
from snapd.store.object_store import ObjectBatch
from snapd.store.objects.codec import encode_commit, object_id
from snapd.store.objects.loose import encode_loose, prepare
from snapd.store.refs.database import read_references

from .coverage import encode
from .repository import ShadowRepository

_DIGITS = 40
"""Of a tree's name in hexadecimal."""

SNAPSHOTS = "refs/snapd/snapshots/"
COVERAGE = "refs/snapd/coverage/"
_COMMIT = re.compile(
    rb"tree (?P<tree>[0-9a-f]{40})\n(?:parent (?P<parent>[0-9a-f]{40})\n)?"
    rb"author [^\n]*\ncommitter [^\n]*> (?P<seconds>[0-9]+) \+0000\n\n"
    rb"(?P<kind>[a-z]+)\n\ncoverage: (?P<coverage>[0-9a-f]{40})\nseq: (?P<seq>[0-9]+)\n"
)

_DAY_SECONDS = 86400
_EPOCH = datetime.date(1970, 1, 1).toordinal()

_KINDS = frozenset(kind.value for kind in RecordKind)

# not the state before an operation, nor a state that was only looked at: nobody chose those
_SETTLED = (RecordKind.TRACK, RecordKind.AFTER)


@attrs.frozen
class Record:
    """One entry of the log.

    Attributes:
        seq: its position in the log.
        kind: why it was taken.
        tree: the tree of the snapshot.
        coverage: the blob with its coverage.
        seconds: since 1970, when it was taken.
    """

    seq: int
    kind: RecordKind
    tree: ObjectId
    coverage: ObjectId
    seconds: int

    def same_state(self, other: Record) -> bool:
        """Whether both differ at most in `seq` and `seconds`."""
        return (self.kind, self.tree, self.coverage) == (other.kind, other.tree, other.coverage)


class RecordIndex:
    """Finds records by their place in the log, their time and their tree. Only one thread at a time may use it."""

    def __init__(self) -> None:
        # within each list, the clock never went back; so both `seq` and `seconds` are in order there
        self._runs: list[list[Record]] = []
        self._by_tree: dict[ObjectId, Record] = {}
        # made at its first use: to keep it in order while a log is read would cost more than to sort it once
        self._trees: list[ObjectId] | None = None

    def add(self, record: Record) -> None:
        """Adds a record, whose `seq` is higher than that of all others."""
        if self._runs and self._runs[-1][-1].seconds <= record.seconds:
            self._runs[-1].append(record)
        else:
            self._runs.append([record])
        if self._trees is not None and record.tree not in self._by_tree:
            insort(self._trees, record.tree)
        self._by_tree[record.tree] = record

    def of(self, tree: ObjectId) -> Record | None:
        """The newest record of a tree."""
        return self._by_tree.get(tree)

    def newest_first(self, below: int | None = None, until: int | None = None) -> Iterator[Record]:
        """The records in the reverse order of the log.

        Args:
            below: only those with a lower `seq`; None for all.
            until: only those taken at or before this time, in seconds since 1970; None for all.
        """
        for run in reversed(self._runs):
            end = len(run)
            if below is not None:
                end = bisect_left(run, below, key=lambda record: record.seq)
            if until is not None:
                end = bisect_right(run, until, hi=end, key=lambda record: record.seconds)
            for at in range(end - 1, -1, -1):
                yield run[at]

    def neighbours(self, name: str) -> list[str]:
        """The hashes of the trees that come right before and after a name in order, as far as there are any."""
        trees = self._in_order()
        before = bisect_left(trees, name, key=bytes.hex) - 1
        after = bisect_right(trees, name, key=bytes.hex)
        return [tree.hex() for tree in (*trees[max(before, 0) : before + 1], *trees[after : after + 1])]

    def _in_order(self) -> list[ObjectId]:
        if self._trees is None:
            self._trees = sorted(self._by_tree)
        return self._trees

    def beginning(self, prefix: str) -> list[Record]:
        """The newest record of each tree whose name begins with some digits, the newest first."""
        trees = self._in_order()
        first = bytes.fromhex(prefix.ljust(_DIGITS, "0"))
        last = bytes.fromhex(prefix.ljust(_DIGITS, "f"))
        found = trees[bisect_left(trees, first) : bisect_right(trees, last)]
        return sorted((self._by_tree[tree] for tree in found), key=lambda record: -record.seq)


class SnapshotLog:
    """The snapshots of a store. Safe to use from several threads.

    Args:
        repository: holds the log.

    Raises:
        StoreCorrupt: the log itself cannot be read.
    """

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._index = RecordIndex()
        self._newest: Record | None = None
        self._heads: dict[str, ObjectId] = {}
        self._seq = 0
        self._coverage_known: set[ObjectId] = set()
        self._load()
        self._is_read = True

    def find(self, tree: ObjectId) -> Snapshot:
        """The latest snapshot with this tree; raises `UnknownSnapshot`, and `StoreCorrupt` if it cannot be read."""
        with self._read():
            record = self._index.of(tree)
            if record is None:
                raise UnknownSnapshot(f"no snapshot {tree.hex()} in this workspace", hash=tree.hex())
            return Snapshot(tree, self._repository.coverages.decoded(record.coverage, self._repository.read_blob))

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""
        with self._read():
            return self._index.of(tree) is not None

    def taken(self, wanted: TakenQuery, below: int | None, limit: int) -> tuple[Taken, ...]:
        """Lists up to `limit` snapshots, newest first; only those with a `seq` below `below` unless that is None."""
        with self._read():
            if wanted.prefix:
                found = iter(self._index.beginning(wanted.prefix))
                records = [record for record in found if below is None or record.seq < below][:limit]
            else:
                records = list(islice(self._index.newest_first(below, wanted.until), limit))
            return tuple([self._taken(record) for record in records])

    def neighbours(self, name: str) -> list[str]:
        """The hashes of snapshots that come right before and after a name in order, as far as there are any."""
        with self._read():
            return self._index.neighbours(name)

    def _taken(self, record: Record) -> Taken:
        previous = next(self._index.newest_first(record.seq), None)
        return Taken(
            record.seq, record.tree, record.kind, record.seconds, previous.tree if previous is not None else None
        )

    @property
    def last(self) -> ObjectId | None:
        """The tree of the newest snapshot that a client asked for or that an operation left."""
        with self._read():
            return self._newest.tree if self._newest is not None else None

    def identify(self, snapshot: Snapshot) -> SnapshotId:
        """The id of a snapshot; its coverage is stored together with the next record.

        Raises:
            StorageFull, IoError: its coverage could not be stored.
        """
        with self._read():
            coverage = self._repository.coverages.blob_id(snapshot.coverage)
            if coverage not in self._coverage_known:
                self._store(snapshot.coverage)
        return SnapshotId(snapshot.tree, coverage)

    def append(
        self, snapshot: Snapshot, kind: RecordKind, references: Mapping[str, ObjectId] = MappingProxyType({})
    ) -> None:
        """Records a snapshot; makes it and everything that was stored before durable.

        A snapshot that equals the newest record of the day is not recorded again; if nothing waits in the journal, that
        costs no system call.

        Args:
            snapshot: its objects are committed.
            kind: why it was taken.
            references: references that move together with it: the new target of each, by name.

        Raises:
            StorageFull, IoError: it was not recorded, and no reference moved.
        """
        now = int(time.time())
        with self._read():
            coverage = self._repository.coverages.blob_id(snapshot.coverage)
            record = Record(self._seq + 1, kind, snapshot.tree, coverage, now)
            newest = self._newest
            if (
                newest is not None
                and newest.seq == self._seq
                and record.same_state(newest)
                and newest.seconds // _DAY_SECONDS == now // _DAY_SECONDS
            ):
                self._repository.journal.flush(references)
                return
            failpoint("log.append")
            # `seq` of a failed attempt may be in the journal, so it is not used again
            if not self._heads:
                # the first snapshot of a store has time for this, and later ones save it
                prepare(self._repository.objects)
            self._seq = record.seq
            day = day_of(now)
            moving = dict(references)
            if coverage not in self._coverage_known:
                self._store(snapshot.coverage)
                moving[COVERAGE + coverage.hex()] = coverage
            data = _encode_record(record, self._heads.get(day))
            commit = object_id("commit", data)
            moving[SNAPSHOTS + day] = commit
            self._repository.journal.add({commit: encode_loose("commit", data)})
            self._repository.journal.flush(moving)
            failpoint("log.appended")
            self._coverage_known.add(coverage)
            self._heads[day] = commit
            self._take(record)

    def roots_by_seq(self) -> list[tuple[int, tuple[ObjectId, ObjectId, ObjectId]]]:
        """The `seq` of every record, with its commit, tree and coverage."""
        with self._read():
            return [
                (record.seq, (commit, record.tree, record.coverage))
                for head in self._heads.values()
                for commit, record in self._chain(head)
            ]

    def records(self) -> list[Record]:
        """All records, by `seq`."""
        with self._read():
            records = [record for head in self._heads.values() for _, record in self._chain(head)]
        return sorted(records, key=lambda record: record.seq)

    @property
    def newest(self) -> int | None:
        """The `seq` of the record of `last`."""
        with self._read():
            return self._newest.seq if self._newest is not None else None

    def drop(self, going: Collection[int]) -> int:
        """Drops records.

        Args:
            going: the `seq` of each; not that of `last`.

        Returns:
            How many were dropped.

        Raises:
            StorageFull, IoError: the records of some days may be dropped and of others not.

        Unused coverages keep their references until `drop_unused`. The journal must be empty: a later replay must not
        set a reference back.
        """
        with self._read():
            removed = 0
            # if one day fails, others may have changed
            self._is_read = False
            for day, head in list(self._heads.items()):
                chain = [record for _, record in self._chain(head)]
                staying = [record for record in reversed(chain) if record.seq not in going]
                removed += len(chain) - len(staying)
                if len(staying) < len(chain):
                    self._rewrite(day, staying)
        return removed

    def rewritten(self, change: Callable[[SnapshotId], SnapshotId]) -> tuple[dict[str, ObjectId], list[bytes]]:
        """The log with other snapshots in place of its own; nothing is written.

        Args:
            change: returns the new snapshot for each.

        Returns:
            The new targets of the references that change, and the bytes of the new commits.
        """
        references: dict[str, ObjectId] = {}
        commits: list[bytes] = []
        with self._read():
            heads = dict(self._heads)
        for day, head in heads.items():
            new: ObjectId | None = None
            written: list[bytes] = []
            for _, record in reversed(list(self._chain(head))):
                to = change(SnapshotId(record.tree, record.coverage))
                data = _encode_record(attrs.evolve(record, tree=to.tree, coverage=to.coverage), new)
                written.append(data)
                new = object_id("commit", data)
                references[COVERAGE + to.coverage.hex()] = to.coverage
            if new is not None and new != head:
                references[SNAPSHOTS + day] = new
                commits += written
        return references, commits

    def reload(self) -> None:
        """Reads the log again before its next use: its references moved, or may have."""
        with self._lock:
            self._is_read = False

    def drop_unused(self) -> None:
        """Removes the references of coverages that no record uses."""
        with self._read():
            used = {record.coverage for head in self._heads.values() for _, record in self._chain(head)}
            for coverage in self._coverage_known - used:
                self._repository.references.delete(COVERAGE + coverage.hex())
            self._coverage_known &= used

    def _store(self, coverage: Coverage) -> None:
        with ObjectBatch(self._repository) as batch:
            batch.blob(encode(coverage))
            batch.commit()

    def _rewrite(self, day: str, records: list[Record]) -> None:
        failpoint("log.rewrite")
        head: ObjectId | None = None
        with ObjectBatch(self._repository) as batch:
            for record in records:
                head = batch.commit_object(_encode_record(record, head))
            batch.commit()
        self._repository.journal.flush()
        if head is None:
            self._repository.references.delete(SNAPSHOTS + day)
        else:
            self._repository.references.move({SNAPSHOTS + day: head}, durable=True)

    def _take(self, record: Record) -> None:
        self._seq = max(self._seq, record.seq)
        self._index.add(record)
        if record.kind in _SETTLED:
            self._newest = record

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Holds the lock, with the log as it is on the disk.

        Raises:
            StoreCorrupt, IoError: the log cannot be read; the next caller tries again.
        """
        with self._lock:
            if not self._is_read:
                self._load()
                self._is_read = True
            yield

    def _load(self) -> None:
        references = read_references(self._repository.path).whole()
        heads: dict[str, ObjectId] = {}
        coverages: set[ObjectId] = set()
        records: list[Record] = []
        for name, target in references.items():
            if name == COVERAGE + target.hex():
                coverages.add(target)
            elif name.startswith(SNAPSHOTS):
                heads[name[len(SNAPSHOTS) :]] = target
                records += [record for _, record in self._chain(target)]
        self._heads, self._coverage_known = heads, coverages
        self._index, self._newest = RecordIndex(), None
        for record in sorted(records, key=lambda record: record.seq):
            self._take(record)

    def _chain(self, head: ObjectId) -> Iterator[tuple[ObjectId, Record]]:
        """The records of a day, newest first."""
        commit: ObjectId | None = head
        while commit is not None:
            record, above = self._parse(commit)
            yield commit, record
            commit = above

    def _parse(self, commit: ObjectId) -> tuple[Record, ObjectId | None]:
        return decode_record(self._repository.read_commit(commit), commit)


def decode_record(data: bytes, commit: ObjectId) -> tuple[Record, ObjectId | None]:
    """The record that a commit holds, and its parent.

    Args:
        data: the bytes of the commit.
        commit: its id, for error messages.

    Raises:
        WrittenByNewer: a newer snapd wrote it.
        StoreCorrupt: it is not a record.
    """
    found = _COMMIT.fullmatch(data)
    if found is None:
        raise StoreCorrupt(f"commit {commit.hex()} is not a snapshot of snapd", object=commit.hex())
    kind = found["kind"].decode()
    if kind not in _KINDS:
        message = f"the record {commit.hex()} of a snapshot was written by a newer snapd (kind {kind})"
        raise WrittenByNewer(message, object=commit.hex())
    parent = found["parent"]
    record = Record(
        int(found["seq"]),
        RecordKind(kind),
        bytes.fromhex(found["tree"].decode()),
        bytes.fromhex(found["coverage"].decode()),
        int(found["seconds"]),
    )
    return record, bytes.fromhex(parent.decode()) if parent else None


def day_of(seconds: int) -> str:
    """The day, in UTC, of a time in seconds since 1970."""
    # time.strftime would check the time zone file each time
    return datetime.date.fromordinal(_EPOCH + seconds // _DAY_SECONDS).isoformat()


def _encode_record(record: Record, parent: ObjectId | None) -> bytes:
    message = f"{record.kind.value}\n\ncoverage: {record.coverage.hex()}\nseq: {record.seq}"
    return encode_commit(record.tree, parent, record.seconds, message)

"""Examines a store: reads all objects, walks the references, and lists the problems with what each affects."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial

import attrs

from snapd.model.call import Call
from snapd.model.check_report import AffectedFile, AffectedStep, CheckReport, Leftovers, Problem
from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.snapshot_records import taken_by
from snapd.model.timeline import (
    Edited,
    Kept,
    Operated,
    Recorded,
    SessionId,
    StepBegun,
    StepEnded,
    StepsLeft,
)
from snapd.store.files.durable import (
    DamagedData,
    NewerFormat,
    files_below,
    read_with_retry,
    reading,
    status_if_there,
    walked,
)
from snapd.store.files.quarantine import QUARANTINE
from snapd.store.fsck.inventory import UNINDEXED, ObjectInventory, Pack
from snapd.store.fsck.walk import Chain, Reachable, Scan, scan, walk
from snapd.store.journal.frames import decode_frames, has_gap, newer_format
from snapd.store.journal.journal import JOURNAL, journal_numbers, replayed, waiting
from snapd.store.maintenance.repack import PACKING
from snapd.store.notes import NAME as NOTES
from snapd.store.notes import decode as decode_notes
from snapd.store.objects.codec import decode_commit
from snapd.store.refs.database import PACKED, References, read_references
from snapd.store.repository import check_version
from snapd.store.timeline.chain import CHAINS, SNAPSHOTS, ChainLink, effect_blobs, snapshots
from snapd.store.timeline.codec import decode_intent
from snapd.store.timeline.database import NAME as TIMELINE
from snapd.store.timeline.database import closed, rows_of

from .rebuild import lost_references, rebuildable_chains

HEAD = "HEAD"
CONFIG = "config"
ROOT = "root.json"

_HEAD = re.compile(rb"ref: refs/[^\n]+\n?")
_LEFTOVER = re.compile(r"tmp_(obj|pack|adopt)_.*|.*\.[0-9a-f]{12}\.tmp|.+\.lock")
_UNREADABLE = b"\0unreadable"
"""Stands for a file that cannot be read; no file has these bytes."""
_OTHERS_WRITE = 0o022
_OTHERS = 0o077


def check_files(store: str) -> list[Problem]:
    """Checks the files that make the directory a store, and those beside the objects.

    Raises `StoreCorrupt` if a newer snapd made it.
    """
    problems = []
    if not _HEAD.fullmatch(_read(store, HEAD) or b""):
        problems.append(Problem("damagedConfig", HEAD, "HEAD does not say that this is a git repository"))
    try:
        check_version(store)
    except StoreCorrupt as error:
        if error.data["object"] == store:
            raise
        problems.append(Problem("damagedConfig", CONFIG, "config does not say that this is a store of snapd"))
    root = _read(store, ROOT)
    if root is not None and not _is_root(root):
        problems.append(
            Problem("damagedRoot", ROOT, "root.json does not say which folder this is; it is written again")
        )
    if _is_other(os.path.join(store, JOURNAL)):
        problems.append(Problem("damagedJournal", JOURNAL, "journal is not a directory; a repair replaces it"))
    for name, data in journal_files(store):
        newer = newer_format(data)
        if newer is not None:
            message = f"{name} was written by a newer snapd (format {newer}): repair it with that one"
            problems.append(Problem("newerFormat", name, message))
        elif data == _UNREADABLE or has_gap(data):
            message = "a part of the journal is damaged; the objects that are lost with it are listed too"
            problems.append(Problem("damagedJournal", name, message))
        elif intent := next((frame.intent for frame in [*decode_frames(data)][::-1] if frame.intent is not None), b""):
            try:
                decode_intent(intent)
            except NewerFormat as error:
                problems.append(Problem("newerFormat", name, f"{error.message}: repair it with that one"))
            except (ValueError, RecursionError):
                # not damage of the disk, which the checksum of the frame would detect; the next use drops it
                continue
    notes = _read(store, NOTES)
    if notes is not None and decode_notes(notes) is None:
        message = "the numbers of notifications are lost, which go on from the clock, and the last handovers"
        problems.append(Problem("damagedNumbers", NOTES, message))
    return problems


def journal_files(store: str) -> Iterator[tuple[str, bytes]]:
    """Yields the journal files, oldest first: each path in the store with its bytes; raises `IoError`."""
    if _is_other(os.path.join(store, JOURNAL)):
        return
    for number in journal_numbers(store):
        name = os.path.join(JOURNAL, str(number))
        data = _read(store, name)
        if data is not None:
            yield name, data


def has_newer_journal(problems: Sequence[Problem]) -> bool:
    """Whether a newer snapd wrote a part of the journal: then this one cannot determine what is missing."""
    return any(problem.kind == "newerFormat" and problem.subject.startswith(JOURNAL + os.sep) for problem in problems)


def check_access(store: str) -> list[Problem]:
    """Finds files of a store that another user owns or can access, except those shared with the project's own git."""
    problems = []
    for above, _, files in walked(store):
        for path, others in ((above, _OTHERS), *((os.path.join(above, file), _OTHERS_WRITE) for file in files)):
            status = status_if_there(path)
            if status is None or (path != above and status.st_nlink > 1):
                continue
            if wrong := _problem(status, others):
                name = os.path.relpath(path, store)
                problems.append(Problem("permissions", name, f"{path if name == '.' else name} {wrong}"))
    return problems


def find_leftovers(store: str) -> Leftovers:
    """Finds the temporary files that crashes left in a store; raises `IoError`."""
    packing = os.path.join(store, PACKING, "")
    sizes = [
        status.st_size
        for path, status in files_below(store, without=QUARANTINE)
        if path.startswith(packing) or _LEFTOVER.fullmatch(os.path.basename(path))
    ]
    return Leftovers(len(sizes), sum(sizes))


def _problem(status: os.stat_result, others: int) -> str:
    if status.st_uid != os.geteuid():
        return f"belongs to another user ({status.st_uid})"
    if not stat.S_ISLNK(status.st_mode) and status.st_mode & others:
        return f"is open to others (mode {stat.S_IMODE(status.st_mode):o})"
    return ""


def _is_root(data: bytes) -> bool:
    try:
        root = json.loads(data)
    except ValueError:
        return False
    return isinstance(root, dict) and isinstance(root.get("path"), str)


def _is_other(directory: str) -> bool:
    status = status_if_there(directory)
    return status is not None and not stat.S_ISDIR(status.st_mode)


def _read(store: str, name: str) -> bytes | None:
    """Reads a file; None if it does not exist, `_UNREADABLE` if its bytes are lost. Raises `IoError`."""
    path = os.path.join(store, name)

    def read() -> bytes:
        with reading(path), open(path, "rb") as file:
            return file.read()

    try:
        return read_with_retry(read)
    except FileNotFoundError:
        return None
    except DamagedData:
        return _UNREADABLE


MAX_PAIRS = 100_000
"""The most pairs of file and snapshot in a report; if a whole pack is lost there can be far more."""

MAX_PROBLEMS = 50_000
"""The most problems in a report, so that it fits into a message; a repair handles all of them."""


@attrs.define
class Impact:
    """The trees of snapshots with a missing object, and the steps and operations that refer to them."""

    files: dict[RelPath, list[ObjectId]] = attrs.field(factory=dict)  # the trees, by the object's path in them
    snapshots: set[ObjectId] = attrs.field(factory=set)  # the trees of the snapshots whose coverage it is
    steps: dict[AffectedStep, None] = attrs.field(factory=dict)


@attrs.define
class Impacts:
    """What all missing objects affect, by id."""

    objects: dict[ObjectId, Impact]
    broken: tuple[ObjectId, ...]  # the trees of the snapshots that cannot be restored completely, sorted
    is_cut: bool  # whether there are more pairs than `MAX_PAIRS`; `broken` is complete nevertheless


def touched(named: Reachable) -> Impacts:
    """Determines what the missing objects affect."""
    result = {oid: Impact() for oid in named.missing}
    of_snapshot: dict[ObjectId, list[ObjectId]] = {}
    covered: dict[ObjectId, set[ObjectId]] = {}
    for link in named.links.values():
        for snapshot in snapshots(link.event).values():
            covered.setdefault(snapshot.tree, set()).add(snapshot.coverage)
    pairs = 0
    broken = []
    for tree, coverages in covered.items():
        lacking: dict[ObjectId, None] = {}
        for path, oid in named.lacking(tree) if pairs < MAX_PAIRS else ():
            lacking[oid] = None
            pairs += 1
            result[oid].files.setdefault(path, []).append(tree)
            if pairs >= MAX_PAIRS:
                break
        for coverage in coverages & named.missing:
            lacking[coverage] = None
            result[coverage].snapshots.add(tree)
        if lacking or named.is_broken(tree):
            broken.append(tree)
            of_snapshot[tree] = list(lacking)
    if result:
        for link in named.links.values():
            _touch_steps(result, of_snapshot, named, link)
    return Impacts(result, tuple(sorted(broken)), pairs >= MAX_PAIRS)


def _touch_steps(
    result: dict[ObjectId, Impact], of_snapshot: dict[ObjectId, list[ObjectId]], named: Reachable, link: ChainLink
) -> None:
    oids = [oid for snapshot in snapshots(link.event).values() for oid in of_snapshot.get(snapshot.tree, ())]
    oids += [oid for _, oid in effect_blobs(link.event) if oid in result]
    if oids:
        for step in named_by(link, named.sessions.get(link.chain)):
            for oid in oids:
                result[oid].steps[step] = None


def named_by(link: ChainLink, session_id: SessionId | None) -> list[AffectedStep]:
    """Returns the steps or the operation of an event; `session_id` is the session of its chain."""
    what = link.event.what
    match what:
        case StepBegun() | StepEnded():
            return [AffectedStep(session_id, what.step_id)]
        case StepsLeft() | Edited() | Kept():
            return [AffectedStep(session_id, step_id) for step_id in what.steps]
        case Operated():
            turned = [AffectedStep(session_id, turned.step_id, what.operation_id) for turned in what.turned]
            return turned or [AffectedStep(session_id, None, what.operation_id)]
        case Recorded():
            return []
        case _:
            return [AffectedStep(session_id, None)]


@attrs.frozen
class Examination:
    """Everything that a check found in a store."""

    store: str
    holdings: ObjectInventory
    scan: Scan
    references: References
    named: Reachable
    touched: Impacts
    broken_chains: list[str]  # the references whose chains must be rebuilt, and can be
    problems: list[Problem]
    leftovers: Leftovers
    is_quick: bool  # whether objects were not read

    def report(self) -> CheckReport:
        """Builds the report for the client."""
        return CheckReport(
            store=self.store,
            quick=self.is_quick,
            objects=self.scan.objects,
            bytes=self.scan.size,
            snapshots=sum(len(taken_by(link.event, None)) for link in self.named.links.values()),
            events=len(self.named.links),
            problems=tuple(self.problems[:MAX_PROBLEMS]),
            repaired=(),
            broken=self.touched.broken,
            leftovers=self.leftovers,
            is_cut=self.touched.is_cut or len(self.problems) > MAX_PROBLEMS,
        )


def _replayed(store: str, holdings: ObjectInventory, moving: Mapping[str, ObjectId]) -> References:

    def before(commit: ObjectId) -> ObjectId | None:
        try:
            return decode_commit(holdings.commit(commit), commit)[1]
        except StoreCorrupt:
            return None

    on_disk = read_references(store)
    damaged = tuple(name for name in on_disk.damaged if name not in moving)
    return References({**on_disk.targets, **replayed(on_disk.targets, moving, before)}, damaged)


def examine(
    store: str, holdings: ObjectInventory, call: Call, *, quick: bool, agrees: Callable[[], bool] | None
) -> Examination:
    """Checks a store; changes nothing. `holdings` are its objects, just listed.

    `quick` reads only events, no other objects. `agrees` returns whether the database of the timeline matches the
    events; None if no process has it open. Raises `StoreCorrupt` if a newer snapd made it.
    """
    problems = [*check_files(store), *check_access(store)]
    first = tuple(problems)
    newer = has_newer_journal(first)
    # before the references are read: the journal is never older than they are
    holdings.journal, moving = waiting(data for _, data in journal_files(store))
    result = Scan()
    if not quick:
        holdings.rebuild_indexes(call)
        result = scan(holdings, call)
    references = _replayed(store, holdings, moving)
    named = walk(holdings, references, call, deep=not quick)
    if not quick:
        _complete(result, holdings, named)
    with os_errors(os.path.join(store, TIMELINE)):
        known = _known_heads(store) if agrees is None else {}
    lost = lost_references(named, references, result.commits, known)
    touching = touched(named)
    broken = sorted({*references.damaged, *lost, *(chain.name for chain in named.chains if chain.lost is not None)})
    mendable = rebuildable_chains(named, result.commits, broken)
    problems += _of_references(holdings, references, lost, named)
    problems += _of_objects(holdings, touching)
    problems += _of_packs(holdings, named)
    problems += _of_events(named)
    if not broken and not any(name in named.sessions for name in named.newer.values()):
        wrong, fits = disagreement(partial(_agrees, store, named) if agrees is None else agrees)
        problems += wrong
        if not fits:
            mendable = sorted(named.sessions)
    if newer:
        # objects that seem to be missing may be in the newer journal
        touching, mendable = Impacts({}, (), is_cut=False), []
        problems = [problem for problem in problems if problem in first]
    return Examination(
        store=store,
        holdings=holdings,
        scan=result,
        references=references,
        named=named,
        touched=touching,
        broken_chains=mendable,
        problems=problems,
        leftovers=find_leftovers(store),
        is_quick=quick,
    )


def check_surface(store: str) -> list[Problem]:
    """Checks the files of a store, the references, and their newest events; reads no other objects.

    While another process writes, an event that was just packed may seem to be missing.
    """
    problems = [*check_files(store), *check_access(store)]
    with ObjectInventory(os.path.join(store, "objects")) as holdings:
        holdings.journal, moving = waiting(data for _, data in journal_files(store))
        references = _replayed(store, holdings, moving)
        named = Reachable()
        for name, target in references.targets.items():
            if name.startswith(CHAINS):
                named.chains.append(Chain(name, target, lost=None if holdings.commit(target) else target))
        problems += _of_references(holdings, references, [], named)
    return problems


def _complete(result: Scan, holdings: ObjectInventory, named: Reachable) -> None:
    """Adds commits that are only in the journal, and those of our format that another program made."""
    for oid in {*holdings.journal, *named.links} - result.commits.keys():
        if data := holdings.commit(oid):
            result.commits[oid] = data


def _of_references(
    holdings: ObjectInventory, references: References, lost: list[str], named: Reachable
) -> Iterator[Problem]:
    for name in references.damaged:
        if name == PACKED:
            message = (
                f"lines of {name} are unreadable; the references that they named are searched for, the others stay"
            )
            yield Problem("damagedReference", name, message)
            continue
        yield Problem("damagedReference", name, f"{name} has no valid target; {_find_dangling(name)}")
    for name in lost:
        yield Problem("lostReference", name, f"{name} is missing; {_find_dangling(name)}")
    for chain in named.chains:
        if chain.lost is not None:
            yield _broken(holdings, chain)


def _broken(holdings: ObjectInventory, chain: Chain) -> Problem:
    assert chain.lost is not None
    if chain.lost == chain.target and not holdings.is_there(chain.lost):
        message = f"{chain.name} points to {chain.lost.hex()}, which is missing; {_find_dangling(chain.name)}"
        return Problem("damagedReference", chain.name, message)
    state = "damaged" if holdings.is_there(chain.lost) else "missing"
    if chain.name.startswith(SNAPSHOTS):
        message = f"the record {chain.lost.hex()} of a snapshot on {chain.name[len(SNAPSHOTS) :]} is {state}"
        return Problem("lostRecord", chain.lost.hex(), f"{message}; older ones of that day cannot be reached")
    message = f"the event {chain.lost.hex()} in {chain.name} is {state}; older events cannot be reached"
    return Problem("lostEvent", chain.lost.hex(), message)


def _find_dangling(name: str) -> str:
    if name.startswith(SNAPSHOTS):
        return f"the snapshots of {name[len(SNAPSHOTS) :]} cannot be reached"
    return "the history of a session cannot be reached"


def _of_objects(holdings: ObjectInventory, touching: Impacts) -> Iterator[Problem]:
    for oid, touches in sorted(touching.objects.items()):
        is_damaged = holdings.is_there(oid)
        state = "damaged" if is_damaged else "missing"
        yield Problem(
            "damagedObject" if is_damaged else "missingObject",
            oid.hex(),
            f"object {oid.hex()} is {state}: {_impacts_of(touches)}",
            tuple(AffectedFile(path, tuple(sorted(trees))) for path, trees in sorted(touches.files.items())),
            tuple(sorted(touches.snapshots)),
            tuple(touches.steps),
        )
    for oid, reason in sorted(holdings.damaged_loose.items()):
        if oid not in touching.objects:
            copy = "there is another, sound copy" if holdings.has(oid) else "no snapshot needs it"
            yield Problem("damagedObject", oid.hex(), f"object {oid.hex()} is damaged ({reason}); {copy}")


def _impacts_of(touches: Impact) -> str:
    if touches.snapshots:
        return f"it is the list of ignored and skipped files of {_count(len(touches.snapshots), 'snapshot')}"
    snapshots = {tree for trees in touches.files.values() for tree in trees}
    if not snapshots:
        return "only the record of an undo needs it"
    return f"it is in {_count(len(touches.files), 'file')} of {_count(len(snapshots), 'snapshot')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _of_packs(holdings: ObjectInventory, named: Reachable) -> Iterator[Problem]:
    listed = {pack.name for pack in holdings.packs.values()}
    for name, (path, has_index) in holdings.unindexed.items():
        if name not in listed and has_index:
            yield Problem("damagedIndex", _file(holdings, f"{path}.idx"), f"{name}.idx is damaged")
    for pack in holdings.packs.values():
        if pack.flaw is None:
            continue
        is_only_index = pack.flaw == UNINDEXED
        if not holdings.unindexed.get(pack.name, ("", True))[1] and not is_needed(holdings, named, pack):
            # a crash left it before its index was renamed, or after that was moved to quarantine, and nothing needs it
            continue
        ending = "idx" if is_only_index else "pack"
        subject = _file(holdings, f"{pack.path}.{ending}")
        if is_only_index:
            message = f"the index of {pack.name} is missing or damaged: without it, the pack cannot be read"
        else:
            damaged = f", {len(pack.damaged)} of its {pack.index.count} objects are damaged" if pack.damaged else ""
            message = f"pack {pack.name}: {pack.flaw}{damaged}"
        yield Problem("damagedIndex" if is_only_index else "damagedPack", subject, message)


def is_needed(holdings: ObjectInventory, named: Reachable, pack: Pack) -> bool:
    """Whether a reachable object has its only sound copy in this damaged pack."""
    return any(pack.has(oid) and is_only_in_flawed(holdings, oid) for oid in named.needed)


def is_only_in_flawed(holdings: ObjectInventory, oid: ObjectId) -> bool:
    """Whether an object is in no sound pack and has no sound loose copy."""
    if any(pack.flaw is None and pack.has(oid) for pack in holdings.packs.values()):
        return False
    return holdings.loose_copy(oid) is None


def _file(holdings: ObjectInventory, path: str) -> str:
    return os.path.relpath(path, os.path.dirname(holdings.directory))


def _of_events(named: Reachable) -> Iterator[Problem]:
    for commit in named.loosely:
        message = f"event {commit.hex()} does not keep all objects that it names: a cleanup could drop them"
        yield Problem("notKept", commit.hex(), message)
    for commit, chain in named.newer.items():
        message = f"the event {commit.hex()} in {chain} was written by a newer snapd: repair it with that one"
        yield Problem("newerFormat", commit.hex(), message)


def disagreement(agrees: Callable[[], bool]) -> tuple[list[Problem], bool]:
    """Checks the timeline; returns its problems, and whether the events themselves are consistent.

    `agrees` returns whether the database matches the events, or raises if they are inconsistent.
    """
    try:
        if agrees():
            return [], True
    except (ValueError, sqlite3.IntegrityError, StoreCorrupt) as error:
        message = f"the events of the timeline are inconsistent: {error}"
        return [Problem("damagedTimeline", TIMELINE, message)], False
    message = "the database of the timeline does not match its events; it can be rebuilt from them"
    return [Problem("damagedTimeline", TIMELINE, message)], True


def _known_heads(store: str) -> Mapping[str, ObjectId]:
    """Returns the newest commit of each chain according to the database of a closed store; raises `OSError`."""
    try:
        database = closed(os.path.join(store, TIMELINE))
        if database is None:
            return {}
        with closing(database):
            return database.heads()
    except sqlite3.Error:
        return {}


def _agrees(store: str, named: Reachable) -> bool:
    """Whether the database of a closed store, as far as it would be used, matches the events.

    Raises `ValueError` or `sqlite3.IntegrityError` if the events are inconsistent.
    """
    heads = {chain.name: chain.target for chain in named.chains if chain.name in named.sessions}
    path = os.path.join(store, TIMELINE)
    with os_errors(path):
        try:
            database = closed(path)
            if database is None:
                return True
            with closing(database):
                if database.heads() != heads:
                    return True
                rows = database.rows()
        except sqlite3.DatabaseError:
            return False
    return rows == rows_of(sorted(named.links.values(), key=lambda link: link.event.seq))

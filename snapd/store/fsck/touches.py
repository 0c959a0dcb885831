"""What a missing object affects: files, snapshots, and the steps and operations that refer to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.check_report import TouchedFile, TouchedStep
from snapd.core.timeline.model import Edited, Kept, Operated, StepBegun, StepEnded, StepsLeft
from snapd.store.timeline.chain import effect_blobs, snapshots

if TYPE_CHECKING:
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.timeline.model import SessionId
    from snapd.store.timeline.chain import Link

    from .walk import Named

MAX_PAIRS = 100_000
"""The most pairs of file and snapshot in a report; if a whole pack is lost there can be far more."""


@attrs.define
class Touches:
    """What a missing object affects.

    Attributes:
        files: the trees of the snapshots that have it, by its path there.
        snapshots: the trees of the snapshots whose coverage it is.
        steps: the steps and operations that refer to these snapshots.
    """

    files: dict[RelPath, list[ObjectId]] = attrs.field(factory=dict)
    snapshots: set[ObjectId] = attrs.field(factory=set)
    steps: dict[TouchedStep, None] = attrs.field(factory=dict)

    def touched_files(self) -> tuple[TouchedFile, ...]:
        """The files, sorted by path."""
        return tuple(TouchedFile(path, tuple(sorted(trees))) for path, trees in sorted(self.files.items()))


@attrs.define
class Touched:
    """What all missing objects affect.

    Attributes:
        objects: for each missing object.
        broken: the trees of the snapshots that cannot be restored completely, sorted.
        is_cut: whether there are more pairs than `MAX_PAIRS`; `broken` is complete nevertheless.
    """

    objects: dict[ObjectId, Touches]
    broken: tuple[ObjectId, ...]
    is_cut: bool


def touched(named: Named) -> Touched:
    """What the missing objects affect."""
    found = {oid: Touches() for oid in named.missing}
    of_snapshot: dict[ObjectId, list[ObjectId]] = {}
    covered: dict[ObjectId, set[ObjectId]] = {}
    for record in named.records.values():
        covered.setdefault(record.tree, set()).add(record.coverage)
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
            found[oid].files.setdefault(path, []).append(tree)
            if pairs >= MAX_PAIRS:
                break
        for coverage in coverages & named.missing:
            lacking[coverage] = None
            found[coverage].snapshots.add(tree)
        if lacking or named.is_broken(tree):
            broken.append(tree)
            of_snapshot[tree] = list(lacking)
    if found:
        for link in named.links.values():
            _touch_steps(found, of_snapshot, named, link)
    return Touched(found, tuple(sorted(broken)), pairs >= MAX_PAIRS)


def _touch_steps(
    found: dict[ObjectId, Touches], of_snapshot: dict[ObjectId, list[ObjectId]], named: Named, link: Link
) -> None:
    oids = [oid for snapshot in snapshots(link.event).values() for oid in of_snapshot.get(snapshot.tree, ())]
    oids += [oid for _, oid in effect_blobs(link.event) if oid in found]
    if oids:
        for step in named_by(link, named.sessions.get(link.chain)):
            for oid in oids:
                found[oid].steps[step] = None


def named_by(link: Link, session_id: SessionId | None) -> list[TouchedStep]:
    """The steps or the operation of an event.

    Args:
        link: the event.
        session_id: the session of its chain.
    """
    what = link.event.what
    match what:
        case StepBegun() | StepEnded():
            return [TouchedStep(session_id, what.step_id)]
        case StepsLeft() | Edited() | Kept():
            return [TouchedStep(session_id, step_id) for step_id in what.steps]
        case Operated():
            turned = [TouchedStep(session_id, turned.step_id, what.operation_id) for turned in what.turned]
            return turned or [TouchedStep(session_id, None, what.operation_id)]
        case _:
            return [TouchedStep(session_id, None)]

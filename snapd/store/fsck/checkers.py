"""Checks and repairs a store, one that is open or one that cannot be opened."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.check_report import CheckReport, after_repair
from snapd.core.errors import StoreCorrupt
from snapd.store.files.lock import Ownership
from snapd.store.files.quarantine import Quarantine
from snapd.store.repository import ShadowRepository
from snapd.store.timeline import Timeline

from .examine import examine
from .files import has_newer_journal
from .holdings import Holdings, Sources
from .repair import Elsewhere, keep_coverages, repair_chains, repair_files, repair_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd.core.call import Call
    from snapd.core.model import RelPath

    from .examine import Examination


def check(store: str, call: Call, *, quick: bool, agrees: Callable[[], bool] | None = None) -> CheckReport:
    """Checks a store; nothing of it is changed.

    Args:
        store: its directory.
        call: what this is for.
        quick: read no objects but records and events.
        agrees: whether the database of the timeline says what the events come to, where somebody has it open.

    Raises:
        StoreCorrupt: a newer snapd made it.
        IoError: something of it cannot be read.
        Cancelled: it is not wanted any more.
    """
    with _examined(store, call, quick=quick, agrees=agrees) as found:
        return found.told()


def repair(
    store: str,
    directories: tuple[bytes, ...],
    work_tree: Callable[[RelPath], bytes | None],
    settle: Callable[[], None],
    call: Call,
    agrees: Callable[[], bool] | None = None,
) -> CheckReport:
    """Repairs what can be repaired; nobody may write to the store meanwhile.

    Args:
        store: its directory, which the caller owns.
        directories: absolute `objects` directories of the user's own git; nothing is written there.
        work_tree: gives the bytes of a file of the work tree, None where there is no such file.
        settle: replays the journal, or makes it whole; called once what it needs is in order.
        call: what this is for; may be cancelled until the first file is put aside.
        agrees: as in `check`.

    Returns:
        What was wrong before; `repaired` has the events that had to be left out, `quarantine` says where things are.

    Raises:
        StoreCorrupt: a newer snapd made it.
        StorageFull, IoError: nothing that could be read before cannot be read now.
        Cancelled: nothing was changed.
    """
    quarantine = Quarantine(store)
    with _examined(store, call, quick=False, agrees=agrees) as found:
        first = found.told()
        if not first.problems or has_newer_journal(first.problems):
            return first
        call.commit()
        repair_files(store, found.problems, quarantine)
        settle()
        left_out = repair_chains(found, quarantine)
    with _examined(store, call, quick=False, agrees=agrees) as found, Sources(directories) as sources:
        written = repair_objects(found, Elsewhere(sources, work_tree), quarantine, call)
        keep_coverages(found, written, quarantine)
    return attrs.evolve(first, repaired=tuple(left_out), quarantine=quarantine.path)


def check_closed(store: str, call: Call, *, quick: bool, mend: bool) -> CheckReport:
    """Checks a store that nobody has open, one that cannot be opened too.

    Args:
        store: its directory.
        call: what this is for.
        quick: as in `check`.
        mend: whether to repair it, from itself alone.

    Raises:
        StoreLocked: another process owns it; `data["socket"]` says where to find that one.
        StoreCorrupt: there is none, or a newer snapd made it.
        StorageFull, IoError, Cancelled: as in `repair`.
    """
    if not os.path.isdir(store):
        raise StoreCorrupt(f"there is no store at {store}", hint="'snapd track' in the folder makes one", object=store)
    ownership = Ownership(store, None)
    try:
        if not mend:
            return check(store, call, quick=quick)

        def settle() -> None:
            # not before: a repository cannot be opened before its files are in order
            ShadowRepository(store).journal.checkpoint()

        first = repair(store, (), lambda _: None, settle, call)
        if not first.problems:
            return first
        if any(problem.kind == "damagedTimeline" for problem in first.problems):
            Timeline(ShadowRepository(store)).forget()
        return after_repair(first, check(store, call, quick=False))
    finally:
        ownership.release()


@contextmanager
def _examined(store: str, call: Call, *, quick: bool, agrees: Callable[[], bool] | None) -> Iterator[Examination]:
    with Holdings(os.path.join(store, "objects")) as holdings:
        yield examine(store, holdings, call, quick=quick, agrees=agrees)

"""Checks and repairs a store, open or not; it need not be possible to open it."""

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
    """Checks a store; changes nothing.

    Args:
        store: its directory.
        call: the request.
        quick: read only records and events, no other objects.
        agrees: whether the database of the timeline matches the events; None if nobody has it open.

    Raises:
        StoreCorrupt: a newer snapd made it.
        IoError: a part of it cannot be read.
        Cancelled: the request was cancelled.
    """
    with _examined(store, call, quick=quick, agrees=agrees) as found:
        return found.report()


def repair(
    store: str,
    directories: tuple[bytes, ...],
    work_tree: Callable[[RelPath], bytes | None],
    settle: Callable[[], None],
    call: Call,
    agrees: Callable[[], bool] | None = None,
) -> CheckReport:
    """Repairs a store as far as possible; nobody may write to it meanwhile.

    Args:
        store: its directory, which the caller owns.
        directories: absolute `objects` directories of the user's own git; they are only read.
        work_tree: returns the bytes of a file of the work tree; None if there is no such file.
        settle: replays the journal; called once the files that it needs are repaired.
        call: the request; can be cancelled until the first file is moved to quarantine.
        agrees: as for `check`.

    Returns:
        The problems before the repair; `repaired` has the events that had to be left out, `quarantine` is the directory
        of the damaged files.

    Raises:
        StoreCorrupt: a newer snapd made it.
        StorageFull, IoError: everything that could be read before can still be read.
        Cancelled: nothing was changed.
    """
    quarantine = Quarantine(store)
    with _examined(store, call, quick=False, agrees=agrees) as found:
        first = found.report()
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
    """Checks, and perhaps repairs, a store that nobody has open; it need not be possible to open it.

    Args:
        store: its directory.
        call: the request.
        quick: as for `check`.
        mend: whether to repair it, without other sources for lost objects.

    Raises:
        StoreLocked: another process owns it; `data["socket"]` is its address.
        StoreCorrupt: there is no store, or a newer snapd made it.
        StorageFull, IoError, Cancelled: as `repair`.
    """
    if not os.path.isdir(store):
        raise StoreCorrupt(f"there is no store at {store}", hint="'snapd track' in the folder makes one", object=store)
    ownership = Ownership(store, None)
    try:
        if not mend:
            return check(store, call, quick=quick)

        def settle() -> None:
            # not earlier: a repository can be opened only after its files are repaired
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

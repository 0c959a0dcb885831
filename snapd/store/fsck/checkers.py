"""Checks and repairs a store, even if it cannot be opened.

An open store is checked in a process of its own, so that no request waits for the interpreter lock during the hashing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs
from cattrs import Converter

from snapd.model.call import Call
from snapd.model.check_report import CheckReport, Problem, after_repair
from snapd.model.errors import IoError, StoreCorrupt
from snapd.model.snapshot import RelPath
from snapd.store.files.lock import Ownership
from snapd.store.files.quarantine import Quarantine
from snapd.store.fsck.examine import has_newer_journal
from snapd.store.repository import FORMAT_VERSION, ShadowRepository, version_of
from snapd.store.timeline.timeline import Timeline
from snapd.store.upgrade import upgrade
from snapd.workers.processes import Report, WorkerEnded, can_start, run_job, serve

from .examine import Examination, disagreement, examine
from .inventory import ObjectInventory
from .repair import RepairSources, repair_chains, repair_files, repair_objects


def check(store: str, call: Call, *, quick: bool, agrees: Callable[[], bool] | None = None) -> CheckReport:
    """Checks a store; changes nothing. Arguments and errors as of `examine`."""
    with _examined(store, call, quick=quick, agrees=agrees) as result:
        return result.report()


def repair(
    store: str,
    directories: tuple[bytes, ...],
    work_tree: Callable[[RelPath], bytes | None],
    settle: Callable[[], None],
    call: Call,
    agrees: Callable[[], bool] | None = None,
) -> CheckReport:
    """Repairs a store, which the caller owns, as far as possible; nothing else may write to it meanwhile.

    Returns the problems before the repair: `repaired` has the events that had to be left out, `quarantine` is the
    directory of the damaged files. `directories` are absolute `objects` directories of the user's own git, which are
    only read; `work_tree` returns the bytes of a file, or None; `settle` replays the journal once its files are
    repaired. Can be cancelled until the first file is moved to quarantine. Everything readable stays readable, also
    after an error.
    """
    quarantine = Quarantine(store)
    with _examined(store, call, quick=False, agrees=agrees) as result:
        first = result.report()
        if not first.problems or has_newer_journal(first.problems):
            return first
        call.commit()
        repair_files(store, result.problems, quarantine)
        settle()
        left_out = repair_chains(result, quarantine)
    with _examined(store, call, quick=False, agrees=agrees) as result, ExitStack() as stack:
        # missing and unreadable directories are skipped
        sources = [stack.enter_context(ObjectInventory(os.fsdecode(each), is_ours=False)) for each in directories]
        repair_objects(result, RepairSources(sources, work_tree), quarantine, call)
    return attrs.evolve(first, repaired=tuple(left_out), quarantine=quarantine.path)


Others = Callable[[Call, Quarantine | None], Iterable[Problem]]
"""Checks what else is in a store; moves what is damaged into the quarantine if one is given."""


def check_closed(store: str, call: Call, *, quick: bool, mend: bool, others: Others | None = None) -> CheckReport:
    """Checks and, if `mend`, repairs a store that no process has open, without other sources for lost objects.

    Raises `StoreLocked` if another process owns it (`data["socket"]` is its address), `StoreCorrupt` if there is no
    store or a newer snapd made it, and the errors of `repair`.
    """
    if not os.path.isdir(store):
        raise StoreCorrupt(f"there is no store at {store}", hint="'snapd track' in the folder makes one", object=store)
    ownership = Ownership(store, None)
    try:
        # only the current format can be checked
        if (version_of(store) or FORMAT_VERSION) < FORMAT_VERSION:
            upgrade(ShadowRepository(store))
        quarantine = Quarantine(store)
        rest = () if others is None or quick else tuple(others(call, quarantine if mend else None))
        if not mend:
            report = check(store, call, quick=quick)
            return attrs.evolve(report, problems=(*report.problems, *rest))

        def settle() -> None:
            # not earlier: a repository can be opened only after its files are repaired
            ShadowRepository(store).journal.checkpoint()

        first = repair(store, (), lambda _: None, settle, call)
        if any(problem.kind == "damagedTimeline" for problem in first.problems):
            Timeline(ShadowRepository(store)).forget()
        report = after_repair(first, check(store, call, quick=False)) if first.problems else first
        if not rest:
            return report
        kept = report.quarantine or quarantine.path
        return attrs.evolve(report, repaired=(*report.repaired, *rest), quarantine=kept)
    finally:
        ownership.release()


@contextmanager
def _examined(store: str, call: Call, *, quick: bool, agrees: Callable[[], bool] | None) -> Iterator[Examination]:
    with ObjectInventory(os.path.join(store, "objects")) as holdings:
        yield examine(store, holdings, call, quick=quick, agrees=agrees)


@attrs.frozen
class Checked:
    """The answer of the other process; `asks_timeline` if the events are consistent, so the database is compared."""

    report: CheckReport
    asks_timeline: bool


def check_apart(store: str, call: Call, agrees: Callable[[], bool]) -> CheckReport:
    """Checks a store that this process has open, as `check`, in another process if possible.

    Cancelling ends that process. Also raises `IoError` if it cannot be started, or ends without an answer.
    """
    if not can_start():
        return check(store, call, quick=False, agrees=agrees)
    try:
        answer = run_job(__name__, {"store": store}, in_background=True, check=call.check, report=call.progress)
    except WorkerEnded as error:
        message = f"the process that checks {store} ended with {error.status}"
        raise IoError(message, hint="try again", path=store) from error
    report = _reports.structure(answer["report"], CheckReport)
    if not answer["asks_timeline"]:
        return report
    problems, _ = disagreement(agrees)
    return attrs.evolve(report, problems=(*report.problems, *problems))


def main(_: str) -> None:
    """Runs in the other process."""
    serve(_check)


def _check(question: dict[str, Any], report: Report) -> Checked:
    asked: list[bool] = []

    def agrees() -> bool:
        # only the process that has the timeline open can compare it
        asked.append(True)
        return True

    result = check(question["store"], Call(report), quick=False, agrees=agrees)
    return Checked(result, bool(asked))


_reports = Converter()
_reports.register_structure_hook(bytes, lambda digits, _: bytes.fromhex(digits))

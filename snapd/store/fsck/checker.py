"""Checks a store in a process of its own: nobody waits for the interpreter lock while all objects are hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.call import Call
from snapd.core.check_report import CheckReport, Leftovers, Problem, TouchedFile, TouchedStep
from snapd.core.errors import IoError
from snapd.workers.job import WorkerEnded, run_job, serve
from snapd.workers.processes import can_start

from .checkers import check
from .examine import disagreement

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.workers.job import Report


@attrs.frozen
class _Checked:
    """What the other process answers.

    Attributes:
        report: what the check found.
        asks_timeline: whether the open timeline is to be compared too: the events fit together.
    """

    report: CheckReport
    asks_timeline: bool


def check_apart(store: str, call: Call, agrees: Callable[[], bool]) -> CheckReport:
    """Checks a store that this process has open, as `checkers.check`; in this process only if no other can be started.

    Args:
        store: its directory.
        call: the request; cancelling it ends the process.
        agrees: whether the database of the timeline matches the events.

    Raises:
        StoreCorrupt, StorageFull, IoError, Cancelled: as `checkers.check`; `IoError` also if the process cannot be
            started, or ended before it had answered.
    """
    if not can_start():
        return check(store, call, quick=False, agrees=agrees)
    try:
        answer = run_job(
            __name__,
            {"store": store},
            in_background=True,
            check=call.check,
            report=call.progress,
        )
    except WorkerEnded as error:
        raise IoError(
            f"the process that checks {store} ended with {error.status}", hint="try again", path=store
        ) from error
    report = _report(answer["report"])
    if not answer["asks_timeline"]:
        return report
    problems, _ = disagreement(agrees)
    return attrs.evolve(report, problems=(*report.problems, *problems))


def main(_: str) -> None:
    """Runs in the other process."""
    serve(_check)


def _check(question: dict[str, Any], report: Report) -> _Checked:
    asked: list[bool] = []

    def agrees() -> bool:
        # only the process that has the timeline open can compare it
        asked.append(True)
        return True

    found = check(question["store"], Call(report), quick=False, agrees=agrees)
    return _Checked(found, bool(asked))


def _report(report: dict[str, Any]) -> CheckReport:
    return CheckReport(
        **{
            **report,
            "problems": tuple(_problem(**problem) for problem in report["problems"]),
            "repaired": tuple(_problem(**problem) for problem in report["repaired"]),
            "broken": _ids(report["broken"]),
            "leftovers": Leftovers(**report["leftovers"]),
        }
    )


def _problem(files: list[Any], snapshots: list[str], steps: list[Any], **rest: Any) -> Problem:
    return Problem(
        **rest,
        files=tuple(TouchedFile(bytes.fromhex(file["path"]), _ids(file["snapshots"])) for file in files),
        snapshots=_ids(snapshots),
        steps=tuple(TouchedStep(**step) for step in steps),
    )


def _ids(hexes: list[str]) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, hexes))

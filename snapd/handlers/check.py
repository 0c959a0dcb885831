"""`snapshot/check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import InvalidParams
from snapd.wire import check as wire
from snapd.wire import methods

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from snapd.core import check_report as checkup

    from .context import Context


@handles(methods.CHECK)
def check(context: Context, params: wire.CheckParams) -> wire.CheckResult:
    """Checks a store, and repairs it if requested."""
    if params.repair and params.quick:
        raise InvalidParams("quick: a repair reads everything; leave out `quick` or `repair`", field="quick")
    store_check = context.workspace.store_check
    found = store_check.repair(context.call) if params.repair else store_check.check(context.call, quick=params.quick)
    return result(context.workspace.root, found)


def result(root: bytes, found: checkup.CheckReport) -> wire.CheckResult:
    """Converts the report of a check of the workspace with this root."""
    return wire.CheckResult(
        store=found.store,
        quick=found.quick,
        objects=found.objects,
        bytes=found.bytes,
        snapshots=found.snapshots,
        events=found.events,
        problems=[_problem(root, problem) for problem in found.problems],
        repaired=[_problem(root, problem) for problem in found.repaired],
        broken_snapshots=[tree.hex() for tree in found.broken],
        leftovers=wire.Leftovers(files=found.leftovers.files, bytes=found.leftovers.bytes),
        truncated=True if found.is_cut else None,
        quarantine=found.quarantine,
    )


def _problem(root: bytes, problem: checkup.Problem) -> wire.Problem:
    return wire.Problem(
        kind=problem.kind,
        subject=problem.subject,
        message=problem.message,
        files=[
            wire.TouchedFile(**convert.name(root, touched.path), snapshots=[tree.hex() for tree in touched.snapshots])
            for touched in problem.files
        ],
        snapshots=[tree.hex() for tree in problem.snapshots],
        steps=[
            wire.TouchedStep(session_id=step.session_id, step_id=step.step_id, operation_id=step.operation_id)
            for step in problem.steps
        ],
    )

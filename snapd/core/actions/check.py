"""Checks the store of a workspace, and repairs it with what the folder still has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.check_report import after_repair
from snapd.core.model import RecordKind

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.check_report import CheckReport
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.integrity import Integrity
    from snapd.core.ports.log import SnapshotLog


class StoreCheck:
    """Checks and repairs the store of one workspace.

    Args:
        writer: gives the right to write, and captures the work tree.
        integrity: of the store.
        log: of the store.
    """

    def __init__(self, writer: Writer, integrity: Integrity, log: SnapshotLog) -> None:
        self._writer = writer
        self._integrity = integrity
        self._log = log

    def check(self, call: Call, *, quick: bool) -> CheckReport:
        """Checks the store, while other requests go on.

        Args:
            call: the request.
            quick: read only records and events, no other objects.

        Raises:
            StoreCorrupt: the store is gone. A damaged object is no error here, but a problem in the report.
            StorageFull, IoError, Cancelled: the check did not finish.
        """
        report = self._integrity.check(call, quick=quick, alone=False)
        if not report.problems:
            return report
        # an object that was packed or dropped during the check can seem to be missing: the second check finds it
        second = self._integrity.check(call, quick=quick, alone=False)
        if not second.problems:
            return second
        # only for an exact report do other requests have to wait
        with self._writer.alone(call):
            return self._integrity.check(call, quick=quick, alone=True)

    def repair(self, call: Call) -> CheckReport:
        """Repairs the store from itself, from the project's own git, and from a new capture of the work tree.

        Args:
            call: the request; may be cancelled until the first file is moved to quarantine.

        Raises:
            StoreCorrupt, StorageFull, WorkspaceGone, IoError: all that could be read before can still be read.
            Cancelled: nothing was changed.
        """
        work_tree = self._writer.work_tree
        with self._writer.alone(call):
            work_tree.check_present()
            most = self._writer.settings.max_file_size
            first = self._integrity.repair(
                work_tree.object_directories(), lambda path: work_tree.content(path, most), call
            )
            if not first.problems:
                return first
            # the work tree takes objects for stored that are gone
            work_tree.forget_all()
            snapshot = self._writer.look((), call)
            self._log.identify(snapshot)
            self._writer.record(snapshot, RecordKind.LOOK)
            return after_repair(first, self._integrity.check(call, quick=False, alone=True))

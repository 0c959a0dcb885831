"""Checks a store and repairs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.call import Call
    from snapd.core.check_report import CheckReport
    from snapd.core.model import RelPath


class Integrity(Protocol):
    """Checks whether everything that a store names exists and is sound."""

    def check(self, call: Call, *, quick: bool, alone: bool) -> CheckReport:
        """Checks every object against its id, and that everything named exists; changes nothing.

        Args:
            call: the request.
            quick: read only records and events, no other objects.
            alone: whether nobody writes during the check; if not, an object that just moved may seem to be missing.
        """

    def repair(
        self, directories: tuple[bytes, ...], work_tree: Callable[[RelPath], bytes | None], call: Call
    ) -> CheckReport:
        """Repairs what can be repaired; reports what was wrong.

        Args:
            directories: absolute `objects` directories that may have what is lost; only read.
            work_tree: gives the bytes of a file, None if there is no such file.
            call: the request; may be cancelled until the first file is moved to quarantine.
        """

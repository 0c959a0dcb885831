"""Checks a store and repairs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.call import Call
    from snapd.core.check_report import CheckReport
    from snapd.core.model import RelPath


class Integrity(Protocol):
    """Whether all that a store names is there, and sound."""

    def check(self, call: Call, *, quick: bool, alone: bool) -> CheckReport:
        """Checks all of it against its names, and all that is named for being there; changes nothing.

        Args:
            call: what this is for.
            quick: read no objects but records and events.
            alone: whether nobody writes meanwhile; else what is found may have moved in that moment.
        """

    def repair(
        self, directories: tuple[bytes, ...], work_tree: Callable[[RelPath], bytes | None], call: Call
    ) -> CheckReport:
        """Repairs what can be repaired; gives what was wrong.

        Args:
            directories: absolute `objects` directories that may have what is lost; only read.
            work_tree: gives the bytes of a file, None where there is none.
            call: what this is for; may be cancelled until the first file is put aside.
        """

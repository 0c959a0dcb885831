"""Notes what happens to files that no snapshot has: nothing can bring them back, so somebody has to be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.model import UncapturedChange

if TYPE_CHECKING:
    from snapd.core.model import RelPath
    from snapd.worktree.fs.listing import FileStatus

_MOST_KNOWN = 20_000
"""How many files have their signatures kept; of the others, only deletions are noticed."""
_MOST_NOTED = 1_000


class UncapturedFiles:
    """The ignored and skipped files that looks have come by."""

    def __init__(self) -> None:
        self._known: dict[RelPath, tuple[int, int]] = {}
        self._noted: dict[RelPath, bool] = {}

    @property
    def changes(self) -> tuple[UncapturedChange, ...]:
        """What happened to them since `settle`, ordered by path; at most 1,000 are noted."""
        return tuple(UncapturedChange(path, deleted) for path, deleted in sorted(self._noted.items()))

    def settle(self) -> None:
        """Forgets what happened so far."""
        self._noted.clear()

    def saw(self, path: RelPath, status: FileStatus) -> None:
        """Notes a file that is there."""
        now = (status.st_mtime_ns, status.st_size)
        before = self._known.get(path)
        if before is not None or len(self._known) < _MOST_KNOWN:
            self._known[path] = now
        if before not in (None, now) or path in self._noted:
            self._note(path, deleted=False)

    def missed(self, path: RelPath) -> None:
        """Notes a file, or an ignored directory, that is gone."""
        self._known.pop(path, None)
        self._note(path, deleted=True)

    def forget(self, path: RelPath) -> None:
        """Forgets a file that is captured from now on."""
        self._known.pop(path, None)
        self._noted.pop(path, None)

    def _note(self, path: RelPath, *, deleted: bool) -> None:
        if path in self._noted or len(self._noted) < _MOST_NOTED:
            self._noted[path] = deleted

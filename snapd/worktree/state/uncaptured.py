"""Notes what happens to files that no snapshot has: nothing can bring them back, so somebody has to be told."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from typing import NamedTuple

from snapd.model.snapshot import RelPath, RuleText, UncapturedChange
from snapd.worktree.fs.listing import FileStatus

_MOST_KNOWN = 20_000
"""Up to how many names those of files are kept; of other files, only deletions are noticed."""
_MOST_NOTED = 1_000


class Known(NamedTuple):
    """What tells a file or directory that is not captured from others: a rename changes none of it."""

    mtime_ns: int
    size: int
    inode: int
    is_directory: bool

    @classmethod
    def of(cls, status: FileStatus) -> Known:
        """Takes it from a status; the size of a directory means nothing."""
        is_directory = stat.S_ISDIR(status.st_mode)
        return cls(status.st_mtime_ns, 0 if is_directory else status.st_size, status.st_ino, is_directory)


class UncapturedFiles:
    """The ignored and skipped names that looks have come by.

    Attributes:
        known: what is there, by path.
        gone: what went away since the last `trace`, by inode number, with its path.
        is_changed: whether `known` changed since somebody set this to False.
    """

    def __init__(self) -> None:
        self.known: dict[RelPath, Known] = {}
        self.gone: dict[int, tuple[RelPath, Known]] = {}
        self.is_changed = False
        self._noted: dict[RelPath, bool] = {}

    @property
    def changes(self) -> tuple[UncapturedChange, ...]:
        """What happened to them since `settle`, ordered by path; at most 1,000 are noted."""
        return tuple(UncapturedChange(path, deleted) for path, deleted in sorted(self._noted.items()))

    def settle(self) -> None:
        """Forgets what happened so far."""
        self._noted.clear()

    def saw(self, path: RelPath, status: FileStatus) -> None:
        """Notes a name that is there."""
        now = Known.of(status)
        before = self.known.get(path)
        self.is_changed = self.is_changed or before != now
        if before is not None or now.is_directory or len(self.known) < _MOST_KNOWN:
            self.known[path] = now
        if before is not None and before.inode != now.inode:
            self.gone[before.inode] = path, before
        if not now.is_directory and (before not in (None, now) or path in self._noted):
            self._note(path, deleted=False)

    def missed(self, path: RelPath, *, noted: bool = True) -> None:
        """Takes in that a name is gone.

        Args:
            path: a file, or a directory.
            noted: whether `changes` is to say so.
        """
        before = self.known.pop(path, None)
        if before is not None:
            self.gone[before.inode] = path, before
            self.is_changed = True
        if noted:
            self._note(path, deleted=True)

    def found(self, path: RelPath) -> None:
        """Takes `missed` back: what was there has another name."""
        if self._noted.get(path) and path not in self.known:
            del self._noted[path]

    def saw_rules(self, before: Iterable[RuleText], now: Iterable[RuleText]) -> None:
        """Notes that ignore rules which no snapshot can bring back are others now."""
        was, by_kind = ({rule.kind: rule.text for rule in rules} for rules in (before, now))
        # without it, the repository itself is gone, or new
        if "info" in was and "info" in by_kind and was["info"] != by_kind["info"]:
            self._note(b".git/info/exclude", deleted=False)
        if was.get("global") != by_kind.get("global"):
            self._note(b"core.excludesFile", deleted=False)

    def forget(self, path: RelPath) -> Known | None:
        """Forgets a name that is captured from now on; gives what was known of it."""
        self._noted.pop(path, None)
        return self.known.pop(path, None)

    def _note(self, path: RelPath, *, deleted: bool) -> None:
        if path in self._noted or len(self._noted) < _MOST_NOTED:
            self._noted[path] = deleted

"""Remembers the status of files when they were read, so that "nothing changed" costs one `stat` each."""

from __future__ import annotations

import os
import stat

from snapd.model.snapshot import file_clock_ns

from .stable_read import is_racy

_Seen = tuple[int, ...]

_ABSENT: _Seen = ()


class StatCache:
    """The files that an answer rests on: the answer holds while none of them changed.

    Of a directory, only its identity counts. A file whose status cannot be read counts as absent.

    Attributes:
        refused: files that are there, and too large or too odd to be read; by how they are called.
    """

    def __init__(self) -> None:
        self.refused: dict[str, None] = {}
        self._paths: dict[tuple[bytes, bool], _Seen] = {}
        self._beside: dict[tuple[bytes, int], _Seen] = {}
        self._trusted = True

    def stat(self, path: str | bytes, *, follow: bool = True) -> os.stat_result | None:
        """Notes a path that is about to be read.

        Args:
            path: absolute.
            follow: whether the target of a symlink counts, not the symlink.

        Returns:
            Its status; None if it has none that can be read.
        """
        looked_at = file_clock_ns()
        status = _status(path, follow)
        seen = _note(status, looked_at, self)
        # it changed while the answer was put together: next time, all is read again
        if self._paths.setdefault((os.fsencode(path), follow), seen) != seen:
            self._trusted = False
        return status

    def stat_at(self, name: bytes, directory: int) -> None:
        """Notes a name in a directory that is about to be read; of a symlink, the link itself counts.

        Args:
            name: without slash.
            directory: its descriptor, which stays open.
        """
        looked_at = file_clock_ns()
        self._beside[name, directory] = _note(_status(name, False, directory), looked_at, self)

    def distrust(self) -> None:
        """Says that the answer also rests on something that was not noted, or may have changed unnoticed."""
        self._trusted = False

    def unchanged(self) -> bool:
        """Whether everything is certainly as it was."""
        if not self._trusted:
            return False
        for (path, follow), seen in self._paths.items():
            if not seen and follow:
                # says the same as `stat`, and is quicker for an absent file
                if os.access(path, os.F_OK):
                    return False
                continue
            if _of(_status(path, follow)) != seen:
                return False
        return all(_of(_status(name, False, at)) == seen for (name, at), seen in self._beside.items())


def _status(path: str | bytes, follow: bool, directory: int | None = None) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=directory, follow_symlinks=follow)
    except (OSError, ValueError):
        # ValueError: a name with a NUL, which nothing can have
        return None


def _note(status: os.stat_result | None, looked_at: int, stats: StatCache) -> _Seen:
    if status is not None and not stat.S_ISDIR(status.st_mode) and is_racy(status.st_ctime_ns, looked_at):
        stats.distrust()
    return _of(status)


def _of(status: os.stat_result | None) -> _Seen:
    if status is None:
        return _ABSENT
    if stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_mode, status.st_dev

"""Remembers what files looked like when they were read, so that "nothing changed" costs one `stat` each."""

from __future__ import annotations

import os
import stat
import time

from .stable_read import is_racy

_Stamp = tuple[int, ...]

_ABSENT: _Stamp = ()


class StatCache:
    """What was consulted for an answer. It can be given again while nothing of that changed.

    Of a directory only its identity counts, not what it holds. What cannot be looked at counts as absent.
    """

    def __init__(self) -> None:
        self._paths: dict[tuple[bytes, bool], _Stamp] = {}
        self._beside: dict[tuple[bytes, int], _Stamp] = {}
        self._trusted = True

    def stat(self, path: str | bytes, *, follow: bool = True) -> os.stat_result | None:
        """Note a path that is about to be read.

        Args:
            path: absolute.
            follow: whether what a symlink leads to counts, not the symlink.

        Returns:
            What is there; None where nothing is that can be seen.
        """
        looked_at = time.time_ns()
        status = _status(path, follow)
        stamp = _stamp(status, looked_at, self)
        # what changed while it was read piece by piece is read once more
        if self._paths.setdefault((os.fsencode(path), follow), stamp) != stamp:
            self._trusted = False
        return status

    def stat_at(self, name: bytes, directory: int) -> None:
        """Note a name in a directory that is about to be read, a symlink as itself.

        Args:
            name: without slash.
            directory: its descriptor, which stays open.
        """
        looked_at = time.time_ns()
        self._beside[name, directory] = _stamp(_status(name, False, directory), looked_at, self)

    def distrust(self) -> None:
        """Say that the answer also rests on something that was not noted, or not safely."""
        self._trusted = False

    def unchanged(self) -> bool:
        """Whether everything is as it was, for certain."""
        if not self._trusted:
            return False
        for (path, follow), stamp in self._paths.items():
            if not stamp and follow:
                # says the same as `stat`, and is quicker where nothing is
                if os.access(path, os.F_OK):
                    return False
                continue
            if _of(_status(path, follow)) != stamp:
                return False
        return all(_of(_status(name, False, at)) == stamp for (name, at), stamp in self._beside.items())


def _status(path: str | bytes, follow: bool, directory: int | None = None) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=directory, follow_symlinks=follow)
    except (OSError, ValueError):
        # ValueError: a name with a NUL, which nothing can have
        return None


def _stamp(status: os.stat_result | None, looked_at: int, stats: StatCache) -> _Stamp:
    if status is not None and not stat.S_ISDIR(status.st_mode) and is_racy(status.st_ctime_ns, looked_at):
        stats.distrust()
    return _of(status)


def _of(status: os.stat_result | None) -> _Stamp:
    if status is None:
        return _ABSENT
    if stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_mode, status.st_dev

"""Finds the former names of files that were not captured before.

A renamed file keeps its inode and birth time. A copy is recognised by size and times, once the original is gone.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping

import attrs

from snapd.model.paths import parents
from snapd.model.snapshot import FormerName, RelPath
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.listing import FileStatus
from snapd.worktree.fs.system import birth_ns
from snapd.worktree.state.file_state import Inodes
from snapd.worktree.state.nodes import NodeIdentity, join
from snapd.worktree.state.tree_state import TreeState

from .walker import GONE

_MOST_NAMES = 4  # former names kept for each file or directory
_MOST_RECENT = 256  # new names remembered in case they are copies of files deleted later
_GIT_DIRECTORY = (b"HEAD", b"objects", b"refs")
_FROM_OUTSIDE = (FormerName(b"", uncaptured=True),)


def trace(state: TreeState, root: int) -> None:
    """Updates `CoverageKeeper.origins` with the names that came and went in a scan; raises `OSError`."""
    if state.names.arrived or state.uncaptured.gone or state.names.left:
        with Directories(root) as directories:
            _Trace(state, directories).run()
    state.uncaptured.gone.clear()
    state.names.clear()


@attrs.define(eq=False)
class _Trace:
    _state: TreeState
    _directories: Directories
    _origins: dict[RelPath, tuple[FormerName, ...]] = attrs.field(init=False)
    _replaced: set[RelPath] = attrs.field(init=False)
    _came: dict[RelPath, RelPath] = attrs.field(init=False)

    def run(self) -> None:
        state, before = self._state, self._state.coverage.origins
        there = {known.inode for known in state.uncaptured.known.values()} if before or state.uncaptured.gone else set()
        arrived = {
            join(above, name): status
            for (node, name), status in state.names.arrived.items()
            if (above := state.path_of(node)) is not None
        }
        self._replaced = {path for path, _ in state.names.left.values()}
        self._origins = {path: origins for path, origins in before.items() if state.has(path)}
        self._came = {
            path: was for path, status in arrived.items() if status and (was := self._moved_from(path, status, before))
        }
        moved = {path for inode, (path, _) in state.names.left.items() if inode in there}.union(self._came.values())
        # whatever is in one of these directories came with it
        whole: set[RelPath] = set()
        for path, status in sorted(arrived.items()):
            if status is None:
                whole.add(path)
            if status is None or not whole.isdisjoint(parents(path)):
                continue
            origins = self._of(path, status)
            was = self._came.get(path)
            if was is not None:
                origins = (*before.get(was, ()), *origins)
                if was != path and stat.S_ISDIR(status.st_mode):
                    origins = (*origins, FormerName(was, uncaptured=False))
                    self._origins |= {
                        path + below[len(was) :]: inside
                        for below, inside in before.items()
                        if below.startswith(was + b"/")
                    }
            elif not origins and (state.names.is_recalled or (path in self._replaced and path not in moved)):
                # an editor saved the file under another name first; or an earlier process knew it
                origins = before.get(path, ())
            if any(origin.uncaptured for origin in origins):
                whole.add(path)
            last_first = dict.fromkeys(origin for origin in reversed(origins) if origin.path != path)
            self._origins[path] = tuple(last_first)[:_MOST_NAMES][::-1]
        self._trace_copies(arrived, there)
        for inode, (path, _) in state.uncaptured.gone.items():
            if inode in there:
                state.uncaptured.retract(path)
        origins_now = {path: origins for path, origins in self._origins.items() if origins and state.has(path)}
        if origins_now != before:
            state.coverage.set_origins(origins_now)

    def _moved_from(self, path: RelPath, status: FileStatus, before: Mapping[RelPath, object]) -> RelPath | None:
        was, written = self._state.names.left.get(status.st_ino, (None, 0))
        if was is None and stat.S_ISDIR(status.st_mode):
            inside = (each for top, node in self._state.names.departed for each in node.walk(top))
            was = next((place for place, node in inside if node.inode == status.st_ino), None)
        if was is None or was == path:
            return was
        if stat.S_ISDIR(status.st_mode) and (node := self._state.root.directory(path)) is not None:
            is_same = any((node, name) not in self._state.names.arrived for name in (*node.files, *node.directories))
            return was if is_same or self._is_old(path) else None
        return was if was in before and self._is_old(path, written) else None

    def _of(self, path: RelPath, status: FileStatus) -> tuple[FormerName, ...]:
        """Returns the origin of what was not captured before; nothing for what is new or was captured."""
        state = self._state
        gone = state.uncaptured.gone.get(status.st_ino)
        if gone is not None:
            was, known = gone
            same = NodeIdentity.of(status)
            if known == same or (known.is_directory == same.is_directory and self._is_old(path, known.mtime_ns)):
                state.uncaptured.retract(was)
                return (FormerName(was, uncaptured=True),)
            return ()
        if not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1:
            # a second name of a file whose first name may go
            known = NodeIdentity.of(status)
            return tuple(
                FormerName(was, uncaptured=True) for was, each in state.uncaptured.known.items() if each == known
            )
        # an editor that saves under another name first has just written that file
        is_saved = path in self._replaced and status.st_mtime_ns >= state.looked_at
        if (
            not state.knows_inodes
            or path in self._came
            or status.st_ino in state.names.left
            or is_saved
            or not self._is_old(path)
        ):
            return ()
        inodes = Inodes((status.st_ino,))
        was_captured = any(below.of_inodes(inodes) for _, node in state.names.departed for _, below in node.walk())
        return () if was_captured else _FROM_OUTSIDE

    def _is_old(self, path: RelPath, written: int = 0) -> bool:
        """Returns whether this was born before the last scan, or before the file that it may be was written to."""
        above, _, name = path.rpartition(b"/")
        try:
            born = birth_ns(self._directories.open(above), name)
        except OSError as error:
            if error.errno not in GONE:
                raise
            return False
        return born is not None and (born <= written or born < self._state.looked_at)

    def _trace_copies(self, arrived: Mapping[RelPath, FileStatus | None], there: Collection[int]) -> None:
        state = self._state
        new = {path: status for path, status in arrived.items() if status is not None and not self._origins.get(path)}
        state.names.recent |= {path: NodeIdentity.of(status) for path, status in new.items()}
        for path in list(state.names.recent)[:-_MOST_RECENT]:
            del state.names.recent[path]
        for was, known in state.uncaptured.gone.values():
            if was in state.uncaptured.known or known.inode in there:
                continue
            for path, copy in state.names.recent.items():
                if self._origins.get(path) or copy.is_directory != known.is_directory or not state.has(path):
                    continue
                if known.is_directory and was.rpartition(b"/")[2] == b".git":
                    if all(state.has(path + b"/" + name) for name in _GIT_DIRECTORY):
                        self._origins[path] = (FormerName(was, uncaptured=True),)
                elif known.is_directory:
                    # a copy with its times, as of `cp -a`; others cannot be recognised
                    if copy.mtime_ns == known.mtime_ns:
                        self._origins[path] = (FormerName(was, uncaptured=True),)
                elif copy.size == known.size > 0:
                    self._origins[path] = _FROM_OUTSIDE

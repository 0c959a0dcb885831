"""Removes files from everything that was ever stored of a workspace: for a secret that was captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import FileNotInSnapshot, InvalidParams
from snapd.core.feed.events import Tracked
from snapd.core.model import RecordKind
from snapd.core.paths import shown

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.log import SnapshotLog
    from snapd.core.ports.maintenance import Maintenance
    from snapd.core.ports.objects import Objects
    from snapd.core.ports.sharing import Elsewhere

_NAMED = 5
"""How many files an error names."""


@attrs.frozen
class PurgedFile:
    """A file that a purge removes from all snapshots.

    Attributes:
        path: where it was.
        versions: how many contents the purge removes at this path.
        size: the bytes of these contents.
        in_folder: whether the folder has one of them now, in a captured file.
    """

    path: RelPath
    versions: int
    size: int
    in_folder: bool


@attrs.frozen
class Purged:
    """What a purge did, or would do.

    Attributes:
        applied: whether it was done.
        files: the files that it removes.
        snapshots: how many snapshots it changes or removes.
        sessions: how many sessions it removes.
        freed: the bytes that it freed.
        linked: whether the user's own git has some of the contents in a file that it shares with the store: they stay
            there.
        messages: of how many messages it removes the words.
        fetched: how many sessions and handovers that were fetched it drops.
        remotes: the addresses that any of it was sent to, or came from.
    """

    applied: bool
    files: tuple[PurgedFile, ...]
    snapshots: int
    sessions: int
    freed: int
    linked: bool
    messages: int = 0
    fetched: int = 0
    remotes: Collection[str] = ()


class Purge:
    """Purges files from the store of one workspace.

    Args:
        writer: gives the right to write, and captures the work tree.
        objects: of the store.
        log: of the store.
        maintenance: of the store.
        elsewhere: the other machines.
    """

    def __init__(
        self, writer: Writer, objects: Objects, log: SnapshotLog, maintenance: Maintenance, elsewhere: Elsewhere
    ) -> None:
        self._writer = writer
        self._objects = objects
        self._log = log
        self._maintenance = maintenance
        self._elsewhere = elsewhere

    def purge(self, paths: Collection[RelPath], dry_run: bool, call: Call, *, messages: Collection[str] = ()) -> Purged:
        """Removes files from every snapshot and every event, and the words of messages from every event.

        Removes all contents that the files ever had, at whatever path. Sessions that were fetched with any of it are
        dropped. A snapshot with any of them is replaced by one
        without, which has another id; sessions go on with that.

        Args:
            paths: files and directories.
            dry_run: only say what would be removed.
            call: the request; may be cancelled until the first object is removed.
            messages: their ids, in any session: their texts go, and the descriptions of their steps.

        Raises:
            FileNotInSnapshot: a file is in no snapshot; nothing was changed.
            InvalidParams: the folder still has such a file, which the next snapshot would capture again; or there is
                no such message; nothing was changed.
            StoreCorrupt, StorageFull, IoError: nothing was changed; or no snapshot has the files any more, and some of
                their contents are still on the disk: the same request again removes them.
            Cancelled: nothing was changed.
        """
        work_tree = self._writer.work_tree
        with self._writer.turn(call):
            self._objects.check_present()
            purge_plan = self._maintenance.purge_plan(paths, messages, call)
            _check_known(messages, purge_plan.known_messages())
            versions_by_path = purge_plan.versions_by_path()
            missing = [path for path in paths if not purge_plan.is_in_any(path)]
            fetched, remotes = self._elsewhere.purge(paths, purge_plan.contents, messages, call, dry_run=True)
            if missing and not self._maintenance.is_unpurged and not fetched:
                raise FileNotInSnapshot(f"{shown(missing[0])} is in no snapshot", file=shown(missing[0]), skipped=False)
            look = self._writer.look((), call)
            here = [path for path, _ in purge_plan.located(look.tree)]
            files = []
            for path, versions in versions_by_path.items():
                call.check()
                size = sum(map(self._objects.blob_size, versions))
                files.append(PurgedFile(path, len(versions), size, path in here))
            count = purge_plan.snapshots()
            linked = purge_plan.is_linked()
            if dry_run:
                self._writer.record(look, RecordKind.LOOK)
                return Purged(False, tuple(files), count, 0, 0, linked, len(messages), fetched, remotes)
            if here:
                names = ", ".join(shown(path) for path in here[:_NAMED]) + (", ..." if len(here) > _NAMED else "")
                raise InvalidParams(
                    f"{names}: still in the folder, so the next snapshot would have it again",
                    hint="delete it, or ignore it and take it out of git's index, then purge again",
                    field="files",
                    files=[shown(path) for path in here],
                )
            # the capture that was just made belongs to no snapshot
            work_tree.forget(self._objects.discard())
            previous = self._log.last
            # first: once the store has them no longer, nobody knows which contents these are
            self._elsewhere.purge(paths, purge_plan.contents, messages, call, dry_run=False)
            try:
                freed = self._maintenance.purge(purge_plan if versions_by_path or messages else None, call)
            finally:
                # only the store knows now which objects there are
                work_tree.forget_all()
            self._notify_if_new(previous)
            return Purged(True, tuple(files), count, 0, freed, linked, len(messages), fetched, remotes)

    def purge_all(self, dry_run: bool, call: Call) -> Purged:
        """Removes everything: all snapshots, sessions and operations.

        Args:
            dry_run: as of `purge`.
            call: as of `purge`.

        Raises:
            StorageFull, IoError: nothing was changed; or some of it is still on the disk, and is removed when the store
                is next opened.
            Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            self._objects.check_present()
            snapshots, sessions = self._log.counts()
            remotes = sorted(self._elsewhere.sent(None))
            if dry_run:
                return Purged(False, (), snapshots, sessions, 0, False, remotes=remotes)
            try:
                freed = self._maintenance.erase(call)
            finally:
                self._writer.work_tree.forget_all()
            return Purged(True, (), snapshots, sessions, freed, False, remotes=remotes)

    def _notify_if_new(self, previous: ObjectId | None) -> None:
        """Notifies of the last snapshot, if the purge replaced it."""
        if self._log.last is not None and self._log.last != previous:
            skipped = self._log.find(self._log.last).coverage.skipped
            self._writer.notify_snapshot(Tracked(self._log.last, previous, skipped))


def _check_known(messages: Collection[str], known: frozenset[str]) -> None:
    """Makes sure that there are these messages; raises `InvalidParams`."""
    for message_id in messages:
        if message_id not in known:
            raise InvalidParams(
                f"there is no message {message_id!r} in this workspace",
                hint="`session/messages` lists those of a session",
                field="messages",
            )

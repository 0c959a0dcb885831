"""Removes what a store need not keep, checks its contents, and repairs it."""

from __future__ import annotations

import time
from collections.abc import Collection

import attrs

from snapd.core.feed import TrackNotice
from snapd.core.operations.writer import Writer
from snapd.core.seams import OtherMachines, Policy
from snapd.model.call import Call
from snapd.model.check_report import CheckReport, after_repair
from snapd.model.errors import Cancelled, FileNotInSnapshot, InvalidParams, UnknownComment, WorkspaceNotOpen
from snapd.model.paths import shown
from snapd.model.retention import Limits
from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.timeline import CommentId
from snapd.store.files.quarantine import Quarantine
from snapd.store.maintenance.purge import PurgePlan
from snapd.store.store import Store
from snapd.worktree.git.repository import own_object_directories

_NAMED = 5
"""The maximum number of files in an error."""


@attrs.frozen
class PurgedFile:
    """A file that a purge removes from all snapshots."""

    path: RelPath
    versions: int  # how many contents the purge removes at this path
    size: int  # the bytes of these contents
    in_folder: bool  # whether the folder currently has one of them, in a captured file


@attrs.frozen
class PurgeOutcome:
    """What a purge did, or would do: how many snapshots it changes or removes, how many messages lose their texts."""

    applied: bool
    files: tuple[PurgedFile, ...]
    snapshots: int
    sessions: int
    freed: int  # in bytes
    linked: bool  # the user's own git has some of the contents in a file that it shares with the store; they stay there
    messages: int = 0
    comments: int = 0
    fetched: int = 0  # how many fetched sessions and handovers it drops
    remotes: Collection[str] = ()  # the addresses that any of it was sent to, or came from


@attrs.frozen
class Upkeep:
    """Cleans up the store of one workspace, purges files from it, checks and repairs it."""

    _writer: Writer
    _store: Store
    _policy: Policy
    _other_machines: OtherMachines

    def cleanup(self, older_than_days: float | None, call: Call, *, dry_run: bool = False) -> tuple[int, int]:
        """Drops what retention does not keep, and packs the rest; returns the dropped snapshots and freed bytes.

        `older_than_days` replaces the retention of the workspace unless it is None. A `dry_run` does not cover fetched
        sessions. The call may be cancelled until the first snapshot is dropped. After an error, some may be dropped;
        the next cleanup drops the rest.
        """
        with self._writer.turn(call):
            self._store.check_present()
            limits = self._policy.kept.limits(time.time(), older_than_days)
            if dry_run:
                return self._store.maintenance.foretell(limits, self._writer.work_tree.scanner.stored_tree, call)
            removed, freed = self._store.maintenance.clean(limits, self._cached_tree(), call)
            self._writer.git.clean(self._store.timeline.first_git, call)
            before = self._store.bytes_on_disk()
            self._other_machines.clean(_before(limits), call)
            return removed, freed + max(0, before - self._store.bytes_on_disk())

    def keep_house(self, now: float) -> int | None:
        """Does a part of `cleanup`; returns how many snapshots were dropped. `now` is in seconds since 1970.

        Returns None, having done nothing, if another request is writing or the workspace is closed.
        """
        try:
            with self._writer.idle_turn() as call:
                self._store.check_present()
                limits = self._policy.kept.limits(now)
                removed = self._store.maintenance.clean_while_idle(limits, self._cached_tree(), call)
                self._writer.git.clean(self._store.timeline.first_git, call)
                self._other_machines.clean_while_idle(_before(limits), call)
                return removed
        except (Cancelled, WorkspaceNotOpen):
            return None

    def _cached_tree(self) -> ObjectId | None:
        """Returns the tree whose objects the work tree takes for stored, which must be kept; None if there is none."""
        tree = self._writer.work_tree.scanner.stored_tree
        if tree is None:
            # unknown: no tree lists the objects that the work tree assumes to be stored
            self._writer.work_tree.scanner.forget_all()
        return tree

    def purge(
        self,
        paths: Collection[RelPath],
        dry_run: bool,
        call: Call,
        *,
        messages: Collection[str] = (),
        comments: Collection[CommentId] = (),
    ) -> PurgeOutcome:
        """Removes files and directories from every snapshot and event, with all contents they ever had, at any path.

        `messages` are ids, in any session: their texts go, and the descriptions and commands of their steps.
        `comments` are ids, too: their texts go, and those of their replies. Fetched sessions with any of it are
        dropped. A snapshot with any of it is replaced by one without, which has another id and takes its place in
        sessions. The call may be cancelled until the first object is removed.

        Raises `FileNotInSnapshot` if a file is in no snapshot, and `InvalidParams` if the folder still has one, which
        the next snapshot would capture again, or if there is no such message or comment. After `StoreCorrupt`,
        `StorageFull` or `IoError`, either nothing was changed, or no snapshot has the files any more and some contents
        are still on disk: repeat the request.
        """
        work_tree = self._writer.work_tree
        with self._writer.turn(call):
            self._store.check_present()
            purge_plan = PurgePlan(
                self._store.repository, self._store.timeline, paths, messages, call, comments=comments
            )
            _check_known(messages, comments, purge_plan)
            texts = (*messages, *comments)
            missing = [path for path in paths if not purge_plan.is_in_any(path)]
            fetched, remotes = self._other_machines.purge(paths, purge_plan.contents, texts, call, dry_run=True)
            if missing and not self._store.maintenance.is_unpurged and not fetched:
                raise FileNotInSnapshot(f"{shown(missing[0])} is in no snapshot", file=shown(missing[0]), skipped=False)
            look = self._writer.look((), call)
            here = [path for path, _ in purge_plan.located(look.tree)]
            purged = attrs.evolve(
                self._foreseen(purge_plan, here, call),
                messages=len(messages),
                comments=len(comments),
                fetched=fetched,
                remotes=remotes,
            )
            if dry_run:
                self._writer.record_look(look)
                return purged
            if here:
                names = ", ".join(shown(path) for path in here[:_NAMED]) + (", ..." if len(here) > _NAMED else "")
                raise InvalidParams(
                    f"{names}: still in the folder, so the next snapshot would have it again",
                    hint="delete it, or ignore it and take it out of git's index, then purge again",
                    field="files",
                    files=[shown(path) for path in here],
                )
            # the capture that was just made belongs to no snapshot
            work_tree.scanner.forget(self._store.discard())
            previous = self._store.last
            # first: once the store has dropped them, it is unknown which contents these are
            self._other_machines.purge(paths, purge_plan.contents, texts, call, dry_run=False)
            self._writer.git.purge(purge_plan.contents, call)
            try:
                freed = self._store.purge(purge_plan if purged.files or texts else None, call)
            finally:
                # only the store knows which objects there are now
                work_tree.scanner.forget_all()
            self._notify_if_replaced(previous)
            return attrs.evolve(purged, applied=True, freed=freed)

    def _foreseen(self, purge_plan: PurgePlan, here: Collection[RelPath], call: Call) -> PurgeOutcome:
        files = []
        for path, versions in purge_plan.versions_by_path().items():
            call.check()
            size = sum(map(self._store.blob_size, versions))
            files.append(PurgedFile(path, len(versions), size, path in here))
        return PurgeOutcome(
            applied=False,
            files=tuple(files),
            snapshots=purge_plan.snapshots(),
            sessions=0,
            freed=0,
            linked=purge_plan.is_linked() or self._writer.git.project.has_any(purge_plan.contents),
        )

    def purge_all(self, dry_run: bool, call: Call) -> PurgeOutcome:
        """Removes all snapshots, sessions and operations.

        After `StorageFull` or `IoError`, some of it may still be on disk; it is removed when the store is next opened.
        """
        with self._writer.turn(call):
            self._store.check_present()
            snapshots, sessions = self._store.counts()
            remotes = sorted(self._other_machines.sent(None))
            if dry_run:
                return PurgeOutcome(False, (), snapshots, sessions, 0, False, remotes=remotes)
            try:
                freed = self._store.erase(call)
            finally:
                self._writer.work_tree.scanner.forget_all()
            return PurgeOutcome(True, (), snapshots, sessions, freed, False, remotes=remotes)

    def _notify_if_replaced(self, previous: ObjectId | None) -> None:
        if self._store.last is not None and self._store.last != previous:
            skipped = self._store.find(self._store.last).coverage.skipped
            self._writer.notify_snapshot(TrackNotice(self._store.last, previous, skipped))

    def check(self, call: Call, *, quick: bool) -> CheckReport:
        """Checks the store as `_check_store`, and the objects of the project's git that only the store has."""
        report = self._check_store(call, quick=quick)
        project = () if quick else self._writer.git.check(call)
        return attrs.evolve(report, problems=(*report.problems, *project))

    def _check_store(self, call: Call, *, quick: bool) -> CheckReport:
        """Checks the store, in parallel to other requests; a quick check reads only records and events.

        A damaged object is a problem in the report. Raises `StoreCorrupt` only if the store is gone.
        """
        report = self._store.check(call, quick=quick, alone=False)
        if not report.problems:
            return report
        # an object that was packed or dropped during the check can seem to be missing: the second check finds it
        second = self._store.check(call, quick=quick, alone=False)
        if not second.problems:
            return second
        # other requests wait only for an exact report
        with self._writer.alone(call):
            return self._store.check(call, quick=quick, alone=True)

    def repair(self, call: Call) -> CheckReport:
        """Repairs as `_repair_store`, and moves damaged objects of the project's git aside."""
        with self._writer.alone(call):
            quarantine = Quarantine(self._store.path)
            moved = tuple(self._writer.git.check(call, quarantine))
        report = self._repair_store(call)
        if moved:
            report = attrs.evolve(report, repaired=(*report.repaired, *moved), quarantine=quarantine.path)
        return report

    def _repair_store(self, call: Call) -> CheckReport:
        """Repairs the store from itself, from the project's own git, and from a new capture of the work tree.

        After an error, all that was readable before still is.
        """
        work_tree = self._writer.work_tree
        with self._writer.alone(call):
            work_tree.check_present()
            most = self._writer.settings.max_file_size
            first = self._store.repair(
                own_object_directories(work_tree.root), lambda path: work_tree.content(path, most), call
            )
            if not first.problems:
                return first
            # the work tree would count on stored objects that are gone
            work_tree.scanner.forget_all()
            snapshot = self._writer.look((), call)
            self._store.identify(snapshot)
            self._writer.record_look(snapshot)
            return after_repair(first, self._store.check(call, quick=False, alone=True))


def _before(limits: Limits) -> int:
    """Returns the time before which fetched sessions are dropped, in milliseconds since 1970."""
    return int((limits.now - limits.older_than) * 1000)


def _check_known(messages: Collection[str], comments: Collection[CommentId], plan: PurgePlan) -> None:
    known_messages, known_comments = plan.known_messages(), plan.known_comments()
    for name in messages:
        if name not in known_messages:
            raise InvalidParams(
                f"there is no message {name!r} in this workspace",
                hint="`session/messages` lists those of a session",
                field="messages",
            )
    for name in comments:
        if name not in known_comments:
            raise UnknownComment(f"there is no comment {name!r}", commentId=name)

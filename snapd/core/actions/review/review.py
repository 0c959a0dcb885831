"""Shows pending changes of agents; keeps or reverts them, by file, by hunk, or by step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence

import attrs

from snapd.core.compare.text import TextDiffer
from snapd.core.feed import EventLog, NumberedNotice, PacedThread, ReviewNotice
from snapd.core.operations.patch import FileGoal, Patch, Target
from snapd.core.operations.runner import OperationOptions, Request, Runner
from snapd.core.operations.writer import Writer
from snapd.core.review.baseline import Baseline
from snapd.core.review.changes import Attributor, FileChange, Texts
from snapd.core.review.choice import Choice, FileRevert, kept_text, reverted
from snapd.core.review.fold import FileFold, FoldSummary, PendingFile, PendingTexts
from snapd.core.review.pending import PendingFiles, listed, view
from snapd.model.call import Call
from snapd.model.errors import FileChanged
from snapd.model.paths import shown
from snapd.model.plan import LinkedFiles
from snapd.model.snapshot import Entry, FileOutcome, Outcome, RelPath, Snapshot
from snapd.model.timeline import Kept, SessionId, StepId
from snapd.model.trees import file_at
from snapd.store.store import Store
from snapd.store.timeline.timeline import Timeline


@attrs.frozen
class ReviewView:
    """The work tree at one time."""

    snapshot: Snapshot
    last: int  # the number of the last event before it
    unrecorded: Sequence[FileChange]  # what changed since that event


@attrs.frozen(eq=False)
class ReviewViews:
    """Captures the work tree for reviews."""

    _writer: Writer
    _store: Store
    _attributor: Attributor

    def look(self, call: Call, *, records: bool = True) -> ReviewView:
        """Captures the work tree, and records it unless `records` is False. The caller holds the write lock."""
        snapshot = self._writer.capture_now(call)
        if records:
            self._writer.record_look(snapshot)
        last = self._store.timeline.next_seq - 1
        span = self._writer.span(self._store.identify(snapshot))
        return ReviewView(snapshot, last, self._attributor.unrecorded(self._store, last + 1, span))


@attrs.define(eq=False)
class ReviewReverts:
    """What becomes of the files whose pending changes are reverted; `store` gets the texts that no file had."""

    _store: Store
    _seen: Snapshot
    _goals: dict[RelPath, FileGoal] = attrs.field(factory=dict, init=False)
    _now: dict[RelPath, Entry | None] = attrs.field(factory=dict, init=False)
    _left: list[FileOutcome] = attrs.field(factory=list, init=False)
    # files that moved, by their new names
    _moves: dict[RelPath, tuple[FileFold, Baseline]] = attrs.field(factory=dict, init=False)

    def add(self, fold: FileFold, file_revert: FileRevert) -> None:
        """Adds a file with pending changes."""
        pending = fold.pending
        assert pending is not None
        if file_revert.shared:
            self._left.append(FileOutcome(fold.path, "conflict", "shared"))
        elif file_revert.text is not None and fold.now is not None:
            entry = Entry(fold.now.mode, self._store.store_blob(file_revert.text))
            self._put(fold.path, self._target(fold.path, pending), fold.now, entry, is_merged=True)
        elif pending.mode is None or pending.path == fold.path:
            self._put(fold.path, self._target(fold.path, pending), fold.now, self._entry(pending))
        else:
            self._moves[fold.path] = (fold, pending)

    def patch(self) -> Patch:
        """Returns what the files are to become, under both names of each that returns to its old path."""
        for path, (fold, pending) in self._moves.items():
            there = file_at(self._store.entry_in, self._seen.tree, pending.path)
            if there is not None and pending.path not in self._moves and not self._goes(pending.path):
                self._left.append(FileOutcome(path, "conflict", "occupied"))
                continue
            target = self._goals[path].target if path in self._goals else self._target(path, pending)
            former = self._goals[pending.path].target if pending.path in self._goals else target
            self._put(pending.path, former, there, self._entry(pending))
            if path not in self._goals or self._goes(path):
                self._put(path, target, fold.now, None)
        changing = {path: goal for path, goal in self._goals.items() if self._now[path] != goal.wanted}
        settled = [outcome for outcome in self._left if outcome.path not in changing]
        merged = [path for path, goal in self._goals.items() if goal.is_merged and path not in changing]
        emptied = {
            above: goal.target
            for path, goal in self._goals.items()
            if goal.wanted is None
            for above in goal.target.came_since(path)
        }
        return Patch(
            goals=list(changing.values()),
            settled=[*settled, *(FileOutcome(path, "merged") for path in merged)],
            removed=tuple(emptied.items()),
            linked=LinkedFiles((path, old.path) for path, (_, old) in self._moves.items() if path in self._goals),
            is_decided=True,
        )

    def paths(self) -> Collection[RelPath]:
        """The paths of the patch, including those where it changes nothing."""
        return self._goals.keys()

    def _put(
        self, path: RelPath, target: Target, now: Entry | None, wanted: Entry | None, *, is_merged: bool = False
    ) -> None:
        self._goals[path] = FileGoal(path, target, wanted, is_merged)
        self._now[path] = now

    def _goes(self, path: RelPath) -> bool:
        return path in self._goals and self._goals[path].wanted is None

    def _entry(self, pending: Baseline) -> Entry | None:
        if pending.mode is None or pending.entry is not None:
            return pending.entry
        return Entry(pending.mode, self._store.store_blob(b"".join(pending.lines)))

    def _target(self, path: RelPath, pending: Baseline) -> Target:
        """Returns what shows whether a file that the baseline lacks was really absent."""
        if pending.began is None:
            return Target(self._store, self._seen, frozenset({path}))
        return Target(self._store, self._store.load(pending.began))


@attrs.frozen
class PendingPage:
    """Some of the files with pending changes, ordered by path; the counts cover all pages."""

    files: tuple[PendingFile, ...]
    after: RelPath | None  # the last of them if more follow
    count: int
    additions: int
    deletions: int


@attrs.define(eq=False)
class Review:
    """Reviews the changes of agents in one workspace.

    Methods raise `InvalidParams` if nothing is pending in a file that was named, or it has no such hunks.
    """

    _writer: Writer
    _store: Store
    _looking: ReviewViews
    _pending_files: PendingFiles
    _texts: TextDiffer
    _runner: Runner
    # a step belongs to one session for good
    _session_by_step: dict[StepId, SessionId] = attrs.field(factory=dict, init=False)

    def session_of(self, step_id: StepId) -> SessionId:
        """Returns the session of a step that owns pending changes."""
        result = self._session_by_step.get(step_id)
        if result is None:
            step = self._store.timeline.step(step_id)
            assert step is not None
            result = self._session_by_step[step_id] = step.session_id
        return result

    # -- looking

    def page(
        self, choice: Choice, call: Call, *, after: RelPath | None = None, limit: int | None = None
    ) -> PendingPage:
        """Lists the selected files with pending changes, after the path where the previous page ended.

        `limit` is the page size: None for all, 0 for the totals only.
        """
        with self._writer.turn(call):
            look = self._looking.look(call)
        return _page(choice.among(self._views(self._folds(look, call), call)), after, limit)

    def file(self, path: RelPath, call: Call) -> PendingTexts:
        """Returns the pending changes of a file."""
        with self._writer.turn(call):
            look = self._looking.look(call)
        files = self._folds(look, call)
        (result,) = Choice((path,), hunks=()).named(self._views(files, call))[:1]
        return self._texts_of(files[result.path], call)[1]

    # -- keeping and reverting

    def keep(self, choice: Choice, call: Call) -> PendingPage:
        """Accepts pending changes; returns what the selection still has of them.

        To keep some hunks of a moved file also keeps the move. Raises `FileChanged`, and keeps nothing, if a file is
        not as it was shown or has unsaved text.
        """
        self._catch_up(call)
        with self._writer.turn(call):
            self._writer.work_tree.check_present()
            look = self._looking.look(call)
            folds = self._folds(look, call)
            chosen = self._chosen(choice, folds, call)
            unsaved = self._runner.unsaved()
            for file in chosen:
                if file.path in unsaved:
                    raise FileChanged(
                        f"{shown(file.path)} has unsaved text in an editor",
                        hint="save the file, then look at its changes again",
                        file=shown(file.path),
                        reason="unsavedInEditor",
                    )
            if chosen:
                files = [(file.path, self._kept(choice, folds[file.path], call)) for file in chosen]
                steps = {step for file in chosen for step in file.owners}
                self._writer.track(look.snapshot, Kept(tuple(files), tuple(sorted(steps))), call)
                folds = self._folds(self._looking.look(call), call)
            return _page(choice.among(self._views(folds, call)), None, None)

    def revert(self, choice: Choice, options: OperationOptions, call: Call) -> Outcome:
        """Reverts pending changes: each file, or the chosen hunks of it, becomes what the baseline is.

        A change in which steps outside the selection took part stays, unless the client wants it overwritten. The call
        may be cancelled until the first file is moved. Raises `FileChanged`, and reverts nothing, if a file is not as
        it was shown.
        """
        self._catch_up(call)
        with self._writer.turn(call):
            # if the plan is not the expected one, nothing may be recorded
            look = self._looking.look(call, records=options.expect is None)
            seen, folds = look.snapshot, self._folds(look, call)
            reading = self._reading(call)
            reverting = ReviewReverts(self._store, seen)
            for file in self._chosen(choice, folds, call):
                fold, shown_file = self._texts_of(folds[file.path], call)
                overwrites = options.on_conflict_of(file.path) == "overwrite"
                reverting.add(fold, reverted(choice, fold, shown_file, reading, overwrites=overwrites))
            patch = reverting.patch()
            request = Request(
                kind="revert" if choice.hunks is None else "hunks",
                options=options,
                seen=seen,
                writes=reverting.paths(),
                patch=lambda _: patch,
            )
            return self._runner.carry_out(request, call)

    # -- internals

    def _reading(self, call: Call) -> Texts:
        return Texts(self._store, self._texts, call)

    def _folds(self, look: ReviewView, call: Call) -> Mapping[RelPath, FileFold | FoldSummary]:
        return self._pending_files.at(look.last, look.unrecorded, self._reading(call))

    def _views(self, files: Mapping[RelPath, FileFold | FoldSummary], call: Call) -> list[PendingFile]:
        shown_files = []
        for path in sorted(files):
            call.check()
            shown_files.append(listed(files[path], self._reading(call)))
        return shown_files

    def _texts_of(self, file: FileFold | FoldSummary, call: Call) -> tuple[FileFold, PendingTexts]:
        reading = self._reading(call)
        fold = self._pending_files.fold(file, reading)
        return fold, view(fold, reading)

    def _catch_up(self, call: Call) -> None:
        """Processes the history so far without the write lock: the first time, that takes a while."""
        self._pending_files.at(self._store.timeline.next_seq - 1, (), self._reading(call))

    def _chosen(self, choice: Choice, folds: Mapping[RelPath, FileFold | FoldSummary], call: Call) -> list[PendingFile]:
        views = self._views(folds, call)
        shown_now = {file.path: file.id for file in views}
        for path, id_ in choice.expect.items():
            if shown_now.get(path) != id_:
                raise FileChanged(
                    f"{shown(path)} has changed since it was shown",
                    hint="look at its pending changes again, then decide",
                    file=shown(path),
                    reason="changedSince",
                )
        return choice.named(views)

    def _kept(self, choice: Choice, file: FileFold | FoldSummary, call: Call) -> Entry | None:
        fold, shown_file = self._texts_of(file, call)
        text = kept_text(choice, fold, shown_file, self._reading(call))
        if text is None or fold.now is None:
            return fold.now
        pending = fold.pending
        assert pending is not None
        return Entry(pending.mode or fold.now.mode, self._store.store_blob(text))


def _page(files: Sequence[PendingFile], after: RelPath | None, limit: int | None) -> PendingPage:
    rest = [file for file in files if after is None or file.path > after]
    page = rest[:limit]
    return PendingPage(
        tuple(page),
        page[-1].path if page and len(page) < len(rest) else None,
        len(files),
        sum(file.summary.additions for file in files),
        sum(file.summary.deletions for file in files),
    )


class PendingFeed:
    """Notifies when pending changes or comments differ, once a client has requested them; costs nothing before.

    `on_trouble` is called with what keeps notifications from being sent.
    """

    def __init__(
        self, review: Review, timeline: Timeline, event_log: EventLog, on_trouble: Callable[[Exception], None]
    ) -> None:
        self._review = review
        self._timeline = timeline
        self._event_log = event_log
        self._on_trouble = on_trouble
        self._switching = threading.Lock()
        self._running: PacedThread | None = None
        self._closed = False
        self._announced: ReviewNotice | None = None
        event_log.listen(self._on_notice)

    def begin(self) -> None:
        """Starts to notify."""
        with self._switching:
            if self._running is None and not self._closed:
                running = PacedThread("snapd-review", self._look, self._on_trouble)
                try:
                    running.start()
                except RuntimeError as error:
                    self._on_trouble(error)
                    return
                self._running = running

    def look_soon(self) -> None:
        """Notifies soon if something that is no snapshot changed."""
        running = self._running
        if running is not None:
            running.on_change()

    def close(self) -> None:
        """Stops for good. The caller must not hold the write lock: a look may be waiting for it."""
        with self._switching:
            self._closed = True
            running, self._running = self._running, None
        if running is not None:
            running.stop()

    def _on_notice(self, notice: NumberedNotice) -> None:
        running = self._running
        if running is not None and not isinstance(notice.event, ReviewNotice):
            running.on_change()

    def _look(self, call: Call) -> bool:
        page = self._review.page(Choice(), call, limit=0)
        now = ReviewNotice(page.count, page.additions, page.deletions, *self._timeline.remarks())
        if now != self._announced:
            self._announced = now
            self._event_log.publish(now)
        return True

"""Shows what two agents changed in the same files."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator

import attrs

from snapd.core.actions.review.blame import Blame
from snapd.core.actions.review.review import ReviewViews
from snapd.core.actions.step_changes import SessionViews, StepChanges
from snapd.core.answers import OverlapView, StepView
from snapd.core.operations.writer import Writer
from snapd.core.review.changes import FileChange
from snapd.core.review.overlaps import WINDOW, Fold, Overlap, Overlaps
from snapd.model.call import Call
from snapd.model.snapshot import RelPath
from snapd.model.timeline import SessionId, StepId
from snapd.store.store import Store

_AT_ONCE = 20
"""How many overlaps an agent is told at once, but for those of one file."""


@attrs.frozen
class OverlapViews:
    """Finds and describes the overlaps of agents: for an agent, and for people at its steps."""

    _writer: Writer
    _store: Store
    _looking: ReviewViews
    _overlaps: Overlaps
    _blame: Blame
    _sessions: SessionViews
    _step_changes: StepChanges

    def of_session(
        self,
        session_id: SessionId,
        files: Collection[RelPath],
        call: Call,
        *,
        missed: bool = False,
        only: bool = False,
        with_lines: bool = True,
    ) -> tuple[OverlapView, ...]:
        """Returns what other agents changed lately that the agent of a session does not know, oldest first.

        Args:
            session_id: of the agent that is to hear of it.
            files: those that it is about to change; it hears of those that it changed before, too.
            call: the request.
            missed: whether it counts, too, where the agent changed the file itself since then.
            only: whether only `files` count.
            with_lines: whether to look for the lines.
        """
        now = time.time_ns() // 10**6

        def look() -> tuple[int, Collection[FileChange]]:
            with self._writer.turn(call):
                seen = self._looking.look(call)
            return seen.last, seen.unrecorded

        fold = self._overlaps.of_session(session_id, files, now, look, call, only=only)
        if fold is None:
            return ()
        matches = list(self._of_session(fold, session_id, frozenset(files), now, missed=missed, only=only))
        matches.sort(key=lambda overlap: overlap.milliseconds)
        views: list[OverlapView] = []
        for path in dict.fromkeys(overlap.path for overlap in matches):
            if len(views) >= _AT_ONCE:
                break
            lines = self._lines(path, call) if with_lines else {}
            views += [self._view(each, lines.get(each.step_id)) for each in matches if each.path == path]
        return tuple(views)

    def _of_session(
        self, fold: Fold, session_id: SessionId, files: frozenset[RelPath], now: int, *, missed: bool, only: bool
    ) -> Iterator[Overlap]:
        root = fold.root_of_session(session_id)
        lately = frozenset() if only else fold.written_by(root)
        before: frozenset[RelPath] | None = frozenset() if only else None
        for path in fold.paths():
            overlaps = list(fold.unknown_to(root, path, now - WINDOW, with_own=not missed))
            if not overlaps:
                continue
            if path not in files and path not in lately and before is None:
                before = frozenset(self._changed(session_id))
            if path in files or path in lately or (before is not None and path in before):
                yield from overlaps

    def _changed(self, session_id: SessionId) -> Iterator[RelPath]:
        for step in self._store.timeline.steps(session_id):
            if step.ended is not None:
                for file in self._step_changes.summary(step, Call()).files:
                    if not file.by_git:
                        yield from filter(None, (file.path, file.renamed_from))

    def _lines(self, path: RelPath, call: Call) -> dict[StepId, tuple[int, int]]:
        """Returns where the lines of each step are, from the first one to the last one: a line, from 1, and a count."""
        result: dict[StepId, tuple[int, int]] = {}
        for lines in self._blame.steps_in(path, call):
            for step_id in lines.writer.steps:
                first, _ = result.get(step_id, (lines.start, 0))
                result[step_id] = first, lines.start + lines.count - first
        return result

    def mark(self, views: Iterable[StepView], call: Call) -> tuple[StepView, ...]:
        """Adds to steps what other agents had changed in their files without their agent knowing."""
        given = tuple(views)
        overlaps = self._overlaps.of_steps([view.step for view in given], call)
        return tuple(
            attrs.evolve(view, overlaps=tuple(self._view(each) for each in overlaps.get(view.step.step_id, ())))
            for view in given
        )

    def _view(self, overlap: Overlap, lines: tuple[int, int] | None = None) -> OverlapView:
        step = self._sessions.known_step(overlap.step_id)
        session = self._sessions.known(step.session_id)
        return OverlapView(overlap.path, overlap.milliseconds, step, session, lines)

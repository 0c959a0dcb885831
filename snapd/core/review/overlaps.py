"""Finds where two agents changed the same file, and whether the later one knew: from the timeline alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator

import attrs

from snapd.core.review.changes import Attributor, FileChange, list_files
from snapd.model.call import Call
from snapd.model.snapshot import Entry, RelPath
from snapd.model.timeline import FileLook, SessionId, Step, StepId
from snapd.store.store import Store

WINDOW = 30 * 60 * 1000
"""How long after a change by another agent it counts, in milliseconds."""


@attrs.frozen
class Overlap:
    """A file that the step of another agent changed, as the agent that came later knew it before."""

    path: RelPath
    step_id: StepId
    milliseconds: int  # when that step changed it last, since 1970


@attrs.frozen
class _Write:
    """The last change of a file by a step. An agent and its subagents have one `root`: the session that began."""

    step_id: StepId
    root: SessionId
    seq: int
    previous: int  # the `seq` of the change of the file before this one; 0 for none
    milliseconds: int
    entry: Entry | None


@attrs.frozen
class _Knowledge:
    """An agent knows a file as it was after event `until`, or as `entry`; it does so from event `seq` on."""

    seq: int
    until: int
    entry: Entry | None
    is_write: bool

    def covers(self, write: _Write) -> bool:
        """Whether it includes a change; one that no event had recorded yet shows in the entry."""
        return write.seq <= self.until or (write.previous <= self.until and write.entry == self.entry)


@attrs.define(eq=False)
class Overlaps:
    """Finds the overlaps of agents in one workspace."""

    _store: Store
    _attributor: Attributor

    def of_session(
        self,
        session_id: SessionId,
        files: Collection[RelPath],
        now: int,
        look: Callable[[], tuple[int, Collection[FileChange]]],
        call: Call,
        *,
        only: bool,
    ) -> Fold | None:
        """Folds what agents did to the files of an agent; returns None if no other was at work.

        Args:
            session_id: of the agent.
            files: those that count.
            now: milliseconds since 1970.
            look: returns the last event, and what changed since then.
            call: the request.
            only: whether no other file counts that the agent changed.
        """
        timeline = self._store.timeline
        fold = Fold(self._store)
        start, end = timeline.seq_at(now - WINDOW), timeline.seq_at(now + 1)
        at_work = timeline.at_work(start, end)
        root = fold.root_of_session(session_id)
        own = [step_id for step_id in at_work if fold.root_of(step_id) == root]
        if len(own) == len(at_work):
            return None
        last, unrecorded = look()
        end = last + 1
        list_files(timeline, self._store, call)
        paths = {*files}
        if not only:
            sessions = {session_id, *(step.session_id for step in map(timeline.step, own) if step is not None)}
            paths |= timeline.touched_again(start, end, "session_id", sessions)
            paths.update(path for change in unrecorded for path in (change.path, change.source) if path is not None)
        self._folded(fold, paths, start, end, call)
        fold.add(end, now, unrecorded)
        return fold

    def of_steps(self, steps: Iterable[Step], call: Call) -> dict[StepId, tuple[Overlap, ...]]:
        """Returns the overlaps of ended steps: what other agents had written that each agent did not know."""
        timeline = self._store.timeline
        result: dict[StepId, tuple[Overlap, ...]] = {}
        if timeline.session_page(None, 1)[1] is None:
            # the only one
            return result
        ended = {step.step_id: (step.started, step.ended) for step in steps if step.ended is not None}
        for first, last in _merged(ended.values()):
            start, end = timeline.seq_at(first - WINDOW), timeline.seq_at(last + 1)
            fold = Fold(self._store)
            if len({fold.root_of(step_id) for step_id in timeline.at_work(start, end)}) < 2:
                continue
            list_files(timeline, self._store, call)
            # of most files, no other event knows
            paths = timeline.touched_again(start, end, "step_id", ended)
            self._folded(fold, paths, start, end, call)
            result |= {step_id: tuple(each.values()) for step_id, each in fold.overlaps.items() if step_id in ended}
        return result

    def _folded(self, fold: Fold, paths: Collection[RelPath], start: int, end: int, call: Call) -> None:
        """Adds what the events from `start` to before `end` did to some files."""
        timeline = self._store.timeline
        changes = self._attributor.attributed(timeline.touched_by_name(paths, start, end))
        looks = deque(look for look in timeline.looks_between(start, end) if look.path in paths)
        for event, made in changes:
            call.check()
            while looks and looks[0].seq < event.seq:
                fold.look(looks.popleft())
            fold.add(event.seq, event.milliseconds, made)
        for look in looks:
            fold.look(look)


@attrs.define(eq=False)
class Fold:
    """What agents changed and looked at, event by event. Events come in their order."""

    _store: Store
    # of each step that overlapped with others, by file and other step
    overlaps: dict[StepId, dict[tuple[RelPath, StepId], Overlap]] = attrs.field(factory=dict, init=False)
    _writes: dict[RelPath, dict[StepId, _Write]] = attrs.field(factory=dict, init=False)
    _last: dict[RelPath, int] = attrs.field(factory=dict, init=False)
    _known: dict[tuple[SessionId, RelPath], list[_Knowledge]] = attrs.field(factory=dict, init=False)
    _roots: dict[StepId, SessionId] = attrs.field(factory=dict, init=False)

    def root_of(self, step_id: StepId) -> SessionId:
        """Returns the session in which an agent, or the agent that started it, began to work."""
        root = self._roots.get(step_id)
        if root is None:
            step = self._store.timeline.step(step_id)
            assert step is not None
            self._roots[step_id] = step.session_id  # so that a circle ends
            parent = step.begun.parent
            root = self.root_of_session(step.session_id) if parent is None else self.root_of(parent)
            self._roots[step_id] = root
        return root

    def root_of_session(self, session_id: SessionId) -> SessionId:
        """Returns the root of a session that ever was a subagent's; else the session itself."""
        step_id = self._store.timeline.starter_of(session_id)
        return session_id if step_id is None else self.root_of(step_id)

    def add(self, seq: int, milliseconds: int, changes: Iterable[FileChange]) -> None:
        """Adds the changes of an event."""
        for change in changes:
            if change.nature == "keep":
                continue
            for path in filter(None, (change.path, change.source)):
                entry = change.new if path == change.path else None
                if change.nature == "agent":
                    self._write(path, change.by.steps, seq, milliseconds, entry)
                self._last[path] = seq

    def look(self, look: FileLook) -> None:
        """Adds that an agent was told of a file's changes, or read it."""
        key = self.root_of_session(look.session_id), look.path
        self._known.setdefault(key, []).append(_Knowledge(look.seq, look.until, look.entry, is_write=False))

    def unknown_to(
        self, root: SessionId, path: RelPath, since: int, *, before: int | None = None, with_own: bool = True
    ) -> Iterator[Overlap]:
        """Yields the changes of a file by others, not before a time, that an agent does not know.

        With `before`, what it learns from that event on does not count; without `with_own`, its own writes do not.
        """
        known = [
            each
            for each in self._known.get((root, path), ())
            if (before is None or each.seq < before) and (with_own or not each.is_write)
        ]
        for write in self._writes.get(path, {}).values():
            if write.root != root and write.milliseconds >= since and not any(each.covers(write) for each in known):
                yield Overlap(path, write.step_id, write.milliseconds)

    def written_by(self, root: SessionId) -> set[RelPath]:
        """Returns the files that an agent wrote."""
        return {path for (name, path), known in self._known.items() if name == root and any(e.is_write for e in known)}

    def paths(self) -> Collection[RelPath]:
        """Returns the files that any agent wrote, under all their names."""
        return self._writes.keys()

    def _write(
        self, path: RelPath, step_ids: tuple[StepId, ...], seq: int, milliseconds: int, entry: Entry | None
    ) -> None:
        writes = self._writes.setdefault(path, {})
        # each of several agents knows what it may have written itself
        for root in {self.root_of(step_id) for step_id in step_ids}:
            for step_id in step_ids:
                if self.root_of(step_id) == root:
                    self._overlap(root, step_id, path, milliseconds)
            self._known.setdefault((root, path), []).append(_Knowledge(seq, seq, entry, is_write=True))
        for step_id in step_ids:
            writes[step_id] = _Write(step_id, self.root_of(step_id), seq, self._last.get(path, 0), milliseconds, entry)

    def _overlap(self, root: SessionId, step_id: StepId, path: RelPath, milliseconds: int) -> None:
        began = self._store.timeline.began(step_id)
        for each in self.unknown_to(root, path, milliseconds - WINDOW, before=began):
            self.overlaps.setdefault(step_id, {})[path, each.step_id] = each


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins spans of time that are closer together than what is folded before each."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first - merged[-1][1] <= WINDOW:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged

"""What steps changed, as the timeline and the store tell it together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from .answers import StepView
from .filediff import describe
from .history import FileSummary, Summary, working
from .ownership import Author, own_changes
from .threeway import net
from .trees import changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .call import Call
    from .history import SnapshotId, Span, Step, StepId
    from .model import Change, ObjectId, RelPath
    from .ownership import Delta, OwnChanges
    from .ports import Store, TextDiffer


class Deeds:
    """Tells what steps changed.

    Args:
        store: of the workspace, with its timeline.
        texts: compares texts.
    """

    def __init__(self, store: Store, texts: TextDiffer) -> None:
        self._store = store
        self._texts = texts

    def own(self, step: Step) -> OwnChanges:
        """What a step itself changed so far, its parts left out; raises `StoreCorrupt`."""
        return self._own(step.step_id, self._store.timeline.spans(step.step_id), {})

    def ended_with(
        self, step: Step, seen: Span | None, claims: tuple[RelPath, ...] | None, *, spoken_for: bool
    ) -> OwnChanges:
        """What a step itself will have changed that is about to end.

        Args:
            step: open.
            seen: what changed since the last event.
            claims: what its agent knows that it wrote.
            spoken_for: see `history.StepEnded`.

        Raises:
            StoreCorrupt: see there.
        """
        spans = list(self._store.timeline.spans(step.step_id, spoken_for=spoken_for))
        if seen is not None and step.step_id in seen.steps:
            spans.append(seen)
        elif seen is not None and spoken_for and step.step_id in seen.left:
            authors = [other for other in self._store.timeline.open_steps() if other.step_id in seen.steps]
            spans.append(attrs.evolve(seen, steps=working([*authors, step])))
        author = Author(step.begun.session_id, None if claims is None else frozenset(claims))
        return self._own(step.step_id, spans, {step.step_id: author})

    def summary(self, step: Step, call: Call) -> Summary:
        """What a step itself changed, file by file; kept once it has ended.

        Raises:
            StoreCorrupt, IoError, Cancelled: see there.
        """
        if step.summary is not None:
            return step.summary
        next_seq = self._store.timeline.next_seq
        own = self.own(step)
        files = tuple(self._file(path, chain, call) for path, chain in own.files.items())
        summary = Summary(tuple(file for file in files if file is not None), len(own.directories))
        if step.ended is not None:
            self._store.timeline.keep_summary(step.step_id, summary, next_seq)
        return summary

    def view(self, step: Step, agent: str | None, call: Call) -> StepView:
        """A step as clients are shown it.

        Raises:
            StoreCorrupt, IoError, Cancelled: see there.
        """
        if step.ended is None:
            return StepView(step, agent, None)
        files: dict[RelPath, FileSummary] = {}
        for each in self.with_parts(step):
            for file in self.summary(each, call).files:
                known = files.get(file.path)
                files[file.path] = file if known is None else _joined(known, file)
        return StepView(step, agent, tuple(files[path] for path in sorted(files)))

    def between(self, old: ObjectId, new: ObjectId, call: Call) -> tuple[FileSummary, ...]:
        """What differs between two trees, file by file; raises as `summary`."""
        told = [
            describe(self._store, change.path, change.old, change.new, self._texts, call, contents=False)
            for change in self._changes(old, new)
        ]
        return tuple(
            FileSummary(delta.path, delta.status, delta.additions, delta.deletions, delta.binary, False)
            for delta in told
        )

    def with_parts(self, step: Step) -> tuple[Step, ...]:
        """A step and all that is part of it, each before its own parts, in the order in which they were begun."""
        found: list[Step] = []
        waiting = [step]
        while waiting:
            found.append(waiting.pop())
            waiting += reversed(self._store.timeline.parts(found[-1].step_id))
        return tuple(found)

    def net(self, steps: Iterable[Step], call: Call) -> dict[RelPath, Delta]:
        """What several steps changed together, ordered by path; see `threeway.net`.

        Args:
            steps: in the order of time.
            call: the request.
        """
        own = []
        for step in steps:
            call.check()
            own.append(self.own(step).files)
        return net(own, self._store.merge)

    def _own(self, step_id: StepId, spans: Sequence[Span], known: dict[StepId, Author]) -> OwnChanges:
        authors = dict(known)
        for other in {step for span in spans for step in span.steps} - authors.keys():
            step = self._store.timeline.step(other)
            assert step is not None
            authors[other] = Author(step.begun.session_id, None if step.claims is None else frozenset(step.claims))
        return own_changes(step_id, spans, authors, self._changes, self._empty_directories)

    def _changes(self, old: ObjectId, new: ObjectId) -> Iterable[Change]:
        return changes(self._store.read_tree, old, new, differing=self._store.differing)

    def _empty_directories(self, snapshot: SnapshotId) -> tuple[RelPath, ...]:
        return self._store.load(snapshot).coverage.empty_dirs

    def _file(self, path: RelPath, chain: Sequence[Delta], call: Call) -> FileSummary | None:
        """One file of a summary; None where it came and went."""
        old, new = chain[0].old, chain[-1].new
        shared = any(delta.shared for delta in chain)
        if old is None and new is None:
            return None
        told = [describe(self._store, path, delta.old, delta.new, self._texts, call, contents=False) for delta in chain]
        return FileSummary(
            path,
            "added" if old is None else "deleted" if new is None else "modified",
            sum(delta.additions for delta in told),
            sum(delta.deletions for delta in told),
            any(delta.binary for delta in told),
            shared,
        )


def _joined(first: FileSummary, second: FileSummary) -> FileSummary:
    """What two steps did to one file."""
    status = first.status if first.status == second.status else "modified"
    if {first.status, second.status} == {"added", "modified"}:
        status = "added"
    elif {first.status, second.status} == {"deleted", "modified"}:
        status = "deleted"
    return attrs.evolve(
        first,
        status=status,
        additions=first.additions + second.additions,
        deletions=first.deletions + second.deletions,
        binary=first.binary or second.binary,
        shared=first.shared or second.shared,
    )

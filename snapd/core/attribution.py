"""Decides which changes a step made itself while others were open, and which client works in which step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from itertools import chain

import attrs

from snapd.model.paths import parents
from snapd.model.snapshot import Change, Entry, RelPath
from snapd.model.timeline import SessionId, SnapshotId, Span, Step, StepId, around
from snapd.worktree.fs.system import booted_at


def working(open_steps: Iterable[Step], among: Collection[StepId] | None = None) -> tuple[StepId, ...]:
    """Returns the innermost open steps among some (None for all), which own the changes made now."""
    parents = {step.step_id: step.begun.parent for step in open_steps}
    counting = [step for step in parents if among is None or step in among]
    outer = around(counting, parents)
    return tuple(step for step in counting if step not in outer)


@attrs.frozen
class Author:
    """What separates a step's changes from those of other steps that were open at the same time."""

    session_id: SessionId
    claims: frozenset[RelPath] | None  # as in `StepEnded`; None while it is open or if not reported
    parent: StepId | None = None

    def names(self, path: RelPath) -> bool:
        """Whether the step claims a file, by its name or that of a directory above."""
        return self.claims is not None and (path in self.claims or any(above in self.claims for above in parents(path)))

    def names_directory(self, path: RelPath) -> bool:
        """Whether the step claims that a directory became empty or was filled, by its name or that of a file in it."""
        if self.names(path):
            return True
        inside = path + b"/"
        return self.claims is not None and any(claim.startswith(inside) for claim in self.claims)


GIT: StepId = "git"
"""Stands among the owners of changes for git itself: for a checkout or a pull, say, which no step wrote."""


def git_at_work(span: Span) -> dict[StepId, Author]:
    """Returns git as one more author in a span, who claims the files that it put there; nothing if there are none."""
    return {GIT: Author("", frozenset(span.by_git))} if span.by_git else {}


@attrs.frozen
class Delta:
    """One change of a file; None for no file."""

    old: Entry | None
    new: Entry | None
    others: tuple[StepId, ...] = ()  # the steps of other sessions that may have made the change; see `OwnChanges`
    is_mixed: bool = False  # whether it contains changes that others made in between and that cannot be separated

    @property
    def shared(self) -> bool:
        """Whether a step of another session may have made the change."""
        return bool(self.others)


@attrs.frozen
class DirectoryDelta:
    """An empty directory that `came`, or that was removed or filled."""

    came: bool
    shared: bool = False


@attrs.frozen
class OwnChanges:
    """The changes that a step itself made."""

    # the changes of each file, oldest first; several only if others changed it in between
    files: Mapping[RelPath, tuple[Delta, ...]]
    directories: Mapping[RelPath, DirectoryDelta]  # the empty directories that it made, removed or filled


def own_changes(
    step_ids: Collection[StepId],
    spans: Iterable[Span],
    authors: Mapping[StepId, Author],
    changes: Callable[[SnapshotId, SnapshotId], Iterable[Change]],
    empty_directories: Callable[[SnapshotId], Collection[RelPath]],
    *,
    with_git: bool = False,
) -> OwnChanges:
    """Decides what a step, or several steps together, changed.

    A file belongs to those of the innermost open steps that claim it; if none does, to those whose claims are None; if
    there are none of these either, in the same way to the steps that contain them. If there is no such step, the change
    is the user's. With `with_git`, what git put there counts as if the steps had written it. `spans` are those in which
    any of the steps was open, oldest first; `authors` has every step at work in them.
    """
    files: dict[RelPath, list[Delta]] = {}
    directories: dict[RelPath, list[DirectoryDelta]] = {}
    for span in spans:
        at_work = {step: authors[step] for step in span.steps} | ({} if with_git else git_at_work(span))
        for change in changes(span.before, span.after):
            others = _others(step_ids, owners(change.path, at_work), at_work)
            if others is not None:
                _append(files.setdefault(change.path, []), Delta(change.old, change.new, others))
        if span.before.coverage != span.after.coverage:
            before, after = (set(empty_directories(snapshot)) for snapshot in (span.before, span.after))
            for path in before ^ after:
                others = _others(step_ids, owners(path, at_work, Author.names_directory), at_work)
                if others is not None:
                    directories.setdefault(path, []).append(DirectoryDelta(path in after, bool(others)))
    return OwnChanges(
        {path: tuple(files[path]) for path in sorted(files) if files[path]},
        {path: net for path in sorted(directories) if (net := _net(directories[path])) is not None},
    )


def users_changes(
    span: Span, authors: Mapping[StepId, Author], changes: Callable[[SnapshotId, SnapshotId], Iterable[Change]]
) -> list[Change]:
    """Returns the user's changes in a span: the files that no step owns; see `own_changes`."""
    at_work = {step: authors[step] for step in span.steps} | git_at_work(span)
    if any(author.claims is None for author in at_work.values()):
        return []
    return [change for change in changes(span.before, span.after) if not owners(change.path, at_work)]


def own_moves(
    spans: Iterable[Span], renames: Callable[[SnapshotId, SnapshotId], Mapping[RelPath, RelPath]]
) -> dict[RelPath, RelPath]:
    """Maps the new path of each file that was moved in some spans (oldest first), by anyone, to its old path.

    This includes files that were made in one span and moved in a later one: others may have edited them in between.
    """
    result: dict[RelPath, RelPath] = {}
    for span in spans:
        moved = renames(span.before, span.after)
        # all at once, because two files may have swapped names
        first = {new: result.pop(old, old) for new, old in moved.items()}
        result |= first
    return {new: old for new, old in result.items() if new != old}


def owners(
    path: RelPath, authors: Mapping[StepId, Author], names: Callable[[Author, RelPath], bool] = Author.names
) -> tuple[StepId, ...]:
    """Returns the steps that own a change in a span, or none if it is the user's; `authors` are at work in it."""
    outer = {author.parent for author in authors.values()}
    inner = {step: author for step, author in authors.items() if step not in outer}
    claiming = tuple(step for step, author in inner.items() if names(author, path))
    if GIT in claiming:
        # an agent may report what its command wrote
        return (GIT,)
    step_ids = claiming or tuple(step for step, author in inner.items() if author.claims is None)
    if step_ids or len(inner) == len(authors):
        return step_ids
    # a part that names its files leaves others to the step that it is a part of
    return owners(path, {step: author for step, author in authors.items() if step in outer}, names)


def _others(
    step_ids: Collection[StepId], matches: tuple[StepId, ...], authors: Mapping[StepId, Author]
) -> tuple[StepId, ...] | None:
    """Returns the owners of a change in other sessions; None if none of `step_ids` is among the owners."""
    sessions = {authors[step].session_id for step in matches if step in step_ids}
    if not sessions:
        return None
    return tuple(step for step in matches if step not in step_ids and authors[step].session_id not in sessions)


def _append(deltas: list[Delta], delta: Delta) -> None:
    """Appends a later change, merged with the one before if nobody changed the file in between."""
    if deltas and deltas[-1].new == delta.old:
        last = deltas.pop()
        delta = Delta(last.old, delta.new, joined(last.others, delta.others))
    if delta.old != delta.new:
        deltas.append(delta)


def joined(*others: tuple[StepId, ...]) -> tuple[StepId, ...]:
    """Returns the union of the `others` of several changes."""
    return tuple(dict.fromkeys(chain.from_iterable(others)))


def _net(deltas: list[DirectoryDelta]) -> DirectoryDelta | None:
    """Merges the changes of an empty directory; None if it ends as it began."""
    # the first change implies whether it was there before: it was absent if that change made it
    if deltas[0].came != deltas[-1].came:
        return None
    return DirectoryDelta(deltas[-1].came, any(delta.shared for delta in deltas))


class Attendance:
    """The open steps of a workspace and the clients that work in them. Thread-safe.

    A client works in the steps that it began until it disconnects: after a crash, a person may edit the same files. A
    detached step, such as one begun by a hook that exits at once, needs no client, but may have one: the agent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[StepId, Hashable] = {}
        self._shown: set[StepId] = set()
        self._left: set[StepId] = set()
        self._booted = booted_at()

    def attend(self, step_id: StepId, client: Hashable, *, shows_end: bool = True) -> None:
        """Records that a client works in a step, and whether its end would be noticed."""
        with self._lock:
            self._clients[step_id] = client
            if shows_end:
                self._shown.add(step_id)

    def has_client(self, step_id: StepId) -> bool:
        """Whether some client works in a step."""
        with self._lock:
            return step_id in self._clients

    def may_have_ended_unnoticed(self, step: Step) -> bool:
        """Whether the client of an open step may have ended unnoticed."""
        with self._lock:
            return step.begun.detached and step.step_id not in self._shown

    def of(self, client: Hashable) -> tuple[StepId, ...]:
        """Returns the steps that a client works in."""
        with self._lock:
            return tuple(step for step, other in self._clients.items() if other == client)

    def drop(self, steps: Iterable[StepId]) -> None:
        """Removes steps that have ended."""
        with self._lock:
            for step in steps:
                self._clients.pop(step, None)
                self._shown.discard(step)
                self._left.discard(step)

    def leave(self, steps: Iterable[StepId]) -> None:
        """Records that no client works in some steps any more."""
        with self._lock:
            for step in steps:
                self._clients.pop(step, None)
                self._left.add(step)

    def unattended_steps(self, open_steps: Iterable[Step]) -> tuple[Step, ...]:
        """Returns those of some open steps in which no client works."""
        with self._lock:
            return tuple(step for step in open_steps if not self._is_attended(step))

    def _is_attended(self, step: Step) -> bool:
        if step.begun.detached:
            # no client survives a restart of the machine
            return step.step_id not in self._left and step.started >= self._booted
        return step.step_id in self._clients

    def split(self, open_steps: Iterable[Step]) -> tuple[tuple[StepId, ...], tuple[StepId, ...]]:
        """Returns the steps that own the changes made now, and those that may do so later; `open_steps` are in order.

        The first are the steps at work, innermost ones and those that contain them. The second are the steps whose
        client is gone but that may still be ended by id, including outer ones.
        """
        steps = tuple(open_steps)
        parents = {step.step_id: step.begun.parent for step in steps}
        gone = {step.step_id for step in self.unattended_steps(steps)}
        here = parents.keys() - gone
        outer = around(here, parents)
        left = tuple(step for step in parents if step in gone and step not in outer)
        inner = working(steps, here)
        at_work = here & {*inner, *(parents[step] for step in inner)}
        return tuple(step for step in parents if step in at_work), left

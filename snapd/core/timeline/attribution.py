"""What a step itself changed: its part of what changed while it was open, where other steps were open as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.paths import parents

from .model import around

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from snapd.core.model import Change, Entry, ObjectId, RelPath

    from .model import SessionId, SnapshotId, Span, StepId


@attrs.frozen
class Author:
    """What tells the changes of a step from those of others that were open with it.

    Attributes:
        session_id: its session.
        claims: see `history.StepEnded`; None where it said nothing, or is open.
        parent: the step that it is a part of.
    """

    session_id: SessionId
    claims: frozenset[RelPath] | None
    parent: StepId | None = None

    def names(self, path: RelPath) -> bool:
        """Whether it claims a file: by its name, or by that of a directory above."""
        return self.claims is not None and (path in self.claims or any(above in self.claims for above in parents(path)))

    def names_directory(self, path: RelPath) -> bool:
        """Whether it claims that a directory became empty, or no longer is: by that name, or by what is in it."""
        if self.names(path):
            return True
        inside = path + b"/"
        return self.claims is not None and any(claim.startswith(inside) for claim in self.claims)


@attrs.frozen
class Delta:
    """One change of a file.

    Attributes:
        old: None where it was not there.
        new: None where it was not there afterwards.
        shared: whether a step of another session may have made it as well.
    """

    old: Entry | None
    new: Entry | None
    shared: bool = False


@attrs.frozen
class DirectoryDelta:
    """An empty directory that came, or went.

    Attributes:
        came: whether it is there afterwards, and empty; else it went, or something came into it.
        shared: as of `Delta`.
    """

    came: bool
    shared: bool = False


@attrs.frozen
class OwnChanges:
    """What a step itself changed.

    Attributes:
        files: for each file its changes in the order of time. There are several where somebody else changed the file
            between them; else they are one.
        directories: empty directories.
    """

    files: Mapping[RelPath, tuple[Delta, ...]]
    directories: Mapping[RelPath, DirectoryDelta]


def own_changes(
    step_id: StepId,
    spans: Iterable[Span],
    authors: Mapping[StepId, Author],
    changes: Callable[[ObjectId, ObjectId], Iterable[Change]],
    empty_directories: Callable[[SnapshotId], Collection[RelPath]],
) -> OwnChanges:
    """What a step itself changed.

    Where one step alone was open, all is its own, whatever it claims; a step whose client had left is not alone while
    others that were left with it may still be spoken for. Else a file belongs to those that claim it; where
    none does, to those that said nothing of what they wrote. Where that is none, it was the user.

    Args:
        step_id: the step.
        spans: those that it was open in, in the order of time.
        authors: every step in them, those that were left included.
        changes: what differs between two trees.
        empty_directories: those of a snapshot.

    Raises:
        StoreCorrupt: from `changes` or `empty_directories`.
    """
    files: dict[RelPath, list[Delta]] = {}
    directories: dict[RelPath, list[DirectoryDelta]] = {}
    for span in spans:
        accompanied = step_id in span.left and bool(_silent(step_id, span, authors))
        owners = _Owners(step_id, {step: authors[step] for step in span.steps}, accompanied)
        for change in changes(span.before.tree, span.after.tree):
            shared = owners.is_shared(change.path, Author.names)
            if shared is not None:
                _append(files.setdefault(change.path, []), Delta(change.old, change.new, shared))
        if span.before.coverage != span.after.coverage:
            before, after = (set(empty_directories(snapshot)) for snapshot in (span.before, span.after))
            for path in before ^ after:
                shared = owners.is_shared(path, Author.names_directory)
                if shared is not None:
                    directories.setdefault(path, []).append(DirectoryDelta(path in after, shared))
    return OwnChanges(
        {path: tuple(files[path]) for path in sorted(files) if files[path]},
        {path: net for path in sorted(directories) if (net := _net(directories[path])) is not None},
    )


def own_moves(
    spans: Iterable[Span], renames: Callable[[ObjectId, ObjectId], Mapping[RelPath, RelPath]]
) -> dict[RelPath, RelPath]:
    """The old path of each file that was moved in some spans, by its new one; whoever did it.

    A file that was made in a span and moved in a later one is told as well: what is in it by then can be others'.

    Args:
        spans: in the order of time.
        renames: the same between two trees.

    Raises:
        StoreCorrupt: from `renames`.
    """
    found: dict[RelPath, RelPath] = {}
    for span in spans:
        moved = renames(span.before.tree, span.after.tree)
        # all at once: two files may have changed places
        first = {new: found.pop(old, old) for new, old in moved.items()}
        found |= first
    return {new: old for new, old in found.items() if new != old}


def _silent(step_id: StepId, span: Span, authors: Mapping[StepId, Author]) -> set[StepId]:
    """The steps that were left with one and may still be spoken for: until then, theirs must not pass for its own.

    Not its own parts, nor what it is a part of: where these are spoken for, the innermost has it all.
    """
    parents = {step: authors[step].parent for step in span.left}
    inside = {step for step in span.left if step_id in around((step,), parents)}
    return set(span.left) - set(span.steps) - around((step_id,), parents) - inside


class _Owners:
    """Whose the changes of one span are."""

    def __init__(self, step_id: StepId, authors: Mapping[StepId, Author], accompanied: bool) -> None:
        self._step_id = step_id
        self._authors = authors
        self._accompanied = accompanied

    def is_shared(self, path: RelPath, names: Callable[[Author, RelPath], bool]) -> bool | None:
        """Whether another session's step may have changed it as well; None where it is not the step's own."""
        owners = set(self._authors)
        if len(owners) > 1 or self._accompanied:
            owners = {step for step, author in self._authors.items() if names(author, path)}
            owners = owners or {step for step, author in self._authors.items() if author.claims is None}
        if self._step_id not in owners:
            return None
        return len({self._authors[step].session_id for step in owners}) > 1


def _append(deltas: list[Delta], delta: Delta) -> None:
    """Adds a later change; it and the one before are one where nobody changed the file between them."""
    if deltas and deltas[-1].new == delta.old:
        last = deltas.pop()
        delta = Delta(last.old, delta.new, last.shared or delta.shared)
    if delta.old != delta.new:
        deltas.append(delta)


def _net(deltas: list[DirectoryDelta]) -> DirectoryDelta | None:
    """What is left of an empty directory's coming and going; None where it is as it was."""
    # it was not there before it came the first time, and was there before it went the first time
    if deltas[0].came != deltas[-1].came:
        return None
    return DirectoryDelta(deltas[-1].came, any(delta.shared for delta in deltas))

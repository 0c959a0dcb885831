"""Decides what a revert of pending changes does to each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import Entry, FileOutcome
from snapd.core.timeline.model import Effect
from snapd.core.trees import file_at

from .directory_moves import LinkedFiles
from .target import DirectoryGoals, Target

if TYPE_CHECKING:
    from snapd.core.call import Call
    from snapd.core.model import RelPath, Snapshot
    from snapd.core.plan import Plan
    from snapd.core.ports.store import Store
    from snapd.core.review.choice import Reverted
    from snapd.core.review.fold import FileFold

    from .planner import Planner


@attrs.define(eq=False)
class Reverting:
    """What becomes of the files whose pending changes are reverted.

    Args:
        store: holds the snapshots, and gets the texts that no file had.
        seen: the work tree as it is.
    """

    _store: Store
    _seen: Snapshot
    _effects: dict[RelPath, Effect] = attrs.field(factory=dict, init=False)
    _outcomes: dict[RelPath, FileOutcome] = attrs.field(factory=dict, init=False)
    _targets: dict[RelPath, Target] = attrs.field(factory=dict, init=False)
    # new names of moved files, with where each is to go back to
    _moves: dict[RelPath, tuple[FileFold, Entry]] = attrs.field(factory=dict, init=False)

    def add(self, fold: FileFold, found: Reverted) -> None:
        """Adds a file with pending changes.

        Args:
            fold: the file.
            found: what becomes of it.

        Raises:
            StoreCorrupt, StorageFull, IoError: an object is damaged, or could not be stored.
        """
        pending = fold.pending
        assert pending is not None
        if found.shared:
            self._outcomes[fold.path] = FileOutcome(fold.path, "conflict", "shared")
        elif found.text is not None and fold.now is not None:
            self._outcomes[fold.path] = FileOutcome(fold.path, "merged")
            self._put(fold, Entry(fold.now.mode, self._store.store_blob(found.text)))
        elif pending.mode is None or pending.path == fold.path:
            self._put(fold, self._baseline(fold))
        else:
            wanted = self._baseline(fold)
            assert wanted is not None
            self._moves[fold.path] = (fold, wanted)

    def _put(self, fold: FileFold, wanted: Entry | None) -> None:
        self._effects[fold.path] = Effect(fold.path, fold.now, wanted)
        self._targets[fold.path] = self._target(fold)

    def effects(self) -> dict[RelPath, Effect]:
        """All that is to change, by path, with both names of each file that goes back to where it was."""
        effects = dict(self._effects)
        for path, (fold, wanted) in self._moves.items():
            pending = fold.pending
            assert pending is not None
            there = file_at(self._store.entry_in, self._seen.tree, pending.path)
            leaves = pending.path in self._moves or (pending.path in effects and effects[pending.path].new is None)
            if there is not None and not leaves:
                self._outcomes[path] = FileOutcome(path, "conflict", "occupied")
                continue
            target = self._targets.setdefault(path, self._target(fold))
            self._targets.setdefault(pending.path, target)
            effects[pending.path] = Effect(pending.path, there, wanted)
            if path not in effects or effects[path].new is None:
                effects[path] = Effect(path, fold.now, None)
        return effects

    def plan(self, planner: Planner, effects: dict[RelPath, Effect], call: Call) -> Plan:
        """Plans the effects.

        Args:
            planner: of the operation.
            effects: see `effects`.
            call: the request.

        Raises:
            StoreCorrupt: an object is missing or damaged.
        """
        emptied = {
            above: self._targets[path]
            for path, effect in effects.items()
            if effect.new is None
            for above in self._targets[path].came_since(path)
        }
        pairs = [(path, fold.pending.path) for path, (fold, _) in self._moves.items() if fold.pending is not None]
        return planner.from_effects(
            call,
            effects=[effect for effect in effects.values() if effect.old != effect.new],
            outcomes=self._outcomes.values(),
            targets=self._targets,
            directories=DirectoryGoals(removed=tuple(emptied.items())),
            linked=LinkedFiles(pair for pair in pairs if pair[0] in effects),
        )

    def _baseline(self, fold: FileFold) -> Entry | None:
        pending = fold.pending
        assert pending is not None
        if pending.mode is None or pending.entry is not None:
            return pending.entry
        return Entry(pending.mode, self._store.store_blob(b"".join(pending.lines)))

    def _target(self, fold: FileFold) -> Target:
        """What says whether a file that the baseline lacks was really absent."""
        assert fold.pending is not None
        if fold.pending.began is None:
            return Target(self._store, self._seen, frozenset({fold.path}))
        return Target(self._store, self._store.load(fold.pending.began))

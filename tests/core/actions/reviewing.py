"""A person who reviews what agents did, through the core's own objects."""

from __future__ import annotations

import os
from collections.abc import Mapping

from snapd.core.actions.review.review import PendingPage
from snapd.core.operations.runner import OperationOptions
from snapd.core.review.choice import Choice
from snapd.core.review.fold import PendingTexts
from snapd.model.call import Call
from snapd.model.snapshot import OnConflict, Outcome
from tests.support.sessions import Agents


class Reviewer:
    """Somebody who looks at pending changes, keeps them or reverts them."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    def page(self, choice: Choice | None = None, after: bytes | None = None, limit: int | None = None) -> PendingPage:
        return self._agents.bench.workspace.review.page(choice or Choice(), Call(), after=after, limit=limit)

    def pending(self) -> dict[str, tuple[str, int, int]]:
        """The files with pending changes: what happened to each, lines added and deleted."""
        files = [file.summary for file in self.page().files]
        return {os.fsdecode(file.path): (file.status, file.additions, file.deletions) for file in files}

    def file(self, name: str) -> PendingTexts:
        return self._agents.bench.workspace.review.file(os.fsencode(name), Call())

    def owners(self, name: str) -> list[tuple[str, ...]]:
        """The steps behind each hunk of a file."""
        return [hunk.owners for hunk in self.file(name).hunks]

    def keep(
        self, *names: str, hunks: tuple[int, ...] | None = None, expect: Mapping[bytes, str] | None = None
    ) -> PendingPage:
        choice = Choice(tuple(map(os.fsencode, names)), hunks, None, expect or {})
        return self._agents.bench.workspace.review.keep(choice, Call())

    def reverted(self, choice: Choice, on_conflict: OnConflict = "merge", *, dry_run: bool = False) -> Outcome:
        return self._agents.bench.workspace.review.revert(choice, OperationOptions(on_conflict, False, dry_run), Call())

    def revert(
        self,
        *names: str,
        hunks: tuple[int, ...] | None = None,
        on_conflict: OnConflict = "merge",
        dry_run: bool = False,
    ) -> dict[str, str]:
        """What became of each file."""
        outcome = self.reverted(Choice(tuple(map(os.fsencode, names)), hunks), on_conflict, dry_run=dry_run)
        return {
            os.fsdecode(file.path): file.outcome + (f":{file.reason}" if file.reason else "") for file in outcome.files
        }

    def blame(self, name: str, tree: bytes | None = None) -> list[tuple[str, int]]:
        """Who wrote the lines of a file, as a step or a word, and how many."""
        found = self._agents.bench.workspace.blame.lines(os.fsencode(name), tree, None, Call())
        return [(each.writer.steps[0] if each.writer.steps else each.writer.kind, each.count) for each in found.lines]

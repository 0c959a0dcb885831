"""The single path by which a request changes the folder: prepare, plan, compare with what is expected, carry out."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal

import attrs

from snapd.core.compare.file_diff import as_text, describe, unified
from snapd.core.compare.text import TextDiffer
from snapd.failpoints import failpoint
from snapd.gitstate.change import git_change
from snapd.gitstate.plan import GitPlan, parts_of, plan_in_turn
from snapd.model.call import Call
from snapd.model.git import NO_GIT, GitMove, GitOutcome, LeftPart, net
from snapd.model.plan import CapturedFile, Plan
from snapd.model.snapshot import Change, Decision, Details, ObjectId, OnConflict, Outcome, RelPath, Snapshot
from snapd.model.timeline import Operated, OperationKind, SessionId, StepId
from snapd.store.store import Store
from snapd.worktree.worktree import WorkTree

from .editors import Editors
from .patch import Patch
from .planner import Planner
from .recovery import finished
from .uncaptured import ignored_files
from .writer import Arriving, Writer


@attrs.frozen
class OperationOptions:
    """How a client wants an operation done."""

    on_conflict: OnConflict  # what to do with files that are not as the agent left them
    by_name: bool  # whether the client chose `on_conflict` itself
    dry_run: bool  # whether to only report what would be done
    # what else to report: how many lines change, and who changed the files in conflict; or also the diff
    details: Literal["counts", "diff"] | None = None
    # the plan that the client confirmed. If the plan is a different one, nothing is done or recorded, and the outcome
    # is that of a dry run. None accepts any plan; "" stands for no plan.
    expect: str | None = None
    # what to do with some of the files instead. A file to keep is not written, in conflict or not.
    decisions: Mapping[RelPath, Decision] = attrs.field(factory=dict, eq=False)
    git: bool = False  # whether to take back changes of the git state, too

    def on_conflict_of(self, path: RelPath) -> OnConflict:
        """Returns what to do with a file that is not as the agent left it."""
        return self.decisions.get(path, self.on_conflict)

    def respects_editor(self, path: RelPath) -> bool:
        """Whether to leave a file alone that has unsaved text in an editor."""
        is_by_name = self.by_name or path in self.decisions
        return not (is_by_name and self.on_conflict_of(path) == "overwrite")


@attrs.frozen
class StartState:
    """What an operation starts from."""

    # the work tree without the ignored files that are captured for the operation, which are nobody's changes
    seen: Snapshot
    before: Snapshot  # the work tree with these files
    options: OperationOptions
    unsaved: frozenset[RelPath]  # files with unsaved text in an editor, which are not touched


@attrs.frozen(kw_only=True)
class Request:
    """A request to change files."""

    kind: OperationKind
    options: OperationOptions
    seen: Snapshot  # the work tree, as just captured
    # the files to capture first if they are ignored, since no snapshot has them: all that it may write, and ignored
    # ones that it may delete. Other ignored files stay.
    writes: Iterable[RelPath]
    patch: Callable[[StartState], Patch]  # returns what files are to become
    forced: Iterable[RelPath] = ()  # ignored paths to capture in any case
    session_id: SessionId | None = None  # None if it concerns several sessions, or none
    root: StepId | None = None  # the step that the client named, which is undone with its parts
    message_id: str | None = None  # the message that the client named, as `part_id` names the part of it
    part_id: str | None = None
    # begins a step, called if there is something to do: the timeline then records the end of that step, not the
    # operation. None if it is not the work of a step.
    begin: Callable[[], StepId] | None = None
    arriving: Arriving | None = None  # see `Writer.carry_out`
    # by the name of a step or an operation, the changes of the git state to take back, in the order of the request
    git: Mapping[str, Sequence[GitMove]] = attrs.field(factory=dict)
    git_done: Mapping[str, Collection[str]] = attrs.field(
        factory=dict
    )  # the parts of each that were taken back already
    shared_git: Sequence[GitMove] = ()  # those that stay, because another session may have made them
    events: Collection[object] = ()  # names of the other events to record, which are part of what the client confirms


@attrs.frozen(eq=False)
class Runner:
    """Carries out requests in one workspace."""

    _writer: Writer
    _store: Store
    _editors: Editors
    _texts: TextDiffer

    def carry_out(self, request: Request, call: Call) -> Outcome:
        """Carries out a request, or reports what that would do. The caller holds the write lock.

        The call may be cancelled until the first file is moved.
        """
        writer, options = self._writer, request.options
        ignored = ignored_files(writer.work_tree, request.writes, call)
        forced = tuple(sorted(ignored.union(request.forced)))
        before = writer.look(forced, call) if forced else request.seen
        unsaved = frozenset(filter(options.respects_editor, self.unsaved()))
        planner = Planner(
            self._store,
            writer.work_tree,
            before,
            base=self._store.last,
            on_conflict=options.on_conflict,
            decisions=options.decisions,
            unsaved=unsaved,
        )
        patch = request.patch(StartState(request.seen, before, options, unsaved))
        plan = planner.plan(patch, call)
        git, outcome_of_git, turns = self._plan_git(request)
        # a redo leaves git unless the request asks for it, and where it was changed since
        left = request.git.keys() - turns.keys() if not options.git or git.left else ()
        turned = (
            attrs.evolve(turn, git=turns.get(turn.name), git_rests=turn.again is not None and turn.name in left)
            for turn in patch.turned
        )
        patch = attrs.evolve(patch, turned=tuple(turned))
        operation = Operated(
            secrets.token_hex(16),
            request.kind,
            request.session_id,
            self._store.identify(request.seen),
            patch.turned,
            root=request.root,
            message_id=request.message_id,
            part_id=request.part_id,
        )
        call.check()
        is_refused = options.on_conflict == "fail" and bool(plan.conflicts or git.left)
        name = self._name_of(request, operation, plan, is_refused=is_refused)
        is_expected = options.expect in (None, name)
        details = self._details(plan, patch, options, call)
        if options.dry_run or is_refused or not is_expected:
            if is_expected:
                # recorded as a look only: if requested again, the operation must be refused again
                writer.record_look(before)
            results = plan.refused() if is_refused else plan.expected_outcomes()
            return Outcome(False, before.tree, before.tree, results, details, name, outcome_of_git)
        step_id = request.begin() if request.begin is not None and not plan.is_empty else None
        failpoint("writer.before")
        # if nothing of any step can be undone, nothing happened
        is_recorded = step_id is not None or request.arriving is not None
        is_idle = plan.is_empty and git.is_empty
        if is_idle and not is_recorded and not finished(operation, plan.expected_outcomes()).turned:
            writer.record_look(before)
            expected = plan.expected_outcomes()
            return Outcome(True, before.tree, before.tree, expected, details, git=outcome_of_git)
        outcome = writer.carry_out(
            plan, operation, before, forced, call, git=git, step_id=step_id, arriving=request.arriving
        )
        return attrs.evolve(outcome, details=details, git=outcome_of_git)

    def _plan_git(self, request: Request) -> tuple[GitPlan, GitOutcome | None, dict[str, GitMove]]:
        """Plans what becomes of the git state; also returns the answer, and what is done for each step."""
        now = self._writer.git_now() if request.git or request.shared_git else None
        if now is None:
            return GitPlan(NO_GIT, NO_GIT), None, {}
        if not request.options.git:
            moves = [*request.shared_git, *(move for every in reversed([*request.git.values()]) for move in every)]
            if request.kind in ("redo", "unrevert"):
                # they were recorded as the undo made them
                moves = [GitMove(move.after, move.before) for move in reversed(moves)]
            change = net(git_change(self._store, move.before, move.after) for move in moves)
            return GitPlan(now, now), None if change is None else GitOutcome(change, left=True), {}
        restorer = self._writer.git_restorer
        overwrite = request.options.on_conflict == "overwrite"
        plan, turns = plan_in_turn(
            self._store, now, request.git, restorer.in_use(), overwrite=overwrite, done=request.git_done
        )
        possible = restorer.possible(plan)
        shared = {part for move in request.shared_git for part in parts_of(self._store, move.after, move.before)}
        left = (*possible.left, *(LeftPart(part, "shared") for part in sorted(shared)))
        possible = attrs.evolve(possible, left=left)
        outcome = GitOutcome(restorer.compare(possible), possible.left or None)
        return possible, outcome, turns if possible.wanted == plan.wanted else {}

    def unsaved(self) -> frozenset[RelPath]:
        """Returns the files with unsaved text in an editor."""
        return self._editors.unsaved(self._writer.work_tree.root)

    def _name_of(self, request: Request, operation: Operated, plan: Plan, *, is_refused: bool) -> str | None:
        """Returns the name of a plan; None if the client does not need it."""
        if not request.options.dry_run and request.options.expect is None:
            return None
        units = [(turn.name, turn.state, turn.left, turn.rest) for turn in operation.turned]
        moves = [None if turn.git is None else turn.git.after.tree for turn in operation.turned]
        about = (operation.kind, units, sorted(map(repr, request.events)), is_refused, moves)
        return _digest(Plan() if is_refused else plan, about, self._writer.work_tree)

    def _details(self, plan: Plan, patch: Patch, options: OperationOptions, call: Call) -> Details | None:
        """Counts the lines that a plan changes, and writes the diff, as the client requests."""
        if options.details is None:
            return None
        changes = [
            Change(write.path, None if write.captured is None else write.captured.entry, write.entry)
            for write in plan.writes
        ]
        changes += [Change(delete.path, delete.captured.entry, None) for delete in plan.deletes]
        additions = deletions = 0
        parts: list[bytes] = []
        for change in sorted(changes, key=lambda change: change.path):
            call.check()
            counted = describe(self._store, change.path, change.old, change.new, self._texts, call, contents=False)
            additions += counted.additions
            deletions += counted.deletions
            if options.details == "diff":
                parts.append(unified(self._store, change, self._texts, call))
        return Details(additions, deletions, as_text(parts) if options.details == "diff" else None, patch.contested)


def _digest(plan: Plan, about: object, work_tree: WorkTree) -> str:
    """Returns a name for exactly what a plan does to the current files; plans that do the same have the same name.

    `about` is what else is recorded; its `repr` must be the same in every process.
    """
    gone = {delete.path for delete in plan.deletes}
    going: set[RelPath] = set()
    for path in plan.remove_directories:
        # only an empty directory is removed
        inside = chain(work_tree.captured_below(path), work_tree.directories_below(path))
        if not any(work_tree.foreign_below(path)) and all(below in gone or below in going for below in inside):
            going.add(path)
    does = (
        about,
        [(write.path, _exact(write.captured), write.entry.mode, write.entry.oid) for write in plan.writes],
        [(delete.path, _exact(delete.captured)) for delete in plan.deletes],
        plan.make_directories,
        sorted(going),
        [(move.old, move.new, sorted(work_tree.foreign_below(move.old))) for move in plan.moves],
    )
    return hashlib.sha256(repr(does).encode()).hexdigest()[:40]


def _exact(captured: CapturedFile | None) -> tuple[int, int, ObjectId] | None:
    return None if captured is None else (captured.entry.mode, captured.signature.mode, captured.entry.oid)

"""Undoes and redoes steps and operations, as a whole or in part, and keeps what others changed since."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import attrs

from snapd.core.actions.sessions import OTHER_NOTICES, WITH_OTHERS, Sessions
from snapd.core.actions.step_changes import IN_FORCE, StepChanges
from snapd.core.actions.undo.contested import ContestedFiles
from snapd.core.actions.undo.planner import UndoPlanner, UndoTask, files_after_tasks
from snapd.core.answers import UndoResult
from snapd.core.attribution import Delta
from snapd.core.compare.edits import Hunk, hunks, without
from snapd.core.compare.text import TextDiffer, is_binary
from snapd.core.operations.patch import Patch
from snapd.core.operations.runner import OperationOptions, Request, Runner, StartState
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, NothingToRedo, NothingToUndo, UnknownStep
from snapd.model.git import GitMove
from snapd.model.paths import shown
from snapd.model.snapshot import SYMLINK, Entry, FileOutcome, Outcome, RelPath
from snapd.model.timeline import Operation, OperationKind, SessionId, Step, StepId, StepQuery, UndoUnit
from snapd.store.store import Store

_RULES = frozenset((b".gitignore", b".snapd.toml"))
"""The names of files with ignore rules that snapshots have."""
_REDO = "'snapd redo' redoes what was undone last"


@attrs.frozen
class UndoRequest:
    """What to undo; the first given field of these decides."""

    # the last `count` steps of this session that changed something; or the session of the others. None for the last
    # steps of any session, and operations.
    session_id: SessionId | None = None
    count: int = 1
    step_id: StepId | None = None  # this step, with its parts
    message_id: str | None = None  # all steps of this message, with their parts
    after: StepId | None = None  # all steps of a session after this one, which stays with its parts


_STEP_FILES = "'snapd show STEP' shows which files it changed"
TAKEN_BACK = ("partly", "undone")
"""The states of steps that were undone at least in part: undoing a file of them is recorded."""


@attrs.define(eq=False)
class UndoSteps:
    """Undoes and redoes steps and operations, as a whole or in part, in one workspace.

    Calls may be cancelled until the first file is moved. Methods raise `UnknownSession` or `UnknownStep` for one that
    does not exist.
    """

    _writer: Writer
    _store: Store
    _sessions: Sessions
    _step_changes: StepChanges
    _planner: UndoPlanner
    _runner: Runner
    _contested: ContestedFiles = attrs.field(kw_only=True)
    _texts: TextDiffer = attrs.field(kw_only=True)

    # -- steps

    def undo(self, wanted: UndoRequest, options: OperationOptions, call: Call) -> UndoResult:
        """Undoes steps, and operations such as a restore.

        For what was undone before, this undoes what conflicted then. Among the last steps, an open step whose client is
        gone counts too; other selected open steps are ended first. Raises `InvalidParams` if several sessions have the
        message, and `NothingToUndo` if nothing is left to undo.
        """

        def undo(options: OperationOptions) -> UndoResult:
            tasks = self._tasks(wanted, options, call)
            session_id = wanted.session_id or _common(tasks)
            return self._carry_out("undo", session_id, tasks, options, call, root=wanted.step_id)

        with self._writer.turn(call):
            self._writer.check_recent_edits(call)
            if wanted.session_id is not None:
                self._sessions.known(wanted.session_id)
            return self._run_expected(undo, options)

    def redo(
        self, session_id: SessionId | None, count: int | None, options: OperationOptions, call: Call
    ) -> UndoResult:
        """Redoes up to `count` steps, the last undone first; without a session, steps and operations of the workspace.

        Without a count, redoes everything that the last undo took back. Raises `NothingToRedo`.
        """
        with self._writer.turn(call):
            if session_id is not None:
                self._sessions.known(session_id)
            undone = self._store.timeline.redoable(session_id)
            if not undone:
                raise NothingToRedo("there is nothing to redo", **_named_by(session_id))
            tasks = self._planner.to_redo(session_id, undone, count, call, with_git=options.git)
            if not tasks:
                hint = "only what steps did to git is left to redo: ask for git, as 'snapd redo --git' does"
                raise NothingToRedo("there is nothing to redo", hint=hint, **_named_by(session_id))
            return self._carry_out("redo", session_id or _common(tasks), tasks, options, call)

    def revert(
        self, session_id: SessionId, message_id: str, part_id: str | None, options: OperationOptions, call: Call
    ) -> Outcome:
        """Goes back to before a message, or a part of it: undoes all steps of the session since, including open ones.

        Raises `UnknownStep` if the session has no such message, or no step of it belongs to that part.
        """
        with self._writer.turn(call):
            self._writer.check_recent_edits(call)
            self._sessions.known(session_id)
            timeline = self._store.timeline
            steps = timeline.steps(session_id)
            first = next(
                (
                    step.begun.index
                    for step in steps
                    if step.begun.message_id == message_id and part_id in (None, step.begun.part_id)
                ),
                None,
            )
            if first is None and part_id is None and timeline.message(session_id, message_id) is not None:
                # the agent did nothing in that turn, but maybe in later ones
                ids = [message.message_id for message in timeline.message_page(session_id, "", None, None)[0]]
                later = set(ids[ids.index(message_id) :])
                first = next((step.begun.index for step in steps if step.begun.message_id in later), len(steps))
            if first is None:
                raise UnknownStep(
                    "no step of the session belongs to that message or part", messageId=message_id, partId=part_id
                )

            def revert(options: OperationOptions) -> UndoResult:
                tasks = self._tasks_since(session_id, lambda step: step.begun.index >= first, options, call)
                return self._carry_out(
                    "revert", session_id, tasks, options, call, message_id=message_id, part_id=part_id
                )

            return self._run_expected(revert, options).outcome

    def unrevert(self, session_id: SessionId, options: OperationOptions, call: Call) -> Outcome:
        """Redoes what `revert` undid, unless that was done already.

        Raises `NothingToRedo` if no step is left to redo, or a later step changed something.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            reverted = self._planner.reverted(self._store.timeline.redoable(session_id))
            if not reverted:
                raise NothingToRedo("there is nothing to unrevert", sessionId=session_id)
            tasks = self._planner.to_redo(session_id, reverted, len(reverted), call, with_git=options.git)
            return self._carry_out("unrevert", session_id, tasks, options, call).outcome

    def _run_expected(
        self, carry_out: Callable[[OperationOptions], UndoResult], options: OperationOptions
    ) -> UndoResult:
        """Compares the plan before `carry_out`, which may end steps first: ending is an event."""
        if options.expect is not None and self._store.timeline.open_steps():
            expected = carry_out(attrs.evolve(options, dry_run=True, expect=""))
            if expected.outcome.plan != options.expect:
                return expected
        return carry_out(options)

    # -- resolving

    def _tasks(self, wanted: UndoRequest, options: OperationOptions, call: Call) -> list[UndoTask]:
        session_id = wanted.session_id
        if wanted.step_id is not None:
            return self._step_tasks(session_id, wanted.step_id, options, call)
        if wanted.message_id is not None:
            return self._message_tasks(session_id, wanted.message_id, options, call)
        if wanted.after is not None:
            return self._tasks_after(session_id, wanted.after, options, call)
        tasks = self._last(session_id, wanted.count, options, call)
        if not tasks:
            raise NothingToUndo("there is nothing to undo", **_named_by(session_id))
        return tasks

    def _last(self, session_id: SessionId | None, count: int, options: OperationOptions, call: Call) -> list[UndoTask]:
        """Returns what there is to undo of the last steps, of a session or of all; ends those whose client is gone."""
        unattended = {step.step_id for step in self._sessions.unattended_steps(session_id)}
        units: Iterable[UndoUnit | None] = (
            map(self._store.timeline.unit, self._store.timeline.in_force(git=options.git))
            if session_id is None
            else reversed(self._store.timeline.steps(session_id))
        )
        meant = (
            unit
            for unit in units
            if unit is not None
            and (unit.state in IN_FORCE or unit.name in unattended)
            and self._is_change(unit, options, call)
        )
        # summarize all steps of the session: when one ends, the stored summaries show which others changed
        last = list(meant)[:count] if session_id is not None else list(islice(meant, count))
        return self._ending(last, options, call)

    def _is_change(self, unit: UndoUnit, options: OperationOptions, call: Call) -> bool:
        call.check()
        if isinstance(unit, Step):
            if not self._step_changes.summary(unit, call).is_empty:
                return True
            return options.git and bool(self._planner.to_undo(unit, call).git)
        return self._planner.whole(unit).is_change

    def _step_tasks(
        self, session_id: SessionId | None, step_id: StepId, options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        step = self._step(session_id, step_id)
        tasks = self._whole([step], options, call)
        # a step that changed nothing can be undone once, which does nothing
        tasks = [
            task
            for task in tasks
            if task.is_change or (options.git and task.git) or "undone" not in (step.state, task.unit.state)
        ]
        if not tasks:
            raise NothingToUndo(f"step {step_id!r} is already undone", hint=_REDO, stepId=step_id)
        return tasks

    def _message_tasks(
        self, session_id: SessionId | None, message_id: str, options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        steps = self._store.timeline.find_steps(StepQuery("", session_id, message_id=message_id), None)
        if not steps:
            raise UnknownStep(f"no step belongs to message {message_id!r}", messageId=message_id)
        if len(names := {step.session_id for step in steps}) > 1:
            raise InvalidParams(
                f"messageId: several sessions have a message {message_id!r}: {', '.join(sorted(names))}",
                hint="name the session",
                field="sessionId",
            )
        tasks = [task for task in self._whole(steps, options, call) if task.is_change or (options.git and task.git)]
        if not tasks:
            undone = any(step.state == "undone" for step in steps)
            text = "is already undone" if undone else "changed nothing"
            raise NothingToUndo(f"message {message_id!r} {text}", hint=_REDO if undone else None, messageId=message_id)
        return tasks

    def _tasks_after(
        self, session_id: SessionId | None, step_id: StepId, options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        step = self._step(session_id, step_id)
        stay = {part.step_id for part in self._step_changes.with_parts(step)}
        tasks = self._tasks_since(
            step.session_id,
            lambda other: other.begun.index > step.begun.index and other.step_id not in stay,
            options,
            call,
        )
        if not tasks:
            raise NothingToUndo(
                f"no later step of the session is left to undo: step {step_id!r} is the last", stepId=step_id
            )
        return tasks

    def _tasks_since(
        self, session_id: SessionId, chosen: Callable[[Step], bool], options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        """Returns what there is to undo of some steps of a session; ends open ones."""
        opened = [step for step in reversed(self._store.timeline.open_steps()) if step.session_id == session_id]
        with self._end_open([step for step in opened if chosen(step)], options, call):
            steps = reversed(self._store.timeline.steps(session_id))
            changing = [step for step in steps if step.state in IN_FORCE and self._is_change(step, options, call)]
            return [self._planner.to_undo(step, call, with_git=options.git) for step in changing if chosen(step)]

    def _whole(self, steps: Sequence[Step], options: OperationOptions, call: Call) -> list[UndoTask]:
        """Makes the tasks of some steps, given the last first, and of their parts; ends open ones."""
        # if an older snapd undid a step, only the current files show what is left of it
        self._writer.capture_now(call)
        parts = [part for step in reversed(steps) for part in self._step_changes.with_parts(step)]
        # a part may belong to the same message as its step
        parts = list({part.step_id: part for part in parts}.values())
        return self._ending(parts[::-1], options, call)

    def _ending(self, units: Sequence[UndoUnit], options: OperationOptions, call: Call) -> list[UndoTask]:
        """Makes the tasks of some units, given the last first, once the open ones have ended."""
        opened = [unit for unit in units if isinstance(unit, Step) and unit.state == "open"]
        with self._end_open(opened, options, call):
            again = (self._store.timeline.unit(unit.name) for unit in units)
            return [self._planner.to_undo(unit, call, with_git=options.git) for unit in again if unit is not None]

    def _step(self, session_id: SessionId | None, step_id: StepId) -> Step:
        return self._sessions.known_step(step_id) if session_id is None else self._sessions.step_of(session_id, step_id)

    @contextmanager
    def _end_open(self, steps: Sequence[Step], options: OperationOptions, call: Call) -> Iterator[None]:
        """Ends open steps, the first one first; for a dry run, only makes them appear ended within the block."""
        if not steps:
            yield
        elif options.dry_run:
            with self._sessions.simulate_ended(steps, call):
                yield
        else:
            for step in steps:
                call.check()
                # the step has ended even if the undo is cancelled afterwards
                self._sessions.notify_ended(self._sessions.end_open(step, WITH_OTHERS, Call()))
            yield

    # -- hunks

    def hunks(self, step_id: StepId, path: RelPath, call: Call) -> tuple[tuple[Hunk, ...], bool]:
        """Returns the hunks of what a step itself changed in a file; none for a binary file.

        The second value says whether there are none because others changed the same lines while the step was open.
        Raises `InvalidParams` if the step did not change the file.
        """
        change = self._change(self._sessions.known_step(step_id), path, call)
        sides = None if change.is_mixed else self._sides(change)
        return hunks(*sides, self._texts, call) if sides is not None else (), change.is_mixed

    def revert_hunks(
        self, step_id: StepId, path: RelPath, indexes: Sequence[int], options: OperationOptions, call: Call
    ) -> Outcome:
        """Undoes some hunks, counted from 0, of what a step itself changed in a file; all of them are the whole file.

        Raises `InvalidParams` if the step did not change the file, there are no such hunks, or its change cannot be
        separated from those of others.
        """
        with self._writer.turn(call):
            self._writer.check_recent_edits(call)
            step = self._sessions.known_step(step_id)
            change = self._change(step, path, call)
            sides = None if change.is_mixed else self._sides(change)
            if sides is None:
                text = "others changed the same lines in between" if change.is_mixed else "the file is binary"
                hint = "take the whole file back with `step/revertFiles`"
                raise InvalidParams(f"hunks: {text}", hint=hint, field="hunks")
            data = without(*sides, indexes, self._texts, call)
            if data == sides[0] != sides[1]:
                whole = [self._planner.whole(part) for part in reversed(self._step_changes.with_parts(step))]
                names = _with_moves(whole, {path})
                tasks = [task for task in (task.only(names) for task in whole) if task.files]
            else:
                left = change.new or change.old
                assert left is not None
                kept = change.new if data == sides[1] else Entry(left.mode, self._store.store_blob(data))
                part = {path: (attrs.evolve(change, old=kept),)}
                task = self._planner.whole(step)
                tasks = [attrs.evolve(task, files=part, made=(), removed=(), renames={}, is_change=True)]
            return self._carry_out("hunks", step.begun.session_id, tasks, options, call, recorded=()).outcome

    # -- files

    def revert_files(
        self, step_id: StepId, paths: Collection[RelPath], options: OperationOptions, call: Call
    ) -> Outcome:
        """Undoes what a step and its parts changed in some files; if that was undone before, what conflicted then.

        An applied step stays applied; a partly undone step becomes undone once nothing is left. A moved file matches
        under either name. Raises `InvalidParams` if the step did not change one of the files.
        """
        with self._writer.turn(call):
            step = self._sessions.known_step(step_id)
            wanted = set(paths)
            # if an older snapd undid a step, only the current files show what is left of it
            self._writer.capture_now(call)
            opened = [part for part in self._step_changes.with_parts(step) if part.state == "open"]
            # an open step continues; its changes so far are what it would own if it ended now
            with self._sessions.simulate_ended(reversed(opened), call):
                parts = self._step_changes.with_parts(self._sessions.known_step(step_id))
                whole = [self._planner.whole(part) for part in parts]
                tasks = [self._planner.to_undo(part, call) for part in reversed(parts)]
            changed = {path for task in whole for path in task.files}
            for path in wanted - changed:
                raise InvalidParams(
                    f"files: step {step_id!r} did not change {shown(path)}", hint=_STEP_FILES, field="files"
                )
            wanted = _with_moves(whole, wanted)
            tasks = [task for task in (task.only(wanted) for task in tasks) if task.files]
            # an applied step stays applied; if some of a step was undone before, this undoes more of it
            recorded = {task.unit.name for task in tasks if task.unit.state in TAKEN_BACK}
            root = step_id if recorded else None
            outcome = self._carry_out(
                "revert", step.begun.session_id, tasks, options, call, recorded=recorded, root=root
            ).outcome
            # files that were undone before stay as they are
            reported = {file.path for file in outcome.files}
            rest = [FileOutcome(path, "unchanged") for path in wanted & changed - reported]
            return attrs.evolve(outcome, files=tuple(sorted([*outcome.files, *rest], key=lambda file: file.path)))

    # -- texts

    def _change(self, step: Step, path: RelPath, call: Call) -> Delta:
        change = self._step_changes.net(step, call).get(path)
        if change is None:
            raise InvalidParams(
                f"file: step {step.step_id!r} did not change {shown(path)}", hint=_STEP_FILES, field="file"
            )
        return change

    def _sides(self, change: Delta) -> tuple[bytes, bytes] | None:
        """Reads a file before and after a change; None if either is binary, or only one of them is a symlink."""
        if len({side.mode == SYMLINK for side in (change.old, change.new) if side is not None}) > 1:
            return None
        old, new = (b"" if side is None else self._store.read_blob(side.oid) for side in (change.old, change.new))
        return None if is_binary(old) or is_binary(new) else (old, new)

    # -- carrying out

    def _carry_out(
        self,
        kind: OperationKind,
        session_id: SessionId | None,
        tasks: Sequence[UndoTask],
        options: OperationOptions,
        call: Call,
        *,
        recorded: Collection[str] | None = None,
        root: StepId | None = None,
        message_id: str | None = None,
        part_id: str | None = None,
    ) -> UndoResult:
        """Undoes or redoes some tasks, in that order; the caller holds the write lock.

        The timeline records the units whose ids are in `recorded`; None for all.
        """
        writer = self._writer
        # if no task changes anything, nothing is recorded: there is nothing to redo
        moves, parts, counted = dict[str, list[GitMove]](), dict[str, Collection[str]](), set[int]()
        for task in tasks:
            # steps of one session that ran at the same time own the same change
            if own := [move for seq, move in task.git.items() if seq not in counted]:
                # a step that was undone in pieces has several tasks to redo, the last undone first
                moves[task.unit.name] = [*own, *moves.get(task.unit.name, [])]
                parts[task.unit.name] = task.git_done
            counted |= task.git.keys() - {0}
        shared_moves = [move for task in tasks for move in task.shared_git]
        by_git = {path for task in tasks for path in task.by_git}
        tasks = tasks if any(task.is_change or (options.git and task.git) for task in tasks) else ()
        names = dict.fromkeys(task.unit.name for task in tasks)
        if recorded is not None:
            names = {name: None for name in names if name in recorded}
        # each step gets a notification, which must be possible even if the disk is full by then
        writer.event_log.prepare(len(tasks) + OTHER_NOTICES)

        def patch(prepared: StartState) -> Patch:
            contested = () if options.details is None else self._contested.of(tasks, prepared.seen, call)
            patch = self._planner.patch(tasks, prepared, names, call)
            known = {goal.path for goal in patch.goals} | {outcome.path for outcome in patch.settled}
            left = [FileOutcome(path, "unchanged", "byGit") for path in sorted(by_git - known)]
            return attrs.evolve(patch, settled=[*patch.settled, *left], contested=contested)

        request = Request(
            kind=kind,
            options=options,
            seen=writer.capture_now(call),
            writes=(*files_after_tasks(tasks), *_ignored_meanwhile(tasks)),
            patch=patch,
            session_id=session_id,
            root=root,
            message_id=message_id,
            part_id=part_id,
            git=moves,
            git_done=parts,
            shared_git=shared_moves,
        )
        outcome = self._runner.carry_out(request, call)
        units = [unit for unit in map(self._store.timeline.unit, names) if unit is not None]
        steps = tuple(self._sessions.shown(unit, call) for unit in units if isinstance(unit, Step))
        if outcome.applied:
            self._sessions.notify_steps(steps)
        return UndoResult(outcome, steps, tuple(unit for unit in units if isinstance(unit, Operation)))


def _named_by(session_id: SessionId | None) -> dict[str, SessionId]:
    """Returns the data of an error that names the session, if the request did."""
    return {} if session_id is None else {"sessionId": session_id}


def _common(tasks: Iterable[UndoTask]) -> SessionId | None:
    """Returns the session that all tasks belong to; None if there are several, or none."""
    sessions = {task.unit.session_id for task in tasks}
    return sessions.pop() if len(sessions) == 1 else None


def _with_moves(tasks: Iterable[UndoTask], wanted: set[RelPath]) -> set[RelPath]:
    """Adds the other names of moved files to the names of files."""
    for task in tasks:
        wanted = wanted.union(*(pair for pair in task.renames.items() if wanted & set(pair)))
    return wanted


def _ignored_meanwhile(tasks: Iterable[UndoTask]) -> Iterable[RelPath]:
    """Returns the files of some tasks if these also take back rules, by which one to delete may be ignored."""
    paths = {path for task in tasks for path in task.files}
    return paths if any(path.rpartition(b"/")[2] in _RULES for path in paths) else ()

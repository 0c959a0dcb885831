"""`step/` methods; `session/undo`, `redo`, `revert` and `unrevert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.actions.sessions import NewStep
from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.compare.file_diff import as_text
from snapd.model.errors import InvalidParams
from snapd.model.paths import shown
from snapd.model.timeline import StepQuery
from snapd.watch.agents import AgentAtWork
from snapd.wire import changes as changes_wire
from snapd.wire import methods
from snapd.wire import session as wire
from snapd.wire.snapshot import DiffResult
from snapd.wire.values import Outcome

from . import convert, history
from .binding import handles

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.actions.history import ChangeRecord
    from snapd.core.answers import UndoResult
    from snapd.model.snapshot import RelPath
    from snapd.model.timeline import StepId

    from .binding import Context

_UNNAMED = 10


@handles(methods.STEP_BEGIN)
def begin(context: Context, params: wire.StepBeginParams) -> wire.StepBeginResult:
    """Begins a step."""
    context.need_snapshots("begin a step on")
    new = NewStep(
        client=None if params.detached else context.client,
        parent=params.parent_step_id,
        message_id=params.message_id,
        part_id=params.part_id,
        tool=params.tool,
        description=params.description,
        command=params.command,
        ends=params.ends,
        began=None if params.began is None else convert.milliseconds(params.began, "began"),
    )
    step = context.workspace.sessions.begin(params.session_id, new, context.call)
    if params.agent is not None and step.state == "open" and not context.workspace.sessions.attended(step):
        watched = AgentAtWork(params.agent.process_id, params.agent.transcript, params.agent.interrupted)
        context.workspace.sessions.watch(step.step_id, watched)
    return wire.StepBeginResult(step_id=step.step_id, hash=step.from_.tree.hex())


@handles(methods.STEP_END)
def end(context: Context, params: wire.StepEndParams) -> wire.StepEndResult:
    """Ends a step."""
    claims, outside = convert.claims(context, params.files, params.directory)
    view = context.workspace.sessions.finish(
        params.step_id,
        claims,
        context.call,
        description=params.description,
        lingers=params.lingers,
        is_left=params.left,
    )
    step, workspace = view.step, context.workspace
    assert step.to is not None
    unnamed = (
        () if view.files or not claims else workspace.comparison.changed(step.from_.tree, step.to.tree, context.call)
    )
    return wire.StepEndResult(
        step_id=step.step_id,
        from_=step.from_.tree.hex(),
        to=step.to.tree.hex(),
        files=history.files(workspace.root, view.files or ()),
        ignored=[shown(path) for path in claims or () if workspace.work_tree.is_ignored(path)] or None,
        unnamed=[shown(change.path) for change in unnamed[:_UNNAMED]] or None,
        outside=outside or None,
    )


@handles(methods.STEP_FIND)
def find(context: Context, params: wire.StepFindParams) -> wire.StepFindResult:
    """Finds steps by the beginning of their ids."""
    wanted = StepQuery(params.prefix or "", params.session_id, params.parent_step_id, is_open=params.open)
    views = context.workspace.readers.find(wanted, params.limit, context.call, renames=params.renames)
    if params.lingering:
        views = (*context.workspace.sessions.lingering(context.call), *views)
    marked = context.workspace.overlaps.mark(views, context.call)
    return wire.StepFindResult(steps=[history.step(context.workspace.root, view) for view in marked])


@handles(methods.SESSION_PREFIXES)
def prefixes(context: Context, params: changes_wire.PrefixesParams) -> changes_wire.PrefixesResult:
    """Returns the short forms of ids."""
    shortest = context.workspace.readers.shortest
    return changes_wire.PrefixesResult(prefixes=[shortest(name) for name in params.ids])


@handles(methods.STEP_DIFF)
def diff(context: Context, params: wire.StepDiffParams) -> DiffResult:
    """Makes a unified diff of what a step changed."""
    only = convert.all_names(context, params.files, "files")
    if params.files is not None and not only:
        context.workspace.sessions.known_step(params.step_id)
        return DiffResult(diff="")
    result = context.workspace.readers.of_step(params.step_id).net_changes
    return convert.diff(result.step(params.step_id, only, context.call, binary=params.binary), exact=params.exact)


@handles(methods.STEP_CHANGES)
def changes(context: Context, params: changes_wire.StepChangesParams) -> changes_wire.StepChangesResult:
    """Lists the changes of steps one by one."""
    root = context.workspace.root
    made = context.workspace.made_changes.of(params.session_ids or (), params.step_ids or (), context.call)
    return changes_wire.StepChangesResult(
        files=[
            changes_wire.ChangedFile(**convert.name(root, path), changes=[_change(root, each) for each in chain])
            for path, chain in made.items()
        ]
    )


@handles(methods.STEP_HUNKS)
def hunks(context: Context, params: wire.StepHunksParams) -> wire.StepHunksResult:
    """Lists the hunks of a step's changes to a file."""
    path = convert.path(context, params.file, "file", _changed(context, params.step_id))
    result, is_mixed = context.workspace.undo_steps.hunks(params.step_id, path, context.call)
    return wire.StepHunksResult(
        hunks=[convert.to_wire(wire.Hunk, hunk) for hunk in result],
        mixed=is_mixed or None,
    )


@handles(methods.STEP_REVERT_HUNKS)
def revert_hunks(context: Context, params: wire.StepRevertHunksParams) -> Outcome:
    """Reverts some of these hunks."""
    path = convert.path(context, params.file, "file", _changed(context, params.step_id))
    asked = convert.options(context, params)
    result = context.workspace.undo_steps.revert_hunks(params.step_id, path, params.hunks, asked, context.call)
    return convert.outcome(context.workspace.root, result)


@handles(methods.STEP_REVERT_FILES)
def revert_files(context: Context, params: wire.StepRevertFilesParams) -> Outcome:
    """Reverts a step's changes to some files."""
    paths = convert.paths(context, params.files, "files", _changed(context, params.step_id))
    asked = convert.options(context, params)
    result = context.workspace.undo_steps.revert_files(params.step_id, paths, asked, context.call)
    return convert.outcome(context.workspace.root, result)


def _changed(context: Context, step_id: StepId) -> Callable[[RelPath], bool]:
    """A predicate for the files that a step or one of its parts changed, even if that was undone."""

    def changed(path: RelPath) -> bool:
        step = context.workspace.sessions.known_step(step_id)
        return path in context.workspace.step_changes.net(step, context.call)

    return changed


def _change(root: bytes, made: ChangeRecord) -> changes_wire.StepChange:
    old, new = made.delta.old, made.delta.new
    return changes_wire.StepChange(
        from_=made.before.hex(),
        to=made.after.hex(),
        old_mode=convert.mode(None if old is None else old.mode),
        new_mode=convert.mode(None if new is None else new.mode),
        renamed_from=None if made.moved_from is None else convert.exact_name(root, made.moved_from),
        owners=[
            changes_wire.ChangeOwner(session_id=step.session_id, step_id=step.step_id, message_id=step.begun.message_id)
            for step in made.by
        ],
        shared_with=list(made.delta.others) or None,
    )


@handles(methods.SESSION_UNDO)
def undo(context: Context, params: wire.SessionUndoParams) -> wire.StepsOutcome:
    """Undoes steps and operations."""
    named = {"stepId": params.step_id, "messageId": params.message_id, "afterStepId": params.after_step_id}
    if len(given := [name for name, value in named.items() if value is not None]) > 1:
        raise InvalidParams(f"{given[1]}: cannot be used with {given[0]}", hint="send one of them", field=given[1])
    wanted = UndoRequest(params.session_id, params.count, params.step_id, params.message_id, params.after_step_id)
    asked = convert.options(context, params)
    return _turned(context, context.workspace.undo_steps.undo(wanted, asked, context.call))


@handles(methods.SESSION_REDO)
def redo(context: Context, params: wire.SessionRedoParams) -> wire.StepsOutcome:
    """Redoes steps and operations."""
    asked, count = convert.options(context, params), None if params.whole else params.count
    return _turned(context, context.workspace.undo_steps.redo(params.session_id, count, asked, context.call))


@handles(methods.SESSION_REVERT)
def revert(context: Context, params: wire.SessionRevertParams) -> wire.RevertOutcome:
    """Reverts to before a message."""
    workspace = context.workspace
    asked = convert.options(context, params)
    result = workspace.undo_steps.revert(params.session_id, params.message_id, params.part_id, asked, context.call)
    same = result.before == result.after
    changed = () if same else workspace.comparison.diff(result.before, result.after, (), context.call)
    return convert.outcome_of(
        wire.RevertOutcome,
        workspace.root,
        result,
        message_id=params.message_id,
        part_id=params.part_id,
        snapshot=result.before.hex(),
        diff=as_text(changed),
    )


@handles(methods.SESSION_UNREVERT)
def unrevert(context: Context, params: wire.SessionUnrevertParams) -> Outcome:
    """Reverses `revert`."""
    asked = convert.options(context, params)
    result = context.workspace.undo_steps.unrevert(params.session_id, asked, context.call)
    return convert.outcome(context.workspace.root, result)


def _turned(context: Context, turning: UndoResult) -> wire.StepsOutcome:
    root, result = context.workspace.root, turning.outcome
    return convert.outcome_of(
        wire.StepsOutcome,
        root,
        result,
        steps=[history.step(root, step) for step in turning.steps],
        operations=[history.operation(operation) for operation in turning.operations] or None,
    )

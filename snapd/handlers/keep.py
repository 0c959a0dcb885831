"""`snapshot/track`, `status`, `cleanup`, `purge`, `restore`, `revert` and `check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.core.seams import SettingInUse
from snapd.model.errors import InvalidParams
from snapd.model.paths import shown, to_uri
from snapd.wire import check as check_wire
from snapd.wire import methods
from snapd.wire import snapshot as wire
from snapd.wire.snapshot import RestoreParams, RevertParams
from snapd.wire.values import FullLook, Outcome, StoreInfo

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.answers import Status, StepView
    from snapd.model import check_report as checkup
    from snapd.model.snapshot import OnConflict, RelPath
    from snapd.wire.values import Patch

    from .binding import Context


@handles(methods.TRACK)
def track(context: Context, params: wire.TrackParams) -> wire.TrackResult:
    """Takes a snapshot."""
    forced = convert.paths(context, params.force, "force")
    if not context.enabled:
        return wire.TrackResult(hash=None, reason="disabled", skipped=[])
    tracked = context.workspace.snapshots.track(forced, context.call)
    return wire.TrackResult(hash=tracked.tree.hex(), skipped=convert.skipped(context.workspace.root, tracked.skipped))


@handles(methods.STATUS)
def status(context: Context, params: wire.StatusParams) -> wire.StatusResult:
    """Describes the state of a workspace."""
    workspace = context.workspace
    outcome = workspace.snapshots.status()
    in_use = workspace.policy.in_use(context.client)
    if outcome.folder_excludes:
        in_use += (SettingInUse("exclude", outcome.folder_excludes, "folder"),)
    look = outcome.full_look
    return convert.to_wire(
        wire.StatusResult,
        outcome,
        enabled=context.enabled,
        workspace_uri=to_uri(workspace.root),
        within=_within(context),
        ignored=None
        if params.file is None
        else workspace.work_tree.is_ignored(convert.path(context, params.file, "file")),
        project_id=workspace.project_id,
        full_look=None if look is None else FullLook(at=convert.moment(look.at), reason=look.why),
        last_hash=None if outcome.last is None else outcome.last.hex(),
        store=StoreInfo(path=outcome.store_path, bytes=outcome.store_bytes),
        open_steps=[_open_step(view) for view in workspace.sessions.open(context.call)],
        settings=[wire.Setting(name=each.name, value=_json(each.value), source=each.source) for each in in_use],
        settings_problems=list(_problems(workspace.policy.problem, outcome)) or None,
        former_histories=convert.former_histories(workspace.former_histories()),
    )


def _problems(of_settings: str | None, match: Status) -> Iterator[str]:
    yield from (text for text in (of_settings, match.folder_problem) if text is not None)
    for path in match.unreadable_rules:
        yield f"{shown(path)}: it has no effect: it is damaged, too large, or its patterns have too many wildcards"


def _within(context: Context) -> str | None:
    root, opened = context.roots[0], os.path.realpath(context.roots[-1])
    return None if opened == root else os.path.relpath(opened, root).decode("utf-8", "replace")


def _open_step(view: StepView) -> wire.OpenStep:
    begun = view.step.begun
    return convert.to_wire(wire.OpenStep, begun, agent=view.agent, started_at=convert.moment(view.step.started))


def _json(value: bool | float | str | tuple[str, ...] | None) -> bool | float | str | list[str] | None:
    return list(value) if isinstance(value, tuple) else value


@handles(methods.CLEANUP)
def cleanup(context: Context, params: wire.CleanupParams) -> wire.CleanupResult:
    """Removes what the retention does not keep."""
    removed, freed = context.workspace.upkeep.cleanup(params.older_than_days, context.call, dry_run=params.dry_run)
    return wire.CleanupResult(removed=removed, freed_bytes=freed)


@handles(methods.PURGE)
def purge(context: Context, params: wire.PurgeParams) -> wire.PurgeResult:
    """Removes the contents of files, or everything, from the whole store."""
    paths = convert.paths(context, params.files, "files")
    messages, comments = (tuple(dict.fromkeys(names or ())) for names in (params.messages, params.comments))
    if params.everything == bool(paths or messages or comments):
        raise InvalidParams(
            "files: expected at least one file, message or comment, or `everything`, but not both", field="files"
        )
    upkeep = context.workspace.upkeep
    if params.everything:
        done = upkeep.purge_all(params.dry_run, context.call)
    else:
        done = upkeep.purge(paths, params.dry_run, context.call, messages=messages, comments=comments)
    files = [convert.to_wire(wire.PurgedFile, file, context.workspace.root, bytes=file.size) for file in done.files]
    return convert.to_wire(wire.PurgeResult, done, files=files, freed_bytes=done.freed, still_in_git=done.linked)


# these requests name the exact state that they want
_DEFAULT: OnConflict = "overwrite"


@handles(methods.RESTORE)
def restore(context: Context, params: RestoreParams) -> Outcome:
    """Makes the work tree match a snapshot exactly."""
    asked = convert.options(context, params, _DEFAULT)
    result = context.workspace.snapshots.restore(convert.tree(context, params.hash), asked, context.call)
    return convert.outcome(context.workspace.root, result)


@handles(methods.REVERT)
def revert(context: Context, params: RevertParams) -> Outcome:
    """Restores some files from snapshots."""
    patches = [
        (
            convert.tree(context, patch.hash),
            [_path(context, patch, text, f"patches[{at}].files") for text in patch.files],
        )
        for at, patch in enumerate(params.patches)
    ]
    result = context.workspace.snapshots.revert(patches, convert.options(context, params, _DEFAULT), context.call)
    return convert.outcome(context.workspace.root, result)


def _path(context: Context, patch: Patch, text: str, field: str) -> RelPath:
    """The name of a file in the request that the snapshot has."""
    known = convert.in_snapshot(context, patch.hash)
    exact = convert.path(context, text, field)
    return exact if known(exact) else convert.path(context, text, field, known)


@handles(methods.CHECK)
def check(context: Context, params: check_wire.CheckParams) -> check_wire.CheckResult:
    """Checks a store, and repairs it if requested."""
    if params.repair and params.quick:
        raise InvalidParams("quick: a repair reads everything; leave out `quick` or `repair`", field="quick")
    upkeep = context.workspace.upkeep
    outcome = upkeep.repair(context.call) if params.repair else upkeep.check(context.call, quick=params.quick)
    return result(context.workspace.root, outcome)


def result(root: bytes, check_report: checkup.CheckReport) -> check_wire.CheckResult:
    """Converts the report of a check."""
    broken = [tree.hex() for tree in check_report.broken]
    return convert.to_wire(
        check_wire.CheckResult,
        check_report,
        root,
        broken_snapshots=broken,
        truncated=True if check_report.is_cut else None,
    )

"""Read-only handlers: `snapshot/list`, `fileAt`, `listFiles`, `fileExists`, `export`, `patch`, `diff`, `diffFull`."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Literal

from snapd.core.compare.text import is_binary
from snapd.model.errors import InvalidParams
from snapd.model.paths import absolute, is_utf8, shown
from snapd.model.snapshot_records import SnapshotRecordQuery
from snapd.wire import methods
from snapd.wire import snapshot as wire
from snapd.wire.values import Patch

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from snapd.core.answers import TakenView

    from .binding import Context


_SNAPSHOTS = 100
_PREFIX = re.compile(r"[0-9a-f]{6,40}")


@handles(methods.LIST)
def list_snapshots(context: Context, params: wire.ListParams) -> wire.ListResult:
    """Lists the snapshots."""
    if params.prefix is not None and params.before is not None:
        raise InvalidParams("before: cannot be used with prefix", field="before")
    if params.prefix is not None and not _PREFIX.fullmatch(params.prefix):
        raise InvalidParams(
            f"prefix: expected 6 to 40 lower-case hexadecimal digits, got {params.prefix!r}", field="prefix"
        )
    wanted = SnapshotRecordQuery(
        params.prefix or "", None if params.before is None else convert.seconds(params.before, "before")
    )
    paged = convert.PagedRequest(params)
    page = context.workspace.snapshots.taken(
        wanted, paged.number(), params.limit or _SNAPSHOTS, context.call, counts=params.counts
    )
    return wire.ListResult(
        snapshots=[_taken(view) for view in page.views], next_cursor=paged.optional_cursor(page.after)
    )


def _taken(view: TakenView) -> wire.TakenSnapshot:
    taken = view.taken
    return convert.to_wire(
        wire.TakenSnapshot,
        taken,
        hash=taken.tree.hex(),
        at=convert.moment(taken.milliseconds // 1000 * 1000),
        operation=view.operation,
        files=view.changed,
        agent=view.agent,
    )


@handles(methods.FILE_AT)
def file_at(context: Context, params: wire.FileAtParams) -> wire.FileAtResult:
    """Returns the exact bytes of a file."""
    path = convert.path(context, params.file, "file", convert.in_snapshot(context, params.hash))
    result = context.workspace.snapshots.file_at(convert.tree(context, params.hash), path)
    binary = is_binary(result.data)
    encoding: Literal["utf-8", "base64"] = "base64" if binary or not is_utf8(result.data) else "utf-8"
    content = base64.b64encode(result.data).decode() if encoding == "base64" else result.data.decode("utf-8")
    return wire.FileAtResult(
        file=shown(path),
        size=len(result.data),
        mode=f"{result.mode:o}",
        binary=binary,
        encoding=encoding,
        content=content,
    )


@handles(methods.LIST_FILES)
def list_files(context: Context, params: wire.ListFilesParams) -> wire.ListFilesResult:
    """Lists the files of a snapshot."""
    tree = convert.tree(context, params.hash)
    prefix = params.prefix or ""
    paged = convert.PagedRequest(params)
    after = paged.position()
    page = context.workspace.snapshots.names(
        tree, context.call, lambda path: shown(path).startswith(prefix), after, params.limit
    )
    root = context.workspace.root
    return wire.ListFilesResult(
        files=[convert.exact_name(root, path) for path in page.paths],
        next_cursor=None if page.after is None else paged.cursor(page.after),
    )


@handles(methods.FILE_EXISTS)
def file_exists(context: Context, params: wire.FileExistsParams) -> wire.FileExistsResult:
    """Reports whether a snapshot has a file."""
    path = convert.path(context, params.file, "file", convert.in_snapshot(context, params.hash))
    return wire.FileExistsResult(
        exists=context.workspace.snapshots.entry(convert.tree(context, params.hash), path) is not None
    )


@handles(methods.EXPORT)
def export(context: Context, params: wire.ExportParams) -> wire.ExportResult:
    """Writes a snapshot to another folder."""
    only = None if params.files is None else convert.paths(context, params.files, "files")
    directory = convert.absolute(params.directory, "directory")
    result = context.workspace.snapshots.export(convert.tree(context, params.hash), directory, only, context.call)
    return wire.ExportResult(files=result.files, bytes=result.size)


TREE_BYTES = 20


@handles(methods.PATCH)
def patch(context: Context, params: wire.PatchParams) -> Patch:
    """Lists the files that differ."""
    workspace = context.workspace
    tree = convert.tree(context, params.hash)
    changes = workspace.comparison.changed(tree, convert.optional_tree(context, params.to), context.call)
    return Patch(hash=tree.hex(), files=[absolute(workspace.root, change.path) for change in changes])


@handles(methods.DIFF)
def diff(context: Context, params: wire.DiffParams) -> wire.DiffResult:
    """Makes a unified diff."""
    only = convert.all_names(context, params.files, "files")
    if params.files is not None and not only:
        return wire.DiffResult(diff="")
    old, new = convert.tree(context, params.hash), convert.optional_tree(context, params.to)
    parts = context.workspace.comparison.diff(
        old, new, only, context.call, renames=params.renames, binary=params.binary
    )
    return convert.diff(parts, exact=params.exact)


@handles(methods.DIFF_FULL)
def diff_full(context: Context, params: wire.DiffFullParams) -> wire.DiffFullResult:
    """Lists the files that differ, with their contents before and after."""
    only = convert.all_names(context, params.files, "files")
    if params.files is not None and not only:
        return wire.DiffFullResult(diffs=[])
    paged = convert.PagedRequest(params)
    new, after = convert.optional_tree(context, params.to), None
    if (position := paged.position()) is not None:
        # all pages compare with the same tree, however the folder changes
        new, after = position[:TREE_BYTES], position[TREE_BYTES:]
    page = context.workspace.comparison.deltas(
        convert.tree(context, params.from_),
        new,
        context.call,
        only=only,
        contents=params.contents,
        renames=params.renames,
        after=after,
        limit=params.limit,
    )
    return wire.DiffFullResult(
        diffs=[convert.file_diff(context.workspace.root, delta) for delta in page.deltas],
        next_cursor=None if page.after is None else paged.cursor(page.to + page.after),
    )

"""`snapshot/patch`, `snapshot/diff` and `snapshot/diffFull`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.paths import absolute
from snapd.wire import methods
from snapd.wire import snapshot as wire
from snapd.wire.values import Patch

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from .binding import Context

TREE_BYTES = 20


@handles(methods.PATCH)
def patch(context: Context, params: wire.PatchParams) -> Patch:
    """Lists the files that differ."""
    workspace = context.workspace
    changes = workspace.changed(convert.tree(params.hash), convert.optional_tree(params.to), context.call)
    return Patch(hash=params.hash, files=[absolute(workspace.root, change.path) for change in changes])


@handles(methods.DIFF)
def diff(context: Context, params: wire.DiffParams) -> wire.DiffResult:
    """Makes a unified diff."""
    only = convert.all_names(context, params.files, "files")
    if params.files is not None and not only:
        return wire.DiffResult(diff="")
    old, new = convert.tree(params.hash), convert.optional_tree(params.to)
    parts = context.workspace.diff(old, new, only, context.call, renames=params.renames, binary=params.binary)
    return convert.diff(parts, exact=params.exact)


@handles(methods.DIFF_FULL)
def diff_full(context: Context, params: wire.DiffFullParams) -> wire.DiffFullResult:
    """Lists the files that differ, with their contents before and after."""
    only = convert.all_names(context, params.files, "files")
    if params.files is not None and not only:
        return wire.DiffFullResult(diffs=[])
    paged = convert.PagedRequest(params)
    new, after = convert.optional_tree(params.to), None
    if (position := paged.position()) is not None:
        # all pages compare with the same tree, however the folder changes
        new, after = position[:TREE_BYTES], position[TREE_BYTES:]
    page = context.workspace.deltas(
        convert.tree(params.from_),
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

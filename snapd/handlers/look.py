"""`snapshot/fileAt`, `snapshot/listFiles` and `snapshot/fileExists`."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Literal

from snapd.core.compare.text import is_binary
from snapd.core.paths import is_utf8, shown, to_uri
from snapd.wire import methods
from snapd.wire import snapshot as wire

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from .context import Context


@handles(methods.FILE_AT)
def file_at(context: Context, params: wire.FileAtParams) -> wire.FileAtResult:
    """Returns the exact bytes of a file."""
    path = convert.path(context, params.file, "file")
    found = context.workspace.file_at(convert.tree(params.hash), path)
    binary = is_binary(found.data)
    encoding: Literal["utf-8", "base64"] = "base64" if binary or not is_utf8(found.data) else "utf-8"
    content = base64.b64encode(found.data).decode() if encoding == "base64" else found.data.decode("utf-8")
    return wire.FileAtResult(
        file=shown(path),
        size=len(found.data),
        mode=f"{found.mode:o}",
        binary=binary,
        encoding=encoding,
        content=content,
    )


@handles(methods.LIST_FILES)
def list_files(context: Context, params: wire.ListFilesParams) -> wire.ListFilesResult:
    """Lists the files of a snapshot."""
    tree = convert.tree(params.hash)
    prefix = params.prefix or ""
    paged = convert.PagedRequest(params)
    after = paged.position()
    page = context.workspace.names(tree, context.call, lambda path: shown(path).startswith(prefix), after, params.limit)
    root = context.workspace.root
    return wire.ListFilesResult(
        files=[shown(path) if is_utf8(path) else to_uri(os.path.join(root, path)) for path in page.paths],
        next_cursor=None if page.after is None else paged.cursor(page.after),
    )


@handles(methods.FILE_EXISTS)
def file_exists(context: Context, params: wire.FileExistsParams) -> wire.FileExistsResult:
    """Says whether a snapshot has a file."""
    path = convert.path(context, params.file, "file")
    return wire.FileExistsResult(exists=context.workspace.entry(convert.tree(params.hash), path) is not None)

"""`snapshot/restore` and `snapshot/revert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.wire import methods
from snapd.wire.snapshot import RestoreParams, RevertParams
from snapd.wire.values import Outcome

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from snapd.core.model import OnConflict, RelPath
    from snapd.wire.values import Patch

    from .context import Context

# these callers name the exact state that they want
_DEFAULT: OnConflict = "overwrite"


@handles(methods.RESTORE)
def restore(context: Context, params: RestoreParams) -> Outcome:
    """Makes the working tree exactly a snapshot."""
    asked = convert.options(params, _DEFAULT)
    result = context.workspace.restore(convert.tree(params.hash), asked, context.call)
    return convert.outcome(context.workspace.root, result)


@handles(methods.REVERT)
def revert(context: Context, params: RevertParams) -> Outcome:
    """Restores some files from snapshots."""
    patches = [
        (convert.tree(patch.hash), [_path(context, patch, text, f"patches[{at}].files") for text in patch.files])
        for at, patch in enumerate(params.patches)
    ]
    result = context.workspace.revert(patches, convert.options(params, _DEFAULT), context.call)
    return convert.outcome(context.workspace.root, result)


def _path(context: Context, patch: Patch, text: str, field: str) -> RelPath:
    """The name of a file that a snapshot has, if it has any of them; most are there as they are written."""
    known = convert.in_snapshot(context, patch.hash)
    exact = convert.path(context, text, field)
    return exact if known(exact) else convert.path(context, text, field, known)

"""Between the wire's values and the core's: hashes, file names, modes, outcomes."""

from __future__ import annotations

import base64
import binascii
import json
import os
from typing import TYPE_CHECKING, Any, TypedDict

from snapd.core.errors import InvalidParams
from snapd.core.paths import is_utf8, relative, shown, to_uri
from snapd.core.writer import Request
from snapd.wire import values as wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.filediff import FileDelta
    from snapd.core.model import FileOutcome, ObjectId, OnConflict, Outcome, RelPath, Skip

    from .context import Context


class Name(TypedDict):
    """How a record names its file."""

    file: str
    uri: str | None


def tree(hash_: str) -> ObjectId:
    """The tree that a hash names; the wire has checked its form."""
    return bytes.fromhex(hash_)


def optional_tree(hash_: str | None) -> ObjectId | None:
    """Likewise, where there may be none."""
    return None if hash_ is None else tree(hash_)


def path(context: Context, text: str, field: str) -> RelPath:
    """The file that a request names; raises `InvalidParams` or `PathOutsideWorkspace`."""
    return relative(text, context.roots, field)


def paths(context: Context, texts: Iterable[str] | None, field: str) -> list[RelPath]:
    """The files that a request names; raises as `path`."""
    return [path(context, text, f"{field}[{at}]") for at, text in enumerate(texts or ())]


def name(root: bytes, found: RelPath) -> Name:
    """How a record names a file: readable, and exact besides where that is not the same."""
    return {"file": shown(found), "uri": None if is_utf8(found) else to_uri(os.path.join(root, found))}


def mode(bits: int | None) -> str | None:
    """A mode as the wire has it."""
    return None if bits is None else f"{bits:o}"


def request(on_conflict: OnConflict | None, default: OnConflict, dry_run: bool) -> Request:
    """How an operation is asked for.

    Args:
        on_conflict: what the client said of conflicts.
        default: what holds where it said nothing.
        dry_run: whether it only wants to know.
    """
    return Request(on_conflict or default, on_conflict is not None, dry_run)


def skipped(root: bytes, skips: Iterable[Skip]) -> list[wire.Skipped]:
    """What a snapshot could not take."""
    return [wire.Skipped(**name(root, skip.path), reason=skip.reason.value) for skip in skips]


def file_outcomes(root: bytes, outcomes: Iterable[FileOutcome]) -> list[wire.FileOutcome]:
    """What became of files."""
    return [
        wire.FileOutcome(**name(root, outcome.path), outcome=outcome.outcome, reason=outcome.reason)
        for outcome in outcomes
    ]


def outcome(root: bytes, result: Outcome) -> wire.Outcome:
    """What an operation did."""
    return wire.Outcome(
        applied=result.applied,
        before=result.before.hex(),
        after=result.after.hex(),
        files=file_outcomes(root, result.files),
    )


def file_diff(root: bytes, delta: FileDelta) -> wire.FileDiff:
    """A file before and after."""
    return wire.FileDiff(
        **name(root, delta.path),
        status=delta.status,
        before=delta.before,
        after=delta.after,
        additions=delta.additions,
        deletions=delta.deletions,
        binary=delta.binary,
        too_large=True if delta.too_large else None,
        encoding=delta.encoding,
        renamed_from=None if delta.renamed_from is None else shown(delta.renamed_from),
        old_mode=mode(delta.old_mode),
        new_mode=mode(delta.new_mode),
    )


def file_change(root: bytes, delta: FileDelta) -> wire.FileChange:
    """A changed file, without its contents."""
    return wire.FileChange(
        **name(root, delta.path),
        status=delta.status,
        additions=delta.additions,
        deletions=delta.deletions,
        binary=delta.binary,
    )


def write_cursor(question: list[str], tree_id: ObjectId, after: RelPath) -> str:
    """Where a list goes on.

    Args:
        question: what was asked, so that a cursor is not used for another question.
        tree_id: the tree that the list is made from, so that every page is made from the same.
        after: the last path of the page before.
    """
    document = json.dumps([*question, tree_id.hex(), after.hex()], separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).decode()


def read_cursor(cursor: str, question: list[str]) -> tuple[ObjectId, RelPath]:
    """The tree and the last path of a cursor.

    Raises:
        InvalidParams: it is none, or one of another question.
    """
    try:
        document: Any = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        *asked, tree_hex, after_hex = document
        if asked != question or len(tree_hex) != 40:
            raise ValueError("of another question")
        return bytes.fromhex(tree_hex), bytes.fromhex(after_hex)
    except (ValueError, TypeError, binascii.Error) as error:
        raise InvalidParams("cursor: not the nextCursor of this question", field="cursor") from error

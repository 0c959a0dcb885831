"""Between the wire's values and the core's: hashes, file names, modes, outcomes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Any, TypedDict

import attrs

from snapd.core.errors import InvalidParams
from snapd.core.operations.writer import Request
from snapd.core.paths import is_utf8, relative, shown, to_uri
from snapd.wire import values as wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.compare.file_diff import FileDelta
    from snapd.core.model import FileOutcome, ObjectId, OnConflict, Outcome, RelPath, Skip

    from .context import Context

_DIGEST_BYTES = 16
_NUMBER = re.compile(rb"[0-9]{1,18}")


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


class Question:
    """What is asked page by page: a cursor that was given out for one is of no use for any other.

    A cursor is the digest of the question and of the position, and the position itself, in base64. So one that was
    made up, changed on its way, or taken from an answer to other params is told from one that was given out.

    Args:
        params: of the request; all but `cursor` and `limit` say what is asked.
    """

    def __init__(self, params: Any) -> None:
        asked = attrs.asdict(params, filter=lambda field, _: field.name not in ("cursor", "limit"))
        self._asked = json.dumps([type(params).__name__, asked], sort_keys=True).encode()
        self._cursor: str | None = params.cursor

    def cursor(self, position: bytes) -> str:
        """The cursor for a position; it is never empty."""
        return base64.urlsafe_b64encode(self._digest(position) + position).decode()

    def optional_cursor(self, number: int | None) -> str | None:
        """As `cursor`, for a position that is a number; None where there is none."""
        return None if number is None else self.cursor(b"%d" % number)

    def position(self) -> bytes | None:
        """The position that the request names, None where it starts at the beginning.

        Raises:
            InvalidParams: its cursor was not given out for this question.
        """
        if self._cursor is None:
            return None
        try:
            data = base64.b64decode(self._cursor, altchars=b"-_", validate=True)
        except ValueError as error:
            raise _not_a_cursor() from error
        position = data[_DIGEST_BYTES:]
        # also where other letters stand for the same bytes
        if self.cursor(position) != self._cursor:
            raise _not_a_cursor()
        return position

    def number(self) -> int | None:
        """As `position`, where that is a number."""
        position = self.position()
        if position is not None and not _NUMBER.fullmatch(position):
            raise _not_a_cursor()
        return None if position is None else int(position)

    def _digest(self, position: bytes) -> bytes:
        return hashlib.sha256(self._asked + b"\0" + position).digest()[:_DIGEST_BYTES]


def _not_a_cursor() -> InvalidParams:
    return InvalidParams(
        "cursor: not the nextCursor of a page of this question",
        hint="leave it out to get the first page",
        field="cursor",
    )

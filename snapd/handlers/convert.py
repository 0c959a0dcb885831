"""Converts between values of the wire and the core: hashes, file names, modes, outcomes, cursors."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, TypeVar, Union, get_args, get_origin

import attrs

from snapd.core.compare.file_diff import as_text
from snapd.core.operations.runner import OperationOptions
from snapd.model.errors import InvalidParams, PathOutsideWorkspace
from snapd.model.paths import from_text, is_utf8, relative, shown, to_uri
from snapd.wire import values as wire
from snapd.wire.snapshot import DiffResult
from snapd.wire.words import system_error

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from snapd.core.answers import FormerHistory
    from snapd.core.compare.file_diff import FileDelta
    from snapd.model.snapshot import (
        ChangedBy,
        Decision,
        Details,
        FileOutcome,
        ObjectId,
        OnConflict,
        Outcome,
        RelPath,
        Skip,
    )

    from .binding import Context

    Conversion = Callable[[Any, bytes], Any]

Result = TypeVar("Result", bound=wire.Outcome)
Wire = TypeVar("Wire", bound=attrs.AttrsInstance)

_DIGEST_BYTES = 16
_HASH = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(rb"[0-9]{1,18}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_NAMES = ("renamed_from", "branch")
"""The fields that are bytes in the core: names of files and branches."""
_OF_ONE_PAGE = ("cursor", "limit", "work_done_token")
"""The params that may differ from page to page."""


class Name(TypedDict):
    """The fields of a wire object that name its file."""

    file: str
    uri: str | None


def tree(context: Context, hash_: str) -> ObjectId:
    """The tree for a hash prefix. Raises `UnknownSnapshot` unless exactly one matches."""
    if len(hash_) == _HASH:
        return bytes.fromhex(hash_)
    return context.workspace.snapshots.beginning(hash_, context.call)


def optional_tree(context: Context, hash_: str | None) -> ObjectId | None:
    """The tree for a hash prefix; None for None."""
    return None if hash_ is None else tree(context, hash_)


def names(root: bytes, raw: bytes, directory: bytes = b"") -> tuple[RelPath, ...]:
    """The names below `root` that a path has now: with symlinks on the way resolved, and its target; none if outside.

    Programs differ on `..` after a symlink, the parent of its target or of the symlink itself; so both are included.
    """
    full = os.path.join(root, directory, raw).rstrip(b"/")
    above, last = os.path.split(full)
    entry = full if last in (b".", b"..") else os.path.join(os.path.realpath(above), last)
    meant = (entry, os.path.realpath(full), *([full] if b".." in raw.split(b"/") else []))
    result: dict[RelPath, None] = {}
    for each in map(os.path.normpath, meant):
        with contextlib.suppress(PathOutsideWorkspace):
            result[relative(each, root)] = None
    return tuple(result)


def path(context: Context, text: str, field: str, known: Callable[[RelPath], bool] | None = None) -> RelPath:
    """The name of a file, given as a relative path, an absolute path, or a `file:` URI.

    Of the names of a path with symlinks, the first `known` one is used. Raises `InvalidParams`, or
    `PathOutsideWorkspace` if it leads outside or into a `.git`, or has a `..`.
    """
    raw, root = from_text(text, field), context.workspace.root
    try:
        exact = relative(raw, root)
    except PathOutsideWorkspace:
        result = () if b".." in raw.split(b"/") else names(root, raw)
        if not result:
            raise
    else:
        result = (exact,) if known is None else tuple(dict.fromkeys((exact, *names(root, raw))))
    return result[0] if known is None or len(result) == 1 else next(filter(known, result), result[0])


def paths(
    context: Context, texts: Iterable[str] | None, field: str, known: Callable[[RelPath], bool] | None = None
) -> list[RelPath]:
    """The names of files in a request. Raises as `path`."""
    return [path(context, text, f"{field}[{at}]", known) for at, text in enumerate(texts or ())]


def all_names(context: Context, texts: Iterable[str] | None, field: str) -> list[RelPath]:
    """All names of files in a request that selects files. Raises as `path`."""
    first = paths(context, texts, field)
    return list(dict.fromkeys(name for each in first for name in (each, *names(context.workspace.root, each))))


def in_snapshot(context: Context, hash_: str) -> Callable[[RelPath], bool]:
    """Returns a predicate for the files of a snapshot."""
    result = tree(context, hash_)
    return lambda path: context.workspace.snapshots.entry(result, path) is not None


def claims(
    context: Context, texts: Iterable[str] | None, directory: str | None
) -> tuple[list[RelPath] | None, list[str]]:
    """The names of the files that an agent reports to have written, relative to `directory` or the root; None for None.

    Also returns the files that are outside the root or cannot exist.
    """
    result: dict[RelPath, None] = {}
    outside = []
    base = b"" if directory is None else from_text(directory, "directory")
    for text in texts or ():
        try:
            inside = names(context.workspace.root, from_text(text, "files"), base)
        except InvalidParams:
            inside = ()
        result |= dict.fromkeys(inside)
        if not inside:
            outside.append(text)
    return None if texts is None else list(result), outside


def absolute(text: str, field: str) -> bytes:
    """The bytes of an absolute path or `file:` URI. Raises `InvalidParams`."""
    path = from_text(text, field)
    if not path.startswith(b"/"):
        raise InvalidParams(
            f"{field}: expected an absolute path, got {text!r}",
            hint="the daemon does not know the client's directory: send an absolute path",
            field=field,
        )
    return path


def name(root: bytes, result: RelPath) -> Name:
    """The fields that name a file: readable, and also exact if the name is not UTF-8."""
    return {"file": shown(result), "uri": None if is_utf8(result) else to_uri(os.path.join(root, result))}


def exact_name(root: bytes, result: RelPath) -> str:
    """The name of a file for a single field: its `file:` URI if it is not UTF-8."""
    return shown(result) if is_utf8(result) else to_uri(os.path.join(root, result))


def to_wire(kind: type[Wire], source: object, root: bytes = b"", /, **given: Any) -> Wire:
    """Builds a wire object from a core object.

    A field that is not `given` comes from the attribute of its name, converted by its type: hashes from trees, names
    from bytes, lists from tuples, wire from core objects. `file` and `uri` come from `path`.
    """
    wire_object: Wire = _builder(kind, *given)(source, root, given)
    return wire_object


@cache
def _builder(kind: Hashable, *given: str) -> Callable[[Any, bytes, dict[str, Any]], Any]:
    """Compiles what `to_wire` does for a class: a history has thousands of objects."""
    scope: dict[str, Any] = {"kind": kind, "name": name}
    arguments = ["**given"]
    left = {field.name: field.type for field in wire.fields_of(kind) if field.name not in given}
    if "file" in left and left.pop("uri", None) is not None:
        del left["file"]
        arguments.append("**name(root, source.path)")
    for field, type_ in left.items():
        scope[f"_{field}"] = convert = _conversion(field, type_)
        copied = f"None if (value := source.{field}) is None else _{field}(value, root)"
        arguments.append(f"{field}=source.{field}" if convert is None else f"{field}={copied}")
    # the names are those of the fields of the wire's classes
    return eval(f"lambda source, root, given: kind({', '.join(arguments)})", scope)  # type: ignore[no-any-return] # noqa: S307


def _conversion(field: str, type_: Any) -> Conversion | None:
    """The conversion of a core value, other than None, to the wire type of a field; None if none is needed."""
    base, *marks = get_args(type_) if get_origin(type_) is Annotated else (type_,)
    if get_origin(base) in (Union, UnionType):
        kinds = [each for each in get_args(base) if each is not NoneType]
        return _conversion(field, kinds[0]) if len(kinds) == 1 else None
    if any(isinstance(mark, wire.Hexadecimal) for mark in marks):
        return lambda value, _: value.hex()
    if base == Literal[True]:
        return lambda value, _: value or None
    if field in _NAMES:
        return lambda value, _: shown(value)
    if attrs.has(base):
        return lambda value, root: to_wire(base, value, root)
    if get_origin(base) is list:
        item = _conversion("", *get_args(base))
        return lambda values, root: list(values) if item is None else [item(value, root) for value in values]
    return None


def mode(bits: int | None) -> str | None:
    """Formats a mode in octal."""
    return None if bits is None else f"{bits:o}"


def moment(milliseconds: int) -> str:
    """Formats milliseconds since 1970 as RFC 3339."""
    when = _EPOCH + timedelta(milliseconds=milliseconds)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(text: str, field: str) -> int:
    """Parses an RFC 3339 time to whole seconds since 1970. Raises `InvalidParams`."""
    return milliseconds(text, field) // 1000


def milliseconds(text: str, field: str) -> int:
    """Parses an RFC 3339 time to milliseconds since 1970. Raises `InvalidParams`."""
    match = _TIME.fullmatch(text)
    try:
        if match is not None:
            day, clock, fraction, zone = match.groups()
            whole = int(datetime.fromisoformat(f"{day}T{clock}{zone.upper()}").timestamp())
            return whole * 1000 + int(float(fraction or 0) * 1000)
    except ValueError:
        # such as a 13th month
        pass
    raise InvalidParams(f"{field}: expected a time such as 2026-01-31T09:30:00Z, got {text!r}", field=field)


def options(context: Context, params: Any, default: OnConflict = "merge") -> OperationOptions:
    """The options of an operation; `default` applies if the client did not choose how to handle conflicts."""
    on_conflict, expect = getattr(params, "on_conflict", None), params.expect
    decisions: dict[str, Decision] = getattr(params, "decisions", None) or {}
    return OperationOptions(
        on_conflict or default,
        on_conflict is not None,
        params.dry_run,
        params.details,
        expect if isinstance(expect, str) else None,
        {path(context, text, f"decisions.{text}"): decision for text, decision in decisions.items()},
        getattr(params, "git", False),
    )


def skipped(root: bytes, skips: Iterable[Skip]) -> list[wire.Skipped]:
    """Converts files that a snapshot could not capture."""
    return [to_wire(wire.Skipped, skip, root, reason=skip.reason.value) for skip in skips]


def former_histories(matches: Iterable[FormerHistory]) -> list[wire.FormerHistory] | None:
    """Converts the histories that a folder may adopt."""
    return [to_wire(wire.FormerHistory, each, reason=each.why) for each in matches] or None


def file_outcomes(root: bytes, outcomes: Iterable[FileOutcome]) -> list[wire.FileOutcome]:
    """Converts the outcomes of files."""
    return [
        to_wire(wire.FileOutcome, outcome, root, message=system_error(outcome.reason or "")) for outcome in outcomes
    ]


def outcome(root: bytes, result: Outcome) -> wire.Outcome:
    """Converts the outcome of an operation."""
    return outcome_of(wire.Outcome, root, result)


def outcome_of(kind: type[Result], root: bytes, result: Outcome, **more: Any) -> Result:
    """Converts the outcome of an operation to a result with more fields."""
    files = file_outcomes(root, result.files)
    return to_wire(kind, result, root, files=files, details=details(root, result.details), **more)


def details(root: bytes, result: Details | None) -> wire.Details | None:
    """Converts what an operation changes; None for None."""
    if result is None:
        return None
    contested = [
        to_wire(wire.Contested, file, root, by=[_changed_by(each) for each in file.by]) for file in result.contested
    ]
    return to_wire(wire.Details, result, contested=contested)


def _changed_by(changed_by: ChangedBy) -> wire.ChangedBy:
    return to_wire(
        wire.ChangedBy,
        changed_by,
        author="operation"
        if changed_by.kind is not None
        else "step"
        if changed_by.step_id is not None
        else "unknown"
        if changed_by.is_unknown
        else "user",
        at=None if changed_by.milliseconds is None else moment(changed_by.milliseconds),
        elsewhere=None if changed_by.cause else True,
    )


def file_diff(root: bytes, delta: FileDelta) -> wire.FileDiff:
    """Converts a changed file with its contents."""
    return to_wire(wire.FileDiff, delta, root, old_mode=mode(delta.old_mode), new_mode=mode(delta.new_mode))


def diff(parts: Sequence[bytes], *, exact: bool) -> DiffResult:
    """Converts a unified diff given as one part per file."""
    if not exact:
        return DiffResult(diff=as_text(parts))
    data = b"".join(parts)
    if is_utf8(data):
        return DiffResult(diff=data.decode())
    return DiffResult(diff=base64.b64encode(data).decode(), encoding="base64")


def file_change(root: bytes, delta: FileDelta) -> wire.FileChange:
    """Converts a changed file without its contents."""
    return to_wire(wire.FileChange, delta, root, renamed_from=None, shared=None, shared_with=None, by_git=None)


class PagedRequest:
    """A request that is answered in pages. A cursor is base64 of a digest of params and position, and the position.

    So one that is invented, altered, or from an answer to other params is detected.
    """

    def __init__(self, params: Any) -> None:
        asked = attrs.asdict(params, filter=lambda field, _: field.name not in _OF_ONE_PAGE)
        self._asked = json.dumps([type(params).__name__, asked], sort_keys=True).encode()
        self._cursor: str | None = params.cursor

    def cursor(self, position: bytes) -> str:
        """The cursor of a position; never empty."""
        return base64.urlsafe_b64encode(self._digest(position) + position).decode()

    def optional_cursor(self, number: int | None) -> str | None:
        """The cursor of a numeric position; None for None."""
        return None if number is None else self.cursor(b"%d" % number)

    def position(self) -> bytes | None:
        """The position of the request's cursor; None for the first page. Raises `InvalidParams` for a wrong cursor."""
        if self._cursor is None:
            return None
        try:
            data = base64.b64decode(self._cursor, altchars=b"-_", validate=True)
        except ValueError as error:
            raise _not_a_cursor() from error
        position = data[_DIGEST_BYTES:]
        # base64 can write the same bytes in several ways
        if self.cursor(position) != self._cursor:
            raise _not_a_cursor()
        return position

    def number(self) -> int | None:
        """Like `position`, for a number."""
        position = self.position()
        if position is not None and not _NUMBER.fullmatch(position):
            raise _not_a_cursor()
        return None if position is None else int(position)

    def number_and_names(self) -> tuple[int, list[bytes]] | None:
        """Like `position`, for a number followed by file names, each after a NUL."""
        position = self.position()
        if position is None:
            return None
        number, *names = position.split(b"\0")
        if not _NUMBER.fullmatch(number):
            raise _not_a_cursor()
        return int(number), names

    def _digest(self, position: bytes) -> bytes:
        return hashlib.sha256(self._asked + b"\0" + position).digest()[:_DIGEST_BYTES]


def _not_a_cursor() -> InvalidParams:
    return InvalidParams(
        "cursor: not a nextCursor of this request",
        hint="leave it out to get the first page",
        field="cursor",
    )

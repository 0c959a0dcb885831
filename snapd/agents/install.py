"""Installs and uninstalls hooks, file by file."""

from __future__ import annotations

import dataclasses
import difflib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from snapd.model.errors import InvalidParams, IoError, PathOutsideWorkspace, SnapdError

from . import styles
from .insertion import inserted, insertions, without_entries, without_insertions, without_pieces
from .jsonc import Object, parse
from .settings_file import Record, Records, digest, read, remove_directories, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .table import Agent

_TRIES = 3
"""Attempts per file if another process changes it at the same time."""
Did = Literal["created", "changed", "removed", "nothing", "failed"]


@dataclass(frozen=True)
class FileResult:
    """What was, or would be, done with one file; `changed` means inside it, `failed` that it stays as it was."""

    agent: Agent
    file: str
    did: Did
    diff: str = ""
    error: SnapdError | None = None


def install(
    agents: list[Agent], path: str, records: Records, environment: Mapping[str, str], root: str | None, *, dry_run: bool
) -> Iterator[FileResult]:
    """Installs hooks in the files of the project at `root`, or of the user; a failure affects only its own file."""

    def make(agent: Agent, before: bytes | None, record: Record | None) -> Change:
        return to_install(agent, path, before, record)

    return _each(agents, make, records, environment, root, dry_run=dry_run)


def uninstall(
    agents: list[Agent], records: Records, environment: Mapping[str, str], root: str | None, *, dry_run: bool
) -> Iterator[FileResult]:
    """Removes the hooks of agents; takes the arguments of `install`."""
    # the latest first, so that directories are empty by then
    return _each(agents[::-1], to_uninstall, records, environment, root, dry_run=dry_run)


def _each(
    agents: list[Agent],
    make: Callable[[Agent, bytes | None, Record | None], Change],
    records: Records,
    environment: Mapping[str, str],
    root: str | None,
    *,
    dry_run: bool,
) -> Iterator[FileResult]:
    for agent in agents:
        files = agent.files(environment, root)
        for file in files[::-1] if make is to_uninstall else files:
            try:
                _check_inside(file, root)
                change = _one(agent, file, make, records, dry_run=dry_run)
            except SnapdError as error:
                yield FileResult(agent, file, "failed", error=error)
            else:
                yield FileResult(agent, file, _file_results(change), _diff(file, change))


def _one(
    agent: Agent,
    file: str,
    make: Callable[[Agent, bytes | None, Record | None], Change],
    records: Records,
    *,
    dry_run: bool,
) -> Change:
    for attempt in range(_TRIES):
        before = read(file)
        record = records.get(file)
        change = make(agent, before, record)
        if dry_run:
            return change
        try:
            if change.after != before:
                _write(agent, file, change, record, records)
        except IoError as error:
            if error.data.get("errno") != "EAGAIN" or attempt == _TRIES - 1:
                raise
        else:
            return change
    raise AssertionError("unreachable")


def _write(agent: Agent, file: str, change: Change, record: Record | None, records: Records) -> None:
    made = replace(file, change.before, change.after, executable=agent.style == "executables")
    remembered = with_directories(change, made)
    if remembered is not None:
        records.put(file, remembered)
        return
    records.drop(file)
    if change.after is None and record is not None:
        remove_directories(record.made)


def _check_inside(file: str, root: str | None) -> None:
    """Raises `PathOutsideWorkspace` if a symlink leads out of the project: its author may not change other files."""
    real = os.path.realpath(file)
    if root is not None and os.path.commonpath([real, os.path.realpath(root)]) != os.path.realpath(root):
        raise PathOutsideWorkspace(f"{file} leads out of the project, to {real}", hint="remove the link and try again")


def _file_results(change: Change) -> Did:
    if change.after == change.before:
        return "nothing"
    if change.before is None:
        return "created"
    return "removed" if change.after is None else "changed"


def _diff(file: str, change: Change) -> str:
    if change.after == change.before:
        return ""
    old, new = (_lines(data) for data in (change.before, change.after))
    old_name, new_name = ("/dev/null" if data is None else file for data in (change.before, change.after))
    lines = difflib.unified_diff(old, new, old_name, new_name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)


@dataclass(frozen=True)
class Change:
    """A change of a file's bytes; None means no file. `record` is to be stored, if any."""

    before: bytes | None
    after: bytes | None
    record: Record | None


def to_install(agent: Agent, path: str, before: bytes | None, record: Record | None) -> Change:
    """The change of an install. Raises `InvalidParams` if the file is broken or belongs to another program."""
    if agent.style in ("executables", "plugin"):
        after = styles.whole(agent, path).encode()
        if before is not None and before != after and not styles.is_own_file(styles.text_of(before)):
            raise InvalidParams("this file is not from snapd", hint="move it, or call 'snapd hook' in it", field="NAME")
        if before not in (None, after):
            _refuse_edited(before, record)
        if before == after:
            return Change(before, before, record)
        made = [] if record is None else record.made
        return Change(before, after, Record(existed=False, digest=digest(after), made=made))
    text = "" if before is None else styles.text_of(before)
    if before is not None and styles.are_complete(text, agent, path):
        return Change(before, before, record)
    # undo an older install first, so that the record has the file without snapd
    cleaned = to_uninstall(agent, before, record)
    text = "" if cleaned.after is None else styles.text_of(cleaned.after)
    pieces = insertions(text, styles.entries(agent, path), dict(agent.members or {}))
    result, moved = inserted(text, pieces)
    after = result.encode()
    made = [] if record is None else record.made
    return Change(
        before, after, Record(existed=cleaned.after is not None, digest=digest(after), pieces=moved, made=made)
    )


def to_uninstall(agent: Agent, before: bytes | None, record: Record | None) -> Change:
    """The change of an uninstall. Raises `InvalidParams` if the file is broken."""
    if before is None:
        return Change(None, None, None)
    if agent.style in ("executables", "plugin"):
        if not styles.is_own_file(styles.text_of(before)):
            return Change(before, before, None)
        _refuse_edited(before, record)
        return Change(before, None, None)
    text = styles.text_of(before)
    if not styles.programs(text):
        return Change(before, before, None)
    after: str | None
    if record is not None and record.digest == digest(before):
        after = without_insertions(text, record.pieces)
    else:
        after = None if record is None else without_pieces(text, record.pieces)
        if after is None or styles.programs(after):
            after = without_entries(text, styles.is_own_hook)
    if _made_by_snapd(agent, record) and _is_bare(agent, after):
        return Change(before, None, None)
    return Change(before, after.encode(), None)


def with_directories(change: Change, made: list[str]) -> Record | None:
    """The record of a change, with the directories created for it."""
    if change.record is None:
        return None
    return dataclasses.replace(change.record, made=[*change.record.made, *made])


def _refuse_edited(data: bytes | None, record: Record | None) -> None:
    """Raises `InvalidParams` if a file of snapd's was edited: the edits would be lost."""
    if data is not None and record is not None and record.digest != digest(data):
        raise InvalidParams(
            "this file was edited after snapd wrote it",
            hint="save the edits elsewhere, then remove the file",
            field="NAME",
        )


def _made_by_snapd(agent: Agent, record: Record | None) -> bool:
    if record is not None:
        return not record.existed
    return os.path.basename(agent.user[0]) == "snapd.json"


def _is_bare(agent: Agent, text: str) -> bool:
    """Whether a file contains only what an install adds beside the hooks."""
    root = parse(text)
    if root is None:
        return not text.strip("\ufeff \t\r\n")
    return isinstance(root, Object) and {member.name for member in root.members} <= set(agent.members or {})

"""Installs hooks and takes them out again, file by file."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from snapd.core.errors import IoError, PathOutsideWorkspace, SnapdError

from .changes import Change, to_install, to_uninstall, with_made
from .settings_file import Records, read, remove_directories, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .settings_file import Record
    from .table import Agent

_TRIES = 3
"""How often a file is tried that somebody changes at the same time."""

Did = Literal["created", "changed", "removed", "nothing", "failed"]


@dataclass(frozen=True)
class Done:
    """What was done with one file, or, for a dry run, what would be.

    Attributes:
        agent: whose file it is.
        file: its path.
        did: `created` and `removed` are about the file, `changed` about hooks in it; `failed` left it as it was.
        diff: unified; empty where nothing was changed.
        error: why it failed.
    """

    agent: Agent
    file: str
    did: Did
    diff: str = ""
    error: SnapdError | None = None


def install(
    agents: list[Agent], path: str, records: Records, environment: Mapping[str, str], root: str | None, *, dry_run: bool
) -> Iterator[Done]:
    """Installs the hooks of agents; one that cannot be installed holds up none of the others.

    Args:
        agents: which.
        path: of the snapd program.
        records: of this user.
        environment: of the user.
        root: of the project, for its files; None for the user's.
        dry_run: whether to write nothing.
    """

    def make(agent: Agent, before: bytes | None, record: Record | None) -> Change:
        return to_install(agent, path, before, record)

    return _each(agents, make, records, environment, root, dry_run=dry_run)


def uninstall(
    agents: list[Agent], records: Records, environment: Mapping[str, str], root: str | None, *, dry_run: bool
) -> Iterator[Done]:
    """Takes the hooks of agents out again; the arguments are those of `install`."""
    # what was made last goes first, so that directories are empty when their turn comes
    return _each(agents[::-1], to_uninstall, records, environment, root, dry_run=dry_run)


def _each(
    agents: list[Agent],
    make: Callable[[Agent, bytes | None, Record | None], Change],
    records: Records,
    environment: Mapping[str, str],
    root: str | None,
    *,
    dry_run: bool,
) -> Iterator[Done]:
    for agent in agents:
        files = agent.files(environment, root)
        for file in files[::-1] if make is to_uninstall else files:
            try:
                _check_inside(file, root)
                change = _one(agent, file, make, records, dry_run=dry_run)
            except SnapdError as error:
                yield Done(agent, file, "failed", error=error)
            else:
                yield Done(agent, file, _did(change), _diff(file, change))


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
    remembered = with_made(change, made)
    if remembered is not None:
        records.put(file, remembered)
        return
    records.drop(file)
    if change.after is None and record is not None:
        remove_directories(record.made)


def _check_inside(file: str, root: str | None) -> None:
    """Raises `PathOutsideWorkspace` if a link leads out of the project: who made that has no say in other files."""
    real = os.path.realpath(file)
    if root is not None and os.path.commonpath([real, os.path.realpath(root)]) != os.path.realpath(root):
        raise PathOutsideWorkspace(f"{file} leads out of the project, to {real}", hint="remove the link and try again")


def _did(change: Change) -> Did:
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

"""`snapd status`: the state of snapd in the folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, folder_of, folders_with_same_files, former_words, open_backend
from snapd.cli.terminal.layout import aligned, one_line, shell_name
from snapd.cli.terminal.naming import agent_name, short
from snapd.cli.terminal.output import Painter, print_json, printable, settings, size, watching
from snapd.cli.terminal.times import ago, format_duration, local_now, moment
from snapd.environment import spool_directory
from snapd.locations import Locations
from snapd.wire.words import GIT_REASONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Annotated

    from snapd_client.protocol import StatusResult


class Waiting(Answer):
    """An event of an agent that the daemon has not recorded yet."""

    agent: Annotated[str, "Whose it is."]
    folder: Annotated[str, "Where the agent works, absolute."]
    at: Annotated[str, "When it happened, as RFC 3339 in UTC with milliseconds."]
    why: Annotated[str, "Why it is not recorded, in words."]


class Status(Answer, base="StatusResult"):
    """The state of a folder."""

    waiting: Annotated[list[Waiting], "What agents reported in the folder and is not recorded yet, oldest first."]


@Command("status", "every day", common, answer="Status", example="status", shows=True)
def status(options: argparse.Namespace) -> int:
    """Show the state of the folder's snapshots and settings."""
    try:
        with open_backend(options) as backend:
            result = ask(backend, "snapshot/status", {})
    finally:
        # also if the folder cannot be opened, which may be the reason
        waiting = _unrecorded_events(os.path.realpath(folder_of(options)))
    if options.json:
        print_json({**result, "waiting": waiting})
        return DONE
    painter = Painter(options)
    for name, lines in _rows(painter, os.path.realpath(folder_of(options)), result).items():
        for at, line in enumerate(lines):
            print(f"{painter.paint(('' if at else name).ljust(9), 'dim')} {line}")
    for problem in result.get("settingsProblems", []):
        print(f"snapd: {printable(problem)}\nhint: 'snapd doctor' says what to do about it", file=sys.stderr)
    return DONE


def _unrecorded_events(folder: str) -> list[dict[str, str]]:
    spool = spool_directory(Locations.from_environment(os.environ).data)
    if not os.path.lexists(spool):
        return []
    # imported late, since there is rarely any
    from snapd.hook.spool import describe_waiting

    waiting = describe_waiting(spool, folder)
    if waiting:
        first = waiting[0]
        text = f"{len(waiting)} of what agents reported here, first of {first['agent']}: {first['why']}"
        print(f"snapd: not recorded yet: {printable(text)}\nhint: 'snapd doctor' says more", file=sys.stderr)
    return waiting


def _rows(painter: Painter, folder: str, result: StatusResult) -> dict[str, list[str]]:
    now = local_now()
    rows = {
        "folder": [shell_name(folder)],
        "snapshots": [painter.paint("on", "green") if result["enabled"] else painter.paint("off", "yellow")],
        "last": [result.get("lastHash", "none yet; 'snapd track' takes one")],
        "files": [f"{result['files']:,}"],
        "watching": [watching(result)],
        "store": [f"{shell_name(result['store']['path'])}, {size(result['store']['bytes'])}"],
    }
    others = folders_with_same_files(folder)
    if others:
        rows["overlaps"] = [f"{shell_name(other)} has snapshots of the same files" for other in others]
        rows["overlaps"].append(painter.paint("'snapd doctor' says what to do", "dim"))
    if "formerHistories" in result:
        rows["history"] = former_words(result["formerHistories"])
    if "gitReason" in result:
        reason = result["gitReason"]
        rows["git"] = [f"its state is not recorded in full: {GIT_REASONS.get(reason, reason)}"]
    if "fullLook" in result:
        look = result["fullLook"]
        rows["full look"] = [f"{ago(moment(look['at']), now)}: {printable(look['reason'])}"]
    rows["open"] = list(_open_steps(painter, result, now))
    rows["settings"] = _table(painter, settings(result))
    return rows


def _table(painter: Painter, rows: list[tuple[str, str, str]]) -> list[str]:
    widths = [aligned(row[at] for row in rows) for at in range(2)]
    # highlights what is not the default
    return [
        f"{name.ljust(widths[0])}  {painter.paint(value.ljust(widths[1]), 'dim' if source == 'default' else 'bold')}"
        f"  {painter.paint(source, 'dim')}"
        for name, value, source in rows
    ]


def _open_steps(painter: Painter, result: StatusResult, now: datetime) -> Iterator[str]:
    """Yields the open steps with their ages: they own what changes now, unless an editor saves it."""
    for step in result["openSteps"]:
        words = " ".join(
            one_line(text) for text in (agent_name(step), step.get("tool"), step.get("description")) if text
        )
        age = format_duration(moment(step["startedAt"]), now)
        yield " ".join(filter(None, (painter.paint(short(step["stepId"]), "yellow"), words, f"for {age}")))
    if result["openSteps"]:
        yield painter.paint("'snapd step end --all' ends them, if no agent is at work any more", "dim")

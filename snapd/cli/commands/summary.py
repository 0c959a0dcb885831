"""What `snapd run` says when the command has ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd_client import ClientError

from snapd.cli.requests.names import find_step
from snapd.cli.terminal.layout import fit_name, terminal_width
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, counts, print_error, printable
from snapd.cli.terminal.reasons import not_in_snapshots, sharing
from snapd.core.errors import SnapdError

if TYPE_CHECKING:
    import argparse

    from snapd.agents.one_run import OneRun
    from snapd.agents.table import Agent
    from snapd.backend import Backend

    from .hooked import Hooked
    from .recorder import Recorder

_FILES = 3
_BURSTS = (
    "steps are bursts of changes; all that changed meanwhile counts as the command's, except what you saved in a "
    "connected editor"
)


def tell_bursts(options: argparse.Namespace, recorder: Recorder, agent: Agent | None) -> None:
    """Ends the session of bursts, and prints what was recorded.

    Args:
        options: of the command.
        recorder: what recorded.
        agent: whose hooks would have told more, if there is one.
    """
    try:
        every = recorder.finish()
        shared = _shared(recorder.backend, every)
    except (ClientError, SnapdError, OSError) as error:
        print_error(error, "the session could not be ended: ")
        return
    if recorder.trouble is not None:
        print_error(recorder.trouble, "some changes may not be recorded: ")
    painter = Painter(options, sys.stderr)
    changed = _tell_session(painter, recorder.session_id, every, shared)
    if not changed:
        _tell_ignored(recorder.backend)
        return
    lines = [_BURSTS, _how_to_undo(recorder.session_id)]
    if agent is not None:
        lines.append(f"after 'snapd agent install {agent.name}', steps are the tool calls of {agent.title}")
    _tell_dim(painter, *lines)


def tell_hooked(options: argparse.Namespace, hooked: Hooked, hooks: OneRun) -> None:
    """Prints what the agent's hooks had recorded."""
    title = hooks.agent.title
    try:
        sessions = hooked.finish()
        shared = {name: _shared(hooked.backend, steps) for name, steps in sessions.items()}
    except (ClientError, SnapdError, OSError) as error:
        print_error(error, "what was recorded cannot be told: ")
        return
    painter = Painter(options, sys.stderr)
    if not sessions and hooked.base == hooked.end:
        print(painter.paint("snapd: nothing changed", "dim"), file=sys.stderr)
        _tell_ignored(hooked.backend)
        return
    if not sessions:
        print(f"snapd: no step was recorded: the hooks of {title} told of none", file=sys.stderr)
        _tell_dim(painter, f"what changed meanwhile counts as yours; 'snapd diff {hooked.base[:8]}' shows it")
        return
    for name, steps in sessions.items():
        _tell_session(painter, name, steps, shared[name])
    source = "its installed hooks" if hooks.installed else "hooks for this run"
    _tell_dim(
        painter,
        f"steps are the tool calls of {title}, told by {source}; what else changed meanwhile counts as yours",
        *map(_how_to_undo, sessions),
    )


def _tell_session(painter: Painter, session_id: str, every: list[dict[str, Any]], shared: list[str]) -> bool:
    """Prints the steps of a session; whether any changed something."""
    steps = [step for step in every if step.get("files")]
    name = short(session_id)
    lost = not_in_snapshots(every)
    if not steps:
        print(painter.paint(f"snapd: session {name}: nothing changed", "dim"), file=sys.stderr)
        if lost is not None:
            print(f"  {painter.paint(lost, 'yellow')}", file=sys.stderr)
        return False
    said = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    print(f"snapd: session {painter.paint(name, 'yellow')}: {said}", file=sys.stderr)
    for step in steps:
        print(f"  {painter.paint('●', 'cyan')} {_step(painter, step)}", file=sys.stderr)
    for line in [*shared, *filter(None, [lost])]:
        print(f"  {painter.paint(line, 'yellow')}", file=sys.stderr)
    return True


def _tell_ignored(found: Backend) -> None:
    """Says so where the command ran in a folder of which no snapshot has anything."""
    here = os.getcwd()
    try:
        ignored = found.request("snapshot/status", {"file": os.path.join(here, "new")}).get("ignored")
    except (ClientError, SnapdError, OSError) as error:
        print_error(error)
        return
    if ignored:
        print(f"snapd: {printable(here)} is ignored: no snapshot has what is written there", file=sys.stderr)


def _tell_dim(painter: Painter, *lines: str) -> None:
    for line in lines:
        print(painter.paint(line, "dim"), file=sys.stderr)


def _how_to_undo(session_id: str) -> str:
    return f"snapd undo --session {short(session_id)} undoes the last step, and with --all all of them"


def _shared(found: Backend, steps: list[dict[str, Any]]) -> list[str]:
    """Says which files other steps may have written, too, and which steps these are."""
    files: dict[str, dict[str, None]] = {}
    for step in steps:
        for row in step.get("files", ()):
            for other in row.get("sharedWith", ()):
                files.setdefault(other, {})[printable(row["file"])] = None
    lines = []
    for other, names in files.items():
        agent = find_step(found, other).get("agent")
        shown = ", ".join(list(names)[:_FILES]) + (f" and {len(names) - _FILES} more" if len(names) > _FILES else "")
        lines.append(f"{shown}: {sharing(other, agent)}; an undo leaves what is shared")
    return lines


def _step(painter: Painter, step: dict[str, Any]) -> str:
    files = step["files"]
    total = {key: sum(row[key] for row in files) for key in ("additions", "deletions")}
    room = (terminal_width() - 40) // min(len(files), _FILES)
    names = ", ".join(fit_name(printable(row["file"]), max(8, room)) for row in files[:_FILES])
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    return f"{short(step['stepId'])}  {counts(painter, {'binary': False, **total})}  {names}{more}"

"""`snapd status`: what snapd knows of the folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.requests.folder import folder_of, others_with
from snapd.cli.terminal.layout import one_line
from snapd.cli.terminal.output import Painter, print_json, printable, settings, size, watching
from snapd.cli.terminal.times import lasting, local_now, moment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def status(options: argparse.Namespace) -> int:
    """Shows what is known of the folder."""
    with backend(options) as found:
        result = ask(found, "snapshot/status", {})
    if options.json:
        print_json(result)
        return DONE
    painter = Painter(options)
    folder = os.path.realpath(folder_of(options))
    rows = {
        "folder": printable(folder),
        "snapshots": painter.paint("on", "green") if result["enabled"] else painter.paint("off", "yellow"),
        "last": result.get("lastHash", "none yet"),
        "files": str(result["files"]),
        "watching": watching(result),
        "store": f"{result['store']['path']} ({size(result['store']['bytes'])})",
    }
    others = others_with(folder)
    if others:
        names = ", ".join(map(printable, others))
        rows["overlaps"] = f"{names}: has snapshots of the same files; 'snapd doctor' says more"
    if "fullLook" in result:
        rows["full look"] = f"{result['fullLook']['at']}: {result['fullLook']['reason']}"
    for name, value in rows.items():
        print(f"{painter.paint(name.ljust(9), 'dim')} {value}")
    for at, line in enumerate(_open_steps(painter, result)):
        print(f"{painter.paint(('' if at else 'open').ljust(9), 'dim')} {line}")
    for at, line in enumerate(settings(result)):
        print(f"{painter.paint(('' if at else 'settings').ljust(9), 'dim')} {line}")
    for problem in result.get("settingsProblems", []):
        print(f"snapd: {printable(problem)}", file=sys.stderr)
    return DONE


def _open_steps(painter: Painter, result: dict[str, Any]) -> Iterator[str]:
    """The steps that go on, with their ages: what changes now is theirs, if no editor saves it."""
    now = local_now()
    for step in result["openSteps"]:
        said = (step.get("agent"), step.get("tool"), step.get("description"))
        words = " ".join(one_line(text) for text in said if text)
        age = lasting(moment(step["startedAt"]), now)
        yield " ".join(filter(None, (painter.paint(step["stepId"][:8], "yellow"), words, f"for {age}")))
    if result["openSteps"]:
        yield painter.paint("'snapd step end --all' ends them, if no agent is at work any more", "dim")

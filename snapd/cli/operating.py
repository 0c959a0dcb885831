"""An operation on the folder: its plan is shown and asked about before anything is done, then what was done."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.core.errors import InvalidParams

from .asking import ask
from .confirming import confirmed
from .exit_codes import DONE, NOT_ALL
from .output import Painter, outcomes, print_json, step_line

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend

_AS_ASKED = frozenset({"restored", "deleted", "merged", "unchanged"})
_PLANNED = {"session/undo": "undo", "session/redo": "redo"}
_DONE = {"session/undo": "undone", "session/redo": "redone"}


def operate(options: argparse.Namespace, found: Backend, method: str, params: dict[str, Any], *, sure: bool) -> int:
    """Shows what would be done, asks, and does it.

    Args:
        options: of the command; `dry_run`, `on_conflict`, `json` and `color` are read.
        found: who answers.
        method: of the request.
        params: of the request, but for how it is asked.
        sure: do not ask.

    Returns:
        The exit code.

    Raises:
        InvalidParams: there is nobody to ask.
        SnapdError: what the request was answered with.
    """
    # to ask for "overwrite" by name means more than to leave it at the default: see the protocol on unsaved text
    params = {**params, "onConflict": options.on_conflict}
    painter = Painter(options)
    if options.dry_run:
        return _show(options, painter, method, ask(found, method, {**params, "dryRun": True}))
    if not sure:
        plan = ask(found, method, {**params, "dryRun": True})
        if not _confirmed(painter, method, plan):
            print("snapd: nothing was changed", file=sys.stderr)
            return NOT_ALL
    return _show(options, painter, method, ask(found, method, params))


def _confirmed(painter: Painter, method: str, plan: dict[str, Any]) -> bool:
    touched = [row for row in plan["files"] if row["outcome"] != "unchanged"]
    if not touched:
        return True
    if not sys.stdin.isatty():
        raise InvalidParams(
            f"this would change {len(touched)} files: say --yes, or --dry-run to see them", field="--yes"
        )
    # standard output is for what was done
    for line in _steps(painter, _PLANNED, method, plan):
        print(line, file=sys.stderr)
    print(outcomes(painter, touched), file=sys.stderr)
    return confirmed("go on? What is there now is kept in a snapshot.")


def _show(options: argparse.Namespace, painter: Painter, method: str, result: dict[str, Any]) -> int:
    if options.json:
        print_json(result)
    else:
        for line in _steps(painter, _DONE if result["applied"] else _PLANNED, method, result):
            print(line)
        if result["files"]:
            print(outcomes(painter, result["files"]))
        if result["applied"]:
            print(painter.paint(f"before: {result['before']}", "dim"))
        elif not options.dry_run:
            print("snapd: nothing was changed: there are conflicts", file=sys.stderr)
    if not options.dry_run and not result["applied"]:
        return NOT_ALL
    return DONE if all(row["outcome"] in _AS_ASKED for row in result["files"]) else NOT_ALL


def _steps(painter: Painter, words: dict[str, str], method: str, result: dict[str, Any]) -> list[str]:
    return [
        f"{painter.paint(words[method].ljust(9), 'cyan')} {step_line(painter, step)}"
        for step in result.get("steps", [])
    ]

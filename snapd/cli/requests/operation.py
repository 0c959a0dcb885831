"""Runs an operation on the folder: shows the plan, asks for confirmation, then shows what was done."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE, FAILED, NOT_ALL
from snapd.cli.terminal.confirming import confirmed
from snapd.cli.terminal.output import Painter, outcomes, print_json, step_line
from snapd.core.errors import InvalidParams

from .connection import ask

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend

_AS_ASKED = frozenset({"restored", "deleted", "merged", "unchanged"})
_PLANNED = {"session/undo": "undo", "session/redo": "redo"}
_DONE = {
    "session/undo": {"undone": "undone", "partly": "partly undone", "applied": "not undone"},
    "session/redo": {"applied": "redone", "partly": "partly redone", "undone": "not redone"},
}
"""The word for a step that was undone or redone, by its new state; the first state is the intended one."""


def operate(options: argparse.Namespace, found: Backend, method: str, params: dict[str, Any], *, sure: bool) -> int:
    """Shows what would be done, asks, and does it.

    Args:
        options: of the command; `dry_run`, `on_conflict`, `json` and `color` are read.
        found: who answers.
        method: of the request.
        params: of the request, without `dryRun` and `onConflict`.
        sure: do not ask for confirmation.

    Returns:
        The exit code.

    Raises:
        InvalidParams: nobody can be asked for confirmation.
        SnapdError: the error that answers the request.
    """
    # an explicit "overwrite" also overwrites files with unsaved text, which the default does not
    params = {**params, "onConflict": options.on_conflict}
    painter = Painter(options)
    if options.dry_run:
        return _show(options, painter, method, ask(found, method, {**params, "dryRun": True}))
    if not sure:
        plan = ask(found, method, {**params, "dryRun": True})
        if not _confirmed(painter, method, plan):
            print("snapd: nothing was changed", file=sys.stderr)
            return FAILED
    return _show(options, painter, method, ask(found, method, params))


def _confirmed(painter: Painter, method: str, plan: dict[str, Any]) -> bool:
    touched = [row for row in plan["files"] if row["outcome"] != "unchanged"]
    if not touched:
        return True
    if not sys.stdin.isatty():
        raise InvalidParams(
            f"this would change {len(touched)} files, and standard input is no terminal to ask on",
            hint="see them with --dry-run, then confirm with --yes",
            field="--yes",
        )
    # standard output is for the result alone
    for line in _planned(painter, method, plan):
        print(line, file=sys.stderr)
    print(outcomes(painter, touched), file=sys.stderr)
    return confirmed("Go on? A snapshot keeps the files as they are now.")


def _show(options: argparse.Namespace, painter: Painter, method: str, result: dict[str, Any]) -> int:
    if options.json:
        print_json(result)
    else:
        for line in _done(painter, method, result) if result["applied"] else _planned(painter, method, result):
            print(line)
        if result["files"]:
            print(outcomes(painter, result["files"]))
        if result["applied"]:
            print(painter.paint(f"before: {result['before']}", "dim"))
        if not options.dry_run and (not result["applied"] or _conflicts(result) or not _is_turned(method, result)):
            print(f"snapd: {_advice(result)}", file=sys.stderr)
    if not options.dry_run and not result["applied"]:
        return NOT_ALL
    is_done = all(row["outcome"] in _AS_ASKED for row in result["files"])
    return DONE if is_done and _is_turned(method, result) else NOT_ALL


def _is_turned(method: str, result: dict[str, Any]) -> bool:
    """Whether each step reached its state: a file in conflict in one step may show the outcome of another."""
    if not result["applied"] or method not in _DONE:
        return True
    return all(step["state"] == next(iter(_DONE[method])) for step in result["steps"])


def _conflicts(result: dict[str, Any]) -> bool:
    return any(row["outcome"] == "conflict" for row in result["files"])


def _advice(result: dict[str, Any]) -> str:
    """What the conflicts did, and below it what to do about them."""
    unchanged = result["before"] == result["after"]
    return (
        "nothing was changed: there are conflicts" if unchanged else "the files in conflict were left as they are"
    ) + "\nhint: add --on-conflict overwrite to write them too; a snapshot keeps them as they are now"


def _planned(painter: Painter, method: str, result: dict[str, Any]) -> list[str]:
    return [_step(painter, _PLANNED[method], step) for step in result.get("steps", [])]


def _done(painter: Painter, method: str, result: dict[str, Any]) -> list[str]:
    return [_step(painter, _DONE[method][step["state"]], step) for step in result.get("steps", [])]


def _step(painter: Painter, word: str, step: dict[str, Any]) -> str:
    return f"{painter.paint(word.ljust(9), 'cyan')} {step_line(painter, step)}"

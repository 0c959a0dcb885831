"""The commands to type next: how an operation is taken back, and how its conflicts are settled."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

_UNDONE_BY = {
    "session/apply": "'snapd undo' takes that back",
    "step/revertFiles": "'snapd undo' takes that back",
    "step/revertHunks": "'snapd undo' takes that back",
    "snapshot/restore": "'snapd undo' takes that back",
    "snapshot/revert": "'snapd undo' takes that back",
}
_PRINTED_ID = 8


def taken_back_by(method: str, params: dict[str, Any], result: dict[str, Any]) -> str | None:
    """Says which command takes back what an operation did; None where it did nothing, or no single command does.

    Args:
        method: of the request.
        params: of the request.
        result: its answer.
    """
    if method == "session/takeover" and result["before"] != result["after"]:
        return f"'snapd restore {result['before'][:_PRINTED_ID]}' brings back the files as they were"
    if method != "session/undo":
        return _UNDONE_BY.get(method) if result["before"] != result["after"] else None
    # what was partly undone before may be so still
    now = ("undone",) if result["before"] == result["after"] else ("undone", "partly")
    units = [unit for unit in [*result["steps"], *result.get("operations", [])] if unit["state"] in now]
    if not units:
        return None
    # a step that is named is done again together with its parts
    if len(units) == 1 or params.get("stepId") is not None:
        return "'snapd redo' does it again"
    return f"'snapd redo --count {len(units)}' does it again"


def advice(options: argparse.Namespace, method: str, result: dict[str, Any]) -> list[str]:
    """Says what the conflicts did, and what to do about them, in lines.

    Args:
        options: of the command; `directory` is read.
        method: of the request.
        result: its answer.
    """
    unchanged = result["before"] == result["after"]
    if not any(row["outcome"] == "conflict" for row in result["files"]):
        return _elsewhere(result) if result["applied"] else []
    said = "nothing was changed: there are conflicts" if unchanged else "the files in conflict were left as they are"
    commands = _commands(options, method, result)
    if not commands:
        return [
            f"snapd: {said}",
            "hint: add --on-conflict overwrite to write them too; a snapshot keeps them as they are now",
        ]
    lines = [f"snapd: {said}", "hint: settle it with one of these; a snapshot keeps the files as they are now"]
    for command in commands:
        lines.append(f"  {command} --on-conflict overwrite")
        lines.append(f"  {command} --on-conflict keep")
    return lines


def _elsewhere(result: dict[str, Any]) -> list[str]:
    """Says what to do where a step stays as it was, because the files do not have its change."""
    reasons = {row.get("reason") for row in result["files"]}
    places = {"onBranch": "check out that branch", "stashed": "apply the stash"}
    first = next((f"{what}, then try again; or " for reason, what in places.items() if reason in reasons), "")
    if not first and "already" not in reasons:
        return []
    return [
        "snapd: what has no change of it in the files stays as it was",
        f"hint: {first}add --on-conflict keep to have it count as done",
    ]


def _commands(options: argparse.Namespace, method: str, result: dict[str, Any]) -> list[str]:
    """The beginnings of the commands that try again what conflicts; none where the command itself is to be repeated."""
    folder = ["-C", options.directory] if options.directory != "." else []
    if method == "session/redo":
        session = ["--session", options.session] if options.session else []
        return [shlex.join(["snapd", "redo", *folder, *session])]
    if method != "session/undo":
        return []
    names = dict.fromkeys(row["name"] for row in result.get("details", {}).get("contested", ()))
    steps = {step["stepId"] for step in result["steps"]}
    if not names or not steps.issuperset(names):
        # an operation has no name to type: it is the last that was done
        return [shlex.join(["snapd", "undo", *folder])] if names else []
    return [shlex.join(["snapd", "undo", *folder, name[:_PRINTED_ID]]) for name in names]

"""What people read of a bisection: each run on standard error, and what came out on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.filenames import shell_name
from snapd.cli.terminal.layout import one_line
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, step_line, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .trials import Change, Verdict

_NAMED = 5
"""How many files of others are named."""
_STYLES = {"good": "green", "bad": "red", "skip": "yellow", "abort": "red"}
_NOT_STARTED = {126: "the command could not be run there", 127: "the command, or one that it runs, was not found there"}
_NEEDS = (
    "ignored files, such as installed packages, and .git are in no snapshot: have the command make what it needs, and "
    "--reuse keeps it"
)


def name_of(state: int, changes: Sequence[Change]) -> str:
    """Names a snapshot of the row by its place in it: 0 is before all changes."""
    if state == 0:
        return "before the first step"
    return "after the last step" if state == len(changes) else changes[state - 1].name


def before_run(painter: Painter, name: str, tree: str, more: int) -> None:
    """Says on which snapshot the command runs next, and how many runs are left after that, if it skips none."""
    left = f", {more} more to go" if more else ""
    print(f"snapd: {painter.paint(f'{name} ({short(tree)})', 'bold')}{left}", file=sys.stderr)


def after_run(painter: Painter, verdict: Verdict, code: int) -> None:
    """Says how a run ended."""
    words = {"good": "good", "bad": "bad", "skip": "skipped", "abort": "stopped"}
    print(f"snapd: {painter.paint(words[verdict], _STYLES[verdict])} (exit code {code})", file=sys.stderr)


def tell(painter: Painter, answer: dict[str, Any]) -> None:
    """Prints what came out, and on standard error what to do about it."""
    outcome, suspects = answer["outcome"], answer["suspects"]
    if outcome == "found":
        lines, hint = _found(painter, suspects[0], answer["exitCode"])
    elif outcome == "unclear":
        lines = ["one of these broke it; the command skipped the snapshots between them:"]
        lines += [f"  {_who(painter, suspect)}" for suspect in suspects]
        hint = "'snapd show STEP' shows the diff of a step"
    else:
        lines, hint = _OTHERWISE[outcome](answer["exitCode"])
    print("\n".join(lines), flush=True)
    print(f"hint: {hint}", file=sys.stderr)


def _found(painter: Painter, suspect: dict[str, Any], code: int) -> tuple[list[str], str]:
    lines = [f"{_who(painter, suspect)} broke it (exit code {code})"]
    lines += [f"prompt: {one_line(prompt)}" for prompt in suspect["prompts"]]
    lines.append(summary(painter, suspect["files"]))
    steps = suspect["steps"]
    if not steps:
        before, after = short(suspect["before"]), short(suspect["after"])
        return lines, f"'snapd diff {before} {after}' shows the diff, 'snapd log' what happened then"
    name = short(steps[0]["stepId"])
    return lines, f"'snapd show {name}' shows the diff, 'snapd undo {name}' undoes it"


def _who(painter: Painter, suspect: dict[str, Any]) -> str:
    """Who may have broken it: steps, and whoever changed something meanwhile."""
    who = [_step(painter, step) for step in suspect["steps"]]
    if not who:
        return (
            f"what somebody else changed between steps, from {short(suspect['before'])} to {short(suspect['after'])},"
        )
    if suspect["others"]:
        files = ", ".join(shell_name(name) for name in suspect["others"][:_NAMED])
        more = ", ..." if len(suspect["others"]) > _NAMED else ""
        who.append(f"what somebody else changed meanwhile ({files}{more}),")
    return " or ".join(who)


def _step(painter: Painter, step: dict[str, Any]) -> str:
    since = {"undone": " (undone since)", "partly": " (partly undone since)"}.get(step["state"], "")
    return f"{step_line(painter, step)}{since}"


def _bad_before(code: int) -> tuple[list[str], str]:
    lines = [f"the command is bad before the first step already (exit code {code}): no step broke it"]
    return lines, f"{_NOT_STARTED[code]}; {_NEEDS}" if code in _NOT_STARTED else _NEEDS


def _good_after(_: int) -> tuple[list[str], str]:
    return (
        ["the command is good after the last step: no step broke it"],
        "what breaks it is no part of the session's snapshots: look at ignored files, and at what changed since",
    )


def _untested(code: int) -> tuple[list[str], str]:
    lines = [f"the command skipped a snapshot that is needed, the first or the last (exit code {code})"]
    return lines, "it must tell good from bad before the first step and after the last"


def _aborted(code: int) -> tuple[list[str], str]:
    by = f", by signal {code - 128}" if 128 < code < 193 else ""
    return [f"the command stopped the search (exit code {code}{by})"], "codes over 127 stop it; 125 skips a snapshot"


_OTHERWISE = {"badBefore": _bad_before, "goodAfter": _good_after, "untested": _untested, "aborted": _aborted}

"""`snapd revert-hunk`: reverts some of the hunks that a step changed in a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.requests.connection import ask, backend, in_folder
from snapd.cli.requests.names import step_id
from snapd.cli.requests.operation import operate
from snapd.cli.terminal.confirming import check_asked, declined
from snapd.cli.terminal.output import Painter, printable
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

_HELP = """\
y - revert this hunk
n - keep this hunk
q - keep this hunk and all later ones
a - revert this hunk and all later ones
d - keep this hunk and all later ones
? - show this help
"""


def revert_hunk(options: argparse.Namespace) -> int:
    """Reverts the hunks that the command names, or that the user chooses one by one."""
    with backend(options) as found:
        about = {"stepId": step_id(found, options.step), "file": in_folder(options, options.file)}
        hunks = ask(found, "step/hunks", about)["hunks"]
        if not hunks:
            raise InvalidParams(
                f"{options.file} has no hunks in this step: it changed as a whole",
                hint=f"'snapd undo {options.step} FILE' undoes what the step changed in it",
                field="FILE",
            )
        chosen = _named(options.hunks, len(hunks)) if options.hunks else _chosen(options, hunks)
        if not chosen:
            return declined(options)
        return operate(options, found, "step/revertHunks", {**about, "hunks": chosen}, sure=True)


def _named(numbers: list[int], count: int) -> list[int]:
    for number in numbers:
        if not 1 <= number <= count:
            raise InvalidParams(
                f"there is no hunk {number}, only 1 to {count}",
                hint="'snapd show STEP' shows the hunks in order",
                field="HUNK",
            )
    return [number - 1 for number in dict.fromkeys(numbers)]


def _chosen(options: argparse.Namespace, hunks: list[dict[str, Any]]) -> list[int]:
    """What the user says to each hunk; the end of the input stands for q."""
    if options.yes:
        return [hunk["index"] for hunk in hunks]
    if not sys.stdin.isatty():
        raise InvalidParams(
            "standard input is no terminal to ask on",
            hint=f"name the hunks, from 1 to {len(hunks)}, or take all of them back with --yes",
            field="HUNK",
        )
    painter = Painter(options, sys.stderr)
    print(painter.paint(printable(options.file), "bold"), file=sys.stderr)
    chosen: list[int] = []
    for at, hunk in enumerate(hunks):
        print(painter.diff("\n".join([hunk["header"], *hunk["lines"]])), file=sys.stderr)
        answer = _answer(painter, f"({at + 1}/{len(hunks)}) revert this hunk [y,n,q,a,d,?]? ")
        if answer == "a":
            return [*chosen, *(later["index"] for later in hunks[at:])]
        if answer in ("q", "d"):
            break
        if answer == "y":
            chosen.append(hunk["index"])
    return chosen


def _answer(painter: Painter, question: str) -> str:
    while True:
        print(painter.paint(question, "cyan"), end="", file=sys.stderr, flush=True)
        check_asked()
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)
            return "q"
        answer = line.strip().lower()
        if answer in ("y", "n", "q", "a", "d"):
            return answer
        print(painter.paint(_HELP, "dim"), end="", file=sys.stderr)

"""Asks the person at the terminal about each hunk, as `git add -p` does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import InvalidParams

from .confirming import check_asked
from .output import Painter

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_HELP = """\
y - {verb} this hunk
n - leave this hunk
q - leave this hunk and all later ones, in all files
a - {verb} this hunk and all later ones in the file
d - leave this hunk and all later ones in the file
? - show this help
"""


@attrs.frozen
class Chosen:
    """The hunks of a file that somebody chose.

    Attributes:
        hunks: their indexes.
        is_last: whether nothing is to be asked of other files.
    """

    hunks: list[int]
    is_last: bool = False


def choose(options: argparse.Namespace, title: str, hunks: Sequence[dict[str, Any]], verb: str, hint: str) -> Chosen:
    """Has a person choose hunks of one file; the end of the input stands for q.

    Args:
        options: of the command; `yes` chooses all.
        title: what stands above the hunks.
        hunks: as a request for hunks answers them.
        verb: what is done to a chosen hunk.
        hint: what to do where nobody can be asked.

    Raises:
        InvalidParams: nobody can be asked.
    """
    if options.yes:
        return Chosen([hunk["index"] for hunk in hunks])
    if not sys.stdin.isatty():
        raise InvalidParams("standard input is no terminal to ask on", hint=hint, field="HUNK")
    painter = Painter(options, sys.stderr)
    print(painter.paint(title, "bold"), file=sys.stderr)
    chosen: list[int] = []
    for at, hunk in enumerate(hunks):
        print(painter.diff("\n".join([hunk["header"], *hunk["lines"]])), file=sys.stderr)
        answer = _answer(painter, f"({at + 1}/{len(hunks)}) {verb} this hunk [y,n,q,a,d,?]? ", verb)
        if answer == "a":
            return Chosen([*chosen, *(later["index"] for later in hunks[at:])])
        if answer in ("q", "d"):
            return Chosen(chosen, answer == "q")
        if answer == "y":
            chosen.append(hunk["index"])
    return Chosen(chosen)


def _answer(painter: Painter, question: str, verb: str) -> str:
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
        print(painter.paint(_HELP.format(verb=verb), "dim"), end="", file=sys.stderr)

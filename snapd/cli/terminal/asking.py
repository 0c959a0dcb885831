"""Asks the user at the terminal for confirmation, and, like `git add -p`, about each hunk."""

from __future__ import annotations

import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import attrs

from snapd.cli.exit_codes import FAILED
from snapd.model.errors import InvalidParams

from .output import Painter, print_json
from .streams import can_be_asked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence

_HELP = """\
y - {verb} this hunk
n - leave this hunk
q - leave this hunk and all later ones, in all files
a - {verb} this hunk and all later ones in the file
d - leave this hunk and all later ones in the file
? - show this help
"""
CONFLICT_HELP = """\
o - overwrite it, with what changed since; a snapshot keeps the file as it is now
k - keep it as it is, and count it as done
s - skip it: it stays as it is and in conflict, and you can try again
O, K, S - the same for this file and all later ones
q - stop, and change nothing
? - show this help
"""
DECISIONS = {"o": "overwrite", "k": "keep", "s": "skip"}


def confirmed(
    question: str,
    would: str,
    hint: str,
    lines: Iterable[str] = (),
    show: Callable[[], None] | None = None,
) -> bool:
    """Whether the user says yes; asks on standard error, since standard output is for results.

    Raises `InvalidParams` with `would` and `hint` if there is nobody to ask. Prints `lines` before the question; the
    answer "d" calls `show`.
    """
    if not sys.stdin.isatty():
        raise InvalidParams(f"{would}, and standard input is not a terminal", hint=hint, field="--yes")
    for line in lines:
        print(line, file=sys.stderr)
    while True:
        print(f"{question} [{'y/N/?' if show is None else 'y/N/d/?'}] ", end="", file=sys.stderr, flush=True)
        answer = read_line().strip().lower()
        if answer in ("?", "h", "help"):
            print("y - do what is shown above\nn - change nothing (default)", file=sys.stderr)
            print(*([] if show is None else ["d - show the diff"]), "? - show this help", sep="\n", file=sys.stderr)
        elif show is not None and answer in ("d", "diff"):
            show()
        else:
            return answer in ("y", "yes")


def declined(options: argparse.Namespace) -> int:
    """Reports that nothing was done since the user said no; returns the exit code."""
    if options.json:
        message, hint = "nothing was changed: the answer was no", "run the command again to be asked again"
        print_json({"error": {"kind": "declined", "message": message, "hint": hint}})
    else:
        print("snapd: nothing was changed", file=sys.stderr)
    return FAILED


def read_line() -> str:
    """Returns the line that the user types at the terminal as an answer; the empty string at the end of the input.

    Raises `InvalidParams` unless the question, printed to standard error, was written.
    """
    if not can_be_asked():
        raise InvalidParams(
            "cannot ask: standard error cannot be written to", hint="confirm with --yes instead", field="--yes"
        )
    # a Ctrl-C just before the read would only be seen after the next line; the wakeup descriptor ends the waiting
    reading, writing = socket.socketpair()
    with reading, writing:
        writing.setblocking(False)
        before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            poll = select.poll()
            for each in (sys.stdin, reading):
                poll.register(each, select.POLLIN)
            poll.poll()
        finally:
            signal.set_wakeup_fd(before)
    return sys.stdin.readline()


@attrs.frozen
class HunkChoice:
    """The indexes of the hunks of a file that the user chose; `is_last` ends the questions."""

    hunks: list[int]
    is_last: bool = False


def choose(
    options: argparse.Namespace, title: str, hunks: Sequence[Mapping[str, Any]], verb: str, hint: str
) -> HunkChoice:
    """Lets the user choose hunks of one file; the end of the input stands for q."""
    if options.yes:
        return HunkChoice([hunk["index"] for hunk in hunks])
    if not sys.stdin.isatty():
        raise InvalidParams("standard input is not a terminal", hint=hint, field="HUNK")
    painter = Painter(options, sys.stderr)
    print(painter.paint(title, "bold"), file=sys.stderr)
    chosen: list[int] = []
    for at, hunk in enumerate(hunks):
        print(painter.diff("\n".join([hunk["header"], *hunk["lines"]])), file=sys.stderr)
        answer = _answer(painter, f"({at + 1}/{len(hunks)}) {verb} this hunk [y,n,q,a,d,?]? ", verb)
        if answer == "a":
            return HunkChoice([*chosen, *(later["index"] for later in hunks[at:])])
        if answer in ("q", "d"):
            return HunkChoice(chosen, answer == "q")
        if answer == "y":
            chosen.append(hunk["index"])
    return HunkChoice(chosen)


def decide(painter: Painter, conflicts: Sequence[tuple[str, Iterable[str]]]) -> list[str] | None:
    """Lets the user decide about each file in conflict, given by its displayed name with the lines of reasons.

    Returns `overwrite`, `keep` or `skip` for each; None if the user stops, as at the end of the input.
    """
    decisions: list[str] = []
    for at, (name, lines) in enumerate(conflicts):
        print(*lines, sep="\n", file=sys.stderr)
        question = f"({at + 1}/{len(conflicts)}) {name} is in conflict: overwrite, keep or skip it [o,k,s,q,?]? "
        answer = ""
        while answer not in DECISIONS:
            print(painter.paint(question, "cyan"), end="", file=sys.stderr, flush=True)
            line = read_line()
            answer = line.strip()
            if not line or answer in ("q", "Q"):
                return None
            if answer in ("O", "K", "S"):
                return [*decisions, *[DECISIONS[answer.lower()]] * (len(conflicts) - at)]
            answer = answer[:1] if answer in DECISIONS.values() else answer
            if answer not in DECISIONS:
                print(painter.paint(CONFLICT_HELP, "dim"), end="", file=sys.stderr)
        decisions.append(DECISIONS[answer])
    return decisions


def _answer(painter: Painter, question: str, verb: str) -> str:
    while True:
        print(painter.paint(question, "cyan"), end="", file=sys.stderr, flush=True)
        line = read_line()
        if not line:
            print(file=sys.stderr)
            return "q"
        answer = line.strip().lower()
        if answer in ("y", "n", "q", "a", "d"):
            return answer
        print(painter.paint(_HELP.format(verb=verb), "dim"), end="", file=sys.stderr)

"""`snapd review`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.requests.names import all_sessions, file_of, find_session
from snapd.cli.requests.pending import as_a_whole, authors, named, pending
from snapd.cli.terminal import pager
from snapd.cli.terminal.filenames import printable
from snapd.cli.terminal.output import Painter, print_json, summary
from snapd.core.errors import UnknownSession

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend

_NEXT = "'snapd keep' accepts changes, 'snapd revert -p' takes them back"


def review(options: argparse.Namespace) -> int:
    """Lists the files with pending changes, or shows their hunks."""
    with backend(options) as found:
        files = _wanted(options, found)
        shown = [ask(found, "review/file", {"file": file_of(row)}) for row in files] if options.patch else files
        painter = Painter(options)
        if options.json:
            print_json({"files": shown})
        elif not files:
            print("snapd: nothing is pending: you have kept all that agents changed, or they changed nothing",
                  file=sys.stderr)  # fmt: skip
        elif options.patch:
            pager.show(options, "\n".join(_hunks(found, painter, row) for row in shown))
        else:
            by = {name: 0 for row in files for name in _authors(found, row)}
            for row in files:
                for name in _authors(found, row):
                    by[name] += 1
            told = [f"by {name}: {count} file{'' if count == 1 else 's'}" for name, count in by.items()]
            lines = [summary(painter, files), *told, painter.paint(_NEXT, "dim")]
            pager.show(options, "\n".join(lines) + "\n")
    return DONE


def _wanted(options: argparse.Namespace, found: Backend) -> list[dict[str, Any]]:
    session = None if options.session is None else find_session(found, options.session)["sessionId"]
    files = pending(found, session)
    if options.agent is not None:
        of_agent = {each["sessionId"] for each in all_sessions(found) if each.get("agent") == options.agent}
        if not of_agent:
            raise UnknownSession(f"no session of {options.agent!r} in this folder", sessionId=options.agent)
        files = [row for row in files if any(owner["sessionId"] in of_agent for owner in row["owners"])]
    return named(options, files, options.files)


def _authors(found: Backend, row: dict[str, Any]) -> list[str]:
    return authors(found, row["owners"]).split(", ")


def _hunks(found: Backend, painter: Painter, shown: dict[str, Any]) -> str:
    """The hunks of a file, each with who made it."""
    moved = f"{printable(shown['renamedFrom'])} → " if "renamedFrom" in shown else ""
    lines = [painter.paint(f"{moved}{printable(shown['file'])}", "bold")]
    if not shown["hunks"]:
        lines.append(painter.paint(f"{as_a_whole(shown)}, by {authors(found, shown['owners'])}", "dim"))
    for hunk in shown["hunks"]:
        lines.append(painter.paint(f"hunk {hunk['index'] + 1} by {authors(found, hunk['owners'])}", "dim"))
        lines.append(painter.diff("\n".join([hunk["header"], *hunk["lines"]])))
    return "\n".join([*lines, ""])

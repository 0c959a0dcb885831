"""`snapd snapshots`."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import TAKE_ONE, backend, pages
from snapd.cli.terminal import pager
from snapd.cli.terminal.layout import fit, one_line, pad, terminal_width
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, print_json
from snapd.cli.terminal.times import day, local_now, moment
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from datetime import datetime

    from snapd.backend import Backend

_SHORT = 8
_WIDE = 60
"""Columns from which on the number of files is shown."""
_REASONS = {
    "track": "asked for",
    "begin": "before step",
    "end": "after step",
    "before": "before files were brought back",
    "restore": "after a restore",
    "revert": "after a revert",
    "undo": "after an undo",
    "redo": "after a redo",
    "unrevert": "after an unrevert",
    "hunks": "after a revert of hunks",
    "after": "after files were brought back",
    "look": "compared with another",
}


def snapshots(options: argparse.Namespace) -> int:
    """Lists the snapshots, the latest first."""
    if options.number < 0:
        raise InvalidParams("-n: expected a number of snapshots, or 0 for all", field="-n")
    with backend(options) as found:
        listed = _listed(found, options.number)
        shown = list(islice(listed, options.number or None))
        more = bool(options.number) and next(listed, None) is not None
    if options.json:
        print_json({"snapshots": shown})
    elif not shown:
        print(f"snapd: there are no snapshots of this folder yet; {TAKE_ONE}", file=sys.stderr)
    else:
        painter = Painter(options)
        older = painter.paint(f"… older: -n {2 * options.number}, or -n 0 for all\n", "dim") if more else ""
        pager.show(options, f"{table(shown, painter, terminal_width(), local_now())}\n{older}")
    return DONE


def _listed(found: Backend, number: int) -> Iterator[dict[str, Any]]:
    """The snapshots, but for those that nobody asked for and that are as the one before."""
    # one more says whether there are more
    for taken in pages(found, "snapshot/list", {"limit": number + 1 if number else None}, "snapshots"):
        if taken.get("files") != 0 or taken["kind"] == "track":
            yield taken


def table(found: list[dict[str, Any]], painter: Painter, width: int, now: datetime) -> str:
    """A line for each snapshot, and one above for each day.

    Args:
        found: of `snapshot/list`, in the order in which they are shown.
        painter: colours.
        width: columns that there are.
        now: where the user is.
    """
    lines: list[str] = []
    last_day = None
    files = max(len(_files(taken)) for taken in found) + 2 if width >= _WIDE else 0
    for taken in found:
        at = moment(taken["at"])
        if day(at, now) != last_day:
            last_day = day(at, now)
            lines.append(painter.paint(last_day, "bold"))
        clock, name = f"{at:%H:%M}", taken["hash"][:_SHORT]
        room = width - len(f"  {clock}  {name}  ") - files
        counted = painter.paint(pad(_files(taken), files), "dim") if files else ""
        line = f"  {painter.paint(clock, 'dim')}  {painter.paint(name, 'yellow')}  {counted}"
        lines.append(line + fit(_reason(taken), room))
    return "\n".join(lines)


def _files(taken: dict[str, Any]) -> str:
    if "files" not in taken:
        return "the first"
    return f"{taken['files']} file{'' if taken['files'] == 1 else 's'}"


def _reason(taken: dict[str, Any]) -> str:
    # a newer daemon may know more reasons
    words = [_REASONS.get(taken["kind"], taken["kind"])]
    if "stepId" in taken:
        words.append(short(taken["stepId"]))
    if taken.get("agent"):
        words.append(f"by {one_line(taken['agent'])}")
    return one_line(" ".join(words))

"""Runs the benchmark: `python -m benchmarks --help`, or `make bench`."""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from .bench import Bench, Counts
from .git_algorithm import ShadowGit, make_project
from .growth import KINDS, compared
from .limits import Limits
from .machine import facts
from .measure import WrongResult
from .results import Run, dump
from .rows import ROWS
from .table import HEADINGS, cells
from .trees import TreeUnavailable, cache_directory, copy_tree, generated_tree, linux_tree, warm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .results import Row

_WIDTH = 170
OUTPUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runs")


def main(arguments: Sequence[str]) -> int:
    """Measures, prints the table, writes the JSON.

    Returns:
        0, or 1 where it could not be done or an answer of snapd was wrong. A goal that is not met is no failure.
    """
    options = _parse(arguments)
    counts = Counts(repetitions=options.repetitions, heavy=max(3, options.repetitions // 10))
    cache = cache_directory(dict(os.environ))
    # where nobody looks on, the lines are to stay whole
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    # named after their purpose and short: a socket is to lie below it
    work = os.path.realpath(tempfile.mkdtemp(prefix="snapd-bench-"))
    try:
        run = _growth(options, counts, cache, work) if options.growth else _rows(options, counts, cache, work)
    except (TreeUnavailable, WrongResult) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(work)
    show(run, console)
    os.makedirs(options.output, exist_ok=True)
    path = os.path.join(options.output, f"{run.tree}-{re.sub('[^0-9]', '', run.date)[:14]}.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(dump(run))
    console.print(f"written: {os.path.relpath(path)}", soft_wrap=True)
    return 0


def show(run: Run, console: Console) -> None:
    """Prints the table of a run."""
    table = Table(title=f"{run.tree}, {run.files:,} files")
    for heading in HEADINGS:
        table.add_column(heading, no_wrap=heading not in ("what", "against"))
    for row in run.rows:
        table.add_row(*cells(run, row))
    console.print(table)


def _rows(options: argparse.Namespace, counts: Counts, cache: str, work: str) -> Run:
    """The goals' rows on one tree."""
    source, name = _tree(options.tree, cache)
    tree = os.path.join(work, "tree")
    _say(f"copying {source}, making it a git project")
    copy_tree(source, tree)
    make_project(tree)
    warm(tree)
    files = len(ShadowGit(os.path.join(tree, ".git"), tree).files())
    run = _run(name, files, counts, work, {})
    with Bench(tree, work, cache, counts) as bench:
        limits = Limits(tree, work, counts)
        for key in options.rows:
            _say(key)
            _collect(run, (replace(row, bound=limits.of(row.key)) for row in ROWS[key](bench)))
    return run


def _growth(options: argparse.Namespace, counts: Counts, cache: str, work: str) -> Run:
    """The growth of what is measured, over several sizes."""
    kind = KINDS[options.growth]
    sizes = options.sizes or list(kind.sizes)
    name = "growth" if kind.what == "files" else f"growth-{kind.what}"
    run = _run(name, max(sizes) if kind.what == "files" else 0, counts, work, {"sizes": sizes})
    # the tree of a run is not asked for: each size has its own
    with Bench("", work, cache, counts) as bench:
        _collect(run, kind.measure(bench, sizes))
    run.rows.extend(compared(kind, run.rows))
    return run


def _run(name: str, files: int, counts: Counts, work: str, more: dict[str, list[int]]) -> Run:
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Run(name, files, date, facts(work), {**asdict(counts), **more})


def _collect(run: Run, rows: Iterator[Row]) -> None:
    for row in rows:
        run.rows.append(row)
        name, _, ours, theirs, ratio, *_ = cells(run, row)
        _say(f"  {name}: {'; '.join(text for text in (ours, theirs, ratio) if text)}")


def _tree(wanted: str, cache: str) -> tuple[str, str]:
    """The path and the name of the tree that was asked for.

    Raises:
        TreeUnavailable: there is none.
    """
    if wanted == "linux":
        return linux_tree(cache), "linux"
    if wanted.isdigit() and int(wanted) > 0:
        return generated_tree(cache, int(wanted)), f"generated-{wanted}"
    path = os.path.abspath(wanted)
    if not os.path.isdir(path):
        raise TreeUnavailable(f"TREE is linux, a number of files, or a folder: there is no folder {path}")
    name = re.sub("[^A-Za-z0-9._-]", "_", os.path.basename(path)) or "root"
    # goals and results are told by name: a folder of that name is not the tree that they mean
    return path, f"folder-{name}"


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="snapd against the git algorithm")
    parser.add_argument(
        "--tree", default="10000", help="linux, a number of files to generate, or a folder (%(default)s)"
    )
    parser.add_argument("--rows", type=_row_names, default=list(ROWS), help=f"some of {','.join(ROWS)} (all)")
    parser.add_argument("--growth", choices=list(KINDS), help="measure how cost grows with the number of these instead")
    parser.add_argument("--sizes", type=_numbers, default=[], help="for --growth (each has its own)")
    parser.add_argument(
        "--repetitions", type=_positive, default=Counts.repetitions, help="of what is quick (%(default)s)"
    )
    parser.add_argument("--output", default=OUTPUT, help="directory for the JSON (benchmarks/runs)")
    return parser.parse_args(arguments)


def _row_names(text: str) -> list[str]:
    wanted = text.split(",")
    unknown = set(wanted) - set(ROWS)
    if unknown:
        raise argparse.ArgumentTypeError(f"no such rows: {', '.join(sorted(unknown))}")
    # in the order in which they can be measured
    return [name for name in ROWS if name in wanted]


def _numbers(text: str) -> list[int]:
    return sorted({_positive(number) for number in text.split(",")})


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a number of 1 or more: {text}")
    return int(text)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    # who ends us has daemons ended and directories removed all the same
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))

"""The options that several commands share."""

from __future__ import annotations

import argparse

FOLDER = "where to begin (default: here): the folder around it that has a history, or is the root of a git work tree"


def common(*, alone: bool = True, asks: bool = True) -> argparse.ArgumentParser:
    """The options of every command that works on a folder.

    Args:
        alone: whether the command can do without the daemon.
        asks: whether the command sends requests; otherwise it reads the stores itself.
    """
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("-C", dest="directory", metavar="DIR", default=argparse.SUPPRESS, help=FOLDER)
    shared.add_argument(
        "--here", action="store_true", help="use this very folder, not the one around it that has snapshots of it"
    )
    if asks:
        shared.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    if alone and asks:
        shared.add_argument("--no-daemon", action="store_true", help="do the work in this process")
    if alone:
        shared.add_argument("--json", action="store_true", help="print the answer as JSON")
    shared.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="when to use colour (default: on a terminal)",
    )
    return shared


def looking() -> argparse.ArgumentParser:
    """The options of the commands that show something, which may be long."""
    shared = common()
    shared.add_argument("--no-pager", action="store_true", help="do not show the output in a pager")
    return shared


def changing(conflicts: str) -> argparse.ArgumentParser:
    """The options of the commands that change the folder.

    Args:
        conflicts: the help of `--on-conflict`.
    """
    shared = common()
    shared.add_argument("-n", "--dry-run", action="store_true", help="only show what would be done")
    shared.add_argument("-y", "--yes", action="store_true", help="do not ask")
    shared.add_argument(
        "--expect", metavar="PLAN", help="do not ask, but do only just this: the `plan` that --dry-run --json printed"
    )
    shared.add_argument("--on-conflict", choices=("overwrite", "merge", "fail", "keep"), help=conflicts)
    shared.add_argument(
        "--all-files", action="store_true", help="show all files of the plan, even if they do not fit on the screen"
    )
    return shared

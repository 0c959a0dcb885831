"""The options that several commands have."""

from __future__ import annotations

import argparse

FOLDER = "the folder (default: this one)"


def common(*, alone: bool = True, asks: bool = True) -> argparse.ArgumentParser:
    """Those of all commands that ask something.

    Args:
        alone: whether the command can do without the daemon.
        asks: whether there is anybody whom it asks; else it looks for itself.
    """
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("-C", dest="directory", metavar="DIR", default=argparse.SUPPRESS, help=FOLDER)
    if asks:
        shared.add_argument("--socket", metavar="PATH", help="of the daemon (default: the user's own)")
    if alone and asks:
        shared.add_argument("--no-daemon", action="store_true", help="do the work in this process")
    if alone:
        shared.add_argument("--json", action="store_true", help="print the answer as JSON")
    shared.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour (default: on a terminal)"
    )
    return shared


def changing(conflicts: str) -> argparse.ArgumentParser:
    """Those of the commands that change the folder.

    Args:
        conflicts: what files `--on-conflict` is about, and what holds without it.
    """
    shared = common()
    shared.add_argument("-n", "--dry-run", action="store_true", help="only show what would be done")
    shared.add_argument("-y", "--yes", action="store_true", help="do not ask")
    shared.add_argument("--on-conflict", choices=("overwrite", "merge", "fail"), help=conflicts)
    return shared

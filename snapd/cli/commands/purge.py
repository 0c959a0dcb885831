"""`snapd purge`: files, or all of a folder, out of everything that was ever stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE, FAILED
from snapd.cli.requests.connection import ask, backend, in_folder
from snapd.cli.terminal.confirming import confirmed
from snapd.cli.terminal.output import print_json, printable, size
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse
    from typing import Any


def purge(options: argparse.Namespace) -> int:
    """Shows what would be removed, asks for confirmation, and removes it."""
    if options.workspace == bool(options.files):
        raise InvalidParams("expected either files or --workspace", hint="see 'snapd purge --help'", field="FILE")
    params: dict[str, Any] = (
        {"everything": True} if options.workspace else {"files": [in_folder(options, file) for file in options.files]}
    )
    with backend(options) as found:
        if options.dry_run or not options.yes:
            told = ask(found, "snapshot/purge", {**params, "dryRun": True})
            if options.dry_run and options.json:
                print_json(told)
                return DONE
            if not options.dry_run and not sys.stdin.isatty():
                raise InvalidParams(
                    "this cannot be undone, and standard input is no terminal to ask on",
                    hint="see what would go with --dry-run, then confirm with --yes",
                    field="--yes",
                )
            for line in _plan(told, everything=options.workspace):
                print(line, file=sys.stdout if options.dry_run else sys.stderr)
            if options.dry_run:
                return DONE
            if not confirmed("Remove this for good? It cannot be undone."):
                print("snapd: nothing was changed", file=sys.stderr)
                return FAILED
        result = ask(found, "snapshot/purge", params)
    if options.json:
        print_json(result)
        return DONE
    print(f"{_counted(result, everything=options.workspace)}; {size(result['freedBytes'])} freed")
    if result["stillInGit"]:
        print(
            "snapd: the project's own git still has some of it\nhint: 'git filter-repo' removes it there",
            file=sys.stderr,
        )
    return DONE


def _plan(told: dict[str, Any], *, everything: bool) -> list[str]:
    lines = [_counted(told, everything=everything)]
    for row in told["files"]:
        versions = f"{row['versions']} version{'s' if row['versions'] != 1 else ''}"
        here = "; still in the folder: delete or ignore it first" if row["inFolder"] else ""
        lines.append(f"  {printable(row['file'])}  ({versions}, {size(row['bytes'])}{here})")
    return lines


def _counted(result: dict[str, Any], *, everything: bool) -> str:
    if everything:
        verb = "purged" if result["applied"] else "to be purged"
        return f"{result['snapshots']} snapshots and {result['sessions']} sessions {verb}"
    verb = "rewritten" if result["applied"] else "to be rewritten"
    return f"{result['snapshots']} snapshots {verb}"

"""`snapd export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend, in_folder
from snapd.cli.requests.snapshots import find_snapshot
from snapd.cli.terminal.filenames import shell_name
from snapd.cli.terminal.output import print_json, size

if TYPE_CHECKING:
    import argparse


def export(options: argparse.Namespace) -> int:
    """Writes a snapshot to another folder."""
    with backend(options) as found:
        params = {"hash": find_snapshot(found, options.hash), "directory": in_folder(options, options.to)}
        result = ask(found, "snapshot/export", params)
    if options.json:
        print_json(result)
    else:
        files = "1 file" if result["files"] == 1 else f"{result['files']} files"
        print(f"wrote {files}, {size(result['bytes'])}, to {shell_name(options.to)}")
    return DONE

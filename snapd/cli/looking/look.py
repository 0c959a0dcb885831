"""`snapd track`, `patch`, `diff`, `show`, `files` and `export`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from snapd.backend import file_bytes
from snapd.cli.exit_codes import DONE
from snapd.cli.looking.diffs import diff_text
from snapd.cli.requests.connection import ask, backend, in_folder, pages
from snapd.cli.requests.folder import folder_of
from snapd.cli.requests.similar import suggesting
from snapd.cli.requests.snapshots import find_sides, find_snapshot, split_file
from snapd.cli.terminal import pager
from snapd.cli.terminal.filenames import file_name, shell_name
from snapd.cli.terminal.output import Painter, counted, print_json, size, summary
from snapd.core.errors import InvalidParams
from snapd.reasons import in_words

if TYPE_CHECKING:
    import argparse


def track(options: argparse.Namespace) -> int:
    """Takes a snapshot; prints its hash alone, so that scripts can take it, and what was skipped beside."""
    with backend(options) as found:
        force = options.force and [in_folder(options, path) for path in options.force]
        result = ask(found, "snapshot/track", {"force": force})
    if options.json:
        print_json(result)
    elif result["hash"] is None:
        print("snapd: snapshots are off", file=sys.stderr)
    else:
        print(result["hash"])
        for skip in result["skipped"]:
            print(f"snapd: skipped {shell_name(skip['file'])} ({in_words(skip['reason'])})", file=sys.stderr)
    return DONE


def patch(options: argparse.Namespace) -> int:
    """Lists what changed, with counts."""
    with backend(options) as found:
        hash_, to = find_sides(found, options.hash, options.to)
        if options.json:
            print_json(ask(found, "snapshot/patch", {"hash": hash_, "to": to}))
            return DONE
        params = {"from": hash_, "to": to, "contents": False, "renames": options.renames}
        diffs = list(pages(found, "snapshot/diffFull", params, "diffs"))
    pager.show(options, summary(Painter(options), diffs) + "\n")
    return DONE


def diff(options: argparse.Namespace) -> int:
    """Shows what changed as a unified diff."""
    with backend(options) as found:
        files = options.files and [in_folder(options, path) for path in options.files]
        hash_, to = find_sides(found, options.hash, options.to)
        params = {"hash": hash_, "to": to, "files": files, "renames": True}
        result = ask(found, "snapshot/diff", {**params, "exact": not options.json})
    if options.json:
        print_json(result)
    else:
        pager.show(options, Painter(options).diff(diff_text(result)))
    return DONE


def show(options: argparse.Namespace) -> int:
    """Prints a file as it was, byte for byte; or shows a step."""
    named = split_file(options.what)
    if named is None:
        from .log import show_step

        return show_step(options)
    file, word = named
    if not file:
        raise InvalidParams(
            f"expected FILE@SNAPSHOT or a step, got {options.what!r}",
            hint="FILE@2f4a6c prints a file of a snapshot, FILE@@2h as it was two hours ago",
            field="FILE@SNAPSHOT",
        )
    with backend(options) as found, suggesting(found):
        params = {"hash": find_snapshot(found, word), "file": in_folder(options, file)}
        result = ask(found, "snapshot/fileAt", params)
    if options.json:
        print_json(result)
        return DONE
    pager.show(options, file_bytes(result["content"], result["encoding"]).decode(*pager.ENCODING))
    return DONE


def files(options: argparse.Namespace) -> int:
    """Lists the files of a snapshot."""
    with backend(options) as found:
        params = {"hash": find_snapshot(found, options.hash), "prefix": options.prefix}
        names = list(pages(found, "snapshot/listFiles", params, "files"))
    if options.json:
        print_json({"files": names})
        return DONE
    folder = os.path.realpath(folder_of(options))
    exact = [file_name(name, folder) for name in names]
    if sys.stdout.isatty():
        pager.show(options, "".join(f"{shell_name(name)}\n" for name in exact))
    else:
        # a script gets the very bytes
        sys.stdout.buffer.writelines(os.fsencode(f"{name}\n") for name in exact)
        sys.stdout.buffer.flush()
    return DONE


def export(options: argparse.Namespace) -> int:
    """Writes a snapshot to another folder."""
    with backend(options) as found:
        params = {"hash": find_snapshot(found, options.hash), "directory": in_folder(options, options.to)}
        result = ask(found, "snapshot/export", params)
    if options.json:
        print_json(result)
    else:
        print(f"wrote {counted(result['files'], 'file')}, {size(result['bytes'])}, to {shell_name(options.to)}")
    return DONE

"""`snapd track`, `patch`, `diff`, `show`, `files` and `status`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.backend import file_bytes
from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend, in_folder, pages
from snapd.cli.requests.folder import folder_of, others_with
from snapd.cli.requests.snapshots import find_sides, find_snapshot, split_file
from snapd.cli.terminal.layout import one_line
from snapd.cli.terminal.output import Painter, print_json, printable, settings, size, summary, watching
from snapd.cli.terminal.reasons import in_words
from snapd.cli.terminal.times import lasting, local_now, moment
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


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
            print(f"snapd: skipped {printable(skip['file'])} ({in_words(skip['reason'])})", file=sys.stderr)
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
    print(summary(Painter(options), diffs))
    return DONE


def diff(options: argparse.Namespace) -> int:
    """Shows what changed as a unified diff."""
    with backend(options) as found:
        files = options.files and [in_folder(options, path) for path in options.files]
        hash_, to = find_sides(found, options.hash, options.to)
        params = {"hash": hash_, "to": to, "files": files}
        result = ask(found, "snapshot/diff", params)
    if options.json:
        print_json(result)
    else:
        sys.stdout.write(Painter(options).diff(result["diff"]))
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
    with backend(options) as found:
        params = {"hash": find_snapshot(found, word), "file": in_folder(options, file)}
        result = ask(found, "snapshot/fileAt", params)
    if options.json:
        print_json(result)
        return DONE
    sys.stdout.buffer.write(file_bytes(result["content"], result["encoding"]))
    sys.stdout.buffer.flush()
    return DONE


def files(options: argparse.Namespace) -> int:
    """Lists the files of a snapshot."""
    with backend(options) as found:
        params = {"hash": find_snapshot(found, options.hash), "prefix": options.prefix}
        names = list(pages(found, "snapshot/listFiles", params, "files"))
    if options.json:
        print_json({"files": names})
    else:
        for name in names:
            print(printable(name) if sys.stdout.isatty() else name)
    return DONE


def status(options: argparse.Namespace) -> int:
    """Shows what is known of the folder."""
    with backend(options) as found:
        result = ask(found, "snapshot/status", {})
    if options.json:
        print_json(result)
        return DONE
    painter = Painter(options)
    folder = os.path.realpath(folder_of(options))
    rows = {
        "folder": printable(folder),
        "snapshots": painter.paint("on", "green") if result["enabled"] else painter.paint("off", "yellow"),
        "last": result.get("lastHash", "none yet"),
        "files": str(result["files"]),
        "watching": watching(result),
        "store": f"{result['store']['path']} ({size(result['store']['bytes'])})",
    }
    others = others_with(folder)
    if others:
        names = ", ".join(map(printable, others))
        rows["overlaps"] = f"{names}: has snapshots of the same files; 'snapd doctor' says more"
    if "fullLook" in result:
        rows["full look"] = f"{result['fullLook']['at']}: {result['fullLook']['reason']}"
    for name, value in rows.items():
        print(f"{painter.paint(name.ljust(9), 'dim')} {value}")
    for at, line in enumerate(_open_steps(painter, result)):
        print(f"{painter.paint(('' if at else 'open').ljust(9), 'dim')} {line}")
    for at, line in enumerate(settings(result)):
        print(f"{painter.paint(('' if at else 'settings').ljust(9), 'dim')} {line}")
    for problem in result.get("settingsProblems", []):
        print(f"snapd: {printable(problem)}", file=sys.stderr)
    return DONE


def _open_steps(painter: Painter, result: dict[str, Any]) -> Iterator[str]:
    """The steps that go on, with their ages: what changes now is theirs, if no editor saves it."""
    now = local_now()
    for step in result["openSteps"]:
        said = (step.get("agent"), step.get("tool"), step.get("description"))
        words = " ".join(one_line(text) for text in said if text)
        age = lasting(moment(step["startedAt"]), now)
        yield " ".join(filter(None, (painter.paint(step["stepId"][:8], "yellow"), words, f"for {age}")))
    if result["openSteps"]:
        yield painter.paint("'snapd step end --all' ends them, if no agent is at work any more", "dim")

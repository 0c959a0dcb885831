"""`snapd track`, `patch`, `diff`, `show`, `files` and `status`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.backend import file_bytes
from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend, in_folder, pages, resolve
from snapd.cli.requests.folder import folder_of, others_with
from snapd.cli.terminal import pager
from snapd.cli.terminal.diffs import diff_text
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
        hash_, to = resolve(found, options.hash), options.to and resolve(found, options.to)
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
        to = options.to and resolve(found, options.to)
        params = {"hash": resolve(found, options.hash), "to": to, "files": files, "renames": True}
        result = ask(found, "snapshot/diff", {**params, "exact": not options.json})
    if options.json:
        print_json(result)
    else:
        pager.show(options, Painter(options).diff(diff_text(result)))
    return DONE


def show(options: argparse.Namespace) -> int:
    """Prints a file as it was, byte for byte; or shows a step."""
    file, at, hash_ = options.what.rpartition("@")
    if not at:
        from .log import show_step

        return show_step(options)
    if not file:
        raise InvalidParams("expected FILE@HASH", field="FILE@HASH")
    with backend(options) as found:
        result = ask(found, "snapshot/fileAt", {"hash": resolve(found, hash_), "file": in_folder(options, file)})
    if options.json:
        print_json(result)
        return DONE
    pager.show(options, file_bytes(result["content"], result["encoding"]).decode(*pager.ENCODING))
    return DONE


def files(options: argparse.Namespace) -> int:
    """Lists the files of a snapshot."""
    with backend(options) as found:
        params = {"hash": resolve(found, options.hash), "prefix": options.prefix}
        names = list(pages(found, "snapshot/listFiles", params, "files"))
    if options.json:
        print_json({"files": names})
    else:
        lines = [printable(name) if sys.stdout.isatty() else name for name in names]
        pager.show(options, "".join(f"{line}\n" for line in lines))
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

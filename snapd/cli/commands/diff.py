"""`snapd track`, `patch`, `diff`, `show`, `files`, `export` and `snapshots`."""

from __future__ import annotations

import argparse
import os
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from snapd.backend import file_bytes
from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import SNAPSHOT, Answer, Command, common, looking
from snapd.cli.requests.connection import TAKE_ONE, ask, folder_of, in_folder, open_backend, pages
from snapd.cli.requests.snapshots import find_sides, find_snapshot, split_file, suggesting
from snapd.cli.terminal import pager
from snapd.cli.terminal.layout import file_name, fit, one_line, pad, shell_name, terminal_width
from snapd.cli.terminal.naming import agent_name, short
from snapd.cli.terminal.output import Painter, counted, print_json, size, summary
from snapd.cli.terminal.pager import diff_text, form_of
from snapd.cli.terminal.times import day, local_now, moment
from snapd.model.errors import InvalidParams
from snapd.wire.words import OPERATIONS, SNAPSHOT_KINDS, reason_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Annotated

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser
    from snapd.wire.message import Message
    from snapd.wire.session import Step
    from snapd.wire.snapshot import TakenSnapshot

_WIDE = 60
"""The width in columns from which the number of files is shown."""


def _track_arguments(parser: Parser) -> None:
    common(parser)
    parser.repeated("--force", "PATH", "force", "capture this path even if it is ignored")


@Command("track", "space and secrets", _track_arguments, answer="TrackResult", example="track")
def track(options: argparse.Namespace) -> int:
    """Take a snapshot and print its hash."""
    with open_backend(options) as backend:
        force = options.force and [in_folder(options, path) for path in options.force]
        result = ask(backend, "snapshot/track", {"force": force})
    if options.json:
        print_json(result)
    elif result["hash"] is None:
        print("snapd: snapshots are off", file=sys.stderr)
    else:
        print(result["hash"])
        for skip in result["skipped"]:
            print(f"snapd: skipped {shell_name(skip['file'])} ({reason_text(skip['reason'])})", file=sys.stderr)
    return DONE


_OTHER = "another snapshot (default: the files as they are; for a step alone: as the step left them)"


def _patch_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("hash", "SNAPSHOT", SNAPSHOT)
    parser.argument("to", "TO", _OTHER, nargs="?")
    parser.add_argument(
        "--renames",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether to show a moved file as one entry (default: yes)",
    )


@Command("patch", "look closer", _patch_arguments, answer="Patch", example="patch {first}", shows=True)
def patch(options: argparse.Namespace) -> int:
    """List what changed since a snapshot, with counts."""
    with open_backend(options) as backend:
        hash_, to = find_sides(backend, options.hash, options.to)
        if options.json:
            print_json(ask(backend, "snapshot/patch", {"hash": hash_, "to": to}))
            return DONE
        params = {"from": hash_, "to": to, "contents": False, "renames": options.renames}
        diffs = list(pages(backend, "snapshot/diffFull", params, "diffs"))
    pager.show(options, summary(Painter(options), diffs) + "\n")
    return DONE


def _diff_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("hash", "SNAPSHOT", SNAPSHOT)
    parser.argument("to", "TO", _OTHER, nargs="?")
    parser.repeated("--file", "FILE", "files", "only this file")


@Command("diff", "look closer", _diff_arguments, answer="DiffResult", example="diff last", shows=True)
def diff(options: argparse.Namespace) -> int:
    """Show what changed since a snapshot as a unified diff."""
    with open_backend(options) as backend:
        files = options.files and [in_folder(options, path) for path in options.files]
        hash_, to = find_sides(backend, options.hash, options.to)
        params: Any = {"hash": hash_, "to": to, "files": files, "renames": True, **form_of(options)}
        result = ask(backend, "snapshot/diff", params)
    if options.json:
        print_json(result)
    else:
        pager.show(options, Painter(options).diff(diff_text(result)))
    return DONE


class ShownStep(Answer):
    """A step, as `show` prints it."""

    step: Annotated[Step, "The step."]
    diff: Annotated[str, "What it changed, as a unified diff."]


class ShownPrompt(Answer):
    """A prompt, as `show` prints it."""

    message: Annotated[Message, "The prompt."]
    steps: Annotated[list[Step], "Its steps, oldest first, without the empty ones."]


def _show_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument(
        "what",
        "FILE@SNAPSHOT | STEP | PROMPT",
        "a file and the snapshot to read it from, such as a.py@last or a.py@@2h; or a step or a prompt that "
        "'snapd log' shows",
    )


@Command(
    "show",
    "every day",
    _show_arguments,
    answer="FileAtResult | ShownStep | ShownPrompt",
    example="show {step}",
    shows=True,
)
def show(options: argparse.Namespace) -> int:
    """Show a step and its diff or a whole prompt, or print a file as it was."""
    named = split_file(options.what)
    if named is None:
        from .log import show_entry

        return show_entry(options)
    file, word = named
    if not file:
        raise InvalidParams(
            f"expected FILE@SNAPSHOT or a step, got {options.what!r}",
            hint="FILE@2f4a6c prints a file of a snapshot, FILE@@2h as it was two hours ago",
            field="FILE@SNAPSHOT",
        )
    with open_backend(options) as backend, suggesting(backend):
        tree = find_snapshot(backend, word)
        result = ask(backend, "snapshot/fileAt", {"hash": tree, "file": in_folder(options, file)})
    if options.json:
        print_json(result)
        return DONE
    pager.show(options, file_bytes(result["content"], result["encoding"]).decode(*pager.ENCODING))
    return DONE


class FileNames(Answer):
    """The files of a snapshot."""

    files: Annotated[
        list[str], "The names, relative to the folder. A name that is not valid UTF-8 is given as its `file:` URI."
    ]


def _files_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("hash", "SNAPSHOT", SNAPSHOT)
    parser.argument("prefix", "PREFIX", "list only names that start with this", nargs="?", default="")


@Command("files", "look closer", _files_arguments, answer="FileNames", example="files {first}", shows=True)
def files(options: argparse.Namespace) -> int:
    """List the files of a snapshot."""
    with open_backend(options) as backend:
        params = {"hash": find_snapshot(backend, options.hash), "prefix": options.prefix}
        names = list(pages(backend, "snapshot/listFiles", params, "files"))
    if options.json:
        print_json({"files": names})
        return DONE
    folder = os.path.realpath(folder_of(options))
    exact = [file_name(name, folder) for name in names]
    if sys.stdout.isatty():
        pager.show(options, "".join(f"{shell_name(name)}\n" for name in exact))
    else:
        # a script gets the exact bytes
        sys.stdout.buffer.writelines(os.fsencode(f"{name}\n") for name in exact)
        sys.stdout.buffer.flush()
    return DONE


def _export_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("hash", "SNAPSHOT", SNAPSHOT)
    parser.argument("to", "DIR", "a folder outside of the project that is empty or does not exist")


@Command("export", "try and commit", _export_arguments, answer="ExportResult", example="export {step} ../before")
def export(options: argparse.Namespace) -> int:
    """Write the files of a snapshot to another folder, as plain files."""
    with open_backend(options) as backend:
        tree = find_snapshot(backend, options.hash)
        result = ask(backend, "snapshot/export", {"hash": tree, "directory": in_folder(options, options.to)})
    if options.json:
        print_json(result)
    else:
        print(f"wrote {counted(result['files'], 'file')}, {size(result['bytes'])}, to {shell_name(options.to)}")
    return DONE


class Snapshots(Answer):
    """The snapshots of the folder."""

    snapshots: Annotated[list[TakenSnapshot], "The latest first."]


def _snapshots_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("-n", "N", "how many to show (default: 25; 0: all)", dest="number", type=int, default=25)


@Command("snapshots", "look closer", _snapshots_arguments, answer="Snapshots", example="snapshots", shows=True)
def snapshots(options: argparse.Namespace) -> int:
    """List the snapshots: when, and why."""
    if options.number < 0:
        raise InvalidParams("-n: expected a number of snapshots, or 0 for all", field="-n")
    with open_backend(options) as backend:
        listed = _wanted(backend, options.number)
        shown = list(islice(listed, options.number or None))
        more = bool(options.number) and next(listed, None) is not None
    if options.json:
        print_json({"snapshots": shown})
    elif not shown:
        print(f"snapd: there are no snapshots of this folder yet; {TAKE_ONE}", file=sys.stderr)
    else:
        painter = Painter(options)
        older = painter.paint(f"… older: -n {2 * options.number}, or -n 0 for all\n", "dim") if more else ""
        pager.show(options, f"{snapshot_table(shown, painter, terminal_width(), local_now())}\n{older}")
    return DONE


def _wanted(backend: Backend, number: int) -> Iterator[dict[str, Any]]:
    """Yields the snapshots, without automatic ones that equal the one before."""
    # one more, to see whether there are more
    for taken in pages(backend, "snapshot/list", {"limit": number + 1 if number else None}, "snapshots"):
        if taken.get("files") != 0 or taken["kind"] == "track":
            yield taken


def snapshot_table(matches: list[dict[str, Any]], painter: Painter, width: int, now: datetime) -> str:
    """Returns a line for each snapshot of `snapshot/list`, in the given order, and one above for each day."""
    lines: list[str] = []
    last_day = None
    files = max(len(_count_of(taken)) for taken in matches) + 2 if width >= _WIDE else 0
    for taken in matches:
        at = moment(taken["at"])
        if day(at, now) != last_day:
            last_day = day(at, now)
            lines.append(painter.paint(last_day, "bold"))
        clock, name = f"{at:%H:%M}", short(taken["hash"])
        room = width - len(f"  {clock}  {name}  ") - files
        counted = painter.paint(pad(_count_of(taken), files), "dim") if files else ""
        line = f"  {painter.paint(clock, 'dim')}  {painter.paint(name, 'yellow')}  {counted}"
        lines.append(line + fit(_reason(taken), room))
    return "\n".join(lines)


def _count_of(taken: dict[str, Any]) -> str:
    if "files" not in taken:
        return "the first"
    return f"{taken['files']} file{'' if taken['files'] == 1 else 's'}"


def _reason(taken: dict[str, Any]) -> str:
    # a newer daemon may know more of both
    words = [SNAPSHOT_KINDS.get(taken["kind"], taken["kind"])]
    if "operation" in taken:
        operation = taken["operation"]
        words.append(OPERATIONS[operation].noun if operation in OPERATIONS else operation)
    if "stepId" in taken:
        words.append(short(taken["stepId"]))
    if agent := agent_name(taken):
        words.append(f"by {agent}")
    return one_line(" ".join(words))

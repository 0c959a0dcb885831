"""`snapd review` and `snapd blame`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import SNAPSHOT, Answer, Command, looking
from snapd.cli.requests.connection import ask, in_folder, open_backend
from snapd.cli.requests.names import all_sessions, file_of, find_session, split_lines
from snapd.cli.requests.pending import agents, as_a_whole, authors, named, pending
from snapd.cli.requests.snapshots import find_snapshot
from snapd.cli.terminal import pager
from snapd.cli.terminal.layout import cell, one_line, pad, printable, terminal_width
from snapd.cli.terminal.naming import agent_name, short
from snapd.cli.terminal.output import Painter, print_json, summary
from snapd.cli.terminal.times import ago, local_now, moment
from snapd.model.errors import UnknownSession, os_errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Annotated

    from snapd_client.protocol import FileAtResult

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser
    from snapd.wire.review import PendingFile, ReviewFileResult

_NEXT = "'snapd keep' accepts changes, 'snapd revert -p' takes them back"
_WHO = 24
"""The columns for the author of a line."""
_DIGITS = 8
"""Digits of a commit's hash, as many as short ids of steps have."""


class Pending(Answer):
    """What agents changed and nobody has kept yet."""

    files: Annotated[list[PendingFile | ReviewFileResult], "The files; with `-p`, each with its hunks."]


def _review_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("files", "FILE", "only these files or directories", nargs="*")
    parser.flag("-p", "--patch", help="show the hunks, each with the agent that made it")
    parser.argument("--session", "S", "only changes of this session: its id or the beginning of its id")
    parser.argument("--agent", "NAME", "only changes of this agent")


@Command("review", "every day", _review_arguments, answer="Pending", example="review", shows=True)
def review(options: argparse.Namespace) -> int:
    """List what agents changed and you have not kept yet."""
    with open_backend(options) as backend:
        files = _wanted(options, backend)
        shown = [ask(backend, "review/file", {"file": file_of(row)}) for row in files] if options.patch else files
        painter = Painter(options)
        if options.json:
            print_json({"files": shown})
        elif not files:
            print("snapd: nothing is pending: you have kept all that agents changed, or they changed nothing",
                  file=sys.stderr)  # fmt: skip
        elif options.patch:
            names = agents(backend)
            pager.show(options, "\n".join(_hunks(names, painter, row) for row in shown))
        else:
            names = agents(backend)
            by = Counter(name for row in files for name in authors(names, row["owners"]))
            counts = [f"by {name}: {count} file{'' if count == 1 else 's'}" for name, count in by.items()]
            lines = [summary(painter, files), *counts, painter.paint(_NEXT, "dim")]
            pager.show(options, "\n".join(lines) + "\n")
    return DONE


def _wanted(options: argparse.Namespace, backend: Backend) -> list[dict[str, Any]]:
    session = None if options.session is None else find_session(backend, options.session)["sessionId"]
    files = pending(backend, session)
    if options.agent is not None:
        of_agent = {each["sessionId"] for each in all_sessions(backend) if each.get("agent") == options.agent}
        if not of_agent:
            raise UnknownSession(f"no session of {options.agent!r} in this folder", sessionId=options.agent)
        files = [row for row in files if any(owner["sessionId"] in of_agent for owner in row["owners"])]
    return named(options, files, options.files)


def _hunks(names: Mapping[str, str], painter: Painter, shown: Any) -> str:
    moved = f"{printable(shown['renamedFrom'])} → " if "renamedFrom" in shown else ""
    lines = [painter.paint(f"{moved}{printable(shown['file'])}", "bold")]
    if not shown["hunks"]:
        lines.append(painter.paint(f"{as_a_whole(shown)}, by {', '.join(authors(names, shown['owners']))}", "dim"))
    for hunk in shown["hunks"]:
        lines.append(painter.paint(f"hunk {hunk['index'] + 1} by {', '.join(authors(names, hunk['owners']))}", "dim"))
        lines.append(painter.diff("\n".join([hunk["header"], *hunk["lines"]])))
    return "\n".join([*lines, ""])


def _blame_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("file", "FILE[:LINES]", "a file, and which lines of it, such as a.py:12 or a.py:3-9")
    parser.argument("hash", "SNAPSHOT", f"{SNAPSHOT} (default: the file as it is)", nargs="?")


@Command("blame", "look closer", _blame_arguments, answer="BlameResult", example="blame src/basket.py", shows=True)
def blame(options: argparse.Namespace) -> int:
    """Show who wrote each line of a file.

    For lines that were there before snapd watched, this shows the commit and its author, as 'git blame' does, marked
    'git'; or who wrote them by the commit's note of git-ai (refs/notes/ai). Lines from before that are not committed
    are marked 'before'.
    """
    file, lines = split_lines(options, options.file)
    with open_backend(options) as backend:
        tree = None if options.hash is None else find_snapshot(backend, options.hash)
        name = in_folder(options, file)
        answer = ask(backend, "snapshot/blame", {"file": name, "hash": tree, "range": lines})
        if options.json:
            print_json(answer)
            return DONE
        path = os.path.join(options.directory, file)
        text = _on_disk(path) if tree is None else _text(ask(backend, "snapshot/fileAt", {"hash": tree, "file": name}))
    pager.show(options, _table(Painter(options), answer["lines"], text))
    for problem in answer.get("noteProblems", ()):
        of = f"{_short(problem['commit'])}: " if "commit" in problem else ""
        print(f"snapd: {of}{printable(problem['reason'])}", file=sys.stderr)
    return DONE


def _on_disk(path: str) -> list[str]:
    with os_errors(path), open(path, "rb") as file:
        return file.read().decode(*pager.ENCODING).split("\n")


def _text(file: FileAtResult) -> list[str]:
    if file["encoding"] != "base64":
        return str(file["content"]).split("\n")
    from base64 import b64decode

    return b64decode(file["content"]).decode(*pager.ENCODING).split("\n")


def _table(painter: Painter, runs: Sequence[Any], text: list[str]) -> str:
    now = local_now()
    width = len(str(max((run["start"] + run["count"] - 1 for run in runs), default=0)))
    rows = []
    for run in runs:
        style = "dim" if run["author"] == "before" else "yellow" if run["author"] == "step" else "cyan"
        at = run.get("at") or run.get("commit", run.get("noted", {})).get("at")
        when = "" if at is None else ago(moment(at), now)
        owner = painter.paint(cell(_format_owner(run), _WHO, terminal_width()), style)
        who = f"{owner}  {painter.paint(pad(when, 16), 'dim')}"
        for line in range(run["start"], run["start"] + run["count"]):
            content = text[line - 1] if line <= len(text) else ""
            rows.append(f"{who}  {painter.paint(str(line).rjust(width), 'dim')}  {printable(content)}".rstrip())
    return "\n".join(rows) + "\n" if rows else ""


def _format_owner(run: dict[str, Any]) -> str:
    if run["author"] == "user":
        return "you"
    if run["author"] == "step":
        return one_line(" ".join(filter(None, (short(run["stepId"]), agent_name(run)))))
    commit, noted = run.get("commit"), run.get("noted")
    if commit is None:
        return "before"
    author = commit["author"] if noted is None else agent_name(noted) or _without_address(noted["person"])
    return one_line(f"git {_short(commit['id'])} {author}")


def _short(commit: str) -> str:
    return commit[:_DIGITS]


def _without_address(person: str) -> str:
    """Returns the name of a person whom git calls `Name <address>`."""
    return person.rpartition("<")[0].strip() or person

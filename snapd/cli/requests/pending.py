"""Requests pending changes, and lets the user choose among them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.terminal.asking import choose
from snapd.cli.terminal.layout import printable
from snapd.cli.terminal.naming import agent_or_id, short
from snapd.model.errors import FileChanged, InvalidParams

from .connection import ask, folder_of, pages
from .names import all_sessions, file_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from snapd.backend import Backend

_ON_A_PAGE = 500


def pending(backend: Backend, session_id: str | None = None) -> list[dict[str, Any]]:
    """Returns all files with pending changes, ordered by name."""
    return list(pages(backend, "review/list", {"sessionId": session_id, "limit": _ON_A_PAGE}, "files"))


def named(options: argparse.Namespace, files: Sequence[dict[str, Any]], words: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the files that are named, or below a named folder; all without names."""
    folder = os.path.realpath(folder_of(options))
    meant: list[dict[str, Any]] = []
    for word in words:
        above, name = os.path.split(os.path.abspath(os.path.join(options.directory, word)))
        entry = os.path.join(os.path.realpath(above), name)
        names = [os.path.relpath(path, folder) for path in (entry, os.path.realpath(entry))]
        rows = [row for row in files if any(_is_below(row, each) for each in names)]
        if not rows:
            raise InvalidParams(
                f"{printable(word)} has no pending changes",
                hint="'snapd review' lists the files with pending changes",
                field="FILE",
            )
        meant += rows
    return [row for row in files if not words or row in meant]


def _is_below(row: dict[str, Any], name: str) -> bool:
    paths = [row[key] for key in ("file", "renamedFrom") if key in row]
    return name in ("", ".") or any(path == name or path.startswith(f"{name.rstrip('/')}/") for path in paths)


def choose_hunks(
    options: argparse.Namespace,
    backend: Backend,
    files: Sequence[dict[str, Any]],
    verb: str,
    act: Callable[[dict[str, Any]], object],
) -> None:
    """Lets the user choose among the pending hunks of files, file by file, and calls `act` for each file.

    `act` takes the params of a request for a file with chosen hunks, and in `expect` the state that the user was shown.
    A file for which it raises `FileChanged` is shown again.
    """
    waiting = list(files)
    while waiting:
        row = waiting.pop(0)
        file = file_of(row)
        shown = ask(backend, "review/file", {"file": file})
        expect = {} if options.yes else {"expect": {file: shown["id"]}}
        # a file without hunks is one piece
        hunks: Sequence[Any] = shown["hunks"] or [{"index": -1, "header": as_a_whole(shown), "lines": []}]
        title = f"{printable(row['file'])}  {', '.join(authors(agents(backend), row['owners']))}"
        answer = choose(options, title, hunks, verb, f"name files without -p, or {verb} all hunks with --yes")
        is_all = -1 in answer.hunks or len(answer.hunks) == len(hunks)
        try:
            if answer.hunks:
                act({**({"files": [file]} if is_all else {"file": file, "hunks": answer.hunks}), **expect})
        except FileChanged as error:
            if options.yes:
                raise
            print(f"snapd: {error.message}", file=sys.stderr)
            waiting.insert(0, row)
        else:
            waiting = [] if answer.is_last else waiting


def as_a_whole(shown: Mapping[str, Any]) -> str:
    """Describes what happened to a file without hunks."""
    if "renamedFrom" in shown:
        return f"renamed from {printable(shown['renamedFrom'])}"
    if shown["status"] == "modified" and shown.get("oldMode") != shown.get("newMode"):
        return f"mode {shown['oldMode']} → {shown['newMode']}"
    return f"{shown['status']}, as a whole"


def agents(backend: Backend) -> dict[str, str]:
    """Returns the agent of each session of the folder, for `authors`."""
    return {session["sessionId"]: agent_or_id(session) for session in all_sessions(backend)}


def authors(names: Mapping[str, str], owners: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the agents behind changes, each once; for an agent without a name, its session."""
    return list(
        dict.fromkeys(names.get(owner["sessionId"]) or printable(short(owner["sessionId"])) for owner in owners)
    )

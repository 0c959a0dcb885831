"""Candidates from a running daemon, and the files and programs of this machine."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from snapd.cli.requests.connection import folder_of, is_known
from snapd.cli.requests.names import find_step
from snapd.cli.requests.snapshots import find_snapshot
from snapd.cli.terminal.layout import one_line
from snapd.cli.terminal.naming import agent_name, beginning, learn, prompt_of, session_name, short
from snapd.cli.terminal.times import ago, clock, local_now, moment
from snapd.locations import Locations
from snapd.model.errors import SnapdError
from snapd.wire.words import is_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from snapd.backend import Backend

SECONDS = 1.0
"""How long completion waits for an answer of the daemon."""
_SHOWN = 30
_LOOKED_AT = 100
_SNAPSHOTS = 50
_ENTRIES = 300
"""The entries of the history searched for messages."""
_NAMES = 20_000
_LEAST = 6
"""The minimum number of digits with which the daemon looks up a hash."""
Candidate = tuple[str, str]
"""A word, with a trailing blank if it is complete, and its description, which may be empty."""


class DaemonCandidates:
    """Requests candidates from the daemon if it runs and has the folder open; otherwise, or on errors, there are none.

    Of several sockets, the last counts; None is the user's own. `is_here`: the folder is the directory itself.
    """

    def __init__(self, directory: str, sockets: list[str] | None, *, is_here: bool) -> None:
        self._directory = os.path.abspath(directory)
        self._socket = sockets[-1] if sockets else None
        self._options = argparse.Namespace(directory=directory, here=is_here, command="complete")

    def sessions(self) -> list[Candidate]:
        """Returns the sessions, the latest first."""

        def ask(backend: Backend, _: str) -> Iterator[Candidate]:
            sessions = backend.request("session/list", {})["sessions"]
            learn(backend, sessions)
            for session in sessions[::-1]:
                parts = (agent_name(session), session_name(session), ago(moment(session["startedAt"]), local_now()))
                yield f"{short(session['sessionId'])} ", ", ".join(filter(None, parts))

        return self._asked(ask)

    def messages(self) -> list[Candidate]:
        """Returns the messages, the latest first."""

        def ask(backend: Backend, _: str) -> Iterator[Candidate]:
            entries = backend.request("session/history", {"limit": _ENTRIES})["entries"]
            learn(backend, [entry for entry in entries if entry["kind"] == "message"])
            for entry in entries:
                if entry["kind"] == "message":
                    yield f"{beginning(entry['messageId'])} ", prompt_of(entry)
            yield "last ", "the last message"

        return self._asked(ask)

    def steps(self, word: str) -> list[Candidate]:
        """Returns the steps whose ids begin with a word, the latest first."""
        return self._asked(lambda result, _: _steps(result, word))

    def snapshots(self, word: str) -> list[Candidate]:
        """Returns the words for snapshots that begin with a word: times, or `last`, steps and hashes."""
        if word.startswith("@"):
            return [*(_AGO if word == "@" else ()), *self._asked(lambda backend, _: _times(backend))]

        def ask(backend: Backend, _: str) -> Iterator[Candidate]:
            yield "last ", "the last snapshot"
            yield from _steps(backend, word)
            yield from _hashes(backend, word)

        return self._asked(ask)

    def files_of_snapshot(self, snapshot: str, word: str, *, is_from_root: bool = False) -> list[Candidate]:
        """Returns files of a snapshot that begin with `word`, relative to the current directory or the root."""
        return self._asked(
            lambda result, folder: _files_in(
                result, find_snapshot(result, snapshot), "" if is_from_root else _below(folder, self._directory), word
            )
        )

    def steps_and_files(self, word: str) -> list[Candidate]:
        """Returns the steps, and the files of the last snapshot, each with an `@` for the snapshot to follow."""

        def ask(backend: Backend, folder: str) -> Iterator[Candidate]:
            yield from _steps(backend, word)
            for name, description in _files_in(
                backend, find_snapshot(backend, "last"), _below(folder, self._directory), word
            ):
                yield f"{name.removesuffix(' ')}@" if name.endswith(" ") else name, description

        return self._asked(ask)

    def files_of_step(self, step: str) -> list[Candidate]:
        """Returns the files that a step changed."""

        def ask(backend: Backend, folder: str) -> Iterator[Candidate]:
            below = _below(folder, self._directory)
            for row in find_step(backend, step).get("files", ()):
                if row["file"].startswith(below) and "uri" not in row:
                    yield f"{row['file'][len(below) :]} ", row["status"]

        return self._asked(ask)

    def _asked(self, ask: Callable[[Backend, str], Iterable[Candidate]]) -> list[Candidate]:
        try:
            folder = folder_of(self._options)
            result = self._reach(folder) if is_known(folder) else None
            if result is None:
                return []
            try:
                return list(ask(result, folder))
            finally:
                result.close()
        except (SnapdError, OSError):
            # the command will report it, not the Tab key
            return []

    def _reach(self, folder: str) -> Backend | None:
        from snapd.launch import connect

        path = os.path.abspath(self._socket or Locations.from_environment(os.environ).socket)
        reached = connect(path)
        if reached is None:
            return None
        reached.close()
        from snapd.backend import RemoteBackend
        from snapd.backend import connect as connect_client

        return RemoteBackend(connect_client(path, SECONDS), folder, {})


_AGO = [("@10m ", "ten minutes ago"), ("@1h ", "an hour ago"), ("@1d ", "a day ago")]


def _below(folder: str, directory: str) -> str:
    """Returns the prefix of names of files in a directory, relative to the folder around it."""
    path = os.path.relpath(os.path.realpath(directory), os.path.realpath(folder))
    return "" if path == "." else f"{path}/"


def _files_in(backend: Backend, tree: str, below: str, word: str) -> Iterator[Candidate]:
    """Yields files of a snapshot in the directory `below`, relative to that."""
    names = backend.request("snapshot/listFiles", {"hash": tree, "prefix": below + word, "limit": _NAMES})["files"]
    # a name that is not UTF-8 is a URI, which cannot be typed
    return next_parts([name[len(below) :] for name in names if not name.startswith("file:///")], word)


def _steps(backend: Backend, word: str) -> Iterator[Candidate]:
    now = local_now()
    steps = backend.request("step/find", {"prefix": word, "limit": _LOOKED_AT})["steps"]
    # if only steps without changes match, the word names one of them
    worthy = [step for step in steps if not is_empty(step)] or steps
    learn(backend, worthy[:_SHOWN])
    for step in worthy[:_SHOWN]:
        text = " ".join(one_line(step[key]) for key in ("agent", "tool", "description") if step.get(key))
        name = short(step["stepId"])
        name = name if name.startswith(word) else step["stepId"]
        yield f"{name} ", ", ".join(filter(None, (f"step {text}".strip(), ago(moment(step["startedAt"]), now))))


def _hashes(backend: Backend, word: str) -> Iterator[Candidate]:
    now = local_now()
    prefix = word if len(word) >= _LEAST else None
    snapshots = backend.request("snapshot/list", {"limit": _SNAPSHOTS, "counts": False, "prefix": prefix})["snapshots"]
    learn(backend, snapshots)
    for taken in snapshots:
        name = short(taken["hash"])
        name = name if name.startswith(word) else taken["hash"]
        yield f"{name} ", f"snapshot from {clock(moment(taken['at']), now)}"


def _times(backend: Backend) -> Iterator[Candidate]:
    now = local_now()
    snapshots = backend.request("snapshot/list", {"limit": _SNAPSHOTS, "counts": False})["snapshots"]
    learn(backend, snapshots)
    for taken in snapshots:
        at = moment(taken["at"])
        text = f"{at:%H:%M}" if at.date() == now.date() else f"{at:%Y-%m-%dT%H:%M}"
        yield f"@{text} ", f"snapshot {short(taken['hash'])}"


def files(word: str, folder: str) -> Iterator[Candidate]:
    """Yields the files and directories that begin with a word, relative to a folder; a directory ends with a slash."""
    above, _, name = word.rpartition("/")
    base = f"{above}/" if "/" in word else ""
    try:
        entries = sorted(os.scandir(os.path.join(folder, os.path.expanduser(base))), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith(".")):
            yield (f"{base}{entry.name}/" if entry.is_dir() else f"{base}{entry.name} "), ""


def directories(word: str, folder: str) -> Iterator[Candidate]:
    """Yields those of `files` that are directories."""
    return (result for result in files(word, folder) if result[0].endswith("/"))


def programs(word: str) -> Iterator[Candidate]:
    """Yields the programs of `PATH`; files if the word has a slash."""
    if "/" in word:
        yield from files(word, ".")
        return
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for name, _ in files(f"{directory}/{word}", "."):
            if not name.endswith("/") and os.access(name[:-1], os.X_OK):
                yield os.path.basename(name), ""


def next_parts(names: list[str], word: str) -> Iterator[Candidate]:
    """Yields names of files cut after the directory that follows a word, so that each Tab descends one level."""
    seen = set()
    for name in names:
        slash = name.find("/", len(word))
        part = f"{name} " if slash < 0 else name[: slash + 1]
        if name.startswith(word) and part not in seen:
            seen.add(part)
            yield part, ""

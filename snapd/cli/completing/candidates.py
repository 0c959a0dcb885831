"""What may stand at the cursor: commands, options, files, and what the daemon knows of the folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from snapd.cli.requests.snapshots import split_file

from .expected import expected
from .files import directories, files, programs
from .known import Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .expected import Expected
    from .files import Candidate


def candidates(parser: argparse.ArgumentParser, words: list[str]) -> list[Candidate]:
    """Lists what the last word may become.

    Args:
        parser: of the whole command line.
        words: after the program's name; the last one is not finished, and may be empty.
    """
    wanted = expected(parser, words)
    if wanted is None:
        return []
    found: dict[str, str] = {}
    for word, description in _all(wanted):
        # each candidate is a line, which the shell shows as it is
        if word.startswith(wanted.word) and word.isprintable():
            found.setdefault(wanted.before + word, description)
    return list(found.items())


def _all(wanted: Expected) -> Iterator[Candidate]:
    action = wanted.action
    if action is None:
        yield from ((f"{option} ", _short(text)) for option, text in wanted.options)
    elif isinstance(action, argparse._SubParsersAction):
        yield from ((f"{one.dest} ", _short(one.help or "")) for one in action._choices_actions)
    elif action.choices is not None:
        yield from ((f"{choice} ", "") for choice in action.choices)
    else:
        yield from _named(wanted, str(action.metavar))


def _named(wanted: Expected, metavar: str) -> Iterable[Candidate]:
    """What an argument may be, by the name that the help gives it."""
    folder = (wanted.values.get("directory") or ["."])[-1]
    if metavar in ("FILE", "PATH", "PREFIX"):
        return _files(wanted, folder)
    if metavar == "DIR":
        return directories(wanted.word, ".")
    if metavar == "COMMAND":
        return files(wanted.word, ".") if len(wanted.values.get("words", ())) else programs(wanted.word)
    known = Known(folder, wanted.values.get("socket"), is_here="here" in wanted.values)
    if metavar == "[SESSION] -- COMMAND":
        return _bisected(wanted, known)
    if metavar in ("S", "SESSION"):
        return known.sessions()
    if metavar == "ID":
        return known.messages()
    if metavar in ("NAME", "AGENT") and wanted.command.partition(" ")[0] in ("agent", "hook"):
        return _agents()
    if metavar == "SESSION|STEP":
        return [*known.sessions(), *known.steps(wanted.word), ("last ", "the last step")]
    if metavar == "STEP":
        return [*known.steps(wanted.word), ("last ", "the last step")]
    if metavar in ("SNAPSHOT", "TO"):
        return known.snapshots(wanted.word)
    if metavar == "FILE@SNAPSHOT | STEP":
        return _shown(wanted.word, known)
    return []


def _bisected(wanted: Expected, known: Known) -> Iterable[Candidate]:
    """A session, or the `--` behind it, or a word of the command."""
    words = wanted.values.get("words", [])
    if wanted.behind_dashes is None:
        return [("-- ", "the command"), *(() if words else known.sessions())]
    return files(wanted.word, ".") if words[wanted.behind_dashes :] else programs(wanted.word)


def _agents() -> Iterator[Candidate]:
    from snapd.agents.table import AGENTS

    yield from ((f"{agent.name} ", agent.title) for agent in AGENTS.values())


def _files(wanted: Expected, folder: str) -> Iterable[Candidate]:
    """Files of the step or the snapshot that an earlier word names; else those that there are."""
    known = Known(folder, wanted.values.get("socket"), is_here="here" in wanted.values)
    found: list[Candidate] = []
    if step := wanted.values.get("step"):
        found = known.files_of_step(step[-1])
    elif snapshot := wanted.values.get("hash"):
        is_from_root = wanted.action is not None and wanted.action.metavar == "PREFIX"
        found = known.files_of_snapshot(snapshot[-1], wanted.word, is_from_root=is_from_root)
    return found or files(wanted.word, folder)


def _shown(word: str, known: Known) -> Iterator[Candidate]:
    named = split_file(word)
    if named is None:
        yield from known.steps_and_files(word)
        return
    file, snapshot = named
    if file.endswith("@") and not snapshot:
        # the beginning of a time
        file, snapshot = file[:-1], "@"
    elif file.endswith("@"):
        file, snapshot = file[:-1], f"@{snapshot}"
    yield from ((f"{file}@{name}", description) for name, description in known.snapshots(snapshot))


def _short(text: str) -> str:
    """The beginning of a help text, up to its first explanation."""
    return text.partition(";")[0].partition(" (")[0]

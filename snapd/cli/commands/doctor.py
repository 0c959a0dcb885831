"""`snapd doctor`: what a user or a bug report needs to know about this installation and this folder."""

from __future__ import annotations

import os
import platform
import re
from typing import TYPE_CHECKING, Any

from snapd._version import __version__
from snapd.cli.exit_codes import DONE, FAILED
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, backend, folder_of, folders_with_same_files, former_words
from snapd.cli.terminal.errors import readable
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.output import Painter, print_json, printable, settings, size, watching
from snapd.locations import Locations
from snapd.model.errors import InvalidParams

from . import machine
from .fsck import check_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from typing import Annotated

_ASIDE = re.compile(r"\.snapd-tmp-[0-9a-f]{16}")
"""Names of temporary files that a killed operation may leave behind; see `snapd.worktree.snapshot.classifier`."""
_SHOWN = 3
_FOLDER_FILE = ".snapd.toml"


class Finding(Answer):
    """What one check of `doctor` found."""

    check: Annotated[str, "Its name."]
    ok: Annotated[bool, "Whether all is well."]
    found: Annotated[str, "What it found, in words."]
    hint: Annotated[str | None, "What to do about it; present unless all is well."] = None


class Findings(Answer):
    """What `doctor` found."""

    checks: Annotated[list[Finding], "All of them, the first to look at first."]


@Command("doctor", "snapd itself", common, answer="Findings", example="doctor")
def doctor(options: argparse.Namespace) -> int:
    """Check this installation and this folder."""
    locations = Locations.from_environment(os.environ)
    socket = os.path.abspath(options.socket) if options.socket else locations.socket
    of_folder = _of_folder(options)
    checks: dict[str, Callable[[], str]] = {
        "version": _version,
        "settings": lambda: _settings(options, locations, ask_daemon="rules" in of_folder),
        "data": lambda: machine.data(locations),
        "runtime": lambda: machine.runtime(locations, socket),
        "daemon": lambda: machine.daemon(socket),
        "daemons": lambda: machine.other_daemons(locations, socket),
        "agents": lambda: machine.agents(locations),
        "hooks": lambda: machine.hooks(locations),
        **of_folder,
    }
    results = {}
    # the settings last: the request may start the daemon
    for name in sorted(checks, key=lambda name: name == "settings"):
        try:
            results[name] = {"check": name, "ok": True, "found": checks[name]()}
        except machine.FAILURES as error:
            results[name] = {"check": name, "ok": False, **_wrong(error)}
    _print(options, [results[name] for name in checks])
    return DONE if all(result["ok"] for result in results.values()) else FAILED


def _of_folder(options: argparse.Namespace) -> dict[str, Callable[[], str]]:
    """Returns the checks of the folder; if it no longer exists, one that reports that."""
    try:
        folder = folder_of(options)
    except FileNotFoundError as error:
        gone = error

        def on_error() -> str:
            raise gone

        return {"folder": on_error}
    return {
        "rules": lambda: _rules(folder),
        "folder": lambda: _folder(options, folder),
        "overlaps": lambda: _overlaps(folder),
        "history": lambda: _history(options),
        "watches": lambda: machine.watches(sum(1 for _ in _listed(folder, []))),
        "leftovers": lambda: leftovers(folder),
        "store": lambda: _store(options, folder),
    }


def _wrong(error: Exception) -> dict[str, str]:
    if isinstance(error, machine.CheckFailed):
        return {"found": str(error), "hint": error.hint}
    told = readable(error)
    return {"found": told.message, "hint": told.hint}


def _print(options: argparse.Namespace, results: list[dict[str, Any]]) -> None:
    if options.json:
        print_json({"checks": results})
        return
    painter = Painter(options)
    for result in results:
        mark = painter.paint("ok ", "green") if result["ok"] else painter.paint("bad", "red")
        print(f"{mark} {result['check'].ljust(9)} {printable(result['found'])}")
        if "hint" in result:
            print(f"hint: {printable(result['hint'])}")


def _version() -> str:
    import pygit2

    return f"snapd {__version__}, Python {platform.python_version()}, libgit2 {pygit2.LIBGIT2_VERSION}"


def _settings(options: argparse.Namespace, locations: Locations, *, ask_daemon: bool) -> str:
    from snapd.settings.sources import read_environment, read_file

    read_file(locations.config_file)
    read_environment(os.environ)
    if not ask_daemon:
        return shell_name(locations.config_file)
    with backend(options) as found:
        status = ask(found, "snapshot/status", {})
    # what the folder says is a check of its own
    problems = [text for text in status.get("settingsProblems", []) if not text.startswith(_FOLDER_FILE)]
    if problems:
        raise machine.CheckFailed("; ".join(problems), f"correct {shell_name(locations.config_file)}")
    own = [f"{name} {value} ({source})" for name, value, source in settings(status) if source != "default"]
    return f"{shell_name(locations.config_file)}: {', '.join(own) or 'all settings are the defaults'}"


def _rules(folder: str) -> str:
    from snapd.settings.table import SETTINGS
    from snapd.worktree.ignore import workspace_excludes

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        patterns = workspace_excludes(descriptor)
    except InvalidParams as error:
        if error.data["field"] in SETTINGS and error.data["field"] != "exclude":
            hint = f"move {error.data['field']} to config.toml: a folder may only exclude more files"
            raise machine.CheckFailed(error.message, hint) from error
        raise
    finally:
        os.close(descriptor)
    said = f"{len(patterns)} pattern{'' if len(patterns) == 1 else 's'}" if patterns else "no patterns of its own"
    return f"{_FOLDER_FILE}: {said}"


def _folder(options: argparse.Namespace, folder: str) -> str:
    with backend(options) as found:
        status = ask(found, "snapshot/status", {})
        last = status.get("lastHash")
        if last is None:
            return f"{shell_name(folder)}: no snapshot yet, watcher {watching(status)}"
        count = len(ask(found, "snapshot/listFiles", {"hash": last})["files"])
    store = size(status["store"]["bytes"])
    return f"{shell_name(folder)}: {count:,} files in the last snapshot, store {store}, watcher {watching(status)}"


def _overlaps(folder: str) -> str:
    others = folders_with_same_files(folder)
    if others:
        hint = "'snapd purge --workspace --here' in the one that you do not need removes its snapshots and sessions"
        raise machine.CheckFailed(
            f"{_shorten_list(others)}: ha{'s' if len(others) == 1 else 've'} snapshots of the same files", hint
        )
    return "no other folder has snapshots of these files"


def _history(options: argparse.Namespace) -> str:
    with backend(options) as found:
        former = former_words(ask(found, "snapshot/status", {}).get("formerHistories", []))
    if former:
        raise machine.CheckFailed("; ".join(former), "without it, the folder goes on with its new history")
    return "the folder has no history under a former name"


def leftovers(folder: str) -> str:
    """Describes what interrupted work left in a folder; empty if nothing."""
    closed: list[str] = []
    found = [os.path.join(above, name) for above, names in _listed(folder, closed) for name in names]
    left = [os.path.relpath(path, folder) for path in found if _ASIDE.fullmatch(os.path.basename(path))]
    said, hints = [], []
    if left:
        said.append(f"{_shorten_list(left)}: left by an operation that was killed")
        hints.append("'snapd track' removes what such an operation left")
    if closed:
        unlisted = _shorten_list([os.path.relpath(path, folder) for path in closed])
        said.append(f"{unlisted}: cannot be listed, so snapd does not see what is in there")
        hints.append("check the owner and permissions of what cannot be listed")
    if said:
        raise machine.CheckFailed("; ".join(said), "; ".join(hints))
    return "no operation left anything in the folder"


def _shorten_list(names: list[str]) -> str:
    return ", ".join(map(shell_name, names[:_SHOWN])) + (
        f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    )


def _store(options: argparse.Namespace, folder: str) -> str:
    answer = check_folder(options, folder, quick=True)
    wrong = answer["problems"]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise machine.CheckFailed(
            f"{answer['store']}: {wrong[0]['message']}{more}", "run 'snapd fsck', which names what it touches"
        )
    counts = f"{answer['snapshots']} snapshots, {answer['events']} events"
    left = answer["leftovers"]
    crashed = f", {left['files']} files ({size(left['bytes'])}) of crashes" if left["files"] else ""
    return f"{answer['store']}: {counts}{crashed}; 'snapd fsck' reads every object"


def _listed(folder: str, closed: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the directories of a folder, except those of a `.git`, each with the names in it."""

    def on_error(error: OSError) -> None:
        # a directory that was just deleted is not a problem
        if not isinstance(error, FileNotFoundError):
            closed.append(error.filename)

    for above, below, names in os.walk(folder, onerror=on_error):
        if ".git" in below:
            below.remove(".git")
        yield above, [*below, *names]

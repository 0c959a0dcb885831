"""`snapd uninstall`: removes what snapd has put on this machine, except the program itself, which it reports."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from contextlib import suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.parsing.command import Answer, Command, socket_option
from snapd.cli.requests.connection import daemon_at
from snapd.cli.terminal.asking import confirmed, declined
from snapd.cli.terminal.errors import as_json, readable
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.output import counted, print_json, printable
from snapd.locations import stores_directory
from snapd.model.errors import SnapdError, error_from_os_error
from snapd.settings import data_dir

from .stop import end_daemon

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from typing import Annotated

    from snapd.cli.parsing.command import Error
    from snapd.cli.parsing.usage import Parser
    from snapd.locations import Locations
    from snapd.store.usage.usage import StoreLocation

_SHELLS = (".bashrc", ".bash_profile", ".profile", ".zshrc", ".config/fish/config.fish")
_UNPACKED = f"{os.sep}snapd{os.sep}program{os.sep}"
"""Where the executable unpacks itself, below a data directory."""
_IN_EXTENSION = "snapd-linux"
"""The name of the executable in the extension of VS Code."""
_COMPLETION = re.compile(
    rb"""^[ \t]*(?:eval "\$\(snapd completion (?:bash|zsh)\)"|snapd completion fish \| source)[ \t]*\n""", re.MULTILINE
)
"""The lines that the documentation tells users to add to their shells' files."""
_SAME_BREATH_NS = 1_000_000_000


class _Removal:
    """Removes one thing after the other; a failure does not stop the rest."""

    def __init__(self, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self.rows: list[dict[str, Any]] = []

    @property
    def has_failed(self) -> bool:
        return any("error" in row for row in self.rows)

    def add(self, what: str, path: str, error: SnapdError | None = None) -> None:
        row: dict[str, Any] = {"what": what, "path": path}
        self.rows.append(row if error is None else {**row, **as_json(readable(error))})

    def take(self, what: str, path: str, remove: Callable[[], object]) -> None:
        """Removes something, if it exists."""
        if not os.path.lexists(path):
            return
        error: SnapdError | None = None
        if not self.dry_run:
            try:
                remove()
            except SnapdError as raised:
                error = raised
            except OSError as raised:
                error = error_from_os_error(raised, path)
        self.add(what, path, error)


class RemovedThing(Answer):
    """Something that `uninstall` took away, or why it could not."""

    what: Annotated[str, "What it is."]
    path: Annotated[str, "Where it is: for hooks and completion, the file that they were in."]
    error: Annotated[Error | None, "Why it is still there."] = None


class LeftProgram(Answer):
    """What `uninstall` leaves."""

    program: Annotated[str, "The path of the program."]
    remove: Annotated[str, "The command that removes it."]


class UninstallResult(Answer):
    """What `uninstall` took away, or would."""

    removed: Annotated[list[RemovedThing], "In the order of the removal."]
    left: Annotated[LeftProgram, "What is still to be removed."]


def _arguments(parser: Parser) -> None:
    parser.flag("--keep-data", help="keep the snapshots, the sessions and the settings")
    parser.flag("-n", "--dry-run", help="only show what would be removed")
    parser.flag("-y", "--yes", help="do not ask")
    socket_option(parser)
    parser.flag("--json", help="print the answer as JSON")


@Command("uninstall", "snapd itself", _arguments, answer="UninstallResult", example="uninstall --dry-run", plays=False)
def uninstall(options: argparse.Namespace) -> int:
    """Remove hooks, the daemon and all data from this machine.

    Takes snapd's hooks out of the settings of all agents, ends the daemon, and deletes all snapshots, sessions
    and settings. It says what is left, and how to remove the program.
    """
    locations, socket = daemon_at(options.socket)
    chosen = data_dir(locations.config_file)
    directories = list(dict.fromkeys(each for each in (locations.data, chosen) if each is not None))
    stores = list(_stores(directories))
    if not (options.yes or options.dry_run or options.keep_data):
        folders = counted(len(stores), "folder")
        question = f"Delete the snapshots and sessions of {folders}, and the settings? They do not come back."
        if not confirmed(question, "this deletes all snapshots", "--yes deletes them, --keep-data keeps them"):
            return declined(options)
    left = _program_left()
    removal = _Removal(dry_run=options.dry_run)
    _take_hooks(removal, locations, stores)
    _take_completion(removal, locations.home)
    if not removal.dry_run:
        end_daemon(socket)
    _take_runtime(removal, locations.runtime)
    # the records of settings files are needed until all hooks are removed
    if not options.keep_data and not removal.has_failed:
        _take_data(removal, locations, directories, stores)
    if options.json:
        print_json({"removed": removal.rows, "left": left})
    else:
        _print(removal, left, kept=options.keep_data or removal.has_failed)
    return NOT_ALL if removal.has_failed else DONE


def _stores(directories: list[str]) -> Iterator[StoreLocation]:
    from snapd.store.usage.usage import stores

    for data in directories:
        yield from stores(stores_directory(data))


def _take_hooks(removal: _Removal, locations: Locations, stores: list[StoreLocation]) -> None:
    from snapd.agents.install import uninstall as without_hooks
    from snapd.agents.settings_file import Records
    from snapd.agents.table import AGENTS

    records = Records(locations)
    seen: set[str] = set()
    roots = dict.fromkeys(store.root for store in stores if store.root is not None and not store.is_missing)
    for root in (None, *roots):
        for done in without_hooks(list(AGENTS.values()), records, os.environ, root, dry_run=removal.dry_run):
            # agents may share a file
            if done.did != "nothing" and done.file not in seen:
                seen.add(done.file)
                removal.add(f"hooks of {done.agent.title}", done.file, done.error)


def _take_completion(removal: _Removal, home: str) -> None:
    from snapd.agents.settings_file import read, replace

    for name in _SHELLS:
        path = os.path.join(home, name)
        before = read(path)
        after = None if before is None else _COMPLETION.sub(b"", before)
        if after != before:
            removal.take("completion", path, lambda path=path, before=before, after=after: replace(path, before, after))  # type: ignore[misc]


def _take_runtime(removal: _Removal, path: str) -> None:
    """Removes the sockets and logs, and the directory, which is snapd's own."""

    def remove() -> None:
        for entry in os.scandir(path):
            if entry.is_file(follow_symlinks=False) or entry.name.endswith(".sock"):
                os.unlink(entry.path)
        os.rmdir(path)

    removal.take("socket and logs", path, remove)


def _take_data(removal: _Removal, locations: Locations, directories: list[str], stores: list[StoreLocation]) -> None:
    from snapd.store.usage.usage import remove

    for store in stores:
        removal.take(f"snapshots of {store.root}", store.path, lambda path=store.path: remove(path))  # type: ignore[misc]
    if removal.has_failed:
        return
    for data in directories:
        own = os.path.join(data, "snapd")
        above = _made_with(own, locations.home)
        removal.take("data", own, lambda own=own: shutil.rmtree(own))  # type: ignore[misc]
        if not removal.dry_run:
            for path in above:
                with suppress(OSError):
                    os.rmdir(path)
    config = os.path.dirname(locations.config_file)
    removal.take("settings", locations.config_file, lambda: os.unlink(locations.config_file))
    if not removal.dry_run:
        with suppress(OSError):
            os.rmdir(config)


def _made_with(path: str, home: str) -> list[str]:
    """Returns the directories below the user's home that were created for one below them, the innermost first."""
    from snapd.worktree.fs.system import birth_ns

    matches: list[str] = []
    born = _born(path, birth_ns)
    while born is not None and (above := os.path.dirname(path)).startswith(home + os.sep):
        before = _born(above, birth_ns)
        if before is None or born - before > _SAME_BREATH_NS:
            break
        matches.append(above)
        path, born = above, before
    return matches


def _born(path: str, birth_ns: Callable[[int, bytes], int | None]) -> int | None:
    above, name = os.path.split(path)
    try:
        directory = os.open(above, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        return birth_ns(directory, os.fsencode(name))
    finally:
        os.close(directory)


def _program_left() -> dict[str, str]:
    """Returns the program and the command that removes it, depending on how it was installed."""
    from snapd.agents.styles import program

    if _UNPACKED in sys.prefix:
        executable = os.path.abspath(sys.argv[0])
        if _UNPACKED in executable:
            # the path by which it was called, as in hooks
            with open(os.path.join(sys.prefix, "from"), encoding="utf-8", errors="surrogateescape") as file:
                executable = file.read()
        in_extension = os.path.basename(executable) == _IN_EXTENSION
        remove = "code --uninstall-extension snapd.snapd" if in_extension else f"rm {shlex.quote(executable)}"
        return {"program": executable, "remove": remove}
    return {"program": program(), "remove": _removal_hint()}


def _removal_hint() -> str:
    parts = sys.prefix.split(os.sep)
    if "pipx" in parts:
        return "pipx uninstall snapd"
    if "uv" in parts and "tools" in parts:
        return "uv tool uninstall snapd"
    with suppress(metadata.PackageNotFoundError, ValueError):
        text = json.loads(metadata.distribution("snapd").read_text("direct_url.json") or "{}")
        if text.get("dir_info", {}).get("editable"):
            return f"rm -r {shlex.quote(sys.prefix)}"
    return f"{shlex.quote(sys.executable)} -m pip uninstall snapd"


def _print(removal: _Removal, left: dict[str, str], *, kept: bool) -> None:
    word = "would remove" if removal.dry_run else "removed"
    for row in removal.rows:
        line = f"{printable(row['what'])} ({shell_name(row['path'])})"
        if "error" in row:
            print(f"not removed: {line}: {printable(row['error']['message'])}", file=sys.stderr)
            print(f"hint: {printable(row['error']['hint'])}", file=sys.stderr)
        else:
            print(f"{word}: {line}")
    if removal.has_failed:
        print("hint: when that is settled, run the command again", file=sys.stderr)
    if kept:
        print("the snapshots and settings are kept; 'snapd uninstall' removes them")
    print(f"left: the program {shell_name(left['program'])}; this removes it: {left['remove']}")
    print("left: what you added by hand, such as an MCP server or an entry in an editor")

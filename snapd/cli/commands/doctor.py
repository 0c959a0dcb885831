"""`snapd doctor`: what a user or a bug report needs to know about this installation and this folder."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import time
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from snapd._version import __version__
from snapd.cli.exit_codes import DONE, FAILED
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, folder_of, folders_with_same_files, former_words, open_backend
from snapd.cli.terminal.errors import readable
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.output import Painter, counted, print_json, printable, settings, size, watching
from snapd.cli.terminal.times import ago, local_now, moment
from snapd.environment import spool_directory
from snapd.folders.root import store_of
from snapd.hook.log import NAME
from snapd.hook.spool import describe_waiting
from snapd.launch import connect
from snapd.locations import Locations, check_private, check_socket_path, store_path, stores_directory
from snapd.model.errors import InvalidParams, SnapdError, StorageFull
from snapd.settings import data_dir

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Annotated

    from snapd_client.protocol import StatusResult

    Status = Callable[[], StatusResult]

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
    # several checks ask for it
    status = cache(partial(_status, options))
    of_folder = _of_folder(options, locations, status)
    checks: dict[str, Callable[[], str]] = {
        "version": _version,
        "settings": lambda: _settings(locations, status if "rules" in of_folder else None),
        "data": lambda: data(locations),
        "runtime": lambda: runtime(locations, socket),
        "daemon": lambda: daemon(socket),
        "daemons": lambda: other_daemons(locations, socket),
        "agents": lambda: agents(locations),
        "hooks": lambda: hooks(locations),
        **of_folder,
    }
    results = {}
    # the settings last: the request may start the daemon
    for name in sorted(checks, key=lambda name: name == "settings"):
        try:
            results[name] = {"check": name, "ok": True, "found": checks[name]()}
        except FAILURES as error:
            results[name] = {"check": name, "ok": False, **_wrong(error)}
    _print(options, [results[name] for name in checks])
    return DONE if all(result["ok"] for result in results.values()) else FAILED


def _of_folder(options: argparse.Namespace, locations: Locations, status: Status) -> dict[str, Callable[[], str]]:
    """Returns the checks of the folder; if it no longer exists, one that reports that."""
    try:
        folder = folder_of(options)
    except FileNotFoundError as error:
        gone = error

        def on_error() -> str:
            raise gone

        return {"folder": on_error}
    walked = cache(partial(walk_folder, folder))
    return {
        "rules": lambda: _rules(folder),
        "folder": lambda: _folder(folder, status()),
        "overlaps": lambda: _overlaps(folder),
        "history": lambda: _history(status()),
        "watches": lambda: watches(walked().directories),
        "leftovers": lambda: leftovers(walked()),
        "store": lambda: _store(locations, folder),
    }


def _wrong(error: Exception) -> dict[str, str]:
    if isinstance(error, CheckFailed):
        return {"found": str(error), "hint": error.hint}
    text = readable(error)
    return {"found": text.message, "hint": text.hint}


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


def _status(options: argparse.Namespace) -> StatusResult:
    with open_backend(options) as backend:
        return ask(backend, "snapshot/status", {})


def _settings(locations: Locations, status: Status | None) -> str:
    from snapd.settings.sources import read_environment, read_file

    read_file(locations.config_file)
    read_environment(os.environ)
    if status is None:
        return shell_name(locations.config_file)
    answer = status()
    # what the folder says is a check of its own
    problems = [text for text in answer.get("settingsProblems", []) if not text.startswith(_FOLDER_FILE)]
    if problems:
        raise CheckFailed("; ".join(problems), f"correct {shell_name(locations.config_file)}")
    own = [f"{name} {value} ({source})" for name, value, source in settings(answer) if source != "default"]
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
            raise CheckFailed(error.message, hint) from error
        raise
    finally:
        os.close(descriptor)
    text = f"{len(patterns)} pattern{'' if len(patterns) == 1 else 's'}" if patterns else "no patterns of its own"
    return f"{_FOLDER_FILE}: {text}"


def _folder(folder: str, status: StatusResult) -> str:
    if status.get("lastHash") is None:
        return f"{shell_name(folder)}: no snapshot yet, watcher {watching(status)}"
    files, store = f"{status['files']:,} files in the last snapshot", size(status["store"]["bytes"])
    return f"{shell_name(folder)}: {files}, store {store}, watcher {watching(status)}"


def _overlaps(folder: str) -> str:
    others = folders_with_same_files(folder)
    if others:
        hint = "'snapd purge --workspace --here' in the one that you do not need removes its snapshots and sessions"
        raise CheckFailed(
            f"{_shorten_list(others)}: ha{'s' if len(others) == 1 else 've'} snapshots of the same files", hint
        )
    return "no other folder has snapshots of these files"


def _history(status: StatusResult) -> str:
    former = former_words(status.get("formerHistories", []))
    if former:
        raise CheckFailed("; ".join(former), "without it, the folder goes on with its new history")
    return "the folder has no history under a former name"


def leftovers(walked: FolderWalk) -> str:
    """Describes what interrupted work left in a folder."""
    text: list[str] = []
    hints: list[str] = []
    if walked.left:
        text.append(f"{_shorten_list(walked.left)}: left by an operation that was killed")
        hints.append("'snapd track' removes what such an operation left")
    if walked.closed:
        text.append(f"{_shorten_list(walked.closed)}: cannot be listed, so snapd does not see what is in there")
        hints.append("check the owner and permissions of what cannot be listed")
    if text:
        raise CheckFailed("; ".join(text), "; ".join(hints))
    return "no operation left anything in the folder"


def _shorten_list(names: list[str]) -> str:
    return ", ".join(map(shell_name, names[:_SHOWN])) + (
        f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    )


def _store(locations: Locations, folder: str) -> str:
    from snapd.store.fsck.examine import check_surface

    store = store_of(folder, locations, data_dir(locations.config_file))
    if not os.path.exists(os.path.join(store, "HEAD")):
        return f"{store}: there is no snapshot yet"
    # a second time: an event that the daemon packed meanwhile may have seemed to be missing
    wrong = check_surface(store) and check_surface(store)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise CheckFailed(f"{store}: {wrong[0].message}{more}", "run 'snapd fsck', which names what it touches")
    return f"{store}: files and references are sound; 'snapd fsck' reads every object"


class FolderWalk(NamedTuple):
    """What a walk through a folder, except for `.git`, came across; paths are relative to the folder."""

    directories: int
    left: list[str]  # temporary files of operations
    closed: list[str]  # directories that cannot be listed


def walk_folder(folder: str) -> FolderWalk:
    """Walks through a folder."""
    closed: list[str] = []
    left: list[str] = []
    directories = 0

    def on_error(error: OSError) -> None:
        # a directory that was just deleted is not a problem
        if not isinstance(error, FileNotFoundError):
            closed.append(os.path.relpath(error.filename, folder))

    for above, below, names in os.walk(folder, onerror=on_error):
        if ".git" in below:
            below.remove(".git")
        directories += 1
        aside = [os.path.join(above, name) for name in (*below, *names) if _ASIDE.fullmatch(name)]
        left += [os.path.relpath(path, folder) for path in aside]
    return FolderWalk(directories, left, closed)


LITTLE_SPACE = 1 << 30
_WATCHES = "/proc/sys/fs/inotify/max_user_watches"
_QUEUES = "/proc/sys/fs/inotify/max_user_instances"
_STOP = "run 'snapd stop': the next command starts the daemon again"
_OTHER_DATA = "make it writable, or choose another directory with SNAPD_DATA_DIR"
_RECENT_DAYS = 7
_LOST = re.compile(r"(?:lost|passed over) an event|gave up")
"""How lines of the hooks' log begin that report an event which was not recorded."""
_OUT_OF_TIME = "the time limit was over"
# editors and other programs need watches, too
_ROOM = 2


class CheckFailed(Exception):
    """A check of the doctor failed."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.hint = hint


def data(locations: Locations) -> str:
    """Checks the owner, the permissions and the free space of the data directory."""
    existing = locations.data
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if not os.access(existing, os.W_OK | os.X_OK):
        raise CheckFailed(f"{existing} cannot be written to", _OTHER_DATA)
    above = os.path.dirname(store_path(locations.data, "any"))
    for directory in (os.path.dirname(above), above):
        if os.path.lexists(directory):
            check_private(directory, "the data directory", "SNAPD_DATA_DIR")
    free = shutil.disk_usage(existing).free
    if free < LITTLE_SPACE:
        raise CheckFailed(f"{locations.data}: only {size(free)} free", StorageFull.default_hint)
    return f"{locations.data}, {size(free)} free"


def agents(locations: Locations) -> str:
    """Checks whether every event that agents reported was recorded."""
    result = describe_waiting(spool_directory(locations.data))
    if not result:
        return "everything that they reported is recorded"
    first = result[0]
    count = f"{len(result)} event{'' if len(result) == 1 else 's'}"
    when = ago(moment(first["at"]), local_now())
    text = (
        f"{count} not recorded yet, first of {first['agent']} in {shell_name(first['folder'])}, {when}: {first['why']}"
    )
    raise CheckFailed(text, "remove the cause; they are recorded then, with the next event or command")


def hooks(locations: Locations) -> str:
    """Checks the log of hooks for events that were not recorded, and for hooks that timed out."""
    path = os.path.join(locations.runtime, NAME)
    since = time.strftime("%Y-%m-%d", time.gmtime(time.time() - _RECENT_DAYS * 86400))
    lines = []
    with suppress(FileNotFoundError), open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.split(" ", 1) for line in file if line[:10] >= since and " " in line]
    lost = [(at, words.strip()) for at, words in lines if _LOST.match(words)]
    slow = [at for at, words in lines if _OUT_OF_TIME in words]
    problems = [f"{counted(len(lost), 'event')} not recorded, last {_ago(lost[-1][0])}: {lost[-1][1]}"] if lost else []
    if slow:
        problems.append(f"{counted(len(slow), 'hook')} ran out of time, last {_ago(slow[-1])}")
    if problems:
        longer = "; SNAPD_HOOK_SECONDS in the agent's environment gives hooks more time" if slow else ""
        raise CheckFailed(f"in the last {_RECENT_DAYS} days: {'; '.join(problems)}", f"see {shell_name(path)}{longer}")
    return f"no event was lost in the last {_RECENT_DAYS} days"


def _ago(at: str) -> str:
    return ago(moment(at), local_now())


def runtime(locations: Locations, socket: str) -> str:
    """Checks that only the user can write to the runtime directory or use the socket."""
    locations.make_runtime()
    check_socket_path(socket)
    if os.path.lexists(socket):
        status = os.lstat(socket)
        if not stat.S_ISSOCK(status.st_mode):
            raise CheckFailed(f"{socket} is not a socket", "remove it")
        if status.st_uid != os.geteuid():
            raise CheckFailed(f"{socket} belongs to another user ({status.st_uid})", "have its owner remove it")
        if status.st_mode & 0o077:
            raise CheckFailed(f"{socket} is open to others (mode {stat.S_IMODE(status.st_mode):o})", _STOP)
    return locations.runtime


def daemon(socket: str) -> str:
    """Checks whether the daemon runs, and has the version of this command."""
    connection = connect(socket)
    if connection is None:
        return "not running; the next command starts it"
    connection.close()
    from snapd_client import Client, ClientError

    client = Client.connect(socket)
    try:
        text = client.initialize([])
    except ClientError as error:
        raise CheckFailed(f"the daemon at {socket} does not answer as it should: {error}", _STOP) from error
    finally:
        client.close()
    version = text["serverInfo"]["version"]
    if version != __version__:
        raise CheckFailed(f"running at {socket}, version {version}; this is {__version__}", _STOP)
    return f"running at {socket}, version {version}"


def other_daemons(locations: Locations, socket: str) -> str:
    """Checks that no other daemon of the user has opened stores, which the user's own could then not open."""
    from snapd.folders.root import folder_of_store
    from snapd.store.files.lock import owner_socket

    result: dict[str, list[str]] = {}
    directory = stores_directory(locations.data)
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
        store = os.path.join(directory, name)
        other = owner_socket(store)
        if other is not None and os.path.realpath(other) != os.path.realpath(socket):
            result.setdefault(other, []).append(shell_name(folder_of_store(store) or store))
    for other, folders in result.items():
        if _listens(other):
            more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
            problem = f"another daemon, at {shell_name(other)}, has snapshots of {folders[0]}{more}"
            hint = f"run 'snapd stop --socket {shell_name(other)}' to end it, or use it: add --socket to your commands"
            raise CheckFailed(problem, hint)
    return "no other daemon has snapshots of this user"


def _listens(socket: str) -> bool:
    try:
        connection = connect(socket)
    except OSError:
        # commands could not reach that process
        return False
    if connection is None:
        return False
    connection.close()
    return True


def watches(directories: int) -> str:
    """Checks whether the system allows watching all directories of a workspace."""
    try:
        most, queues = (_number(path) for path in (_WATCHES, _QUEUES))
    except FileNotFoundError:
        return "this system has no inotify: each snapshot looks at every file"
    text = f"{directories} directories; a user may watch {most} with {queues} queues"
    if directories * _ROOM > most:
        raise CheckFailed(
            f"{text}: too few, so each snapshot looks at every file", "raise fs.inotify.max_user_watches with sysctl"
        )
    return text


def _number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(file.read())


FAILURES = (SnapdError, OSError, CheckFailed)
"""What a check raises when it fails."""

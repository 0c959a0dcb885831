"""The checks of `snapd doctor` on the machine: space, permissions, the daemon, and the limits on watching."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from snapd._version import __version__
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.output import counted, size
from snapd.cli.terminal.times import ago, local_now, moment
from snapd.environment import spool_directory
from snapd.hook.log import NAME
from snapd.hook.spool import describe_waiting
from snapd.launch import connect
from snapd.locations import check_private, check_socket_path, store_path, stores_directory
from snapd.model.errors import SnapdError, StorageFull

if TYPE_CHECKING:
    from snapd.locations import Locations

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
    found = describe_waiting(spool_directory(locations.data))
    if not found:
        return "everything that they reported is recorded"
    first = found[0]
    count = f"{len(found)} event{'' if len(found) == 1 else 's'}"
    when = ago(moment(first["at"]), local_now())
    said = (
        f"{count} not recorded yet, first of {first['agent']} in {shell_name(first['folder'])}, {when}: {first['why']}"
    )
    raise CheckFailed(said, "remove the cause; they are recorded then, with the next event or command")


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
            raise CheckFailed(f"{socket} belongs to somebody else (user {status.st_uid})", "have its owner remove it")
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
        told = client.initialize([])
    except ClientError as error:
        raise CheckFailed(f"the daemon at {socket} does not answer as it should: {error}", _STOP) from error
    finally:
        client.close()
    version = told["serverInfo"]["version"]
    if version != __version__:
        raise CheckFailed(f"running at {socket}, version {version}; this is {__version__}", _STOP)
    return f"running at {socket}, version {version}"


def other_daemons(locations: Locations, socket: str) -> str:
    """Checks that no other daemon of the user has opened stores, which the user's own could then not open."""
    from snapd.folders.root import folder_of_store
    from snapd.store.files.lock import owner_socket

    found: dict[str, list[str]] = {}
    directory = stores_directory(locations.data)
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
        store = os.path.join(directory, name)
        other = owner_socket(store)
        if other is not None and os.path.realpath(other) != os.path.realpath(socket):
            found.setdefault(other, []).append(shell_name(folder_of_store(store) or store))
    for other, folders in found.items():
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
    said = f"{directories} directories; a user may watch {most} with {queues} queues"
    if directories * _ROOM > most:
        raise CheckFailed(
            f"{said}: too few, so each snapshot looks at every file", "raise fs.inotify.max_user_watches with sysctl"
        )
    return said


def _number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(file.read())


FAILURES = (SnapdError, OSError, CheckFailed)
"""What a check raises when it fails."""

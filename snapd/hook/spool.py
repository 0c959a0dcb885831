"""Events that could not be recorded at once: kept on disk in their order, and recorded as soon as the daemon can.

Imported late: almost always, there is none.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time

from snapd.environment import own_command

from .dialects import BEGIN, DIALECTS, FINISH, PROMPT, SUB_BEGIN
from .event import Event, NotAnEvent
from .link import RequestRefused
from .log import is_private, log
from .report import moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

MOST_EVENTS = 5000
MOST_BYTES = 64 << 20
"""What waits at most, of all agents; an event that finds no room is lost, and its agent is told so."""
NOTED = ("agent", "folder", "why")
_LONGEST_NS = 7 * 86400 * 10**9
"""How long an event waits."""
_AT_ONCE = 200
"""Events that are recorded together, at most: until all are, a hook that ends leaves them in the spool."""
_BEGINNINGS = frozenset({BEGIN, PROMPT, SUB_BEGIN})
_ATTEMPTS = 5
_OLD_SECONDS = 3600
_POLL_SECONDS = 0.02
_SECONDS = "60"
"""How long a process that this room starts waits for the daemon."""


class SpoolFull(Exception):
    """There is no room for another event."""


class QueuedEvent:
    """An event that waits.

    Args:
        path: its file, named by the time, the session, and whether the agent was told.

    Attributes:
        path: as given.
        session: a digest of its session.
        is_told: whether its agent was told that nothing is recorded.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        at, self.session, told, _ = os.path.basename(path).split("-")
        self.at = int(at)
        self.is_told = told == "told"

    def read(self) -> tuple[dict[str, Any], bytes]:
        """What is noted about it (`agent`, `folder`, `why`), and the event itself; raises `OSError`, `ValueError`."""
        with open(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return json.loads(file.readline()), file.read()


def waiting(folder: str) -> list[QueuedEvent]:
    """The events that wait in a spool, oldest first; none if it is not there, or not the user's own."""
    try:
        if not is_private(os.lstat(folder)):
            return []
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    ours = (name for name in names if name.endswith(".event") and name.count("-") == 3 and name[:20].isdigit())
    return [QueuedEvent(os.path.join(folder, name)) for name in ours]


def keep(folder: str, event: Event, payload: bytes, why: str, told: bool) -> None:
    """Keeps an event durably.

    Args:
        folder: the spool, made if it is missing.
        event: the event.
        payload: as the agent reported it.
        why: for people.
        told: whether the agent is told.

    Raises:
        Full: too many wait already.
        OSError: it cannot be kept.
    """
    for _ in range(_ATTEMPTS):
        try:
            return _keep(folder, event, payload, why, told)
        except FileNotFoundError:
            # what waited was recorded meanwhile, and the spool removed
            continue
    raise SpoolFull(f"{folder} comes and goes")


def _keep(folder: str, event: Event, payload: bytes, why: str, told: bool) -> None:
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not is_private(os.lstat(folder)):
            raise PermissionError(f"{folder} is not the user's own") from None
    sizes = [each.stat(follow_symlinks=False).st_size for each in os.scandir(folder)]
    note = dict(zip(NOTED, (event.dialect.name, event.folder, why), strict=True))
    data = json.dumps(note).encode() + b"\n" + payload
    if len(sizes) >= MOST_EVENTS or sum(sizes) + len(data) > MOST_BYTES:
        raise SpoolFull(f"{len(sizes)} events wait already")
    said = "told" if told else "quiet"
    path = os.path.join(folder, f"{event.at:020d}-{session_of(event)}-{said}-{os.getpid()}.event")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(f"{path}.new", flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(f"{path}.new", path)
    directory = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def session_of(event: Event) -> str:
    """A digest that stands for the session of an event in the names of files."""
    named = f"{event.dialect.name}\0{event.session_id}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(named, digest_size=8).hexdigest()


def replay(
    folder: str,
    send: Callable[[Event], object],
    environment: Mapping[str, str],
    until: float = float("inf"),
    begins: Callable[[], object] = lambda: None,
) -> None:
    """Records the events that wait, and removes them; those that are refused for a passing reason stay.

    What began is told before what ended: a snapshot, as an end takes one, would have what all of them did.

    Args:
        folder: the spool.
        send: has the daemon record an event.
        environment: of this process, for the log.
        until: when to leave the rest to others, as `time.monotonic` counts.
        begins: called when no other process does this any more, before it looks at what waits.

    Raises:
        Exception: as `send`, unless it is `RequestRefused`; what is not recorded yet stays.
    """
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not is_private(os.fstat(lock)):
            return
        while not locked(lock):
            if time.monotonic() > until:
                return
            time.sleep(_POLL_SECONDS)
        begins()
        blocked: set[str] = set()
        for run in _runs(waiting(folder), environment):
            for is_beginning in (True, False):
                for each, event in run:
                    if time.monotonic() > until:
                        return
                    if (event.kind in _BEGINNINGS) is is_beginning and each.session not in blocked:
                        try:
                            send(event)
                        except RequestRefused as refused:
                            if refused.is_passing:
                                blocked.add(each.session)
                            else:
                                log(environment, f"passed over an event that waited: {refused}")
            for each, _ in run:
                if each.session not in blocked:
                    os.unlink(each.path)
        _clear(folder)
    finally:
        os.close(lock)


def _clear(folder: str) -> None:
    """Removes what a crash left, and an empty spool: then hooks do not load this module."""
    try:
        for each in os.scandir(folder):
            age = time.time() - each.stat(follow_symlinks=False).st_mtime
            if not each.name.endswith(".event") and age > _OLD_SECONDS:
                os.unlink(each.path)
        os.rmdir(folder)
    except OSError:
        # others wait, or have just come
        return


def locked(descriptor: int) -> bool:
    """Locks a file, unless another process has; the lock ends with the process, whatever ends it."""
    # imported late, like this module: not every platform has it
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Takes the lock of a file away."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


def _runs(found: list[QueuedEvent], environment: Mapping[str, str]) -> list[list[tuple[QueuedEvent, Event]]]:
    """The events in groups that can be told together: what comes after the end of a session is told after it."""
    runs: list[list[tuple[QueuedEvent, Event]]] = [[]]
    for each in found:
        try:
            note, payload = each.read()
            if time.time_ns() - each.at > _LONGEST_NS:
                raise ValueError(f"it waited for a week: {note['why']}")
            event = Event(json.loads(payload), DIALECTS[note["agent"]], each.at, is_late=True)
        except (OSError, ValueError, KeyError, TypeError, NotAnEvent) as error:
            log(environment, f"passed over an event that waited: {type(error).__name__}: {error}")
            os.unlink(each.path)
            continue
        runs[-1].append((each, event))
        if event.kind == FINISH or len(runs[-1]) >= _AT_ONCE:
            runs.append([])
    return runs


def start_replay(environment: Mapping[str, str]) -> None:
    """Starts a process that waits for the daemon, and records what waits; the next hook does it if that fails."""
    variables = {**environment, "SNAPD_HOOK_SECONDS": _SECONDS}
    actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    try:
        # not among what the agent ends with the hook
        os.posix_spawn(sys.executable, own_command("hook", "--replay"), variables, file_actions=actions, setsid=True)
    except (OSError, NotImplementedError) as error:
        log(environment, f"cannot record what waits: {error}")


def describe_waiting(folder: str, root: str = "/") -> list[dict[str, str]]:
    """What waits, oldest first: `agent`, `folder`, `at` as RFC 3339, and `why`.

    Args:
        folder: the spool.
        root: only events of agents that work in this folder.
    """
    found = []
    for each in waiting(folder):
        try:
            note = each.read()[0]
            inside = f"{os.path.realpath(note['folder'])}/".startswith(f"{root.rstrip('/')}/")
            found += [{**{name: str(note[name]) for name in NOTED}, "at": moment(each.at)}] if inside else []
        except (OSError, ValueError, KeyError, TypeError):
            # recorded meanwhile, or damaged: the replay says so
            continue
    return found

"""Keeps events that could not be recorded on disk, in order, and replays them; imported late, as rarely needed."""

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
"""The most bytes spooled, of all agents; further events are lost, and their agents are notified."""
NOTED = ("agent", "folder", "why")
_LONGEST_NS = 7 * 86400 * 10**9
_AT_ONCE = 200
"""The most events that are recorded together: a hook that ends before all are done leaves them in the spool."""
_BEGINNINGS = frozenset({BEGIN, PROMPT, SUB_BEGIN})
_ATTEMPTS = 5
_OLD_SECONDS = 3600
_POLL_SECONDS = 0.02
_SECONDS = "60"
"""How long a process started by `start_replay` waits for the daemon."""


class SpoolFull(Exception):
    """The spool has no room for another event."""


class QueuedEvent:
    """A spooled event. Its file name has the time, a digest of the session, and whether the agent was notified."""

    def __init__(self, path: str) -> None:
        self.path = path
        at, self.session, text, _ = os.path.basename(path).split("-")
        self.at = int(at)
        self.is_told = text == "told"

    def read(self) -> tuple[dict[str, Any], bytes]:
        """Returns its metadata (`agent`, `folder`, `why`) and the event. Raises `OSError` or `ValueError`."""
        with open(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return json.loads(file.readline()), file.read()


def waiting(folder: str) -> list[QueuedEvent]:
    """The events in a spool, oldest first; empty if it is missing or belongs to another user."""
    try:
        if not is_private(os.lstat(folder)):
            return []
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    ours = (name for name in names if name.endswith(".event") and name.count("-") == 3 and name[:20].isdigit())
    return [QueuedEvent(os.path.join(folder, name)) for name in ours]


def keep(folder: str, event: Event, payload: bytes, why: str, is_done: bool) -> None:
    """Stores an event durably; `is_done` if the agent is notified. Raises `SpoolFull` or `OSError`."""
    for _ in range(_ATTEMPTS):
        try:
            return _keep(folder, event, payload, why, is_done)
        except FileNotFoundError:
            # a replay removed the spool meanwhile
            continue
    raise SpoolFull(f"{folder} comes and goes")


def _keep(folder: str, event: Event, payload: bytes, why: str, is_done: bool) -> None:
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
    text = "told" if is_done else "quiet"
    path = os.path.join(folder, f"{event.at:020d}-{session_of(event)}-{text}-{os.getpid()}.event")
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
    """The digest of an event's session in file names."""
    named = f"{event.dialect.name}\0{event.session_id}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(named, digest_size=8).hexdigest()


def replay(
    folder: str,
    send: Callable[[Event], object],
    environment: Mapping[str, str],
    until: float = float("inf"),
    begins: Callable[[], object] = lambda: None,
) -> None:
    """Records the spooled events with `send` and removes them; a temporary refusal keeps those of the session.

    Beginnings are sent before ends, as the snapshot of an end would contain the work of all. `until` is a time of
    `time.monotonic` after which the rest is left. `begins` is called once no other process replays, before the events
    are read. Other errors of `send` are raised; what is not recorded yet stays.
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
    """Removes leftovers of crashes, and an empty spool, so that hooks need not load this module."""
    try:
        for each in os.scandir(folder):
            age = time.time() - each.stat(follow_symlinks=False).st_mtime
            if not each.name.endswith(".event") and age > _OLD_SECONDS:
                os.unlink(each.path)
        os.rmdir(folder)
    except OSError:
        # other events are left, or have just been added
        return


def locked(descriptor: int) -> bool:
    """Locks a file unless another process holds the lock, which ends with its process."""
    # imported late: not every platform has it
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Unlocks a file."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


def _runs(queued_events: list[QueuedEvent], environment: Mapping[str, str]) -> list[list[tuple[QueuedEvent, Event]]]:
    """The events in groups that can be recorded together: a new group starts after the end of a session."""
    runs: list[list[tuple[QueuedEvent, Event]]] = [[]]
    for each in queued_events:
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
    """Starts a process that waits for the daemon and replays; if that fails, the next hook does so."""
    variables = {**environment, "SNAPD_HOOK_SECONDS": _SECONDS}
    actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    try:
        # a new session, so that the agent does not end it with the hook
        os.posix_spawn(sys.executable, own_command("hook", "--replay"), variables, file_actions=actions, setsid=True)
    except (OSError, NotImplementedError) as error:
        log(environment, f"cannot record what waits: {error}")


def describe_waiting(folder: str, root: str = "/") -> list[dict[str, str]]:
    """The spooled events of agents in `root`, oldest first: `agent`, `folder`, `at` as RFC 3339, and `why`."""
    matches = []
    for each in waiting(folder):
        try:
            note = each.read()[0]
            inside = f"{os.path.realpath(note['folder'])}/".startswith(f"{root.rstrip('/')}/")
            matches += [{**{name: str(note[name]) for name in NOTED}, "at": moment(each.at)}] if inside else []
        except (OSError, ValueError, KeyError, TypeError):
            # recorded meanwhile, or damaged, which the replay logs
            continue
    return matches

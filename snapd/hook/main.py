"""Reads one event of an agent, and has the daemon record it: within a time limit, without ever failing the agent."""

from __future__ import annotations

import os
import sys

from snapd.environment import RECORDED, socket_in, user_directories

from .answers import answer
from .dialects import DIALECTS, recognised
from .event import Event, NotAnEvent
from .json_text import decode
from .link import Broken, Link, Refused
from .log import log
from .place import places
from .reaction import reaction
from .seen import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Mapping
    from typing import Any

    from .link import Request
else:
    # `signal` puts its numbers into enumerations, which loads `enum`
    import _signal

SECONDS = 2.0
"""How long a hook takes at most, unless `SNAPD_HOOK_SECONDS` says otherwise."""

_MOST_BYTES = 64 << 20
_READ_BYTES = 1 << 20
_PROTOCOL = 1


class _TimeIsUp(BaseException):
    """The hook has taken as long as it may."""


def main(name: str | None = None) -> int:
    """Has the daemon record the event on standard input, and prints JSON for the agent, or nothing.

    Args:
        name: of the agent; None recognizes it.

    Returns:
        0, whatever happens: an agent takes everything else for a reason to stop.
    """
    environment = os.environ
    before = _set_time_limit(environment)
    try:
        words = _run(name, environment)
        if words is not None:
            # imported late: most events have no answer
            import json

            # only ASCII, whatever the encoding of the standard output
            sys.stdout.write(json.dumps(words))
            sys.stdout.flush()
    except _TimeIsUp:
        log(environment, "gave up: the time limit was over")
    except Exception as error:
        # nothing that goes wrong here is the agent's business
        log(environment, f"passed over an event: {type(error).__name__}: {error}")
    finally:
        _lift_time_limit(before)
    return 0


def _run(name: str | None, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Handles the event on standard input; returns the JSON to print."""
    payload = _payload()
    dialect = recognised(payload, environment) if name is None else DIALECTS.get(name)
    if dialect is None:
        raise NotAnEvent("no agent that snapd knows reports events in this way" if name is None else f"no agent {name}")
    event = Event(payload, dialect)
    if event.kind is None:
        return None
    told: dict[str, Any] | None = None
    for folder, calls in places(event):
        link = _connected(environment)
        try:
            event.calls = calls
            told = _react(event, folder, link, environment) or told
        finally:
            link.close()
    note(environment, dialect.name)
    return told


def _react(event: Event, folder: str, link: Link, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Has the daemon do what follows from an event in one workspace; returns the JSON to print."""
    options = {"findRoot": True}
    opening = {"processId": None, "rootUri": _uri(folder), "capabilities": {}, "initializationOptions": options}
    found, opened = link.ask(("initialize", opening), ("step/find", {"open": True}))
    _check(found)
    if isinstance(opened, Refused):
        raise opened
    hears = event.dialect.told != "" and event.name in event.dialect.hears
    requests = reaction(event, opened["steps"], hears=hears)
    if environment.get(RECORDED):
        requests = [request for request in requests if request[0] == "session/news"]
    news: dict[str, Any] | None = None
    for (method, params), result in zip(requests, link.ask(*requests), strict=True):
        if isinstance(result, Refused):
            _again(event, link, (method, params), result)
        elif method == "session/news":
            news = result
    return None if news is None else answer(event, news)


def _check(initialized: Any) -> None:
    """Raises `Broken` where the daemon is not one that this hook understands."""
    if isinstance(initialized, Refused):
        raise initialized
    version = initialized["capabilities"]["experimental"]["snapshot"]["protocolVersion"]
    if version != _PROTOCOL:
        raise Broken(f"the daemon speaks version {version} of the protocol, and this hook version {_PROTOCOL}")


def _again(event: Event, link: Link, request: Request, refused: Refused) -> None:
    """Sends a request again that can be mended; raises `Refused` for others."""
    method, params = request
    if refused.kind == "unknownSession":
        if method in ("step/begin", "session/message"):
            start = {"sessionId": event.session_id, "agent": event.dialect.name}
            for result in link.ask(("session/start", start), request):
                if isinstance(result, Refused):
                    raise result
        # of a session that snapd does not know, there is no news, and nothing to end
        return
    outside = refused.data.get("file")
    if method != "step/end" or refused.kind != "pathOutsideWorkspace" or outside not in params.get("files", ()):
        raise refused
    # what an agent writes elsewhere is no reason to leave its step open
    fewer = {**params, "files": [file for file in params["files"] if file != outside]}
    (result,) = link.ask((method, fewer))
    if isinstance(result, Refused):
        _again(event, link, (method, fewer), result)


def _payload() -> dict[str, Any]:
    """The event on standard input; raises `NotAnEvent`."""
    chunks = []
    size = 0
    while chunk := os.read(0, _READ_BYTES):
        # all of it is read: an agent may not bear that nobody does
        size += len(chunk)
        if size <= _MOST_BYTES:
            chunks.append(chunk)
    if size > _MOST_BYTES:
        raise NotAnEvent(f"the event has {size} bytes")
    try:
        # some agents put raw control characters into their texts
        payload = decode(b"".join(chunks).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise NotAnEvent(f"the event is no JSON: {error}") from error
    if not isinstance(payload, dict):
        raise NotAnEvent("the event is no JSON object")
    return payload


def _connected(environment: Mapping[str, str]) -> Link:
    """A connection to the daemon, which is started if it does not run."""
    path = socket_in(user_directories(environment, os.path.expanduser("~"))[2])
    try:
        return Link(path)
    except (FileNotFoundError, ConnectionRefusedError):
        # imported late: a daemon runs almost always
        from snapd.launch import ensure_daemon
        from snapd.locations import Locations

        ensure_daemon(Locations.from_environment(environment), path).close()
        return Link(path)


def _uri(path: str) -> str:
    """The `file:` URI of an absolute path."""
    kept = b"/-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    return "file://" + "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in os.fsencode(path))


def _set_time_limit(environment: Mapping[str, str]) -> Any:
    """Has `_TimeIsUp` raised in time, where the platform can do that; returns what `_lift_time_limit` takes."""
    if not hasattr(_signal, "setitimer"):
        return None
    try:
        seconds = float(environment.get("SNAPD_HOOK_SECONDS") or SECONDS)
    except ValueError:
        seconds = SECONDS
    before = _signal.signal(_signal.SIGALRM, _raise_time_is_up)
    _signal.setitimer(_signal.ITIMER_REAL, min(max(seconds, 0.01), 3600.0))
    return before


def _lift_time_limit(before: Any) -> None:
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, before)


def _raise_time_is_up(*_: object) -> None:
    raise _TimeIsUp

"""Reads one event of an agent and has the daemon record it, within a time limit and without failing the agent."""

from __future__ import annotations

import os
import sys
import time

from snapd.environment import RECORDED, socket_path, spool_directory, user_directories

from .dialects import BEGIN, DIALECTS, FINISH, PROMPT, READ, RESUME, SUB_BEGIN, recognised
from .event import Event, NotAnEvent, places, root_of
from .json_text import encode, read_event
from .link import Broken, DaemonConnection, RequestRefused
from .log import Memory, log, note
from .report import ELSEWHERE, reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Mapping
    from typing import Any

    from .link import Request
else:
    # the module `signal` would load `enum`
    import _signal

SECONDS = 2.0
"""The time limit of a hook, unless `SNAPD_HOOK_SECONDS` sets another."""

REPLAY = "--replay"
_AGAIN_SECONDS = 0.2
_PROTOCOL = 1
_MOST_FOLDERS = 32
"""The most folders besides its own in which an event may end something."""


class _TimeIsUp(BaseException):
    """The time limit is reached."""


def main(name: str | None = None) -> int:
    """Has the daemon record the event on standard input; prints the agent's answer. Returns 0, or agents would stop.

    `name` is the agent (None detects it), or `--replay` to record spooled events instead.
    """
    environment = os.environ
    before = _set_time_limit(environment)
    try:
        try:
            if name == REPLAY:
                _replay(environment)
            elif (answer := _run(name, environment)) is not None:
                # imported late: most events have no answer
                import json

                words, event = answer
                # ASCII works with any encoding of standard output
                sys.stdout.write(json.dumps(words))
                sys.stdout.flush()
                # a stream of `snapd.cli` does not raise if its reader is gone
                raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
                if getattr(raw, "lost", None) is None:
                    _acknowledge(event, environment)
        except Exception as error:
            # errors here must not reach the agent
            log(environment, f"passed over an event: {type(error).__name__}: {error}")
    except _TimeIsUp:
        # it is raised only once, maybe in the handlers above
        log(environment, "gave up: the time limit was over")
    finally:
        _lift_time_limit(before)
    return 0


def _run(name: str | None, environment: Mapping[str, str]) -> tuple[dict[str, Any], Event] | None:
    """Has the daemon record the event; returns what to print, if anything, and the event."""
    at = time.time_ns()
    payload = read_event()
    dialect = recognised(payload, environment) if name is None else DIALECTS.get(name)
    if dialect is None:
        raise NotAnEvent("no agent that snapd knows reports events in this way" if name is None else f"no agent {name}")
    event = Event(payload, dialect, at)
    if event.kind is None:
        return None
    spool, tells_agent = _spool(environment), True
    try:
        if environment.get(RECORDED) or not os.path.lexists(spool) or _caught_up(event, spool, environment):
            try:
                output = _send(event, environment, starts=event.kind != READ)
            except ConnectionError:
                # the daemon restarted meanwhile; no report counts twice
                output = _send(event, environment, starts=event.kind != READ)
            note(environment, dialect.name)
            return None if output is None else (output, event)
        why = "what happened before it waits, too"
    except _TimeIsUp:
        # no notice to the agent: the event is recorded soon
        why, tells_agent = "gave up: the time limit was over", False
    except RequestRefused as refused:
        if not refused.is_passing:
            raise
        why = str(refused)
    except (Broken, OSError) as error:
        why, tells_agent = str(error), not isinstance(error, ConnectionError)
    _stop_clock()
    if environment.get(RECORDED) or event.kind == READ:
        raise Broken(why)
    output = _keep(event, payload, spool, why, environment, tells_agent=tells_agent)
    return None if output is None else (output, event)


def _acknowledge(event: Event, environment: Mapping[str, str]) -> None:
    """Tells the daemon that the agent got its comments: until then, they come again."""
    if event.notification is None:
        return
    uri, news_id = event.notification
    link = _connected(environment, starts=False)
    try:
        params = {"sessionId": event.session_id, "newsId": news_id, "workspaceUri": uri}
        for answer in link.ask(("initialize", _opening([uri])), ("session/told", params)):
            if isinstance(answer, RequestRefused):
                raise answer
    finally:
        link.close()


def _opening(uris: list[str]) -> dict[str, Any]:
    return {
        "processId": None,
        "workspaceFolders": [{"uri": uri, "name": ""} for uri in uris],
        "capabilities": {},
        "initializationOptions": {"findRoot": True},
    }


def _spool(environment: Mapping[str, str]) -> str:
    return spool_directory(user_directories(environment, os.path.expanduser("~"))[1])


def _send(event: Event, environment: Mapping[str, str], *, starts: bool = True) -> dict[str, Any] | None:
    """Has the daemon record an event, and starts the daemon if `starts`; returns the JSON to print."""
    output: dict[str, Any] | None = None
    for folder, calls in places(event):
        link = _connected(environment, starts=starts)
        try:
            event.calls = calls
            try:
                output = _record(event, folder, link, environment) or output
            except RequestRefused as refused:
                owner = refused.data.get("socket")
                if refused.kind != "storeLocked" or not isinstance(owner, str):
                    raise
                # another daemon of the user holds the store
                link.close()
                link = DaemonConnection(owner)
                output = _record(event, folder, link, environment) or output
        finally:
            link.close()
    return output


def _caught_up(event: Event, spool: str, environment: Mapping[str, str]) -> bool:
    """Replays spooled events; returns whether none of this event's session is left."""
    from .spool import session_of, waiting

    _record_waiting(environment)
    return session_of(event) not in {each.session for each in waiting(spool)}


def _record_waiting(environment: Mapping[str, str], until: float = float("inf")) -> None:
    from .spool import replay

    replay(_spool(environment), lambda each: _send(each, environment), environment, until)


def _replay(environment: Mapping[str, str]) -> None:
    """Replays spooled events once the daemon records again, unless another process is about to."""
    from .spool import locked, replay, unlock

    os.chdir("/")
    spool = _spool(environment)
    queue = os.open(os.path.dirname(spool), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    while locked(queue):
        try:
            # a process that comes after this one has begun may bring an event that it misses
            return replay(
                spool,
                lambda each: _send(each, environment, starts=False),
                environment,
                begins=lambda: unlock(queue),
            )
        except (Broken, OSError):
            # the daemon is ending, or has just started
            time.sleep(_AGAIN_SECONDS)
    return None


def catch_up(environment: Mapping[str, str], seconds: float) -> None:
    """Replays spooled events before a request to the daemon; leaves what takes longer than `seconds`."""
    try:
        _record_waiting(environment, until=time.monotonic() + seconds)
    except (Broken, OSError) as error:
        log(environment, f"recorded not all that waits: {error}")


def _keep(
    event: Event, payload: dict[str, Any], spool: str, why: str, environment: Mapping[str, str], *, tells_agent: bool
) -> dict[str, Any] | None:
    """Spools an event; returns the notice to the agent that nothing is recorded, once per session."""
    from .answers import unrecorded
    from .spool import SpoolFull, keep, session_of, start_replay, waiting

    log(environment, f"keeps an event for later: {why}")
    of_session = [each for each in waiting(spool) if each.session == session_of(event)]
    is_new = tells_agent and event.reads_answer and not any(each.is_told for each in of_session)
    try:
        keep(spool, event, encode(payload).encode("utf-8", "replace"), why, is_new)
    except (SpoolFull, OSError) as error:
        log(environment, f"lost an event: {error}")
        # the notice is not remembered, so it is given at beginnings only
        return unrecorded(event, f"{why}; {error}", kept=False) if event.kind in (PROMPT, RESUME) else None
    start_replay(environment)
    return unrecorded(event, why, kept=True) if is_new else None


def _record(event: Event, folder: str, link: DaemonConnection, environment: Mapping[str, str]) -> dict[str, Any] | None:
    memory = Memory(environment, event.session_id)
    added = event.take_turn(memory)
    # the agent may have changed its directory since what ends now began
    left = [other for other in memory.folders if other != root_of(folder)] if event.kind in ELSEWHERE else []
    uris = [_uri(folder), *map(_uri, left[-_MOST_FOLDERS:])]
    uri = uris[0]
    sent = reports(event)
    if environment.get(RECORDED) and not event.is_late:
        # recorded by another client; the agent still gets its news
        only_news = {"sessionId": event.session_id, "event": "sessionStart", "news": True}
        sent, uris = ([only_news] if event.reads_answer else []), uris[:1]
    if not sent:
        return None
    here = [_request(params, uri) for params in sent]
    elsewhere = [_request(params, other, elsewhere=True) for other in uris[1:] for params in sent]
    is_alike = any("alike" in params for params in sent)
    initialized, *answers = link.ask(("initialize", _opening(uris)), *here, *(() if is_alike else elsewhere))
    _check(initialized)
    answers, others = answers[: len(here)], answers[len(here) :]
    for request in elsewhere if is_alike else ():
        # only one of several identical calls has ended
        if not any("stepId" in answer for answer in _accepted([*answers, *others])):
            others += link.ask(request)
    if not is_alike and all(
        isinstance(answer, RequestRefused) and answer.kind == "workspaceRefused" for answer in answers
    ):
        # the agent's current folder may not be recorded: the event belongs to the first of the others
        accepting = (at for at, answer in enumerate(others) if not isinstance(answer, RequestRefused))
        if (at := next(accepting, None)) is not None:
            uri = elsewhere[at][1]["workspaceUri"]
            answers = link.ask(*(_request(params, uri) for params in sent))
    _raise_refusal(answers, others)
    if event.kind in (BEGIN, PROMPT, SUB_BEGIN) and uri == uris[0] and root_of(folder) not in memory.folders:
        added.append(root_of(folder))
    if added:
        memory.add(*added)
    if event.kind == FINISH:
        memory.end()
    news = next((answer["news"] for answer in _accepted(answers) if "news" in answer), None)
    if news is None or not any(value for name, value in news.items() if name != "newsId"):
        return None
    if news.get("comments") or news.get("overlaps"):
        event.notification = uri, news["newsId"]
    return _format_news(event, news, uri, link)


def _request(params: dict[str, Any], uri: str, *, elsewhere: bool = False) -> Request:
    """The report of an event to one folder; `elsewhere` means that the agent has left it."""
    if elsewhere:
        params = {**{name: value for name, value in params.items() if name != "news"}, "elsewhere": True}
    return "agent/report", {**params, "workspaceUri": uri}


def _accepted(answers: list[Any]) -> list[dict[str, Any]]:
    return [answer for answer in answers if not isinstance(answer, RequestRefused)]


def _raise_refusal(here: list[Any], elsewhere: list[Any]) -> None:
    """Raises the error of an event that could not be recorded, unless only some of its folders refused it."""
    # the agent's current folder may not be recorded, and other folders may be gone
    for answer in here:
        if isinstance(answer, RequestRefused) and not (answer.kind == "workspaceRefused" and _accepted(elsewhere)):
            raise answer
    for answer in elsewhere:
        if isinstance(answer, RequestRefused) and answer.is_passing:
            raise answer


def _format_news(event: Event, news: dict[str, Any], uri: str, link: DaemonConnection) -> dict[str, Any] | None:
    # imported late: most events have no answer
    from .answers import answer

    if steps := [*news["undone"], *news["redone"], *news.get("overlaps", ())]:
        ids = [step["stepId"] for step in steps]
        (shown,) = link.ask(("session/prefixes", {"ids": ids, "workspaceUri": uri}))
        if isinstance(shown, RequestRefused):
            raise shown
        for step, name in zip(steps, shown["prefixes"], strict=True):
            step["stepId"] = name
    return answer(event, news)


def _check(initialized: Any) -> None:
    """Raises `Broken` if this hook does not support the daemon's version."""
    if isinstance(initialized, RequestRefused):
        raise initialized
    version = initialized["capabilities"]["experimental"]["snapshot"]["protocolVersion"]
    if version != _PROTOCOL:
        raise Broken(f"the daemon speaks version {version} of the protocol, and this hook version {_PROTOCOL}")


def _connected(environment: Mapping[str, str], *, starts: bool) -> DaemonConnection:
    path = socket_path(user_directories(environment, os.path.expanduser("~"))[2])
    try:
        return DaemonConnection(path)
    except (FileNotFoundError, ConnectionRefusedError):
        if not starts:
            raise
        # imported late: a daemon runs almost always
        from snapd.launch import ensure_daemon
        from snapd.locations import Locations
        from snapd.model.errors import IoError

        try:
            ensure_daemon(Locations.from_environment(environment), path).close()
        except IoError as error:
            raise Broken(f"{error.message} ({error.hint})") from error
        return DaemonConnection(path)


def _uri(path: str) -> str:
    kept = b"/-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    return "file://" + "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in os.fsencode(path))


def _set_time_limit(environment: Mapping[str, str]) -> Any:
    """Schedules `_TimeIsUp` where the platform supports it; returns the argument of `_lift_time_limit`."""
    if not hasattr(_signal, "setitimer"):
        return None
    try:
        seconds = float(environment.get("SNAPD_HOOK_SECONDS") or SECONDS)
    except ValueError:
        seconds = SECONDS
    before = _signal.signal(_signal.SIGALRM, _raise_time_is_up)
    _signal.setitimer(_signal.ITIMER_REAL, min(max(seconds, 0.01), 3600.0))
    return before


def _stop_clock() -> None:
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def _lift_time_limit(before: Any) -> None:
    _stop_clock()
    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, before)


def _raise_time_is_up(*_: object) -> None:
    raise _TimeIsUp

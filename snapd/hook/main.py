"""Reads one event of an agent, and has the daemon record it: within a time limit, without ever failing the agent."""

from __future__ import annotations

import os
import sys
import time

from snapd.environment import RECORDED, socket_path, spool_directory, user_directories

from .dialects import BEGIN, DIALECTS, FINISH, PROMPT, RESUME, SUB_BEGIN, recognised
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
    # `signal` puts its numbers into enumerations, which loads `enum`
    import _signal

SECONDS = 2.0
"""How long a hook takes at most, unless `SNAPD_HOOK_SECONDS` says otherwise."""

REPLAY = "--replay"
_AGAIN_SECONDS = 0.2
_PROTOCOL = 1
_MOST_FOLDERS = 32
"""In how many folders besides its own an event ends something."""


class _TimeIsUp(BaseException):
    """The hook has taken as long as it may."""


def main(name: str | None = None) -> int:
    """Has the daemon record the event on standard input, and prints JSON for the agent, or nothing.

    Args:
        name: of the agent; None recognizes it. `--replay` records what could not be recorded before instead.

    Returns:
        0, whatever happens: an agent takes everything else for a reason to stop.
    """
    environment = os.environ
    before = _set_time_limit(environment)
    try:
        try:
            if name == REPLAY:
                _replay(environment)
            elif (words := _run(name, environment)) is not None:
                # imported late: most events have no answer
                import json

                # only ASCII, whatever the encoding of the standard output
                sys.stdout.write(json.dumps(words))
                sys.stdout.flush()
        except Exception as error:
            # nothing that goes wrong here is the agent's business
            log(environment, f"passed over an event: {type(error).__name__}: {error}")
    except _TimeIsUp:
        # raised once, be it in the handler above
        log(environment, "gave up: the time limit was over")
    finally:
        _lift_time_limit(before)
    return 0


def _run(name: str | None, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Handles the event on standard input; returns the JSON to print."""
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
                output = _send(event, environment)
            except ConnectionError:
                # it ended in the middle, to be started anew; nothing counts twice
                output = _send(event, environment)
            note(environment, dialect.name)
            return output
        why = "what happened before it waits, too"
    except _TimeIsUp:
        # nothing that the agent should know: it is recorded in a moment
        why, tells_agent = "gave up: the time limit was over", False
    except RequestRefused as refused:
        if not refused.is_passing:
            raise
        why = str(refused)
    except (Broken, OSError) as error:
        why, tells_agent = str(error), not isinstance(error, ConnectionError)
    _stop_clock()
    if environment.get(RECORDED):
        raise Broken(why)
    return _keep(event, payload, spool, why, environment, tells_agent=tells_agent)


def _spool(environment: Mapping[str, str]) -> str:
    return spool_directory(user_directories(environment, os.path.expanduser("~"))[1])


def _send(event: Event, environment: Mapping[str, str], *, starts: bool = True) -> dict[str, Any] | None:
    """Has the daemon record an event, and starts it if it does not run and is to start; returns the JSON to print."""
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
                # another daemon of the user has the store
                link.close()
                link = DaemonConnection(owner)
                output = _record(event, folder, link, environment) or output
        finally:
            link.close()
    return output


def _caught_up(event: Event, spool: str, environment: Mapping[str, str]) -> bool:
    """Records what waits; returns whether nothing of the session of this event does any more."""
    from .spool import session_of, waiting

    _record_waiting(environment)
    return session_of(event) not in {each.session for each in waiting(spool)}


def _record_waiting(environment: Mapping[str, str], until: float = float("inf")) -> None:
    from .spool import replay

    replay(_spool(environment), lambda each: _send(each, environment), environment, until)


def _replay(environment: Mapping[str, str]) -> None:
    """Records what waits, as soon as the daemon does that; leaves it to another process that is about to."""
    from .spool import locked, replay, unlock

    os.chdir("/")
    spool = _spool(environment)
    queue = os.open(os.path.dirname(spool), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    while locked(queue):
        try:
            # whoever comes once this one has begun may have something that it does not see
            return replay(
                spool,
                lambda each: _send(each, environment, starts=False),
                environment,
                begins=lambda: unlock(queue),
            )
        except (Broken, OSError):
            # the daemon ends, or has just been started
            time.sleep(_AGAIN_SECONDS)
    return None


def catch_up(environment: Mapping[str, str], seconds: float) -> None:
    """Records what waits, for whoever is about to ask the daemon; leaves what takes longer to others."""
    try:
        _record_waiting(environment, until=time.monotonic() + seconds)
    except (Broken, OSError) as error:
        log(environment, f"recorded not all that waits: {error}")


def _keep(
    event: Event, payload: dict[str, Any], spool: str, why: str, environment: Mapping[str, str], *, tells_agent: bool
) -> dict[str, Any] | None:
    """Keeps an event for later; returns what tells the agent that nothing is recorded, once in a session."""
    from .answers import unrecorded
    from .spool import SpoolFull, keep, session_of, start_replay, waiting

    log(environment, f"keeps an event for later: {why}")
    of_session = [each for each in waiting(spool) if each.session == session_of(event)]
    is_new = tells_agent and event.reads_answer and not any(each.is_told for each in of_session)
    try:
        keep(spool, event, encode(payload).encode("utf-8", "replace"), why, is_new)
    except (SpoolFull, OSError) as error:
        log(environment, f"lost an event: {error}")
        # nothing remembers that the agent was told, so it is told where it begins something
        return unrecorded(event, f"{why}; {error}", kept=False) if event.kind in (PROMPT, RESUME) else None
    start_replay(environment)
    return unrecorded(event, why, kept=True) if is_new else None


def _record(event: Event, folder: str, link: DaemonConnection, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Reports an event about one folder; returns the JSON to print."""
    memory = Memory(environment, event.session_id)
    added = event.take_turn(memory)
    # the agent may have gone elsewhere since what ends now began
    left = [other for other in memory.folders if other != root_of(folder)] if event.kind in ELSEWHERE else []
    uris = [_uri(folder), *map(_uri, left[-_MOST_FOLDERS:])]
    uri = uris[0]
    sent = reports(event)
    if environment.get(RECORDED) and not event.is_late:
        # somebody else records; the agent hears what it has to be told all the same
        only_news = {"sessionId": event.session_id, "event": "sessionStart", "news": True}
        sent, uris = ([only_news] if event.reads_answer else []), uris[:1]
    if not sent:
        return None
    opening = {
        "processId": None,
        "workspaceFolders": [{"uri": uri, "name": ""} for uri in uris],
        "capabilities": {},
        "initializationOptions": {"findRoot": True},
    }
    here = [_request(params, uri) for params in sent]
    elsewhere = [_request(params, other, elsewhere=True) for other in uris[1:] for params in sent]
    is_alike = any("alike" in params for params in sent)
    initialized, *answers = link.ask(("initialize", opening), *here, *(() if is_alike else elsewhere))
    _check(initialized)
    answers, others = answers[: len(here)], answers[len(here) :]
    for request in elsewhere if is_alike else ():
        # only one of the calls that are alike has ended
        if not any("stepId" in answer for answer in _accepted([*answers, *others])):
            others += link.ask(request)
    if not is_alike and all(
        isinstance(answer, RequestRefused) and answer.kind == "workspaceRefused" for answer in answers
    ):
        # where the agent is now, nothing may be recorded: it belongs to the first of the others
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
    return None if news is None or not any(news.values()) else _format_news(event, news, uri, link)


def _request(params: dict[str, Any], uri: str, *, elsewhere: bool = False) -> Request:
    """The report of an event to one folder; `elsewhere` if the agent is not there any more."""
    if elsewhere:
        params = {**{name: value for name, value in params.items() if name != "news"}, "elsewhere": True}
    return "agent/report", {**params, "workspaceUri": uri}


def _accepted(answers: list[Any]) -> list[dict[str, Any]]:
    return [answer for answer in answers if not isinstance(answer, RequestRefused)]


def _raise_refusal(here: list[Any], elsewhere: list[Any]) -> None:
    """Raises the error of an event that could not be recorded, unless it is about some of its folders alone."""
    # where the agent is now, nothing may be recorded, and other folders may be gone
    for answer in here:
        if isinstance(answer, RequestRefused) and not (answer.kind == "workspaceRefused" and _accepted(elsewhere)):
            raise answer
    for answer in elsewhere:
        if isinstance(answer, RequestRefused) and answer.is_passing:
            raise answer


def _format_news(event: Event, news: dict[str, Any], uri: str, link: DaemonConnection) -> dict[str, Any] | None:
    """The JSON that tells the agent what others did."""
    # imported late: most events have no answer
    from .answers import answer

    if steps := [*news["undone"], *news["redone"]]:
        ids = [step["stepId"] for step in steps]
        (shown,) = link.ask(("session/prefixes", {"ids": ids, "workspaceUri": uri}))
        if isinstance(shown, RequestRefused):
            raise shown
        for step, name in zip(steps, shown["prefixes"], strict=True):
            step["stepId"] = name
    return answer(event, news)


def _check(initialized: Any) -> None:
    """Raises `Broken` where the daemon is not one that this hook understands."""
    if isinstance(initialized, RequestRefused):
        raise initialized
    version = initialized["capabilities"]["experimental"]["snapshot"]["protocolVersion"]
    if version != _PROTOCOL:
        raise Broken(f"the daemon speaks version {version} of the protocol, and this hook version {_PROTOCOL}")


def _connected(environment: Mapping[str, str], *, starts: bool) -> DaemonConnection:
    """A connection to the daemon, which may be started if it does not run."""
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


def _stop_clock() -> None:
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def _lift_time_limit(before: Any) -> None:
    _stop_clock()
    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, before)


def _raise_time_is_up(*_: object) -> None:
    raise _TimeIsUp

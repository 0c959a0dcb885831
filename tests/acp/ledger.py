"""A daemon of the test's own that writes down what it is asked, and a conversation that is fed with lines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import attrs

from snapd.acp.conversation import Conversation
from snapd.model.errors import UnknownSession, UnknownStep
from tests.acp.streams import Line

WAIT = 60.0


@attrs.define
class Asked:
    """A request, and after which line it came."""

    at: int
    method: str
    params: dict[str, Any]


class Ledger:
    """In place of `snapd.acp.recording.Daemon` and the daemon: has sessions and steps, and no files.

    Attributes:
        asked: every request but those that look.
        trouble: called with each request; may raise.
        news: what the next prompt is answered with, once it was told.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.at = -1
        self.trouble: Callable[[str], None] = lambda _: None
        self.news: dict[str, Any] = {}
        self.opened: list[str] = []
        self.is_open = True
        self._sessions: dict[str, bool] = {}
        self._steps: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        pass

    def folder_of(self, directory: str) -> str:
        return directory

    def open(self, folder: str) -> Ledger:
        self.trouble("open")
        self.opened.append(folder)
        self.is_open = True
        return self

    def close(self) -> None:
        self.is_open = False

    def call(self, *_: Any) -> Any:
        raise NotImplementedError

    def request(self, method: str, params: dict[str, Any], report: Any = None) -> Any:
        self.trouble(method)
        with self._lock:
            return self._answer(method, params)

    def _answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "agent/report":
            return self._reported(**params)
        answer = self._done(method, params)
        if method != "snapshot/track":
            self.asked.append(Asked(self.at, method, params))
        return answer

    def _done(self, method: str, params: dict[str, Any]) -> Any:
        if method == "session/start":
            self._sessions[params["sessionId"]] = True
        elif method == "session/end":
            self._sessions[params["sessionId"]] = False
        elif method == "session/message":
            self._going(params["sessionId"])
        elif method == "step/begin":
            return self._begin(params)
        elif method == "step/end":
            self._known(params["stepId"])["open"] = False
        return {}

    def _begin(self, params: dict[str, Any]) -> Any:
        self._going(params["sessionId"])
        for name in ("parentStepId", "ends"):
            if name in params:
                self._known(params[name])
        if "ends" in params:
            self._known(params["ends"])["open"] = False
        name = f"step{len(self._steps)}"
        self._steps[name] = {**params, "open": True, "at": self.at}
        return {"stepId": name, "hash": "0"}

    def _reported(self, sessionId: str, event: str, agent: str | None = None, **params: Any) -> Any:  # noqa: N803
        """Writes down what follows from a report, as if the client had asked for it."""
        if event == "read":
            self.asked.append(Asked(self.at, "read", {"sessionId": sessionId, **params}))
            return {}
        wants_news = params.pop("news", False)
        of_turn = params.pop("turnStep", False)
        text = params.pop("text", "")
        own = {name: step for name, step in self._steps.items() if step["sessionId"] == sessionId and step["open"]}
        if "callId" in params:
            params["partId"] = params.pop("callId")
        part = params.get("partId")
        step = next((name for name, each in own.items() if each.get("partId") == part), None)
        if event in ("callEnd", "turnEnd"):
            ending = {name: params[name] for name in ("files", "directory", "description") if name in params}
            return self._answer("step/end", {"stepId": step, **ending}) if step is not None else {}
        if not self._sessions.get(sessionId):
            self._answer("session/start", {"sessionId": sessionId, "agent": agent})
        if text:
            self._answer("session/message", {"sessionId": sessionId, "messageId": params["messageId"], "text": text})
        ends = {"ends": step} if of_turn and step is not None else {}
        tool = {"tool": "prompt"} if of_turn else {}
        begun = self._answer("step/begin", {"sessionId": sessionId, **params, **tool, **ends})
        return {**begun, "news": self.news} if wants_news else begun

    def _going(self, session: str) -> None:
        if not self._sessions.get(session):
            raise UnknownSession("there is no such session")

    def _known(self, name: str) -> dict[str, Any]:
        if name not in self._steps:
            raise UnknownStep(f"there is no step {name}")
        return self._steps[name]

    # -- what tests ask

    @property
    def steps(self) -> dict[str, dict[str, Any]]:
        return self._steps

    def of(self, method: str) -> list[dict[str, Any]]:
        return [asked.params for asked in self.asked if asked.method == method]

    def still_open(self) -> list[dict[str, Any]]:
        return [step for step in self._steps.values() if step["open"]]


class Talk:
    """A conversation whose lines come one after the other, each when all that the last one asked for is recorded."""

    def __init__(self, daemon: Any) -> None:
        self.daemon = daemon
        self.inserted: list[bytes] = []
        self.conversation = Conversation(daemon, "fake-agent", self._insert)

    def say(self, line: Line) -> bytes | None:
        """Gives what is passed on."""
        understand = self.conversation.from_editor if line.side == "client" else self.conversation.from_agent
        verdict = understand(line.data)
        if verdict.hold is not None:
            verdict.hold()
        if verdict.then is not None:
            verdict.then()
        self.settle()
        return verdict.line if verdict.change is None or verdict.line is None else verdict.change(verdict.line)

    def say_all(self, *lines: Line) -> list[bytes | None]:
        passed = []
        for at, line in enumerate(lines):
            if isinstance(self.daemon, Ledger):
                self.daemon.at = at
            passed.append(self.say(line))
        return passed

    def settle(self) -> None:
        """Waits until everything that was ordered is done, or has failed."""
        for recording in self.conversation.recordings.values():
            done = threading.Event()
            recording.ask(lambda _, done=done: done.set(), lambda _, done=done: done.set())  # type: ignore[misc]
            assert done.wait(WAIT)

    def close(self) -> None:
        self.conversation.close()

    def _insert(self, make: Callable[[], bytes | None]) -> None:
        line = make()
        if line is not None:
            self.inserted.append(line)

"""Records a command that `snapd run` runs: by bursts of changes, or by the hooks of an agent."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from snapd_client import ClientError, RequestTimeout

from snapd.model.errors import IoError, SnapdError, UnknownSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd_client import Client, Notification
    from snapd_client.protocol import Session, SessionStepsParams, Step

    from snapd.backend import Backend

    T = TypeVar("T")

_HEARD = frozenset({"snapshot/didChange", "snapshot/didTrack", "snapshot/didRevert", "session/didChange"})
_OWN = 16
"""How many of our own snapshots to remember, so that their notifications are recognised."""
_AGAIN_SECONDS = 0.5
_PATIENCE = 3
"""How often the end of a session is tried."""
_FAILURES = (SnapdError, ClientError, OSError)


class _Recording:
    """What both ways to record have: who answers, and patience with them at the end."""

    def __init__(self, found: Backend, again: Callable[[], None]) -> None:
        self.backend = found
        self._again = again

    def _patiently(self, work: Callable[[], T]) -> T:
        """The result of work that asks the daemon, also of one that has to be started again."""
        for _ in range(_PATIENCE - 1):
            try:
                return work()
            except RequestTimeout:
                # it is there, and stuck: to ask again would keep whoever waits for the command even longer
                raise
            except _FAILURES:
                self._again()
        return work()


class Recorder(_Recording):
    """Records a session while a thread of its own listens to the daemon.

    Nothing falls between two steps, or into both: the next begins on the very snapshot that the one before ends with.

    Args:
        found: who answers.
        client: its connection.
        again: connects to the daemon again.
        quiet: seconds without a change after which a step ends.
    """

    def __init__(self, found: Backend, client: Client, again: Callable[[], None], quiet: float) -> None:
        super().__init__(found, again)
        self._quiet = quiet
        self._subscription = client.subscribe(_HEARD)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snapd-recorder", daemon=True)
        self._own: deque[str] = deque(maxlen=_OWN)
        self._open: str | None = None
        self._base: str | None = None
        self._changed: float | None = None
        self.session_id = ""
        self.trouble: Exception | None = None
        """What went wrong last, where something did."""

    def start(self, agent: str, title: str) -> None:
        """Starts the session and its first step."""
        self.session_id = self.backend.request("session/start", {"agent": agent, "title": title})["sessionId"]
        try:
            self._begin()
        except BaseException:
            self.backend.request("session/end", {"sessionId": self.session_id})
            raise
        self._thread.start()

    def finish(self) -> list[Step]:
        """Ends the last step and the session."""
        self._stopping.set()
        self._subscription.close()
        self._thread.join()
        known: SessionStepsParams = {"sessionId": self.session_id}
        self._patiently(lambda: self.backend.request("session/end", known))
        return list(self._patiently(lambda: self.backend.request("session/steps", known))["steps"])

    # -- the thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                heard = self._subscription.get(self._left())
                if heard is not None:
                    self._hear(heard)
                elif self._left() == 0:
                    self._begin()
            except _FAILURES as error:
                # whatever it is: the command that is recorded goes on, and so does this
                self.trouble = error
                self._recover()

    def _left(self) -> float | None:
        """Seconds until the step ends, if nothing more changes; None while nothing has."""
        return None if self._changed is None else max(0.0, self._changed + self._quiet - time.monotonic())

    def _hear(self, told: Notification) -> None:
        params = told.params
        if told.method == "snapshot/didChange":
            # a notification from before the last snapshot is about changes of a step that has ended
            if params["files"] and self._base in (None, params["base"]):
                self._changed = time.monotonic()
        elif told.method == "snapshot/didRevert":
            self._base = params["after"]
        elif told.method == "snapshot/didTrack":
            if params["hash"] not in (*self._own, self._base):
                # another client's snapshot: later notifications leave out what changed before it
                self._changed = time.monotonic()
            self._base = params["hash"]
        elif told.method == "session/didChange":
            step = params.get("step")
            if step is not None and step["stepId"] == self._open and step["state"] != "open":
                # somebody ended it; what the command does from now on is to be recorded all the same
                self._resume()
        elif not self.backend.is_open:
            raise IoError("the daemon is gone", hint="run the command again to record it", errno="EPIPE")

    def _begin(self) -> None:
        """Begins a step, with which the one before it ends."""
        self._changed = None
        begun = self.backend.request("step/begin", {"sessionId": self.session_id, "ends": self._open})
        self._open = begun["stepId"]
        self._own.append(begun["hash"])
        self._base = begun["hash"]

    def _recover(self) -> None:
        """Connects again where the connection is lost, and finds out which step is open."""
        while not self._stopping.wait(_AGAIN_SECONDS):
            try:
                if not self.backend.is_open:
                    self._again()
                self._resume()
            except _FAILURES as error:
                self.trouble = error
            else:
                return

    def _resume(self) -> None:
        known: SessionStepsParams = {"sessionId": self.session_id}
        steps = self.backend.request("session/steps", known)["steps"]
        # one at most: each began as the one before it ended
        self._open = next((step["stepId"] for step in steps if step["state"] == "open"), None)
        # whatever was told meanwhile was not heard; the next difference counts, from whichever snapshot
        self._base = None
        if self._open is not None:
            # tried again, where it was the turn of a step that failed
            self._changed = time.monotonic()
            return
        try:
            self._begin()
        except UnknownSession:
            # somebody ended it
            self.backend.request("session/start", {"sessionId": self.session_id})
            self._begin()


class Hooked(_Recording):
    """The sessions of an agent that records by its own hooks.

    Attributes:
        base: the snapshot from before the run.
        end: the one from after it.
    """

    def __init__(self, found: Backend, again: Callable[[], None], agent: str) -> None:
        super().__init__(found, again)
        self._agent = agent
        self._before: dict[str, int] = {}
        self.base = self.end = ""

    def start(self) -> None:
        """Takes the first snapshot, so that the agent's first step waits for none."""
        self.base = self.backend.request("snapshot/track")["hash"] or ""
        self._before = {session["sessionId"]: session["stepCount"] for session in self._sessions()}

    def finish(self) -> dict[str, list[Step]]:
        """Ends the sessions that the agent left open, and gives its steps of this run."""
        return self._patiently(self._finish)

    def _finish(self) -> dict[str, list[Step]]:
        steps = {}
        for session in self._sessions():
            name = session["sessionId"]
            known = self._before.get(name)
            if known is None and "endedAt" not in session:
                # the agent is gone and did not say so: what changes from now on is not its own
                self.backend.request("session/end", {"sessionId": name})
            if session["stepCount"] > (known or 0):
                steps[name] = self.backend.request("session/steps", {"sessionId": name})["steps"][known or 0 :]
        # what changed beside the agent's steps is in a snapshot too
        self.end = self.backend.request("snapshot/track")["hash"] or ""
        return steps

    def _sessions(self) -> list[Session]:
        every = self.backend.request("session/list", {})["sessions"]
        return [session for session in every if session.get("agent") == self._agent]

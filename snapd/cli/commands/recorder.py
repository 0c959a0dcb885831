"""Records a command of `snapd run`: by bursts of changes, or by the hooks of an agent."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from snapd_client import ClientError, ConnectionLost
from snapd_client.notifications import DISCONNECTED, RECONNECTED, UNREACHABLE

from snapd.model.errors import SnapdError

if TYPE_CHECKING:
    from snapd_client import Client, Notification
    from snapd_client.protocol import Session, SessionStepsParams, Step

    from snapd.backend import Backend

    T = TypeVar("T")

_NOTIFICATIONS = frozenset({"snapshot/didChange", "snapshot/didTrack", "snapshot/didRevert", "session/didChange"})
_OWN = 16
"""How many of our own snapshots to remember, so that their notifications are recognised."""
_AGAIN_SECONDS = 0.5
_FAILURES = (SnapdError, ClientError, OSError)


class Recorder:
    """Records a session while its own thread listens to the daemon; a step ends after `quiet` seconds without a change.

    No change falls between two steps, or into both: each step begins on the very snapshot that the one before ends
    with.
    """

    def __init__(self, connection: Backend, client: Client, quiet: float) -> None:
        self.backend = connection
        self._quiet = quiet
        self._subscription = client.subscribe(_NOTIFICATIONS)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snapd-recorder", daemon=True)
        self._own: deque[str] = deque(maxlen=_OWN)
        self._open: str | None = None
        self._base: str | None = None
        self._changed: float | None = None
        self.session_id = ""
        self.trouble: Exception | None = None
        """The last error, if any."""

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
        self.backend.request("session/end", {"sessionId": self.session_id})
        return self.backend.request("session/steps", {"sessionId": self.session_id})["steps"]

    # -- the thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                notification = self._subscription.get(self.seconds_left())
                if notification is not None:
                    self._on_notification(notification)
                elif self.seconds_left() == 0:
                    self._begin()
            except _FAILURES as error:
                # the recorded command goes on, so recording must, too
                self.trouble = error
                self._recover()

    def seconds_left(self) -> float | None:
        """Returns the seconds until the step ends if nothing more changes; None while nothing has."""
        return None if self._changed is None else max(0.0, self._changed + self._quiet - time.monotonic())

    def _on_notification(self, notification: Notification) -> None:
        params = notification.params
        if notification.method == "snapshot/didChange":
            # a notification from before the last snapshot is about changes of a step that has ended
            if params["files"] and self._base in (None, params["base"]):
                self._changed = time.monotonic()
        elif notification.method == "snapshot/didRevert":
            self._base = params["after"]
        elif notification.method == "snapshot/didTrack":
            if params["hash"] not in (*self._own, self._base):
                # another client's snapshot: later notifications leave out what changed before it
                self._changed = time.monotonic()
            self._base = params["hash"]
        elif notification.method == "session/didChange":
            step = params.get("step")
            if step is not None and step["stepId"] == self._open and step["state"] != "open":
                # another client ended it; the rest must be recorded all the same
                self._resume()
        elif notification.method == RECONNECTED:
            self._resume()
        elif notification.method in (DISCONNECTED, UNREACHABLE):
            # what changed until the next snapshot may be in another step
            self.trouble = params.get("error") or ConnectionLost(params["reason"])

    def _begin(self) -> None:
        self._changed = None
        begun = self.backend.request(
            "agent/report", {"sessionId": self.session_id, "event": "callBegin", "sequential": True}
        )
        self._open, self._base = begun["stepId"], begun["hash"]
        self._own.append(self._base)

    def _recover(self) -> None:
        """Finds out which step is open, as soon as the daemon answers."""
        while not self._stopping.wait(_AGAIN_SECONDS):
            try:
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
        # notifications may have been missed; the next difference counts, from whichever snapshot
        self._base = None
        if self._open is not None:
            # retries a step that failed
            self._changed = time.monotonic()
            return
        # resumes the session if it was ended
        self._begin()


class HookSessions:
    """The sessions of an agent that records by its own hooks; `base` and `end` are the snapshots around the run."""

    def __init__(self, connection: Backend, agent: str) -> None:
        self.backend = connection
        self._agent = agent
        self._before: dict[str, int] = {}
        self.base = self.end = ""

    def start(self) -> None:
        """Takes the first snapshot, so that the agent's first step need not wait for one."""
        self.base = self.backend.request("snapshot/track")["hash"] or ""
        self._before = {session["sessionId"]: session["stepCount"] for session in self._sessions()}

    def finish(self) -> dict[str, list[Step]]:
        """Ends the sessions that the agent left open; returns its steps of this run by session."""
        steps = {}
        for session in self._sessions():
            name = session["sessionId"]
            known = self._before.get(name)
            if known is None and "endedAt" not in session:
                # the agent is gone without reporting it: later changes are not its own
                self.backend.request("session/end", {"sessionId": name})
            if session["stepCount"] > (known or 0):
                steps[name] = self.backend.request("session/steps", {"sessionId": name})["steps"][known or 0 :]
        # captures what changed outside of the agent's steps, too
        self.end = self.backend.request("snapshot/track")["hash"] or ""
        return steps

    def _sessions(self) -> list[Session]:
        every = self.backend.request("session/list", {})["sessions"]
        return [session for session in every if session.get("agent") == self._agent]

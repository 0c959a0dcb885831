"""Records steps in a folder's daemon, in a thread of its own, so that the conversation does not wait."""

from __future__ import annotations

import logging
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, cast

import attrs

from snapd.folders.root import folder_around
from snapd.locations import Locations
from snapd.model.errors import IoError, SnapdError, WorkspaceRefused
from snapd.settings import data_dir
from snapd.wire.words import news_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from snapd_client.types import AgentReportParams, AgentReportResult, SessionNewsResult, SessionToldParams

    from snapd.backend import Backend

    Work = Callable[[Backend], None]

logger = logging.getLogger(__name__)
HOLD_SECONDS = 2.0
"""The longest that a message waits for its snapshot."""
CLOSE_SECONDS = 2.0
"""The longest that the end of the conversation waits for pending records."""
_FAILURES = (SnapdError, OSError)
_LOST = "EPIPE"
"""The `errno` of a request whose connection was lost."""


class Step:
    """A step; `step_id` is None until it has begun, `settled` is set once its first snapshot exists or has failed.

    `news` are those of a prompt, for the agent.
    """

    def __init__(self, session: str, params: dict[str, str], parent: Step | None = None) -> None:
        self.session = session
        self.params = params
        self.parent = parent
        self.step_id: str | None = None
        self.news: SessionNewsResult | None = None
        self.settled = threading.Event()

    @property
    def above(self) -> str | None:
        """The id of the nearest enclosing step that has begun."""
        step = self.parent
        while step is not None and step.step_id is None:
            step = step.parent
        return None if step is None else step.step_id


@attrs.frozen
class _Order:
    """Work with the daemon; `opens` retries a missing daemon, `again` permits a repeat after a lost connection."""

    what: str
    work: Work
    failed: Callable[[Exception], None] = lambda _: None
    opens: bool = False
    again: bool = True


class Recording:
    """Records the steps of one folder in the order of the calls, and logs errors; only `hold` and `close` block."""

    def __init__(self, folder: str, connect: Callable[[str], Backend]) -> None:
        self.folder = folder
        self._connect = connect
        self._backend: Backend | None = None
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._late: Step | None = None
        self._refusal: Exception | None = None
        self._agents: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name="snapd-acp-recording", daemon=True)
        self._thread.start()

    @property
    def refusal(self) -> Exception | None:
        """Why nothing can be recorded, if the last attempt failed."""
        return self._refusal

    def start(self, session: str, agent: str, ready: Callable[[], None]) -> None:
        """Starts or resumes a session; calls `ready` in this recording's thread once it can be recorded."""
        self._agents[session] = agent

        def work(backend: Backend) -> None:
            backend.request("session/start", {"sessionId": session, "agent": agent})
            ready()
            # the first scan of a folder takes longest: do it before the first prompt
            backend.request("snapshot/track", {})

        self._order("start the session", work, opens=True)

    def end_session(self, session: str) -> None:
        """Ends a session and its open steps."""
        self._order("end the session", lambda result: result.request("session/end", {"sessionId": session}))

    def prompt(self, step: Step, text: str) -> None:
        """Records a prompt and begins the step of its turn, which ends the previous turn's step."""
        self._begin(step, "prompt", {"text": text, "turnStep": True, "news": True}, opens=True)

    def acknowledge(self, step: Step) -> None:
        """Records that the agent got the news that came with a prompt."""
        news = step.news
        if news is not None and news_lines(news):
            params: SessionToldParams = {"sessionId": step.session, "newsId": news["newsId"]}
            self._order("record what the agent heard", lambda backend: backend.request("session/told", params))

    def read(self, session: str, files: Sequence[str], directory: str) -> None:
        """Records that the agent has read files."""
        params: AgentReportParams = {"sessionId": session, "event": "read", "files": [*files], "directory": directory}
        self._order("record what the agent read", lambda backend: backend.request("agent/report", params))

    def end_turn(self, step: Step) -> None:
        """Ends the step of a turn."""
        self._end(step, "turnEnd", {"turnStep": True})

    def begin(self, step: Step) -> None:
        """Begins the step of a call."""
        self._begin(step, "callBegin", {})

    def end(
        self, step: Step, files: Sequence[str] | None = None, title: str | None = None, directory: str | None = None
    ) -> None:
        """Ends the step of a call; `files`, if reported, are relative to `directory`."""
        fields = {"files": files, "description": title, "directory": None if files is None else directory}
        self._end(step, "callEnd", {**fields, "callId": step.params["callId"]})

    def _begin(self, step: Step, event: str, more: dict[str, Any], *, opens: bool = False) -> None:
        def work(backend: Backend) -> None:
            params = {**step.params, **more, "agent": self._agents.get(step.session), "parentStepId": step.above}
            answer = self._report(backend, step, event, params)
            step.step_id, step.news = answer["stepId"], answer.get("news")
            step.settled.set()

        self._order("begin a step", work, lambda _: step.settled.set(), opens=opens)

    def _end(self, step: Step, event: str, params: dict[str, Any]) -> None:
        def work(backend: Backend) -> None:
            if step.step_id is not None:
                self._report(backend, step, event, params)

        self._order("end a step", work)

    def _report(self, backend: Backend, step: Step, event: str, params: dict[str, Any]) -> AgentReportResult:
        given = {name: value for name, value in params.items() if value is not None}
        report = cast("AgentReportParams", {"sessionId": step.session, "event": event, **given})
        return backend.request("agent/report", report)

    def ask(self, work: Work, failed: Callable[[Exception], None]) -> None:
        """Does `work` for the user, once; calls `failed` with the error if it fails."""
        self._order("answer a command", work, failed, opens=True, again=False)

    def hold(self, step: Step) -> None:
        """Waits for the first snapshot of a step, unless an earlier one is still missing."""
        if self._late is not None and not self._late.settled.is_set():
            return
        if not step.settled.wait(HOLD_SECONDS):
            self._late = step
            logger.warning("no snapshot within %s seconds in %s: the agent goes on", HOLD_SECONDS, self.folder)

    def close(self) -> None:
        """Finishes pending work if that is quick, and disconnects."""
        self._orders.put(None)
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            logger.warning("the daemon did not answer: what was under way in %s stays open", self.folder)

    # -- the thread

    def _order(
        self,
        what: str,
        work: Callable[[Backend], Any],
        failed: Callable[[Exception], None] = lambda _: None,
        *,
        opens: bool = False,
        again: bool = True,
    ) -> None:
        self._orders.put(_Order(what, work, failed, opens, again))

    def _run(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                self._do(order)
            except _FAILURES as error:
                logger.warning("cannot %s in %s: %s", order.what, self.folder, error)
                order.failed(error)
            except Exception as error:
                # an error must not end this thread: callers wait for it
                logger.exception("cannot %s in %s", order.what, self.folder)
                order.failed(error)
        if self._backend is not None:
            self._backend.close()

    def _do(self, order: _Order) -> None:
        if self._refusal is not None and not order.opens:
            raise self._refusal
        try:
            order.work(self._open())
        except IoError as error:
            if error.data.get("errno") != _LOST or not order.again:
                raise
            logger.warning("the daemon is gone; looking for it once more")
            order.work(self._open())

    def _open(self) -> Backend:
        if self._backend is not None:
            return self._backend
        try:
            self._backend = self._connect(self.folder)
        except _FAILURES as error:
            self._refusal = error
            raise
        self._refusal = None
        return self._backend


class Daemon:
    """The daemon at `socket` (default: the user's), which is started if it does not run."""

    def __init__(self, socket: str | None = None) -> None:
        self._locations = Locations.from_environment(os.environ)
        self._socket = os.path.abspath(socket) if socket else self._locations.socket

    def folder_of(self, directory: str) -> str:
        """The workspace that contains a directory; the directory itself if there is none."""
        if not os.path.isdir(directory):
            return directory
        return folder_around(directory, self._locations, data_dir(self._locations.config_file))

    def start(self) -> None:
        """Starts the daemon in the background while the agent starts, so that the first prompt need not wait."""
        from snapd.launch import ensure_daemon

        try:
            ensure_daemon(self._locations, self._socket).close()
        except IoError as error:
            # the next session tries again and reports the error
            logger.warning("%s", error)

    def open(self, folder: str) -> Backend:
        """Opens a folder. Raises `SnapdError` if that fails or snapshots are off."""
        from snapd.backend import open_remote
        from snapd.settings.sources import as_options, read_environment, split_environment

        own, unheard = split_environment(read_environment(os.environ), self._locations.config_file)
        if unheard is not None:
            logger.warning("%s", unheard)
        connection = open_remote(self._socket, folder, as_options(own), self._locations)
        try:
            enabled = connection.request("snapshot/status", {})["enabled"]
        except BaseException:
            connection.close()
            raise
        if enabled:
            return connection
        connection.close()
        raise WorkspaceRefused(
            f"snapshots are off in {folder}", hint="turn them on with the setting 'snapshot'", path=folder
        )

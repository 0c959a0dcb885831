"""Finds a folder's daemon, and records steps of it: a thread of its own waits, so that the conversation need not."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

import attrs

from snapd.folders.root import folder_around
from snapd.locations import Locations
from snapd.model.errors import IoError, SnapdError, UnknownSession, WorkspaceRefused
from snapd.settings import data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from snapd.backend import Backend

    Work = Callable[[Backend], None]

logger = logging.getLogger(__name__)
HOLD_SECONDS = 2.0
"""How long a message waits for its snapshot, at most."""
CLOSE_SECONDS = 2.0
"""How long the end of the conversation waits until what is under way is recorded."""
_FAILURES = (SnapdError, OSError)
_LOST = "EPIPE"
"""The `errno` of a request whose connection was lost."""
PAUSES = (0.0, 0.1, 0.5)
"""Seconds to wait, each time that the connection is lost, before the daemon is looked for once more."""


class Step:
    """A step, before and after the daemon knows it.

    Args:
        session: the session that it belongs to.
        params: what else `step/begin` is told.
        parent: the step that it is a part of.

    Attributes:
        step_id: the daemon's name for it; None where it has not begun.
        settled: set when its first snapshot is there, or will not come.
    """

    def __init__(self, session: str, params: dict[str, str], parent: Step | None = None) -> None:
        self.session = session
        self.params = params
        self.parent = parent
        self.step_id: str | None = None
        self.settled = threading.Event()

    @property
    def above(self) -> str | None:
        """The name of the next step around it that has begun."""
        step = self.parent
        while step is not None and step.step_id is None:
            step = step.parent
        return None if step is None else step.step_id


@attrs.frozen
class _Order:
    """Something to do with the daemon.

    Attributes:
        what: for the log.
        work: does it.
        failed: hears why it was not done; its last word.
        opens: whether a daemon that was not there before is looked for once more.
        again: whether it may be done twice, where the connection was lost in between.
    """

    what: str
    work: Work
    failed: Callable[[Exception], None] = lambda _: None
    opens: bool = False
    again: bool = True


class Recording:
    """Has one folder's steps recorded, in the order in which they are told.

    Every method returns at once but `hold` and `close`; what goes wrong is logged, and the conversation goes on.

    Args:
        folder: absolute.
        connect: opens a folder; raises `SnapdError`.
    """

    def __init__(self, folder: str, connect: Callable[[str], Backend]) -> None:
        self.folder = folder
        self._connect = connect
        self._found: Backend | None = None
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._late: Step | None = None
        self._refusal: Exception | None = None
        self._agents: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name="snapd-acp-recording", daemon=True)
        self._thread.start()

    @property
    def refusal(self) -> Exception | None:
        """Why nothing can be recorded, as far as that is known."""
        return self._refusal

    def start(self, session: str, agent: str, ready: Callable[[], None]) -> None:
        """Starts or resumes a session.

        Args:
            session: its name.
            agent: who works in it.
            ready: called once it can be recorded, in the thread of this recording.
        """
        self._agents[session] = agent

        def work(found: Backend) -> None:
            self._start(found, session)
            ready()
            # the first look at a folder takes longest: the first prompt finds it done
            found.request("snapshot/track", {})

        self._order("start the session", work, opens=True)

    def end_session(self, session: str) -> None:
        """Ends a session, with what is open in it."""
        self._order("end the session", lambda found: found.request("session/end", {"sessionId": session}))

    def message(self, session: str, message_id: str, text: str) -> None:
        """Tells the prompt of a turn."""
        params = {"sessionId": session, "messageId": message_id, "text": text}
        self._order(
            "tell the message", lambda found: self._in_session(found, session, "session/message", params), opens=True
        )

    def begin(self, step: Step, ends: Step | None = None, *, opens: bool = False) -> None:
        """Begins a step.

        Args:
            step: the step.
            ends: another one of the session, which ends with the snapshot on which this one begins.
            opens: whether a daemon that was not there before is looked for once more.
        """

        def work(found: Backend) -> None:
            names = {"parentStepId": step.above, "ends": None if ends is None else ends.step_id}
            params = {"sessionId": step.session, **step.params, **{key: name for key, name in names.items() if name}}
            begun = self._in_session(found, step.session, "step/begin", params)
            step.step_id = begun["stepId"]
            step.settled.set()

        self._order("begin a step", work, lambda _: step.settled.set(), opens=opens)

    def end(
        self, step: Step, files: Sequence[str] | None = None, title: str | None = None, directory: str | None = None
    ) -> None:
        """Ends a step.

        Args:
            step: the step.
            files: those that it wrote, as the agent names them; None where it does not say.
            title: what the agent calls it at last; None for as it did at first.
            directory: what relative names are relative to.
        """

        def work(found: Backend) -> None:
            if step.step_id is not None:
                found.request(
                    "step/end",
                    {
                        "stepId": step.step_id,
                        "files": None if files is None else list(files),
                        "description": title,
                        "directory": None if files is None else directory,
                    },
                )

        self._order("end a step", work)

    def ask(self, work: Work, failed: Callable[[Exception], None]) -> None:
        """Does something for the person, once; `failed` hears why it could not be done."""
        self._order("answer a command", work, failed, opens=True, again=False)

    def hold(self, step: Step) -> None:
        """Waits for the first snapshot of a step; not at all while the daemon still owes an earlier one."""
        if self._late is not None and not self._late.settled.is_set():
            return
        if not step.settled.wait(HOLD_SECONDS):
            self._late = step
            logger.warning("no snapshot within %s seconds in %s: the agent goes on", HOLD_SECONDS, self.folder)

    def close(self) -> None:
        """Does what was ordered, if that is soon done, and lets go of the daemon."""
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
                # a defect must not end this thread: somebody waits for it
                logger.exception("cannot %s in %s", order.what, self.folder)
                order.failed(error)
        if self._found is not None:
            self._found.close()

    def _start(self, found: Backend, session: str) -> None:
        agent = self._agents.get(session)
        found.request("session/start", {"sessionId": session, **({"agent": agent} if agent else {})})

    def _in_session(self, found: Backend, session: str, method: Any, params: Any) -> Any:
        """The result of a request of a session, which is started where the daemon knows none that goes on."""
        try:
            return found.request(method, params)
        except UnknownSession:
            # the editor's first prompt came before ours was told, or somebody ended it, such as a hook of the agent's
            self._start(found, session)
            return found.request(method, params)

    def _do(self, order: _Order) -> None:
        if self._refusal is not None and not order.opens:
            raise self._refusal
        for pause in PAUSES if order.again else ():
            try:
                order.work(self._open())
            except IoError as error:
                if error.data.get("errno") != _LOST:
                    raise
                # a daemon that is about to die may still let somebody in
                logger.warning("the daemon is gone; looking for it once more")
                time.sleep(pause)
            else:
                return
        order.work(self._open())

    def _open(self) -> Backend:
        """The daemon, which is looked for again where the connection was lost.

        Raises:
            SnapdError: it cannot be reached, or refuses the folder.
        """
        if self._found is not None and self._found.is_open:
            return self._found
        if self._found is not None:
            self._found.close()
            self._found = None
        try:
            self._found = self._connect(self.folder)
        except _FAILURES as error:
            self._refusal = error
            raise
        self._refusal = None
        return self._found


class Daemon:
    """The user's daemon, which is started where it does not run.

    Args:
        socket: its socket; None for the user's own.
    """

    def __init__(self, socket: str | None = None) -> None:
        self._locations = Locations.from_environment(os.environ)
        self._socket = os.path.abspath(socket) if socket else self._locations.socket

    def folder_of(self, directory: str) -> str:
        """The folder whose snapshots have the files of a directory; the directory itself if it is none."""
        if not os.path.isdir(directory):
            return directory
        return folder_around(directory, self._locations, data_dir(self._locations.config_file))

    def start(self) -> None:
        """Starts the daemon where it does not run, while the agent starts: the first prompt need not wait for it."""
        from snapd.launch import ensure_daemon

        try:
            ensure_daemon(self._locations, self._socket).close()
        except IoError as error:
            # each session tries again, and says what it misses
            logger.warning("%s", error)

    def open(self, folder: str) -> Backend:
        """Opens a folder.

        Raises:
            SnapdError: the daemon cannot be reached, or refuses the folder; or snapshots are off.
        """
        from snapd.backend import open_remote
        from snapd.launch import ensure_daemon
        from snapd.settings.sources import as_options, for_the_daemon, read_environment

        own, unheard = for_the_daemon(read_environment(os.environ), self._locations.config_file)
        if unheard is not None:
            logger.warning("%s", unheard)
        ensure_daemon(self._locations, self._socket).close()
        found = open_remote(self._socket, folder, as_options(own))
        try:
            enabled = found.request("snapshot/status", {})["enabled"]
        except BaseException:
            found.close()
            raise
        if enabled:
            return found
        found.close()
        raise WorkspaceRefused(
            f"snapshots are off in {folder}", hint="turn them on with the setting 'enabled'", path=folder
        )

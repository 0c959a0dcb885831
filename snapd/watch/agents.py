"""Detects that an agent, another process, has ended or was interrupted, where no event reports it."""

from __future__ import annotations

import os
import re
import select
import stat
import threading
from collections.abc import Callable, Collection
from contextlib import suppress

SECONDS = 0.2
_MOST_BYTES = 1 << 20


class AgentAtWork:
    """The agent process that works in a step: a client of `Attendance`.

    An unknown `process` id is None; one that does not run is ignored, since it is from another namespace. In the lines
    of JSON that the agent appends to `transcript`, a string that begins with one of `interrupted` means an
    interruption.
    """

    def __init__(self, process: int | None, transcript: str | None, interrupted: Collection[str]) -> None:
        self._process = -1
        self._id: int | None = None
        with suppress(OSError, OverflowError):
            if process is not None and hasattr(os, "pidfd_open"):
                self._process = os.pidfd_open(process)
            elif process is not None:
                os.kill(process, 0)
                self._id = process
        self._transcript = transcript if interrupted else None
        # within a string, a quote has a backslash before it
        self._words = re.compile(rb'(?<!\\)"(?:%s)' % b"|".join(re.escape(word.encode()) for word in interrupted))
        self._first = self._read = self._size()

    @property
    def is_known(self) -> bool:
        """Whether its process id is known."""
        return self._process >= 0 or self._id is not None

    def close(self) -> None:
        """Stops watching."""
        if self._process >= 0:
            os.close(self._process)
            self._process = -1

    def is_gone(self) -> bool:
        """Returns whether it has ended, or was interrupted since the last call."""
        if self._process >= 0 and select.select([self._process], [], [], 0)[0]:
            return True
        if self._id is not None:
            try:
                os.kill(self._id, 0)
            except ProcessLookupError:
                return True
        size, read = self._size(), self._read
        self._read = size
        if self._transcript is None or size <= read:
            return False
        try:
            with open(self._transcript, "rb") as file:
                # a line may come in pieces; what was there before is not about this step
                file.seek(max(read - 200, size - _MOST_BYTES, self._first))
                return self._words.search(file.read(_MOST_BYTES)) is not None
        except OSError:
            return False

    def _size(self) -> int:
        try:
            status = os.stat(self._transcript or "")
        except (OSError, ValueError):
            return 0
        return status.st_size if stat.S_ISREG(status.st_mode) else 0


class AgentWatch:
    """Watches agents several times a second, while there are any; `on_gone` is called in a thread."""

    def __init__(self, is_wanted: Callable[[AgentAtWork], bool], on_gone: Callable[[AgentAtWork], None]) -> None:
        self._is_wanted = is_wanted
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._agents: list[AgentAtWork] = []
        self._closed = threading.Event()

    def add(self, agent: AgentAtWork) -> None:
        """Watches an agent, and closes it at the end."""
        with self._lock:
            self._agents.append(agent)
            if len(self._agents) == 1:
                threading.Thread(target=self._run, name="snapd-agents", daemon=True).start()

    def close(self) -> None:
        """Stops watching."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(SECONDS):
            for agent in tuple(self._agents):
                is_wanted = self._is_wanted(agent)
                if is_wanted and not agent.is_gone():
                    continue
                if is_wanted:
                    self._on_gone(agent)
                agent.close()
                with self._lock:
                    self._agents.remove(agent)
            with self._lock:
                if not self._agents:
                    return

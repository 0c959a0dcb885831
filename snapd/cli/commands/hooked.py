"""What the hooks of an agent had recorded while it ran under `snapd run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd_client import ClientError, RequestTimeout

from snapd.core.errors import SnapdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd_client import Client

    from snapd.backend import Backend

_PATIENCE = 3
"""How often the daemon is asked for what was recorded."""


class Hooked:
    """The sessions of an agent that records by its own hooks.

    Args:
        found: who answers.
        client: its connection.
        ensure: makes sure that there is a daemon.
        agent: what its hooks call it.

    Attributes:
        base: the snapshot from before the run.
        end: the one from after it.
    """

    def __init__(self, found: Backend, client: Client, ensure: Callable[[], None], agent: str) -> None:
        self._found = found
        self._client = client
        self._ensure = ensure
        self._agent = agent
        self._before: dict[str, int] = {}
        self.base = self.end = ""

    @property
    def backend(self) -> Backend:
        """Who answers."""
        return self._found

    def start(self) -> None:
        """Takes the first snapshot, so that the agent's first step waits for none.

        Raises:
            SnapdError: there is none.
        """
        self.base = self._found.request("snapshot/track", {})["hash"]
        self._before = {session["sessionId"]: session["stepCount"] for session in self._sessions()}

    def finish(self) -> dict[str, list[dict[str, Any]]]:
        """Ends the sessions that the agent left open, and gives its steps of this run.

        Returns:
            The steps by session, as `session/steps` tells them.

        Raises:
            SnapdError, ClientError, OSError: the daemon cannot be asked.
        """
        for attempt in range(_PATIENCE):
            try:
                return self._finish()
            except RequestTimeout:
                raise
            except (SnapdError, ClientError, OSError):
                if attempt == _PATIENCE - 1:
                    raise
            self._ensure()
            self._client.reconnect()
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Lets go of the daemon."""
        self._found.close()

    def _finish(self) -> dict[str, list[dict[str, Any]]]:
        steps = {}
        for session in self._sessions():
            name = session["sessionId"]
            known = self._before.get(name)
            if known is None and "endedAt" not in session:
                # the agent is gone and did not say so: what changes from now on is not its own
                self._found.request("session/end", {"sessionId": name})
            if session["stepCount"] > (known or 0):
                steps[name] = self._found.request("session/steps", {"sessionId": name})["steps"][known or 0 :]
        # what changed beside the agent's steps is in a snapshot too
        self.end = self._found.request("snapshot/track", {})["hash"]
        return steps

    def _sessions(self) -> list[dict[str, Any]]:
        every = self._found.request("session/list", {})["sessions"]
        return [session for session in every if session.get("agent") == self._agent]

"""The connection is made when it is first needed, and ends with the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from snapd.mcp.call import Link
from snapd.model.errors import Cancelled, IoError

if TYPE_CHECKING:
    from snapd.backend import RemoteBackend


class Backend:
    """Answers with what it is asked."""

    is_closed = False

    def request(self, method: str, params: Any, report: Any, cancellation: Any) -> Any:
        return method, params

    def close(self) -> None:
        self.is_closed = True


def test_a_connection_that_cannot_be_made_is_tried_with_the_next_request() -> None:
    made: list[Backend] = []
    failures = [IoError("refused", errno="ECONNREFUSED")]

    def connect() -> RemoteBackend:
        if failures:
            raise failures.pop()
        made.append(Backend())
        return made[-1]  # type: ignore[return-value]

    link = Link(connect)
    assert not made
    with pytest.raises(IoError, match="refused"):
        link.request("snapshot/track", {})
    for _ in range(2):
        assert link.request("snapshot/track", {"force": None, "a": 1}) == ("snapshot/track", {"a": 1})
    assert len(made) == 1
    link.close()
    assert made[0].is_closed
    with pytest.raises(Cancelled):
        link.request("snapshot/track", {})

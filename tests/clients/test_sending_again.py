"""What a client may do when its connection broke: the error says whether the request may be sent again."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from snapd_client import Client, ConnectionLost
from snapd_client.transport import Transport


@pytest.mark.parametrize(
    ("method", "params", "repeatable"),
    [
        ("snapshot/track", None, True),
        ("snapshot/diff", {"hash": "0" * 40}, True),
        ("step/end", {"stepId": "s"}, True),
        ("session/start", {"sessionId": "s"}, True),
        ("session/start", {"agent": "a"}, False),
        ("session/start", None, False),
        ("session/undo", {"sessionId": "s"}, False),
        ("step/begin", {"sessionId": "s"}, False),
        ("of/a/newer/daemon", {}, False),
    ],
)
def test_a_lost_request_says_whether_it_may_be_sent_again(
    method: str, params: dict[str, Any] | None, repeatable: bool
) -> None:
    ours, theirs = socket.socketpair()
    descriptor = ours.detach()
    with Client(lambda: Transport(descriptor, descriptor)) as client:
        theirs.close()
        with pytest.raises(ConnectionLost) as lost:
            client.request(method, params)
        assert lost.value.repeatable is repeatable

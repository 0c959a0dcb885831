"""An error of a kind that only a newer daemon has stays what it is, on its way through every face."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from snapd.backend import RemoteBackend, connect
from snapd.model.errors import IoError, SnapdError
from snapd.web.errors import status_of
from tests.clients.peer import WAIT, Peer


def test_a_kind_that_is_not_known(listener: socket.socket) -> None:
    with ThreadPoolExecutor(1) as pool:
        opened = pool.submit(lambda: RemoteBackend(connect(listener.getsockname(), WAIT), "/w", {}))
        peer = Peer(listener.accept()[0])
        peer.send(id=peer.read()["id"], result={"capabilities": {}})
        assert peer.read()["method"] == "initialized"
        backend = opened.result(WAIT)
        answer = pool.submit(backend.request, "snapshot/track")
        data = {"kind": "folderFrozen", "path": "/w"}
        peer.send(id=peer.read()["id"], error={"code": 1099, "message": "it is frozen", "data": data})
        with pytest.raises(SnapdError, match="it is frozen") as refused:
            answer.result(WAIT)
        assert not isinstance(refused.value, IoError)
        assert (refused.value.kind, refused.value.data) == ("folderFrozen", {"path": "/w"})
        assert "newer" in refused.value.hint
        assert status_of(refused.value) == 502
        backend.close()
        peer.close()

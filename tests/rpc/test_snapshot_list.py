"""What `snapshot/list` takes and refuses; what it lists is tested with the core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rpc.machine import Machine, Raw


@pytest.fixture
def client(daemon: Machine, folder: Path) -> Raw:
    return daemon.raw().open(folder)


def test_a_snapshot_and_a_step(client: Raw, folder: Path) -> None:
    assert client.result("snapshot/list") == {"snapshots": []}
    (folder / "a").write_text("a\n")
    first = client.result("snapshot/track")["hash"]
    client.result("session/start", {"sessionId": "s", "agent": "ada"})
    step = client.result("step/begin", {"sessionId": "s"})["stepId"]
    (folder / "b").write_text("b\n")
    second = client.result("step/end", {"stepId": step})["to"]
    newest, begun, oldest = client.result("snapshot/list")["snapshots"]
    assert newest == {
        "hash": second,
        "at": newest["at"],
        "kind": "end",
        "files": 1,
        "sessionId": "s",
        "stepId": step,
        "agent": "ada",
    }
    assert begun == {
        "hash": first,
        "at": begun["at"],
        "kind": "begin",
        "files": 0,
        "sessionId": "s",
        "stepId": step,
        "agent": "ada",
    }
    assert oldest == {"hash": first, "at": oldest["at"], "kind": "track"}
    assert client.result("snapshot/list", {"before": newest["at"], "limit": 1})["snapshots"] == [newest]
    assert client.result("snapshot/list", {"before": "1999-12-31T23:59:59.999-08:00"}) == {"snapshots": []}
    assert client.result("snapshot/list", {"before": "2999-01-01t00:00:00z", "limit": 1})["snapshots"] == [newest]
    assert client.result("snapshot/list", {"prefix": first[:6]})["snapshots"] == [begun]
    assert "files" not in client.result("snapshot/list", {"counts": False})["snapshots"][0]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"prefix": "12345"}, "prefix"),
        ({"prefix": "12345G"}, "prefix"),
        ({"prefix": "ABCDEF"}, "prefix"),
        ({"prefix": "0" * 41}, "prefix"),
        ({"prefix": "123456\n"}, "prefix"),
        ({"prefix": ""}, "prefix"),
        ({"before": ""}, "before"),
        ({"before": "2026-01-31"}, "before"),
        ({"before": "2026-01-31T09:30:00"}, "before"),
        ({"before": "2026-13-31T09:30:00Z"}, "before"),
        ({"before": "2026-01-31T09:30:00Z", "prefix": "123456"}, "before"),
        ({"limit": 0}, "limit"),
    ],
)
def test_what_is_refused(client: Raw, params: dict[str, Any], field: str) -> None:
    error = client.ask(1, "snapshot/list", params)["error"]
    assert (error["data"]["kind"], error["data"]["field"]) == ("invalidParams", field)

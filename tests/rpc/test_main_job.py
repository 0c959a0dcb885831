"""The main job, as an editor's client does it: over standard input and output, and over the socket with two clients."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from lsprotocol import types as lsp
from pygls.io_ import run_async
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features
from snapd_client import to_uri

from snapd.wire.methods import NOTIFICATIONS

from .machine import PATIENCE, Machine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Params = dict[str, Any]


class SnapdClient(LanguageClient):
    """pytest-lsp's client, which can also go to a daemon that runs, and forgets no notification.

    But for `snapshot/didChange`: whether one comes between an edit and the next snapshot is a matter of time.
    """

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        register_lsp_features(self, dict(DEFAULT_CLIENT_FEATURES))
        self.exit_code: int | None = None
        self.told: asyncio.Queue[tuple[str, Params]] = asyncio.Queue()
        for method in NOTIFICATIONS:
            self.feature(method)(lambda params, method=method: self._take(method, plain(params)))

    def _take(self, method: str, params: Params) -> None:
        if method != "snapshot/didChange":
            self.told.put_nowait((method, params))

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        self.exit_code = server.returncode

    async def connect(self, socket: Path) -> None:
        """Goes to the daemon on a socket."""
        reader, writer = await asyncio.open_unix_connection(str(socket), limit=1 << 26)
        self.protocol.set_writer(writer)
        reading = run_async(self._stop_event, reader, self.protocol, error_handler=self.report_server_error)
        self._async_tasks.append(asyncio.create_task(reading))
        self.writer = writer

    async def open(self, *folders: Path, options: Any = None) -> lsp.InitializeResult:
        """Initialises the session with folders."""
        return await self.initialize_session(
            lsp.InitializeParams(
                capabilities=lsp.ClientCapabilities(),
                initialization_options=options,
                workspace_folders=[lsp.WorkspaceFolder(to_uri(str(folder)), folder.name) for folder in folders],
            )
        )

    async def ask(self, method: str, **params: Any) -> Any:
        """The result of a `snapshot/*` request."""
        answer = await asyncio.wait_for(self.protocol.send_request_async(f"snapshot/{method}", params), PATIENCE)
        return plain(answer)

    async def next_told(self) -> tuple[str, Params]:
        """The next notification."""
        return await asyncio.wait_for(self.told.get(), PATIENCE)


def plain(value: Any) -> Any:
    """The JSON value of what pygls made of one whose type it does not know."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if hasattr(value, "_asdict"):
        return {key: plain(each) for key, each in value._asdict().items()}
    return value


@pytest_asyncio.fixture
async def stdio(machine: Machine) -> AsyncIterator[SnapdClient]:
    config = ClientServerConfig(
        server_command=[sys.executable, "-m", "snapd", "serve", "--stdio"],
        client_factory=SnapdClient,
        server_env=machine.environment(),
    )
    client = await config.start()
    assert isinstance(client, SnapdClient)
    yield client
    await client.shutdown_session()
    await client.stop()
    assert client.exit_code == 0


@pytest_asyncio.fixture
async def pair(daemon: Machine) -> AsyncIterator[tuple[SnapdClient, SnapdClient]]:
    clients = (SnapdClient(), SnapdClient())
    for client in clients:
        await client.connect(daemon.socket)
    yield clients
    for client in clients:
        await client.shutdown_session()
        client.writer.close()
        await client.stop()


async def main_job(client: SnapdClient, folder: Path) -> list[tuple[str, Params]]:
    """Does it, and gives what was told meanwhile."""
    first = await client.ask("track")
    assert first["skipped"] == []
    assert (await client.ask("patch", hash=first["hash"])) == {"hash": first["hash"], "files": []}

    (folder / "a.txt").write_text("changed\n")
    (folder / "sub" / "b.txt").unlink()
    (folder / "new file").write_text("new\n")
    patch = await client.ask("patch", hash=first["hash"])
    assert patch["files"] == [str(folder / name) for name in ("a.txt", "new file", "sub/b.txt")]

    diff = (await client.ask("diff", hash=first["hash"], files=["a.txt"]))["diff"]
    assert diff.startswith("diff --git a/a.txt b/a.txt\n")
    assert diff.endswith("-one\n+changed\n")
    full = (await client.ask("diffFull", **{"from": first["hash"]}))["diffs"]
    assert [(each["file"], each["status"], each["before"], each["after"]) for each in full] == [
        ("a.txt", "modified", "one\n", "changed\n"),
        ("new file", "added", "", "new\n"),
        ("sub/b.txt", "deleted", "two\n", ""),
    ]
    second = await client.ask("track")
    assert (await client.ask("patch", hash=first["hash"], to=second["hash"]))["files"] == patch["files"]

    content = await client.ask("fileAt", hash=first["hash"], file="sub/b.txt")
    assert content == {
        "file": "sub/b.txt",
        "size": 4,
        "mode": "100644",
        "binary": False,
        "encoding": "utf-8",
        "content": "two\n",
    }
    assert (await client.ask("listFiles", hash=first["hash"]))["files"] == ["a.txt", "sub/b.txt"]
    assert (await client.ask("listFiles", hash=first["hash"], prefix="su"))["files"] == ["sub/b.txt"]
    assert (await client.ask("fileExists", hash=first["hash"], file="new file")) == {"exists": False}
    assert (await client.ask("fileExists", hash=second["hash"], file=str(folder / "new file"))) == {"exists": True}

    expected_outcomes = await client.ask("revert", patches=[patch], dryRun=True)
    assert expected_outcomes["applied"] is False
    assert (folder / "a.txt").read_text() == "changed\n"
    outcome = await client.ask("revert", patches=[patch])
    assert outcome == {
        "applied": True,
        "before": second["hash"],
        "after": first["hash"],
        "files": [
            {"file": "a.txt", "outcome": "restored"},
            {"file": "new file", "outcome": "deleted"},
            {"file": "sub/b.txt", "outcome": "restored"},
        ],
    }
    assert (folder / "sub" / "b.txt").read_text() == "two\n"
    assert not (folder / "new file").exists()

    restored = await client.ask("restore", hash=second["hash"])
    assert (restored["applied"], restored["after"]) == (True, second["hash"])
    assert (folder / "new file").read_text() == "new\n"
    status = await client.ask("status")
    assert status["lastHash"] == second["hash"]
    assert (status["enabled"], status["files"], status["workspaceUri"]) == (True, 2, to_uri(str(folder)))

    told = [await client.next_told() for _ in range(4)]
    numbers = [params["seq"] for _, params in told]
    assert numbers == sorted(set(numbers))
    uri = to_uri(str(folder))
    assert [(method, {**params, "seq": 0}) for method, params in told] == [
        ("snapshot/didTrack", {"workspaceUri": uri, "seq": 0, "hash": first["hash"]}),
        ("snapshot/didTrack", {"workspaceUri": uri, "seq": 0, "hash": second["hash"], "previous": first["hash"]}),
        (
            "snapshot/didRevert",
            {
                "workspaceUri": uri,
                "seq": 0,
                "kind": "revert",
                "before": second["hash"],
                "after": first["hash"],
                "files": outcome["files"],
            },
        ),
        (
            "snapshot/didRevert",
            {
                "workspaceUri": uri,
                "seq": 0,
                "kind": "restore",
                "before": first["hash"],
                "after": second["hash"],
                "files": restored["files"],
            },
        ),
    ]
    assert client.told.empty()
    return told


async def test_over_standard_input_and_output(stdio: SnapdClient, folder: Path) -> None:
    result = await stdio.open(folder)
    offered = plain(result.capabilities.experimental)["snapshot"]
    assert offered["protocolVersion"] == 1
    assert {"snapshot/track", "snapshot/revert"} <= set(offered["methods"])
    assert set(offered["notifications"]) == set(NOTIFICATIONS)
    await main_job(stdio, folder)


async def test_over_the_socket_with_two_clients(pair: tuple[SnapdClient, SnapdClient], folder: Path) -> None:
    worker, watcher = pair
    await worker.open(folder)
    await watcher.open(folder)
    told = await main_job(worker, folder)
    assert [await watcher.next_told() for _ in told] == told
    assert watcher.told.empty()


async def test_notification_comes_before_the_answer(pair: tuple[SnapdClient, SnapdClient], folder: Path) -> None:
    client, _ = pair
    await client.open(folder)
    for number in range(1, 20):
        tracked = await client.ask("track")
        _, params = client.told.get_nowait()
        assert (params["seq"], params["hash"]) == (number, tracked["hash"])


def test_paging(daemon: Machine, folder: Path) -> None:
    client = daemon.client(folder)
    first = client.track()["hash"]
    assert first is not None
    names = [f"f{number:02}" for number in range(25)]
    for name in names:
        (folder / name).write_text(f"{name}\n")
    pages = []
    cursor = None
    while True:
        page = client.diff_full(first, cursor=cursor, limit=10)
        pages.append([each["file"] for each in page["diffs"]])
        # every page is of the same work tree as the first
        (folder / f"late-{len(pages)}").touch()
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert pages == [names[:10], names[10:20], names[20:]]
    second = client.track()["hash"]
    assert second is not None
    assert list(client.list_files_all(second, "f", limit=7)) == names
    assert [each["file"] for each in client.diff_full_all(first, second, ["f00", "f24"], limit=1)] == ["f00", "f24"]
    page = client.request("snapshot/listFiles", {"hash": second, "limit": 1})
    with pytest.raises(Exception, match="cursor"):
        client.request("snapshot/listFiles", {"hash": first, "cursor": page["nextCursor"]})
    with pytest.raises(Exception, match="cursor"):
        client.request("snapshot/diffFull", {"from": first, "cursor": page["nextCursor"]})


def test_without_contents_and_with_renames(daemon: Machine, folder: Path) -> None:
    (folder / "long").write_text("".join(f"line {number}\n" for number in range(100)))
    client = daemon.client(folder)
    first = client.track()["hash"]
    assert first is not None
    (folder / "long").rename(folder / "moved")
    (folder / "a.txt").chmod(0o755)
    bare = client.diff_full(first, contents=False)["diffs"]
    assert [(each["file"], each["status"], each["before"], each["after"]) for each in bare] == [
        ("a.txt", "modified", "", ""),
        ("long", "deleted", "", ""),
        ("moved", "added", "", ""),
    ]
    assert [(each["additions"], each["deletions"]) for each in bare] == [(0, 0), (0, 100), (100, 0)]
    assert (bare[0]["oldMode"], bare[0]["newMode"]) == ("100644", "100755")
    renamed = client.diff_full(first, renames=True)["diffs"]
    assert [(each["file"], each["status"], each.get("renamedFrom")) for each in renamed] == [
        ("a.txt", "modified", None),
        ("moved", "modified", "long"),
    ]


def test_names_that_are_not_utf8(daemon: Machine, folder: Path) -> None:
    odd = os.fsencode(folder) + b"/odd-\xff%41\n"
    uri = to_uri(odd)
    client = daemon.client(folder)
    first = client.track()["hash"]
    assert first is not None
    Path(os.fsdecode(odd)).write_bytes(b"\xfe\xff")
    (difference,) = client.diff_full(first)["diffs"]
    assert (difference["file"], difference["uri"]) == ("odd-�%41\n", uri)
    patch = client.patch(first)
    assert patch["files"] == [uri]
    second = client.track()["hash"]
    assert second is not None
    assert list(client.list_files_all(second, "odd")) == [uri]
    assert client.file_exists(second, uri)["exists"] is True
    assert client.file_exists(second, b"odd-\xff%41\n")["exists"] is True
    content = client.file_at(second, uri)
    assert (content["encoding"], base64.b64decode(content["content"])) == ("base64", b"\xfe\xff")
    with client.subscribe() as told:
        outcome = client.revert([patch])
        notification = told.get(PATIENCE)
    assert outcome["files"] == [{"file": "odd-�%41\n", "uri": uri, "outcome": "deleted"}]
    assert notification is not None
    assert notification.params["files"] == outcome["files"]
    assert not os.path.exists(odd)
    (folder / "link").symlink_to(b"\xff".decode("utf-8", "surrogateescape"))
    third = client.track()["hash"]
    assert third is not None
    content = client.file_at(third, "link")
    assert (content["mode"], base64.b64decode(content["content"])) == ("120000", b"\xff")


def test_forced_files(daemon: Machine, folder: Path) -> None:
    (folder / ".gitignore").write_text("ignored\n")
    (folder / "ignored").write_text("secret\n")
    client = daemon.client(folder)
    plainly, forced = client.track()["hash"], client.track(force=["ignored"])["hash"]
    assert plainly is not None
    assert forced is not None
    assert client.file_exists(plainly, "ignored")["exists"] is False
    assert client.file_exists(forced, to_uri(str(folder / "ignored")))["exists"] is True


def test_cleanup(daemon: Machine, folder: Path) -> None:
    client = daemon.client(folder)
    client.track()
    assert client.cleanup()["removed"] == 0
    (folder / "a.txt").write_text("changed\n")
    client.track()
    removed = client.cleanup(older_than_days=0)
    assert removed["removed"] >= 0
    assert removed["freedBytes"] >= 0
    assert client.status()["enabled"] is True

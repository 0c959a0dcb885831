"""Remotes that send more than anybody has, or that never end: refused within bounds, or cancelled."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, Untrusted
from snapd.sharing.inspection import Limits
from snapd.store.timeline.chain import chain_of_session
from tests.support.processes import own_children
from tests.support.sessions import Agents

from .sharing import delete, fetch, push
from .talking import TalkingServer, bomb, endless_pack

ONE = b"12" * 20 + b" " + chain_of_session("one").encode() + b"\n"


@pytest.fixture
def talk() -> Iterator[Callable[..., TalkingServer]]:
    servers: list[TalkingServer] = []

    def start(
        references: Callable[[], Iterable[bytes]] = lambda: [ONE],
        pack: Callable[[], Iterable[tuple[int, bytes]]] = list,
    ) -> TalkingServer:
        servers.append(TalkingServer(references, pack))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def there(machine: Callable[[str, str], Agents], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agents]:
    agents = machine("there", "")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = own_children()
    yield agents
    assert list(agents.bench.workspace.fetched.readers()) == []
    assert list(temporary.iterdir()) == []
    assert own_children() == before


def bounded(agents: Agents, limits: Limits) -> None:
    agents.bench.workspace.remote_sessions.limits = limits


def test_a_pack_that_never_ends(there: Agents, talk: Callable[..., TalkingServer]) -> None:
    bounded(there, Limits(pack_bytes=20 << 20))
    with pytest.raises(Untrusted):
        fetch(there, talk(pack=endless_pack).address)


def test_a_small_pack_of_enormous_files(there: Agents, talk: Callable[..., TalkingServer]) -> None:
    pack = bomb(10)
    assert len(pack) < 100_000
    for limits in (Limits(blob_bytes=8 << 20), Limits(memory_bytes=48 << 20)):
        bounded(there, limits)
        with pytest.raises(Untrusted):
            fetch(there, talk(pack=lambda: [(1, pack)]).address)


def test_more_work_than_there_is_time_for(there: Agents, talk: Callable[..., TalkingServer]) -> None:
    pack = bomb(12)
    bounded(there, Limits(seconds=1))
    with pytest.raises(Untrusted):
        fetch(there, talk(pack=lambda: itertools.chain([(1, pack[:-20])], endless_pack())).address)


def test_words_that_never_end(there: Agents, talk: Callable[..., TalkingServer]) -> None:
    """What a remote has to say goes nowhere, for as long as it says it; the user may cancel."""
    call = Call()
    said = threading.Event()

    def words() -> Iterator[tuple[int, bytes]]:
        for number in itertools.count():
            if number == 5_000:
                said.set()
            yield 2, b"x" * 1000 + b"\n"

    canceller = threading.Thread(target=lambda: (said.wait(), call.cancel()))
    canceller.start()
    with pytest.raises(Cancelled):
        fetch(there, talk(pack=words).address, call=call)
    canceller.join()


def test_references_that_never_end(there: Agents, talk: Callable[..., TalkingServer]) -> None:
    def references() -> Iterator[bytes]:
        return (b"12" * 20 + b" refs/snapd/sessions/%016x\n" % number for number in itertools.count())

    bounded(there, Limits(memory_bytes=64 << 20))
    with pytest.raises(Untrusted):
        fetch(there, talk(references).address)


def test_a_list_that_never_ends(there: Agents, talk: Callable[..., TalkingServer]) -> None:
    """As `git ls-remote` prints it, before a session is deleted or pushed."""

    def references() -> Iterator[bytes]:
        return (b"12" * 20 + b" refs/heads/%0200d\n" % number for number in itertools.count())

    bounded(there, Limits(memory_bytes=64 << 20))
    for asked in ("delete", "push"):
        with pytest.raises(Untrusted):
            _ask(there, asked, talk(references).address)


def _ask(agents: Agents, asked: str, address: str) -> None:
    delete(agents, address, "one") if asked == "delete" else push(agents, address)

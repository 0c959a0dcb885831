"""A line that is cut at every kilobyte, in either direction: told, nothing half done, and tried again."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapd.model.errors import RemoteFailed
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.sessions import Agents, text

from .cutting import CuttingProxy, Direction
from .servers import Kind, Served, credentials
from .sharing import fetch, push, steps

STEP = amount(8192, 1024)
SIZE = 20_000
"""Of the file that travels, which nothing makes smaller."""


@pytest.fixture(params=["git", "http"])
def remote(request: pytest.FixtureRequest, serve: Callable[[Kind], Served]) -> Served:
    return serve(request.param)


@pytest.fixture
def proxy(remote: Served) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(remote.port)
    yield proxy
    proxy.close()


@pytest.fixture
def through(remote: Served, proxy: CuttingProxy) -> tuple[str, str]:
    """The address of the proxy, and what lets a user in there."""
    config = credentials(remote.path.parent.parent / "through", proxy.port, "right horse") if remote.config else ""
    return remote.address.replace(str(remote.port), str(proxy.port)), config


def left_over(folder: Path) -> list[str]:
    """What is in a folder for files that are there for a time."""
    return [path.name for path in folder.glob("snapd-*")]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.parametrize("direction", ["up", "down"])
def test_pushes(
    remote: Served,
    proxy: CuttingProxy,
    through: tuple[str, str],
    machine: Callable[[str, str], Agents],
    temporary: Path,
    direction: Direction,
) -> None:
    address, config = through
    here = machine("here", config)
    chance = random.Random(0)
    for count in itertools.count(0, STEP):
        had = remote.references()
        here.step("one", {"a.bin": chance.randbytes(SIZE)})
        proxy.cut_after(direction, count)
        if not proxy_cuts(proxy, lambda: push(here, address)):
            break
        # the server may have been done before the line was cut
        found = remote.references()
        assert found == had or len(found) == 1
        remote.check()
        assert left_over(temporary) == []
        proxy.cut_after(None)
        push(here, address)
        assert remote.references() != had
        assert len(set(remote.references())) == 1
    assert count
    remote.check()


@pytest.mark.parametrize("direction", ["up", "down"])
def test_fetches(
    remote: Served,
    proxy: CuttingProxy,
    through: tuple[str, str],
    machine: Callable[[str, str], Agents],
    temporary: Path,
    direction: Direction,
) -> None:
    address, config = through
    here, there = machine("here", remote.config), machine("there", config)
    chance = random.Random(0)
    for count in itertools.count(0, STEP):
        here.step("one", {"a.bin": chance.randbytes(SIZE), "a.txt": text(l2=b"%d" % count)})
        push(here, remote.address)
        had = [steps(there, "one") for _ in there.bench.workspace.fetched.readers()]
        proxy.cut_after(direction, count)
        if not proxy_cuts(proxy, lambda: fetch(there, address)):
            break
        assert [steps(there, "one") for _ in there.bench.workspace.fetched.readers()] == had
        check_mirrors(there)
        assert left_over(temporary) == []
        proxy.cut_after(None)
        assert fetch(there, address) == ["one"]
    assert steps(there, "one") == [view.step.step_id for view in here.steps("one")]
    check_mirrors(there)


def proxy_cuts(proxy: CuttingProxy, asked: Callable[[], object]) -> bool:
    """Asks through a proxy that cuts the line; False if there was nothing left to cut, and the answer came."""
    try:
        asked()
    except RemoteFailed as error:
        failure = error
    else:
        return proxy.was_cut
    assert failure.data["reason"] in ("interrupted", "unreachable"), failure
    assert proxy.was_cut, failure
    return True


def check_mirrors(agents: Agents) -> None:
    for mirror in Path(agents.bench.workspace.store.path, "mirrors").iterdir():
        assert run_git(mirror, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""

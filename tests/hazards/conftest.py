"""What every hazard test stands on: traps that must never fire, real daemons, workspaces, and a sentinel outside."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.hazards.hostile import HostileMachine
from tests.hazards.traps import Traps
from tests.hazards.whole import look, touched
from tests.rpc.conftest import daemon, other_folder  # noqa: F401 - fixtures
from tests.rpc.machine import short_folder
from tests.support.places import make_folder
from tests.support.workspace import close_all, make, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.watch.choose import WatcherSetting
    from tests.rpc.machine import Machine
    from tests.support.workspace import Bench, Items


class Build(Protocol):
    """What the fixture `build` is."""

    def __call__(self, items: Items, *, inside: str = "", watcher: WatcherSetting = "auto") -> Bench: ...


@pytest.fixture(scope="session")
def _all_traps() -> Iterator[Traps]:
    folder = make_folder("st-")
    # the daemon of another user has to be able to run what it must not run
    folder.chmod(0o755)
    yield Traps(folder / "traps")
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def traps(_all_traps: Traps, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traps]:
    """Programs and a repository that git would be led to; after each test, none of them was."""
    with monkeypatch.context() as variables:
        for name, value in _all_traps.environment().items():
            variables.setenv(name, value)
        yield _all_traps
        close_all()
    fired = _all_traps.fired()
    _all_traps.rearm()
    assert fired == []
    assert _all_traps.decoy_is_untouched()


@pytest.fixture(autouse=True)
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder that no test may change: what lies in it has the names of what tests have in their workspaces."""
    path = tmp_path / "outside"
    write(path, dict.fromkeys(("a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "run"), b"theirs\n"))
    before = look(path)
    yield path
    assert touched(before, path) == set()


@pytest.fixture
def build(tmp_path: Path, traps: Traps) -> Build:
    """Makes workspaces of the real core, in which git would start the traps: in the home, at the root, and nested."""

    def build(items: Items, *, inside: str = "", watcher: WatcherSetting = "auto") -> Bench:
        (tmp_path / "home").mkdir(exist_ok=True)
        traps.fill_home(tmp_path / "home")
        traps.make_repository(tmp_path / "work", "root")
        traps.make_repository(tmp_path / "work" / inside / "nested", "nested")
        return make(tmp_path, {"nested/inner": b"inner\n", **items}, inside=inside, watcher=watcher)

    return build


@pytest.fixture
def folder(traps: Traps) -> Iterator[Path]:
    """A workspace outside every home, with a hostile repository as its own `.git` and one below `nested`."""
    files = {"a.txt": "one\n", "sub/b.txt": "two\n", "nested/inner.txt": "inner\n"}
    with short_folder("sw-", files) as path:
        traps.make_repository(path, "root")
        traps.make_repository(path / "nested", "nested")
        yield path


@pytest.fixture
def machine(traps: Traps) -> Iterator[Machine]:
    """A user's environment in which no daemon runs yet; its home, path and variables hold the traps."""
    machine = HostileMachine(traps)
    yield machine
    machine.finish()


@pytest.fixture(scope="session")
def _daemon(_all_traps: Traps) -> Iterator[Machine]:
    machine = HostileMachine(_all_traps)
    # it has the variables from its first import on
    machine.serve_socket(within=("env",))
    yield machine
    machine.finish()

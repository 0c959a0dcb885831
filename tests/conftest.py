"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from snapd.store.journal import journal
from snapd.store.journal.journal import Journal
from tests.support import places
from tests.support.workspace import close_all

pytest_plugins = ["tests.support.durations"]

if "TMPDIR" not in os.environ:
    # pytest makes `tmp_path` there
    tempfile.tempdir = places.base

# a shell has the commands that it runs in the background ignore these, and so would all that the tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# and so does nohup
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# a busy machine is no reason to fail
hypothesis.settings.register_profile("snapd", deadline=None)
hypothesis.settings.load_profile("snapd")


_FIRST_MARK = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.(\w+)", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Does not load a module or a folder that `-m` leaves out as a whole: each process of xdist would load it."""
    file = collection_path / "__init__.py" if collection_path.is_dir() else collection_path
    mark = _FIRST_MARK.search(file.read_text("utf-8")) if file.suffix == ".py" and file.exists() else None
    return True if mark is not None and f"not {mark[1]}" in config.option.markexpr else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Gives a test the marks of its packages: `pytestmark` in an `__init__.py` holds for the whole folder."""
    assert isinstance(item, pytest.Function)
    package = item.module.__name__
    while package := package.rpartition(".")[0]:
        mark = getattr(sys.modules[package], "pytestmark", None)
        if mark is not None:
            item.add_marker(mark)


def pytest_collection_finish() -> None:
    """Has the collector leave alone all that lasts as long as the tests: to look at it takes a part of each."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the folders and machines of a test lie on the disk."""
    monkeypatch.setattr(places, "base", places.DISK)


@pytest.fixture(autouse=True, scope="session")
def _journals_are_published_at_once() -> Iterator[None]:
    """Has git see in this process what a step recorded when it returns; daemons publish it a moment later."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "publish_later", Journal.publish_in_background)
        yield


@pytest.fixture(autouse=True)
def _closed_workspaces(tmp_path: Path) -> Iterator[None]:
    """Closes what `make` opened, before the folder that it lies in is removed."""
    yield
    close_all()

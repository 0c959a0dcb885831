"""Which settings hold, by who says what and when."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

import pytest

from snapd.model.errors import InvalidParams
from snapd.settings.in_force import Base, FolderSettings, Options, SettingsFile
from tests.support.workspace import make

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def base(file: Path, **environment: object) -> Base:
    return Base(SettingsFile(str(file)), environment)


def opened(base: Base, client: str, **given: object) -> tuple[FolderSettings, Options]:
    options = Options(base, client)
    options.give(given)
    folder = FolderSettings(options)
    folder.add(options)
    return folder, options


def sources(folder: FolderSettings, client: str) -> dict[str, tuple[object, str]]:
    return {each.name: (each.value, each.source) for each in folder.in_use(client) if each.source != "default"}


def test_a_change_of_the_same_size_in_the_same_moment_is_seen(file: Path) -> None:
    file.write_text("retention = 1\n")
    settings = SettingsFile(str(file))
    for number in range(2, 10):
        file.write_text(f"retention = {number}\n")
        assert settings.read() == ({"retention": float(number)}, None)


def test_what_stays_the_same_is_not_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SettingsFile(str(file))
    monkeypatch.setattr("snapd.settings.in_force.read_file", None)
    assert settings.read() == ({}, None)


def test_a_file_that_is_wrong_from_the_start(file: Path) -> None:
    file.write_text("colour = 1\n")
    with pytest.raises(InvalidParams, match="colour: unknown setting"):
        SettingsFile(str(file))


def test_a_mistake_is_logged_once_and_forgotten_when_it_is_mended(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_text("retention = 1\n")
    settings = SettingsFile(str(file))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            file.write_text("retention = -1\n")
            layer, problem = settings.read()
            assert layer == {"retention": 1.0}
            assert problem is not None
    assert len(caplog.records) == 1
    file.write_text("retention = 2\n")
    assert settings.read() == ({"retention": 2.0}, None)


def test_each_place_is_stronger_than_those_before_it(file: Path) -> None:
    file.write_text("retention = 1\nmax_snapshots = 1\nmax_file_size = 1\n")
    folder, _ = opened(base(file, max_snapshots=2, max_file_size=2), "me", max_file_size=3)
    assert sources(folder, "me") == {
        "retention": (1.0, "file"),
        "max_snapshots": (2, "environment"),
        "max_file_size": (3, "client"),
    }
    assert sources(folder, "you")["max_file_size"] == (3, "otherClient")
    assert (folder.capture.max_file_size, folder.kept.days, folder.kept.max_snapshots) == (3, 1.0, 2)


def test_whether_snapshots_are_on_is_each_client_s_own(file: Path) -> None:
    folder, _ = opened(base(file), "off", snapshot=False)
    on = Options(base(file), "on")
    folder.add(on)
    assert (folder.enabled("off"), folder.enabled("on")) == (False, True)
    assert "snapshot" not in sources(folder, "on")
    assert sources(folder, "off")["snapshot"] == (False, "client")


def test_what_counts_at_opening_alone(file: Path) -> None:
    place = base(file)
    folder, opener = opened(place, "me", watcher="none")
    other = Options(place, "you")
    other.give({"watcher": "watchdog"})
    folder.add(other)
    assert sources(folder, "me")["watcher"] == ("none", "client")
    assert sources(folder, "you")["watcher"] == ("none", "otherClient")
    assert (folder.opens_alike(opener), folder.opens_alike(other)) == (True, False)
    folder.remove(opener)
    # another client by the same name has not opened it
    assert sources(folder, "me")["watcher"] == ("none", "otherClient")


def test_how_a_folder_is_watched_ends_with_the_last_who_has_it_open(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"a\n"}, watcher="none")
    folder = os.fsencode(bench.root)
    plain = Options(bench.options.base, "plain")
    first = bench.workspaces.acquire(folder, plain)
    assert first is bench.workspace
    bench.workspaces.release(first, bench.options)
    # somebody has it open still, for whom it must not be closed
    again = plain.copy()
    assert bench.workspaces.acquire(folder, again) is first
    bench.workspaces.release(first, plain)
    bench.workspaces.release(first, again)
    assert first.snapshots.status().watcher == "none"
    anew = bench.workspaces.acquire(folder, plain)
    assert (anew is first, anew.snapshots.status().watcher) == (False, "inotify")


def test_a_copy_is_given_more_by_itself(file: Path) -> None:
    first = Options(base(file), "me")
    first.give({"retention": 1.0})
    copy = first.copy()
    copy.give({"retention": 2.0})
    assert (first.settings.retention, copy.settings.retention) == (1.0, 2.0)


def test_many_threads(file: Path) -> None:
    """Clients come, say something and go while others ask: each answer is what some of them said, or the default."""
    place = base(file)
    folder = FolderSettings(Options(place, "first"))
    done = threading.Event()
    wrong: list[object] = []

    def come_and_go(number: int) -> None:
        for _ in range(300):
            options = Options(place, number)
            folder.add(options)
            options.give({"max_file_size": number})
            folder.remove(options)

    def ask() -> None:
        while not done.is_set():
            found = folder.capture.max_file_size
            if found not in (1, 2, 3, 64 << 20):
                wrong.append(found)

    asking = threading.Thread(target=ask)
    clients = [threading.Thread(target=come_and_go, args=(number,)) for number in (1, 2, 3)]
    for thread in (asking, *clients):
        thread.start()
    for thread in clients:
        thread.join()
    done.set()
    asking.join()
    assert wrong == []
    assert folder.capture.max_file_size == 64 << 20

"""Whose settings count: a command's environment says nothing to a daemon that others share."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .running import Home

pytestmark = pytest.mark.slow

FILES = {"a.txt": b"12345\n", "b.txt": b"12345\n"}


def unheard(home: Home, *names: str) -> str:
    verb = "has" if len(names) == 1 else "have"
    file = home.at("home/.config/snapd/config.toml")
    return f"snapd: {', '.join(names)} {verb} no effect on the daemon, which serves others too: use {file}\n"


def in_use(home: Home, project: str, *options: str, env: dict[str, str] | None = None) -> dict[str, tuple[Any, str]]:
    status = home.run(project, "status", "--json", *options, env=env).json
    return {row["name"]: (row["value"], row["source"]) for row in status["settings"]}


@contextmanager
def connected(home: Home, project: str, **options: Any) -> Iterator[Client]:
    """An editor with settings."""
    with Client.connect(home.at("run/daemon.sock"), timeout=60) as client:
        client.initialize([project], options)
        client.status()
        yield client


def test_a_variable_of_a_command_is_not_sent(own_home: Home) -> None:
    project = own_home.project("p", FILES)
    # this one starts the daemon, which must not have it from there either
    first = own_home.run(project, "track", env={"SNAPD_MAX_FILE_SIZE": "1", "SNAPD_EXCLUDE": "b.*"})
    assert first.code == 0
    assert first.err == unheard(own_home, "SNAPD_MAX_FILE_SIZE", "SNAPD_EXCLUDE")
    again = own_home.run(project, "track", env={"SNAPD_MAX_FILE_SIZE": "1"})
    assert (again.out, again.err) == (first.out, unheard(own_home, "SNAPD_MAX_FILE_SIZE"))
    plain = own_home.run(project, "track")
    assert (plain.out, plain.err) == (first.out, "")
    assert own_home.ok(project, "files", first.text.strip()).split() == ["a.txt", "b.txt"]
    assert {source for _, source in in_use(own_home, project).values()} == {"default"}


def test_no_snapshot_goes_because_of_a_variable(own_home: Home) -> None:
    project = own_home.project("p", FILES)
    trees = []
    for number in range(3):
        with open(os.path.join(project, "a.txt"), "w") as file:
            file.write(f"{number}\n")
        trees.append(own_home.track(project))
    assert own_home.run(project, "status", env={"SNAPD_RETENTION": "0"}).code == 0
    assert own_home.ok(project, "gc").startswith("0 snapshots removed")
    everywhere = own_home.run(project, "gc", "--all", env={"SNAPD_RETENTION": "0"})
    assert "0 snapshots removed" in everywhere.text
    assert everywhere.err == unheard(own_home, "SNAPD_RETENTION")
    own_home.ok(project, "stop")
    # nobody has the store open now: this process does it, and its variable counts no more than before
    everywhere = own_home.run(project, "gc", "--all", env={"SNAPD_RETENTION": "0"})
    assert "0 snapshots removed" in everywhere.text
    for tree in trees:
        own_home.ok(project, "files", tree)
    own_home.ok(project, "stop")
    alone = own_home.ok(project, "gc", "--all", "--no-daemon", env={"SNAPD_RETENTION": "0"})
    assert "2 snapshots removed" in alone


def test_without_a_daemon_it_counts(own_home: Home) -> None:
    project = own_home.project("p", FILES)
    alone = own_home.run(project, "track", "--no-daemon", "--json", env={"SNAPD_MAX_FILE_SIZE": "1"})
    assert (alone.err, len(alone.json["skipped"])) == ("", 2)
    found = in_use(own_home, project, "--no-daemon", env={"SNAPD_MAX_FILE_SIZE": "1"})
    assert found["max_file_size"] == (1, "environment")
    # and with that command it ended
    assert own_home.run(project, "track", "--no-daemon", "--json").json["skipped"] == []


def test_a_daemon_that_is_started_by_hand_has_its_own(own_home: Home) -> None:
    project = own_home.project("p", FILES)
    socket = own_home.at("s")
    serving = own_home.popen(
        own_home.path, "serve", "--socket", socket, env={"SNAPD_RETENTION": "3"}, stderr=subprocess.DEVNULL
    )
    try:
        while not os.path.exists(socket):
            assert serving.poll() is None
        assert in_use(own_home, project, "--socket", socket)["retention"] == (3.0, "environment")
    finally:
        serving.terminate()
        serving.wait(60)


def test_what_an_editor_sets_is_shown_and_ends_with_it(own_home: Home) -> None:
    project = own_home.project("p", FILES)
    own_home.track(project)
    with connected(own_home, project, maxFileSize=1):
        shown = own_home.ok(project, "status")
        assert re.search("^settings  snapshot +on +default$", shown, re.MULTILINE)
        assert re.search("^          max_file_size +1 bytes +another connected editor or agent$", shown, re.MULTILINE)
        assert "max_file_size 1 bytes (another connected editor or agent)" in own_home.ok(project, "doctor")
        assert "skipped a.txt (too large)" in own_home.run(project, "track").err
    while in_use(own_home, project)["max_file_size"][1] != "default":
        pass
    own_home.ok(project, "track")


def without_what_changes(shown: str) -> str:
    return re.sub(r"(?m)^full look .* ago: |, [0-9.]+ [KM]iB$", "", shown)


def test_the_settings_file_counts_at_once(own_home: Home) -> None:
    project = own_home.project("p", FILES)
    own_home.track(project)
    file = own_home.at("home/.config/snapd/config.toml")
    with open(file, "w") as config:
        config.write('max_file_size = 1\nexclude = ["b.*"]\n')
    assert own_home.run(project, "track").err == "snapd: skipped a.txt (too large)\n"
    shown = own_home.ok(project, "status")
    assert re.search("max_file_size +1 bytes +config.toml\n", shown)
    assert re.search("exclude +b\\.\\* +config.toml\n", shown)
    with open(file, "w") as config:
        config.write("max_file_size = much\n")
    broken = own_home.run(project, "track")
    assert (broken.code, broken.err) == (0, "snapd: skipped a.txt (too large)\n")
    status = own_home.run(project, "status")
    assert (status.code, without_what_changes(status.text)) == (0, without_what_changes(shown))
    assert status.err.startswith(f"snapd: {file}: ")
    doctor = own_home.run(project, "doctor", "--json")
    (bad,) = (check for check in doctor.json["checks"] if not check["ok"])
    assert (doctor.code, bad["check"], bad["found"].startswith(f"{file}: ")) == (1, "settings", True)
    os.unlink(file)
    assert own_home.ok(project, "track")
    assert {source for _, source in in_use(own_home, project).values()} == {"default"}


@pytest.mark.parametrize("command", ["doctor", "fsck"])
def test_it_is_said_once(own_home: Home, command: str) -> None:
    project = own_home.project("p", FILES)
    own_home.track(project)
    assert own_home.run(project, command, env={"SNAPD_RETENTION": "0"}).err == unheard(own_home, "SNAPD_RETENTION")


def test_the_bridge_says_it_too(own_home: Home) -> None:
    for env, said in (
        ({"SNAPD_RETENTION": "0"}, unheard(own_home, "SNAPD_RETENTION")),
        (
            {"SNAPD_RETENTION": "x"},
            (
                "snapd: SNAPD_RETENTION: expected a number of days, at least 0\n"
                "hint: SNAPD_RETENTION takes a number of days, at least 0\n"
            ),
        ),
    ):
        bridge = own_home.run(own_home.path, "connect", env=env)
        assert (bridge.code, bridge.err) == (0, said)

"""What `snapd doctor` says of a folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from snapd.cli.commands import doctor
from snapd.cli.commands.doctor import CheckFailed
from tests.cli.steps import put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Home


def closed(monkeypatch: pytest.MonkeyPatch, error: type[OSError], *directories: Path) -> None:
    """Has some directories refuse to be listed, whoever asks."""
    real = os.scandir
    refused = {str(directory) for directory in directories}

    def scandir(path: Any) -> Any:
        if os.fspath(path) in refused:
            raise error(1, "refused", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_folders_that_cannot_be_listed_are_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/b/c", "d", ".git/hidden"):
        (tmp_path / name).mkdir(parents=True)
    closed(monkeypatch, PermissionError, tmp_path / "a/b", tmp_path / "d", tmp_path / ".git/hidden")
    with pytest.raises(CheckFailed) as caught:
        doctor.leftovers(doctor.walk_folder(str(tmp_path)))
    said = str(caught.value)
    assert said.startswith(("a/b, d: cannot be listed", "d, a/b: cannot be listed"))
    assert "hidden" not in said
    # and what is left elsewhere is told all the same
    (tmp_path / "a" / ".snapd-tmp-0123456789abcdef").touch()
    with pytest.raises(
        CheckFailed, match=r"^a/\.snapd-tmp-0123456789abcdef: left by an operation .*; .*cannot be listed"
    ):
        doctor.leftovers(doctor.walk_folder(str(tmp_path)))


def test_a_folder_that_has_just_gone_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    closed(monkeypatch, FileNotFoundError, tmp_path / "a")
    assert doctor.leftovers(doctor.walk_folder(str(tmp_path))) == "no operation left anything in the folder"


def test_the_folder_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed(monkeypatch, PermissionError, tmp_path)
    with pytest.raises(CheckFailed, match=r"^\.: cannot be listed"):
        doctor.leftovers(doctor.walk_folder(str(tmp_path)))


def bad(home: Home, cwd: str, *words: str) -> dict[str, tuple[str, str]]:
    """What is wrong, and its remedy, by the name of the check."""
    done = home.run(cwd, "doctor", "--json", *words)
    found = {each["check"]: (each["found"], each["hint"]) for each in done.json["checks"] if not each["ok"]}
    assert done.code == (1 if found else 0)
    return found


@pytest.mark.parametrize(
    ("text", "found", "hint"),
    [
        (b"exclude = [", "at end of document", "correct the file, or remove it"),
        (b"exclude = 5\n", "exclude: expected a list of strings", "write it as a list of patterns"),
        (b"exlude = []\n", "unknown key 'exlude'", "did you mean 'exclude'? remove the key"),
        (b"retention = 3\n", "unknown key 'retention'", "move retention to config.toml"),
    ],
)
def test_what_is_wrong_with_the_folders_own_file(home: Home, project: str, text: bytes, found: str, hint: str) -> None:
    assert bad(home, project) == {}
    put(project, {".snapd.toml": text})
    wrong = bad(home, project)
    assert list(wrong) == ["rules"]
    assert found in wrong["rules"][0]
    assert wrong["rules"][1].startswith(hint)
    put(project, {".snapd.toml": b'exclude = ["*.log"]\n'})
    assert bad(home, project) == {}
    assert ".snapd.toml: 1 pattern\n" in home.ok(project, "doctor")


def test_a_second_daemon_is_found(own_home: Home) -> None:
    project, other = own_home.project("p", {"a": b"1"}), own_home.project("q", {"a": b"1"})
    socket = own_home.at("second")
    own_home.ok(other, "track", "--socket", socket)
    own_home.ok(project, "track")
    try:
        (found, hint) = bad(own_home, project)["daemons"]
        assert found == f"another daemon, at {socket}, has snapshots of {other}"
        assert hint.startswith(f"run 'snapd stop --socket {socket}'")
        # the other one's commands are told of this one
        assert own_home.at("run/daemon.sock") in bad(own_home, other, "--socket", socket)["daemons"][0]
    finally:
        own_home.run(other, "stop", "--socket", socket)
    assert bad(own_home, project) == {}


def test_events_that_hooks_lost_and_hooks_that_ran_out_of_time(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"1"})
    own_home.ok(project, "track")
    assert bad(own_home, project) == {}
    # the log begins with a line that is too old to matter
    with open(own_home.at("run/hook.log"), "w", encoding="utf-8") as file:
        file.write("2020-01-01T00:00:00Z lost an event: no room\n")
        os.chmod(file.fileno(), 0o600)
    assert bad(own_home, project) == {}
    assert own_home.run(project, "hook", stdin=b"nonsense", env=own_home.env).code == 0
    found, hint = bad(own_home, project)["hooks"]
    # "now", or some seconds ago on a busy machine
    assert re.match(r"in the last 7 days: 1 event not recorded, last [^:]+: passed over an event", found)
    assert hint == f"see {own_home.at('run/hook.log')}"
    with open(own_home.at("run/hook.log"), "a", encoding="utf-8") as file:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        file.write(f"{now} keeps an event for later: gave up: the time limit was over\n")
    found, hint = bad(own_home, project)["hooks"]
    assert "; 1 hook ran out of time, last " in found
    assert "SNAPD_HOOK_SECONDS" in hint


@pytest.mark.parametrize("words", ["status", "run -- true", "du", "purge a"])
def test_a_deleted_directory_is_said(home: Home, words: str) -> None:
    gone = home.project("gone", {"a": b"1"})
    script = 'rm -r "$PWD"; exec "$@"'
    command = [sys.executable, "-m", "snapd", *words.split()]
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], cwd=gone, env=home.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "snapd: the directory that this command runs in was deleted",
        "hint: go to one that exists and run the command again; if it was created again, 'cd .' is enough",
    ]


def test_the_doctor_copes_with_a_deleted_directory(home: Home) -> None:
    gone = home.project("gone", {"a": b"1"})
    script = 'rm -r "$PWD"; exec "$@"'
    command = [sys.executable, "-m", "snapd", "doctor"]
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], cwd=gone, env=home.env, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    assert (done.returncode, done.stderr, len(lines)) == (1, "", 2)
    assert lines[0].startswith("bad folder    the directory that this command runs in was deleted")
    assert lines[1].startswith("hint: ")

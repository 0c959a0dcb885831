"""The command as a process: the daemon behind it, signals, terminals, help."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from snapd import __version__, launch
from snapd.cli.parsing.parser import build_parser
from snapd.cli.parsing.usage import subcommands
from snapd.locations import Locations
from snapd.model.errors import IoError

from .running import Home, Terminal

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"src/a.txt": b"a\n"}


@pytest.fixture(scope="module")
def large(home: Home) -> str:
    """A folder whose first snapshot takes seconds."""
    block = os.urandom(1 << 20)
    # in many folders: progress is told folder by folder
    large = {f"{number % 20}/{number}.bin": b"%d\n" % number + block for number in range(200)}
    return home.project("large", {**FILES, **large})


def test_version_and_help(home: Home) -> None:
    assert home.ok(home.path, "--version") == f"snapd {__version__}\n"
    shown = home.ok(home.path, "--help")
    nothing = home.run(home.path)
    assert (nothing.code, nothing.out, nothing.err) == (2, b"", shown)
    listed = home.ok(home.path, "help", "--all")
    for command in subcommands(build_parser()):
        assert re.search(rf"^  {command}\b", listed, re.MULTILINE)
        assert home.ok(home.path, command, "--help").startswith(f"usage: snapd {command}")


def test_completion_for_tcsh(home: Home) -> None:
    script = home.ok(home.path, "completion", "tcsh")
    assert "restore" in script
    assert "--on-conflict" in script


def test_doctor(own_home: Home) -> None:
    root = own_home.project("p", FILES)
    first = own_home.run(root, "doctor", "--json")
    checks = {check["check"]: check for check in first.json["checks"]}
    assert (first.code, first.err) == (0, "")
    assert list(checks) == [
        "version", "settings", "data", "runtime", "daemon", "daemons", "agents", "hooks",
        "rules", "folder", "overlaps", "history", "watches", "leftovers", "store",
    ]  # fmt: skip
    assert all(check["ok"] for check in checks.values())
    assert checks["daemon"]["found"].startswith("not running")
    own_home.track(root)
    shown = own_home.ok(root, "doctor")
    assert f"snapd {__version__}" in shown
    assert re.search(r"^ok  daemon +running at ", shown, re.MULTILINE)
    assert re.search(r"^ok  folder .*: 1 files in the last snapshot", shown, re.MULTILINE)


def test_doctor_goes_on_after_a_failure(own_home: Home) -> None:
    with open(own_home.at("home/.config/snapd/config.toml"), "w") as file:
        file.write("colour = 1\n")
    os.mkdir(own_home.at("run"), 0o777)
    os.chmod(own_home.at("run"), 0o777)
    result = own_home.run(own_home.path, "doctor", "--json", "--no-daemon")
    failed = {check["check"]: check["found"] for check in result.json["checks"] if not check["ok"]}
    assert result.code == 1
    assert list(failed) == ["settings", "runtime", "folder", "history"]
    assert "config.toml: colour: unknown setting" in failed["settings"]
    assert "can be written to by others" in failed["runtime"]


def test_stop_twice(own_home: Home) -> None:
    root = own_home.project("p", FILES)
    tree = own_home.track(root)
    own_home.ok(root, "stop")
    assert not os.path.exists(own_home.at("run/daemon.sock"))
    again = own_home.run(root, "stop")
    assert (again.code, again.out, again.err) == (0, b"", "snapd: no daemon is running\n")
    # the next command starts another, which knows the old snapshots
    assert own_home.ok(root, "patch", tree) == "0 files changed, +0 -0\n"


def test_a_socket_of_ones_own(own_home: Home) -> None:
    root = own_home.project("p", FILES)
    socket = own_home.at("s")
    own_home.ok(root, "track", "--socket", socket)
    assert os.path.exists(socket)
    assert not os.path.exists(own_home.at("run/daemon.sock"))
    own_home.ok(root, "stop", "--socket", socket)


@pytest.mark.parametrize("command", ["track", "status"])
def test_runtime_directory_refused(own_home: Home, command: str) -> None:
    root = own_home.project("p", FILES)
    os.mkdir(own_home.at("run"))
    os.chmod(own_home.at("run"), 0o777)
    result = own_home.run(root, command)
    assert (result.code, result.out) == (4, b"")
    run = own_home.at("run")
    assert result.err == (
        f"snapd: the runtime directory {run} can be written to by others\n"
        f"hint: run chmod go-w {run}, or choose another directory with SNAPD_RUNTIME_DIR\n"
    )


def test_runtime_directory_too_long(own_home: Home) -> None:
    root = own_home.project("p", FILES)
    result = own_home.run(root, "track", env={"SNAPD_RUNTIME_DIR": own_home.at("x" * 100)})
    assert (result.code, result.out) == (4, b"")
    assert "is too long\nhint: set SNAPD_RUNTIME_DIR" in result.err


def test_daemon_that_cannot_serve(own_home: Home) -> None:
    root = own_home.project("p", FILES)
    own_home.project(".", {"file": b""})
    result = own_home.run(root, "track", "--socket", own_home.at("file/s"))
    assert (result.code, result.out) == (4, b"")
    assert result.err.startswith("snapd: cannot reach the daemon at ")
    assert result.err.splitlines()[1] == "hint: check the path of the socket, and who its directory belongs to"


@pytest.mark.parametrize("way", [(), ("--no-daemon",)])
def test_wrong_settings_are_2(own_home: Home, way: tuple[str, ...]) -> None:
    root = own_home.project("p", FILES)
    result = own_home.run(root, "track", *way, env={"SNAPD_MAX_FILE_SIZE": "much"})
    assert (result.code, result.out) == (2, b"")
    assert (
        result.err == "snapd: SNAPD_MAX_FILE_SIZE: expected a number of bytes, at least 1\n"
        "hint: SNAPD_MAX_FILE_SIZE takes a number of bytes, at least 1\n"
    )
    config = own_home.at("home/.config/snapd/config.toml")
    with open(config, "w") as file:
        file.write("retention = -1\n")
    result = own_home.run(root, "track", *way)
    assert (result.code, result.out) == (2, b"")
    assert (
        result.err == f"snapd: {config}: retention: expected a number of days, at least 0\n"
        f"hint: {config}: retention takes a number of days, at least 0\n"
    )


def test_store_owned_by_the_daemon(home: Home) -> None:
    root = home.project("owned", FILES)
    # a connection keeps the folder open
    with home.popen(root, "connect", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bridge:
        assert bridge.stdin is not None
        home.track(root)
        result = home.run(root, "track", "--no-daemon")
        bridge.stdin.close()
        bridge.wait(60)
    assert (result.code, result.out) == (1, b"")
    assert result.err.startswith("snapd: another process owns the store ")


def test_progress_then_ctrl_c(home: Home, large: str) -> None:
    terminal = Terminal(home, large, "track", out=False)
    terminal.wait_for(b"hashing")
    terminal.process.send_signal(signal.SIGINT)
    result = terminal.finish()
    assert (result.code, result.out) == (130, b"")
    # the daemon took no harm, and left nothing half done
    assert "none yet" in home.ok(large, "status")
    piped = home.run(large, "track")
    assert (piped.code, piped.err) == (0, "")
    assert len(home.ok(large, "files", piped.text.strip()).splitlines()) == 201


def test_ctrl_c_in_this_process(home: Home, large: str) -> None:
    env = {"SNAPD_DATA_DIR": home.at("interrupted")}
    terminal = Terminal(home, large, "track", "--no-daemon", out=False, env=env)
    terminal.wait_for(b"hashing")
    terminal.process.send_signal(signal.SIGINT)
    result = terminal.finish()
    assert (result.code, result.out) == (130, b"")
    assert "none yet" in home.ok(large, "status", "--no-daemon", env=env)


def test_quick_work_shows_no_progress(home: Home) -> None:
    root = home.project("quick", FILES)
    home.track(root)
    assert Terminal(home, root, "track", out=False).finish().err == ""


def test_warm_track_imports_little() -> None:
    code = """
import sys
import snapd.cli.main, snapd.cli.commands.diff, snapd.cli.commands.web, snapd.launch, snapd.backend, snapd_client
from snapd.cli.parsing.parser import build_parser
build_parser().parse_args(["track"])
print(*sorted(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    heavy = {"attr", "attrs", "cattrs", "pygls", "lsprotocol", "pygit2", "asyncio", "rich", "filelock", "platformdirs"}
    assert loaded & (heavy | {"textual", "subprocess", "logging", "pathlib", "tomllib", "urllib"}) == set()


def test_a_command_does_not_collect_what_stays() -> None:
    code = """
import argparse, gc, sys
import snapd.__main__ as program

begun, parsers, make = [], [], argparse.ArgumentParser.__init__

def init(self, *args, **options):
    parsers.append(self)
    make(self, *args, **options)

gc.callbacks.append(lambda phase, info: begun.append(phase) if phase == "start" else None)
argparse.ArgumentParser.__init__ = init
sys.argv[1:] = ["--version"]
code = program.main()
print(code, len(begun) < 4, len(parsers), gc.isenabled(), gc.get_freeze_count() > 0)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    version, told = done.stdout.splitlines()
    assert version.startswith("snapd ")
    # and there is nothing left for the collection at the end
    assert told == "0 True 1 True True"


def test_warm_track_through_the_daemon_imports_little(home: Home) -> None:
    root = home.project("imports", FILES)
    home.track(root)
    done = home.popen(root, "track", env={"PYTHONPROFILEIMPORTTIME": "1"}, stdout=-1, stderr=-1)
    _, err = done.communicate(timeout=60)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in err.decode().splitlines()}
    assert "snapd_client" in loaded
    heavy = {"attr", "attrs", "cattrs", "pygls", "lsprotocol", "pygit2", "asyncio", "rich", "filelock", "platformdirs"}
    assert loaded & heavy == set()


def test_a_daemon_that_takes_long_to_start_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "own_command", lambda *_: ["sh", "-c", "sleep 1; exit 3"])
    announced: list[str] = []
    locations = Locations.from_environment({"HOME": str(tmp_path), "SNAPD_RUNTIME_DIR": str(tmp_path)})
    with pytest.raises(IoError, match="the daemon did not start: exit code 3"):
        launch.ensure_daemon(locations, str(tmp_path / "s"), lambda: announced.append("starting"))
    assert announced == ["starting"]


def test_who_has_no_time_to_wait_for_a_daemon_leaves_it_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Started(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **how: Any) -> None:
            super().__init__(*args, **how)
            started.append(self)

    def time_is_up() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Started)
    monkeypatch.setattr(launch, "own_command", lambda *_: ["sleep", "60"])
    locations = Locations.from_environment({"HOME": str(tmp_path), "SNAPD_RUNTIME_DIR": str(tmp_path)})
    with pytest.raises(KeyboardInterrupt):
        launch.ensure_daemon(locations, str(tmp_path / "s"), time_is_up)
    (process,) = started
    # Python would warn of a process that nobody waits for
    assert process.returncode == 0
    os.kill(process.pid, signal.SIGKILL)
    assert os.waitpid(process.pid, 0) == (process.pid, signal.SIGKILL)

"""Other users of the host: what they can open, what they can lay in the way, and whose folders are opened."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from snapd.daemon import private_socket
from snapd.launch import connect
from tests.hazards.trees import tree_id
from tests.rpc.machine import error_of, foreign_directory, initialize, request, tree_of, wait_until
from tests.support.published import until_all_published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.rpc.machine import Machine

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another user")


@pytest.fixture
def open_umask() -> Iterator[None]:
    """What this process and those that it starts make is for everybody, unless they say otherwise."""
    umask = os.umask(0)
    yield
    os.umask(umask)


def everything(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        yield folder
        yield from folder.rglob("*")


def nobody(script: str, *arguments: str) -> list[str]:
    """The command that runs a Python script as another user."""
    user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    return [*user, "/usr/bin/python3", "-c", script, *arguments]


def as_nobody(script: str, *arguments: str) -> str:
    """What a Python script prints that another user runs."""
    done = subprocess.run(
        nobody(script, *arguments),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() or done.stderr


@pytest.mark.hazard(72, 79)
def test_everything_that_is_kept_is_the_users_alone_whatever_the_umask(
    machine: Machine, folder: Path, open_umask: None
) -> None:
    machine.runtime = machine.root / "made" / "run"
    machine.socket = machine.runtime / "daemon.sock"
    machine.serve_socket()
    raw = machine.raw().open(folder)
    raw.result("session/start", {"sessionId": "s"})
    for number in range(3):
        step = raw.result("step/begin", {"sessionId": "s"})["stepId"]
        (folder / f"n{number}").write_bytes(os.urandom(100_000))
        raw.result("step/end", {"stepId": step})
    raw.result("session/undo", {"sessionId": "s"})
    until_all_published(machine.data)
    kept = list(everything(machine.data / "snapd", machine.root / "made"))
    assert len(kept) > 30
    for path in kept:
        mode = path.lstat().st_mode
        assert not mode & 0o077, (path, oct(mode))
        if stat.S_ISDIR(mode):
            assert stat.S_IMODE(mode) == 0o700, path


@pytest.mark.hazard(72)
def test_socket_is_private_before_anybody_can_find_it(tmp_path: Path, open_umask: None) -> None:
    path = tmp_path / "s.sock"
    with private_socket(str(path)):
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert os.umask(0) == 0


CONNECT = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
try:
    connection.connect(sys.argv[1])
    connection.sendall(sys.argv[2].encode())
    print(repr(connection.recv(100)))
except (PermissionError, ConnectionResetError, BrokenPipeError) as error:
    print(type(error).__name__)
"""


@needs_root
@pytest.mark.hazard(72)
def test_other_user_is_refused_by_permissions_and_where_those_are_loose_by_credentials(
    machine: Machine, folder: Path
) -> None:
    machine.serve_socket()
    said = (initialize(folder) + request(1, "snapshot/track")).decode()
    machine.root.chmod(0o755)
    assert as_nobody(CONNECT, str(machine.socket), said) == "PermissionError"
    # as if somebody had made all of it open to all
    machine.runtime.chmod(0o777)
    machine.socket.chmod(0o777)
    assert as_nobody(CONNECT, str(machine.socket), said) in ("b''", "ConnectionResetError", "BrokenPipeError")
    raw = machine.raw().open(folder)
    assert "lastHash" not in raw.result("snapshot/status")
    # as ourselves, the same script is served
    mine = subprocess.run([sys.executable, "-c", CONNECT, str(machine.socket), said], capture_output=True, check=True)
    assert b"Content-Length" in mine.stdout


LISTEN = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
listener.listen()
print("ready", flush=True)
while True:
    listener.accept()[0].recv(1)
"""


@needs_root
@pytest.mark.hazard(72)
def test_daemon_of_somebody_else_is_not_talked_to(machine: Machine, folder: Path) -> None:
    machine.root.chmod(0o755)
    place = foreign_directory(machine.root / "theirs")
    path = place / "daemon.sock"
    impostor = subprocess.Popen(nobody(LISTEN, str(path)), stdout=subprocess.PIPE)
    machine.processes.append(impostor)
    assert impostor.stdout is not None
    assert impostor.stdout.readline() == b"ready\n"
    with pytest.raises(PermissionError, match="another user's process listens there"):
        connect(str(path))
    done = machine.run("connect", "--socket", str(path))
    assert (done.returncode, "another user's process listens there" in done.stderr) == (4, True)


@pytest.mark.hazard(73)
@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("group-writable", "run chmod go-w"),
        ("others may write", "run chmod go-w"),
        ("symlink", "is a symlink\nhint: remove it"),
        ("file", "is not a directory"),
        ("foreign", "belongs to another user (65534)"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "connect"])
def test_runtime_directory_that_others_could_use_is_refused_with_what_to_do(
    machine: Machine, what: str, says: str, command: str
) -> None:
    if what == "symlink":
        (machine.root / "real").mkdir(mode=0o700)
        machine.runtime.symlink_to(machine.root / "real")
    elif what == "foreign":
        if os.geteuid() != 0:
            pytest.skip("needs root, to give a directory away")
        foreign_directory(machine.runtime)
    elif what == "file":
        machine.runtime.touch()
    else:
        machine.runtime.mkdir()
        machine.runtime.chmod({"group-writable": 0o770, "others may write": 0o702}[what])
    done = machine.run(command)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 2
    assert f"the runtime directory {machine.runtime} " in done.stderr
    assert says in done.stderr
    assert "SNAPD_RUNTIME_DIR" in done.stderr
    assert what == "file" or not list((machine.root / "real" if what == "symlink" else machine.runtime).iterdir())


@pytest.mark.hazard(73)
def test_socket_named_by_hand_in_a_directory_of_others_is_refused(machine: Machine) -> None:
    place = machine.root / "shared"
    place.mkdir()
    place.chmod(0o777)
    done = machine.run("serve", "--socket", str(place / "s.sock"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert "can be written to by others" in done.stderr
    assert not list(place.iterdir())


@pytest.mark.hazard(73)
@pytest.mark.parametrize("what", ["group-writable", "symlink", "foreign"])
def test_store_that_others_could_lay_things_into_is_refused(
    daemon: Machine, folder: Path, other_folder: Path, what: str
) -> None:
    """Where the data directory is shared, any of the directories that are snapd's own may be somebody else's work."""
    if what == "foreign" and os.geteuid() != 0:
        pytest.skip("needs root, to give a directory away")
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    for inside in ("snapd", "snapd/snapshot", f"snapd/snapshot/{name}"):
        data = other_folder / f"data of {inside.count('/')}"
        path = data / inside
        path.mkdir(parents=True)
        for made in (path, *path.parents[: inside.count("/")]):
            made.chmod(0o700)
        if what == "group-writable":
            path.chmod(0o770)
        elif what == "symlink":
            path.rename(data / "real")
            path.symlink_to(data / "real")
        else:
            os.chown(path, NOBODY, NOBODY)
        before = list(data.rglob("*"))
        raw = daemon.raw().open(folder, options={"dataDir": str(data)})
        answer = raw.ask(1, "snapshot/track")
        assert error_of(answer) == (1011, "ioError"), inside
        assert str(path) in answer["error"]["message"]
        assert "SNAPD_DATA_DIR" in answer["error"]["data"]["hint"]
        assert list(data.rglob("*")) == before


@pytest.mark.hazard(74)
def test_stale_socket_is_left_alone_until_the_lock_is_held(machine: Machine, folder: Path) -> None:
    machine.runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(machine.socket))
    stale = machine.socket.lstat().st_ino
    with FileLock(f"{machine.socket}.lock", mode=0o600):
        came = _opened_by_another(f"{machine.socket}.lock")
        process = machine.start("serve", stdin=subprocess.DEVNULL)
        # not at its first try alone
        for _ in range(3):
            wait_until(came, "the daemon to come to the lock")
        assert machine.socket.lstat().st_ino == stale
    note = Path(f"{machine.socket}.pid")
    wait_until(note.exists, "the daemon to take it over")
    wait_until(lambda: connect(str(machine.socket)), "the daemon to listen").close()
    assert machine.raw().open(folder).result("snapshot/track")["hash"] == tree_id(folder)
    # and what a killed one leaves, is taken over again
    process.kill()
    process.wait()
    successor = machine.start("serve", stdin=subprocess.DEVNULL)
    wait_until(lambda: note.read_text() == str(successor.pid), "the successor")
    wait_until(lambda: connect(str(machine.socket)), "the successor to listen").close()
    names = {"daemon.sock", "daemon.sock.lock", "daemon.sock.pid"}
    assert {path.name for path in machine.runtime.iterdir()} == names


def _opened_by_another(path: str) -> Callable[[], bool]:
    """What tells, from now on, whether some process has opened a file (IN_OPEN of inotify(7))."""
    libc = ctypes.CDLL(None)
    descriptor = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(descriptor, os.fsencode(path), 0x20) >= 0

    def told() -> bool:
        with open(descriptor, "rb", buffering=0, closefd=False) as queue:
            return bool(queue.read(4096))

    return told


@needs_root
@pytest.mark.hazard(78)
def test_workspace_of_somebody_else_is_refused_unless_the_users_own_file_says_otherwise(
    machine: Machine, folder: Path, other_folder: Path
) -> None:
    os.chown(other_folder, NOBODY, NOBODY)
    # what comes with the folder has no say
    (other_folder / ".snapd.toml").write_text(f'allow_foreign = ["{other_folder}"]\n')
    below, beside = other_folder / "below", folder
    below.mkdir()
    for path in (below, beside):
        os.chown(path, NOBODY, NOBODY)
    before = tree_of(other_folder)
    machine.serve_socket()
    raw = machine.raw().open(other_folder)
    for method in ("snapshot/track", "snapshot/status"):
        answer = raw.ask(1, method)
        assert error_of(answer) == (1003, "workspaceRefused")
        assert "allow_foreign" in answer["error"]["data"]["hint"]
    for name in ("allowForeign", "allow_foreign"):
        asking = machine.raw()
        asking.send(initialize(other_folder, options={name: [str(other_folder)]}))
        assert error_of(asking.answer(0)) == (-32602, "invalidParams")
    assert machine.run("track", "-C", str(other_folder), env={"SNAPD_ALLOW_FOREIGN": str(other_folder)}).returncode == 2
    assert tree_of(other_folder) == before
    assert not list(machine.data.rglob("*"))
    settings = machine.config / "snapd" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f"allow_foreign = {json.dumps([str(other_folder)])}\n")
    (other_folder / ".snapd.toml").unlink()
    _, told = machine.serve_stdio()
    told.open(other_folder, below, beside)
    for path in (other_folder, below):
        uri = path.as_uri()
        assert told.result("snapshot/track", {"workspaceUri": uri})["hash"] == tree_id(path)
    answer = told.ask(1, "snapshot/track", {"workspaceUri": beside.as_uri()})
    assert error_of(answer) == (1003, "workspaceRefused")


@pytest.mark.hazard(80)
def test_hash_of_another_workspace_is_unknown_whatever_it_is_asked_for(
    daemon: Machine, folder: Path, other_folder: Path
) -> None:
    (folder / "secret.txt").write_text("only here\n")
    elsewhere = daemon.raw().open(folder)
    theirs = elsewhere.result("snapshot/track")["hash"]
    raw = daemon.raw().open(other_folder)
    own = raw.result("snapshot/track")["hash"]
    before = tree_of(other_folder)
    for method, params in _with_hash(theirs, own).items():
        answer = raw.ask(1, method, params)
        assert error_of(answer) == (1001, "unknownSnapshot"), method
        assert answer["error"]["data"]["hash"] == theirs
    # a tree that is stored, and a file, are no snapshots either
    elsewhere_inner = tree_id(folder / "sub")
    blob = "5626abf0f72e58d7a153368ba57db4c673c0e171"
    for inner in (elsewhere_inner, blob):
        assert error_of(elsewhere.ask(1, "snapshot/restore", {"hash": inner})) == (1001, "unknownSnapshot")
    assert tree_of(other_folder) == before
    assert tree_id(folder) == theirs


def _with_hash(tree: str, own: str) -> dict[str, dict[str, object]]:
    return {
        "snapshot/patch": {"hash": tree},
        "snapshot/diff": {"hash": own, "to": tree},
        "snapshot/diffFull": {"from": tree, "to": own},
        "snapshot/fileAt": {"hash": tree, "file": "secret.txt"},
        "snapshot/fileExists": {"hash": tree, "file": "secret.txt"},
        "snapshot/listFiles": {"hash": tree},
        "snapshot/export": {"hash": tree, "directory": "/nowhere/at/all"},
        "snapshot/restore": {"hash": tree},
        "snapshot/revert": {"patches": [{"hash": tree, "files": ["secret.txt"]}]},
    }


@pytest.mark.hazard(81)
def test_restored_permissions_are_those_that_were_without_special_bits(daemon: Machine, folder: Path) -> None:
    modes = {
        "setuid": 0o4755,
        "setgid": 0o2755,
        "sticky": 0o1777,
        "open": 0o666,
        "run by all": 0o777,
        "private": 0o600,
        "run by group": 0o610,
        "run by owner": 0o700,
    }
    for name, mode in modes.items():
        (folder / name).write_text(name)
        (folder / name).chmod(mode)
    (folder / "link").symlink_to("setuid")
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    assert tree == tree_id(folder)
    for name in (*modes, "link"):
        (folder / name).unlink()
    assert raw.result("snapshot/restore", {"hash": tree})["applied"] is True
    for name, mode in modes.items():
        assert stat.S_IMODE((folder / name).lstat().st_mode) == mode & 0o777, name
    assert os.readlink(folder / "link") == "setuid"
    assert tree_id(folder) == tree

"""Each kind of error: its code, its data, and that nothing changed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import to_uri

from tests.support.published import until_all_published

from .machine import Machine, error_of, foreign_directory, initialize, messages, notification, request, tree_of

if TYPE_CHECKING:
    from .machine import Raw

UNKNOWN = "0123456789" * 4


def failed(raw: Raw, method: str, params: Any = None) -> dict[str, Any]:
    """The error of a request, which has to fail."""
    answer = raw.ask(9, method, params)
    assert "error" in answer, answer
    error: dict[str, Any] = answer["error"]
    assert "Traceback" not in json.dumps(error)
    assert "\n" not in error["message"]
    assert error["data"]["hint"]
    return error


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("snapshot/patch", None, "hash"),
        ("snapshot/patch", {"hash": "abc"}, "hash"),
        ("snapshot/patch", {"hash": UNKNOWN.replace("0", "A")}, "hash"),
        ("snapshot/patch", {"hash": UNKNOWN, "to": "x"}, "to"),
        ("snapshot/diff", {"hash": UNKNOWN + "0"}, "hash"),
        ("snapshot/diff", {"hash": UNKNOWN, "files": ["a", 5]}, "files[1]"),
        ("snapshot/diff", {"hash": UNKNOWN, "files": ["a", ""]}, "files[1]"),
        ("snapshot/diff", {"hash": UNKNOWN, "files": ["a\0"]}, "files[0]"),
        ("snapshot/diffFull", {"from": UNKNOWN, "limit": 0}, "limit"),
        ("snapshot/diffFull", {"from": UNKNOWN, "cursor": "x"}, "cursor"),
        ("snapshot/diffFull", {"from": UNKNOWN, "cursor": "W10="}, "cursor"),
        ("snapshot/listFiles", {"hash": UNKNOWN, "cursor": "bnVsbA=="}, "cursor"),
        ("snapshot/export", {"hash": UNKNOWN, "directory": "out"}, "directory"),
        ("snapshot/export", {"hash": UNKNOWN, "directory": ""}, "directory"),
        ("snapshot/export", {"hash": UNKNOWN, "directory": "/out\0"}, "directory"),
        ("snapshot/export", {"hash": UNKNOWN, "directory": "file://elsewhere/out"}, "directory"),
        ("snapshot/fileAt", {"hash": UNKNOWN, "file": "file://elsewhere/a"}, "file"),
        ("snapshot/track", {"force": [None]}, "force[0]"),
        ("snapshot/restore", {"hash": UNKNOWN, "onConflict": "ask"}, "onConflict"),
        ("snapshot/revert", {"patches": [{"hash": UNKNOWN}]}, "patches[0].files"),
        ("snapshot/revert", {"patches": [{"hash": UNKNOWN, "files": ["a", 1]}]}, "patches[0].files[1]"),
        ("snapshot/revert", {"patches": [{"hash": "x", "files": []}]}, "patches[0].hash"),
        ("snapshot/cleanup", {"olderThanDays": -1}, "olderThanDays"),
        ("snapshot/status", {"workspaceUri": "http://x/y"}, "workspaceUri"),
        ("snapshot/status", {"workspaceUri": "/tmp"}, "workspaceUri"),
    ],
)
def test_invalid_params(daemon: Machine, folder: Path, method: str, params: Any, field: str) -> None:
    """Beside wrong types, which tests/hazards/test_protocol_messages.py gives every field of every method."""
    before = tree_of(folder)
    raw = daemon.raw().open(folder)
    error = failed(raw, method, params)
    assert (error["code"], error["data"]["kind"], error["data"]["field"]) == (-32602, "invalidParams", field)
    assert field in error["message"]
    assert tree_of(folder) == before


def test_unknown_snapshot(daemon: Machine, folder: Path, other_folder: Path) -> None:
    raw = daemon.raw().open(folder)
    elsewhere = daemon.raw().open(other_folder).result("snapshot/track")["hash"]
    raw.result("snapshot/track")
    before = tree_of(folder)
    for tree in (UNKNOWN, elsewhere):
        for method, params in {
            "snapshot/patch": {"hash": tree},
            "snapshot/diff": {"hash": tree},
            "snapshot/diffFull": {"from": tree},
            "snapshot/fileAt": {"hash": tree, "file": "a.txt"},
            "snapshot/fileExists": {"hash": tree, "file": "a.txt"},
            "snapshot/listFiles": {"hash": tree},
            "snapshot/export": {"hash": tree, "directory": f"{other_folder}-x"},
            "snapshot/restore": {"hash": tree},
            "snapshot/revert": {"patches": [{"hash": tree, "files": ["a.txt"]}]},
        }.items():
            error = failed(raw, method, params)
            assert (error["code"], error["data"]["kind"], error["data"]["hash"]) == (1001, "unknownSnapshot", tree)
    assert tree_of(folder) == before


def test_workspace_not_open(daemon: Machine, folder: Path, other_folder: Path) -> None:
    error = failed(daemon.raw().open(), "snapshot/status")
    assert (error["code"], error["data"]["kind"]) == (1002, "workspaceNotOpen")
    raw = daemon.raw().open(folder, other_folder)
    error = failed(raw, "snapshot/status")
    assert (error["code"], error["data"]["kind"]) == (1002, "workspaceNotOpen")
    assert set(error["data"]["open"]) == {to_uri(str(folder)), to_uri(str(other_folder))}
    for uri in ("file:///tmp", to_uri(str(folder / "sub"))):
        error = failed(raw, "snapshot/track", {"workspaceUri": uri})
        assert (error["code"], error["data"]["kind"]) == (1002, "workspaceNotOpen")
        assert error["data"]["workspaceUri"] == uri
    assert raw.result("snapshot/status", {"workspaceUri": to_uri(str(folder)) + "/"})["enabled"] is True


def test_workspace_refused(machine: Machine, folder: Path) -> None:
    machine.serve_socket()
    machine.raw().open(folder).result("snapshot/track")
    (folder / ".git").mkdir()
    foreign = foreign_directory(machine.root / "foreign")
    link = machine.root / "link"
    link.symlink_to(machine.home)
    refused = [
        Path("/"),
        machine.home,
        link,
        machine.data,
        machine.data / "snapd",
        machine.root,
        machine.root.parent,
        folder / "a.txt",
        folder / "missing",
        folder / ".git",
        foreign,
    ]
    until_all_published(machine.data)
    stores = tree_of(machine.data)
    for path in refused:
        raw = machine.raw().open(path)
        for method in ("snapshot/track", "snapshot/status"):
            error = failed(raw, method)
            assert (error["code"], error["data"]["kind"]) == (1003, "workspaceRefused"), path
            assert error["data"]["path"]
    assert tree_of(machine.data) == stores
    assert not list(machine.home.iterdir())


def test_refused_folder_is_tried_again(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder / "later")
    assert failed(raw, "snapshot/track")["code"] == 1003
    (folder / "later").mkdir()
    assert raw.result("snapshot/track")["hash"]


def test_a_refused_folder_beside_a_file_outside_of_it(daemon: Machine, folder: Path, tmp_path: Path) -> None:
    """The report of the file waits for no folder: that one is refused is nothing to write an error into the log for."""
    (folder / "a.txt").write_text("a\n")
    raw = daemon.raw().open(folder / "a.txt")
    opened = {"uri": (tmp_path / "b.txt").as_uri(), "languageId": "", "version": 1, "text": "b\n"}
    for _ in range(5):
        raw.send(notification("textDocument/didOpen", {"textDocument": opened}))
        raw.send(notification("textDocument/didClose", {"textDocument": {"uri": opened["uri"]}}))
        assert error_of(raw.ask(1, "snapshot/status", {}))[1] == "workspaceRefused"


def test_folder_whose_name_is_not_utf8(daemon: Machine, folder: Path) -> None:
    odd = os.fsencode(folder) + b"/odd-\xff"
    uri = to_uri(odd)
    error = failed(daemon.raw().open(odd), "snapshot/track")
    assert (error["code"], "�" in error["data"]["path"]) == (1003, True)
    os.mkdir(odd)
    raw = daemon.raw().open(odd)
    tree = raw.result("snapshot/track")["hash"]
    status = raw.result("snapshot/status")
    assert (status["workspaceUri"], status["lastHash"]) == (uri, tree)
    Path(os.fsdecode(odd + b"/x")).touch()
    assert raw.result("snapshot/patch", {"hash": tree})["files"] == [uri + "/x"]
    os.rename(odd, odd + b"-moved")
    error = failed(raw, "snapshot/status")
    assert (error["code"], error["data"]["kind"]) == (1004, "workspaceGone")


def test_store_below_a_name_that_is_not_utf8(daemon: Machine, folder: Path) -> None:
    odd = os.fsencode(folder) + b"/odd-\xff"
    os.mkdir(odd)
    raw = daemon.raw().open(odd, options={"dataDir": ".snaps"})
    assert raw.result("snapshot/track")["hash"]
    assert raw.result("snapshot/status")["store"]["path"].startswith(f"{folder}/odd-�/.snaps")


def test_path_outside_workspace(daemon: Machine, folder: Path, other_folder: Path) -> None:
    (folder / "link").symlink_to(other_folder)
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    before, elsewhere = tree_of(folder), tree_of(other_folder)
    outside = [
        "/etc/passwd",
        f"{other_folder}/other.txt",
        f"{folder}-x/a",
        "..",
        "../a",
        "sub/../../a",
        f"{folder}/../a",
        to_uri(str(other_folder / "other.txt")),
        to_uri(str(folder)) + "/%2e%2e/a",
        ".",
        str(folder),
        ".git",
        ".git/config",
        "sub/.GIT/hooks/x",
        "git~1/config",
    ]
    for file in outside:
        for method, params in {
            "snapshot/revert": {"patches": [{"hash": tree, "files": [file]}]},
            "snapshot/fileAt": {"hash": tree, "file": file},
            "snapshot/fileExists": {"hash": tree, "file": file},
            "snapshot/diff": {"hash": tree, "files": [file]},
            "snapshot/diffFull": {"from": tree, "files": [file]},
            "snapshot/export": {"hash": tree, "directory": f"{other_folder}-x", "files": [file]},
            "snapshot/track": {"force": [file]},
        }.items():
            error = failed(raw, method, params)
            assert (error["code"], error["data"]["kind"]) == (1005, "pathOutsideWorkspace"), (method, file)
            assert error["data"]["file"]
    error = failed(raw, "snapshot/revert", {"patches": [{"hash": tree, "files": ["link/other.txt"]}]})
    assert (error["code"], error["data"]["kind"]) == (1005, "pathOutsideWorkspace")
    assert (tree_of(folder), tree_of(other_folder)) == (before, elsewhere)


def test_store_locked_by_a_private_daemon(machine: Machine, daemon: Machine, folder: Path) -> None:
    machine.data = daemon.data
    process, owner = machine.serve_stdio()
    owner.open(folder).result("snapshot/track")
    error = failed(daemon.raw().open(folder), "snapshot/track")
    assert (error["code"], error["data"]["kind"], error["data"]["socket"]) == (1006, "storeLocked", None)
    owner.half_close()
    machine.exit_code(process)
    assert daemon.raw().open(folder).result("snapshot/track")["hash"]


def test_store_corrupt(machine: Machine, folder: Path) -> None:
    (folder / "a.txt").write_bytes(os.urandom(200))
    process = machine.serve_socket()
    raw = machine.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    process.terminate()
    machine.exit_code(process)
    damaged = 0
    for path in machine.data.rglob("*"):
        if path.is_file() and "objects" in path.parts and path.suffix not in (".idx", ".rev"):
            data = bytearray(path.read_bytes())
            for at in range(len(data) // 2, len(data)):
                data[at] ^= 0xFF
            path.chmod(0o600)
            path.write_bytes(data)
            damaged += 1
    assert damaged
    (folder / "a.txt").write_text("changed\n")
    machine.serve_socket()
    raw = machine.raw().open(folder)
    before = tree_of(folder)
    for method, params in {
        "snapshot/fileAt": {"hash": tree, "file": "a.txt"},
        "snapshot/restore": {"hash": tree},
        "snapshot/diff": {"hash": tree},
    }.items():
        error = failed(raw, method, params)
        assert (error["code"], error["data"]["kind"]) == (1007, "storeCorrupt"), method
        assert error["data"]["object"]
    assert tree_of(folder) == before


def test_io_error(machine: Machine, folder: Path) -> None:
    store = machine.data / "snapd"
    store.write_text("in the way")
    machine.serve_socket()
    error = failed(machine.raw().open(folder), "snapshot/track")
    assert (error["code"], error["data"]["kind"]) == (1011, "ioError")
    assert error["data"]["errno"] in ("ENOTDIR", "EEXIST")
    assert str(store) in error["data"]["path"]


def test_file_not_in_snapshot(daemon: Machine, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 100)
    raw = daemon.raw().open(folder, options={"maxFileSize": 99})
    tracked = raw.result("snapshot/track")
    assert tracked["skipped"] == [{"file": "large", "reason": "tooLarge"}]
    for file, skipped in {"large": True, "missing": False, "sub": False, "a.txt/x": False}.items():
        error = failed(raw, "snapshot/fileAt", {"hash": tracked["hash"], "file": file})
        assert (error["code"], error["data"]["kind"]) == (1013, "fileNotInSnapshot")
        assert (error["data"]["file"], error["data"]["skipped"]) == (file, skipped)


def test_storage_full(machine: Machine, folder: Path) -> None:
    disk = machine.root / "small"
    disk.mkdir()
    # a file system of 1 MiB that the daemon alone sees: a namespace of its own needs no privileges and leaves no mount
    mounting = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    script = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'
    within = (*mounting, script, str(disk))
    process = machine.start("serve", within=within, stdin=-3, env={"SNAPD_DATA_DIR": str(disk)})
    machine.wait_for(process, machine.socket)
    raw = machine.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    (folder / "large").write_bytes(os.urandom(2 << 20))
    before = tree_of(folder)
    for method, params in {"snapshot/track": {}, "snapshot/restore": {"hash": tree}}.items():
        error = failed(raw, method, params)
        assert (error["code"], error["data"]["kind"]) == (1008, "storageFull"), method
        assert error["data"]["errno"] == "ENOSPC"
        assert tree_of(folder) == before
    (folder / "large").unlink()
    assert raw.result("snapshot/track")["hash"] == tree
    shutil.rmtree(folder / "sub")
    assert raw.result("snapshot/restore", {"hash": tree})["applied"] is True
    assert (folder / "sub" / "b.txt").read_text() == "two\n"


def test_error_before_the_folder_is_looked_at(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw()
    raw.send(initialize(folder) + request(1, "snapshot/patch", {"hash": "x"}))
    answers = {answer["id"]: answer for answer in (raw.answer(), raw.answer())}
    assert error_of(answers[1]) == (-32602, "invalidParams")


def test_an_empty_array_is_an_empty_object(daemon: Machine, folder: Path) -> None:
    """As Lua and PHP have it."""
    raw = daemon.raw()
    everything = {"capabilities": [], "initializationOptions": [], "workspaceFolders": [], "rootUri": folder.as_uri()}
    raw.send(request(0, "initialize", everything))
    assert "result" in raw.answer(0)
    raw.send(notification("initialized", []))
    tree = raw.result("snapshot/track", [])["hash"]
    for settings in ([], {"snapd": []}):
        raw.send(notification("workspace/didChangeConfiguration", {"settings": settings}))
    assert raw.result("snapshot/status", [])["lastHash"] == tree
    assert error_of(raw.ask(1, "snapshot/patch", []))[1] == "invalidParams"
    assert not messages(raw.others, "window/logMessage")
    assert raw.ask(2, "shutdown", [])["result"] is None

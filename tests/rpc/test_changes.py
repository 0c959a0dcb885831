"""`snapshot/didChange` over the socket: what is told of a working tree that moves away from the last snapshot."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import to_uri

from snapd.rpc.services import Hub
from tests.support.workspace import Executable, Items, git_changes, read, write

from .machine import Machine, Raw, messages, notification, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WATCHERS = {"auto": "inotify", "watchdog": "watchdog", "none": "none"}


@pytest.fixture(scope="module", params=WATCHERS)
def watcher(request: pytest.FixtureRequest) -> str:
    """The setting."""
    setting: str = request.param
    return setting


@pytest.fixture(scope="module")
def watching(watcher: str) -> Iterator[Machine]:
    """A daemon for each of them."""
    machine = Machine()
    machine.serve_socket(env={"SNAPD_WATCHER": watcher})
    yield machine
    machine.finish()


def told(folder: Path, file: str, status: str, additions: int, deletions: int, binary: bool) -> dict[str, Any]:
    """A changed file as a notification has it."""
    shown = os.fsencode(file).decode("utf-8", "replace")
    record: dict[str, Any] = {"file": shown}
    if shown != file:
        record["uri"] = to_uri(os.fsencode(folder / file))
    return {**record, "status": status, "additions": additions, "deletions": deletions, "binary": binary}


class Editor:
    """A client that has a folder open, and what it was told."""

    def __init__(self, raw: Raw, folder: Path) -> None:
        self.raw = raw
        self.folder = folder
        self.base = ""
        self.seq = 0

    def next(self) -> dict[str, Any]:
        """The next notification; each is numbered, and tells of a difference from the last snapshot that was told."""
        message = self.raw.until(lambda each: each["method"].startswith("snapshot/"))
        params: dict[str, Any] = message["params"]
        # what was told before it came is no gap
        assert self.seq in (0, params["seq"] - 1)
        assert params["workspaceUri"] == to_uri(str(self.folder))
        self.seq = params["seq"]
        if message["method"] == "snapshot/didTrack":
            self.base = params["hash"]
        else:
            assert message["method"] == "snapshot/didChange"
            assert params["base"] == self.base
        return message

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Reads on to a `didChange` that is wanted; gives its params."""
        while True:
            message = self.next()
            if message["method"] == "snapshot/didChange" and wanted(message["params"]):
                params: dict[str, Any] = message["params"]
                return params

    def until_just(self, *expected: tuple[str, str, int, int]) -> dict[str, Any]:
        """Reads on to the `didChange` that tells of just these: a file is seen while it is written, too."""
        return self.until(
            lambda params: (
                expected
                == tuple((one["file"], one["status"], one["additions"], one["deletions"]) for one in params["files"])
            )
        )

    def track(self) -> None:
        """Takes a snapshot, and is told of it."""
        tree = self.raw.result("snapshot/track")["hash"]
        while self.base != tree or messages(self.raw.others, "snapshot/didTrack"):
            self.next()

    def sees(self, scratch: Path, before: Items, after: Items) -> None:
        """Is told before long of the difference that git sees."""
        expected = [told(self.folder, *one) for one in git_changes(scratch, before, after)]
        assert expected
        params = self.until(lambda params: params["files"] == expected)
        assert set(params) == {"workspaceUri", "seq", "base", "files"}


def opened(machine: Machine, folder: Path, options: Any = None) -> Editor:
    raw = machine.raw().open(folder, options=options)
    return Editor(raw, folder)


def latin(name: bytes) -> str:
    return os.fsdecode(name)


EDITS: dict[str, Callable[[Path], Any]] = {
    "modified": lambda root: write(root, {"a.txt": b"one\nmore\n"}),
    "added and deleted": lambda root: (write(root, {"new.txt": b"1\n2\n3"}), (root / "a.txt").unlink()),
    "renamed directory": lambda root: (root / "sub").rename(root / "moved"),
    "new nested directory": lambda root: write(root, {"x/y/z/deep.txt": b"1\n", "x/y/top.txt": b"2\n"}),
    "binary, a mode": lambda root: write(root, {"picture": bytes(range(256)), "x/y/top.txt": Executable(b"2\n")}),
    "not UTF-8": lambda root: write(root, {latin(b"caf\xe9/\xff"): b"\xe9\n"}),
    "ignored, and one that is not": lambda root: write(root, {"debug.log": b"x\n", "seen": b"x\n"}),
    "replaced": lambda root: (write(root, {"swap": b"s\n"}), os.replace(root / "swap", root / "seen")),
}


def captured(folder: Path) -> dict[str, Any]:
    return {name: item for name, item in read(folder).items() if not name.endswith((".log", "/"))}


def test_each_kind_of_edit(watching: Machine, watcher: str, folder: Path, tmp_path: Path) -> None:
    write(folder, {".gitignore": b"*.log\n"})
    editor = opened(watching, folder)
    status = editor.raw.result("snapshot/status")
    # a user has so many inotify queues, and whoever else runs here has some of them
    assert status["watcher"] == WATCHERS[watcher] or "inotify_init1" in status["watcherReason"]
    editor.track()
    before = captured(folder)
    # who only looks now and then sees no single edit, but what all of them come to
    for edits in [EDITS.values()] if watcher == "none" else [[edit] for edit in EDITS.values()]:
        for edit in edits:
            edit(folder)
        editor.sees(tmp_path, before, captured(folder))
    editor.track()
    before = captured(folder)
    write(folder, {"seen": b"other\n"})
    editor.sees(tmp_path, before, captured(folder))
    write(folder, {"seen": before["seen"]})
    assert "truncated" not in editor.until(lambda params: params["files"] == [])


def test_two_clients_are_told_the_same(watching: Machine, folder: Path) -> None:
    one, other = opened(watching, folder), opened(watching, folder)
    one.track()
    write(folder, {"a.txt": b"other\n"})
    params = one.until(lambda params: bool(params["files"]))
    while other.seq < one.seq:
        message = other.next()
    assert message["params"] == params


def test_more_than_is_told(daemon: Machine, folder: Path) -> None:
    editor = opened(daemon, folder)
    editor.track()
    write(folder, {f"many/{at:03}": b"1\n" for at in range(501)})
    params = editor.until(lambda params: len(params["files"]) == 500 and params.get("truncated", False))
    assert params["truncated"] is True
    shutil.rmtree(folder / "many")
    assert "truncated" not in editor.until(lambda params: params["files"] == [])


def test_a_snapshot_right_after_each_edit(daemon: Machine, folder: Path) -> None:
    editor = opened(daemon, folder)
    editor.track()
    for at in range(40):
        write(folder, {f"f{at % 5}": b"%d\n" % at})
        editor.track()
    write(folder, {"last": b"1\n"})
    # `next` holds that nothing is ever told about a snapshot that is not the last; so nothing but this differs
    assert editor.until_just(("last", "added", 1, 0))["base"] == editor.base


def test_operations_start_over(daemon: Machine, folder: Path) -> None:
    editor = opened(daemon, folder)
    editor.track()
    write(folder, {"a.txt": b"other\n"})
    editor.until_just(("a.txt", "modified", 1, 1))
    outcome = editor.raw.result("snapshot/restore", {"hash": editor.base})
    editor.raw.until(lambda each: each["method"] == "snapshot/didRevert")
    editor.seq += 1
    assert outcome["after"] == editor.base
    write(folder, {"new": b"1\n"})
    editor.until_just(("new", "added", 1, 0))


def test_what_changed_while_nobody_listened(daemon: Machine, folder: Path) -> None:
    editor = opened(daemon, folder)
    editor.track()
    editor.raw.close()
    write(folder, {"unheard": b"1\n"})
    again = opened(daemon, folder)
    again.base, again.seq = editor.base, editor.seq
    # a daemon that learns late that the first client is gone has told only that one
    again.raw.others[:0] = again.raw.result("snapshot/events", {"since": editor.seq})["events"]
    assert [one["file"] for one in again.next()["params"]["files"]] == ["unheard"]


def test_snapshots_switched_off(daemon: Machine, folder: Path) -> None:
    tracker = opened(daemon, folder)
    tracker.track()
    off = opened(daemon, folder, {"snapshot": False})
    off.base, off.seq = tracker.base, tracker.seq
    tracker.raw.send(notification("workspace/didChangeConfiguration", {"settings": {"snapshot": False}}))
    assert tracker.raw.result("snapshot/status")["enabled"] is False
    write(folder, {"unwanted": b"1\n"})
    assert off.raw.result("snapshot/status")["enabled"] is False
    # as soon as one client has them on all are told; the number says that nothing was before
    tracker.raw.send(notification("workspace/didChangeConfiguration", {"settings": {"snapshot": True}}))
    for editor in (off, tracker):
        assert [one["file"] for one in editor.next()["params"]["files"]] == ["unwanted"]


def test_before_the_first_snapshot(daemon: Machine, folder: Path) -> None:
    editor = opened(daemon, folder)
    editor.raw.result("snapshot/status")
    write(folder, {"early": b"1\n"})
    editor.track()
    assert editor.seq == 1
    write(folder, {"late": b"1\n"})
    editor.until_just(("late", "added", 1, 0))


def test_a_daemon_that_ends_with_something_to_tell(machine: Machine, folder: Path) -> None:
    process = machine.serve_socket()
    editor = opened(machine, folder)
    editor.track()
    write(folder, {f"many/{at}": b"1\n" for at in range(100)})
    process.send_signal(signal.SIGTERM)
    assert machine.exit_code(process) == 0
    # and the next one tells it
    machine.serve_socket()
    again = opened(machine, folder)
    again.base = editor.base
    assert len(again.until(lambda params: bool(params["files"]))["files"]) == 100


def test_a_folder_that_goes_is_logged_once(machine: Machine, folder: Path) -> None:
    machine.serve_socket()
    editor = opened(machine, folder)
    editor.track()
    elsewhere = folder.with_name(folder.name + "-moved")
    folder.rename(elsewhere)
    try:
        wait_until(lambda: "changes of the files are not reported" in machine.logged(), "the trouble to be logged")
        write(elsewhere, {"more": b"1\n"})
        elsewhere.rename(folder)
        editor.until_just(("more", "added", 1, 0))
    finally:
        shutil.rmtree(elsewhere, ignore_errors=True)
    assert machine.logged().count("changes of the files are not reported") == 1


def test_the_command_line_says_how_it_is_watched(machine: Machine, folder: Path) -> None:
    for setting, kind in WATCHERS.items():
        shown = machine.run("status", "-C", str(folder), "--no-daemon", env={"SNAPD_WATCHER": setting})
        assert f"watching  {kind}\n" in shown.stdout or "inotify_init1" in shown.stdout, shown
        shown = machine.run("doctor", "-C", str(folder), "--no-daemon", env={"SNAPD_WATCHER": setting})
        assert f"watcher {kind}" in shown.stdout or "inotify_init1" in shown.stdout, shown
    wrong = machine.run("status", "-C", str(folder), "--no-daemon", env={"SNAPD_WATCHER": "inotify"})
    assert (wrong.returncode, "SNAPD_WATCHER: expected one of auto, watchdog, none" in wrong.stderr) == (2, True)


# -- the hub


class Now:
    """An executor that does what it is told at once, or when `run` is called, the last first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[..., Any], Any]] = []

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[None]:
        self.waiting.append((work, arguments))
        return Future()

    def run(self) -> None:
        while self.waiting:
            work, arguments = self.waiting.pop()
            work(*arguments)


class Watched:
    """What of a workspace the hub asks for: its feed."""

    root = b"/w"

    def __init__(self) -> None:
        self.wanted: list[bool] = []
        self.raises: Exception | None = None
        self.feed = self

    def listen(self, wanted: bool) -> None:
        self.wanted.append(wanted)
        if self.raises is not None:
            raise self.raises


class Client:
    def push(self, framed: bytes) -> None:
        raise AssertionError(framed)


@pytest.fixture
def hub() -> Iterator[tuple[Any, Now]]:
    loop = asyncio.new_event_loop()
    executor = Now()
    yield Hub(loop, lambda *_: ("", {}), executor), executor  # type: ignore[arg-type]
    loop.close()


def test_the_first_who_wants_it_starts_it_and_the_last_stops_it(hub: tuple[Any, Now]) -> None:
    made, executor = hub
    workspace, one, other, deaf = Watched(), Client(), Client(), Client()
    for client in (one, other, deaf):
        made.subscribe(workspace, client, False)
    made.want_changes(workspace, deaf, False)
    made.unsubscribe(workspace, deaf)
    assert executor.waiting == []
    for client in (one, other, one):
        made.want_changes(workspace, client, True)
    executor.run()
    assert workspace.wanted == [True]
    made.unsubscribe(workspace, one)
    executor.run()
    assert workspace.wanted == [True]
    made.unsubscribe(workspace, other)
    made.unsubscribe(workspace, other)
    executor.run()
    assert workspace.wanted == [True, False]


def test_in_whatever_order_it_is_done(hub: tuple[Any, Now]) -> None:
    made, executor = hub
    workspace, client = Watched(), Client()
    for wanted in (True, False, True):
        made.want_changes(workspace, client, wanted)
    assert len(executor.waiting) == 3
    executor.run()
    assert set(workspace.wanted) == {True}
    for wanted in (False, True, False):
        made.want_changes(workspace, client, wanted)
    executor.run()
    assert workspace.wanted[-1] is False


def test_no_descriptor_left(hub: tuple[Any, Now], caplog: pytest.LogCaptureFixture) -> None:
    made, executor = hub
    workspace = Watched()
    workspace.raises = OSError(24, "Too many open files")
    made.want_changes(workspace, Client(), True)
    executor.run()
    assert "/w: changes of the files are not reported: [Errno 24] Too many open files" in caplog.text

"""What is in people's files and tokens stays in the store, which is private, and is nowhere else."""

from __future__ import annotations

import os
import signal
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.rpc.machine import framed, initialize, notification, request
from tests.support.git import run_git
from tests.support.published import until_published

if TYPE_CHECKING:
    from tests.rpc.machine import Machine, Raw

MARK = "s3cret-mark"
"""A part of everything here that no log may hold; file names have none of it."""

VERBOSE = """
import logging
logging.basicConfig(level=logging.DEBUG)
logging.root.setLevel(logging.DEBUG)
_set_level = logging.Logger.setLevel
logging.Logger.setLevel = lambda self, level: _set_level(self, logging.DEBUG)
logging.basicConfig = lambda **_: None
"""
"""Has whatever logs say all that it can, the libraries that the daemon keeps quiet included."""


def stored(store: Path) -> bytes:
    """All that a store holds, as git and zlib read it, and every file of it as it is."""
    until_published(store)
    found = run_git(store, "--git-dir", str(store), "cat-file", "--batch", "--batch-all-objects")
    for path in store.rglob("*"):
        if path.is_file():
            found += path.read_bytes()
    for path in store.glob("journal/*"):
        data = path.read_bytes()
        for at in range(len(data) - 1):
            if data[at] == 0x78:
                try:
                    found += zlib.decompressobj().decompress(data[at:])
                except zlib.error:
                    continue
    return found


@pytest.mark.hazard(79)
def test_excluded_secret_is_in_no_snapshot_and_in_no_store(machine: Machine, folder: Path) -> None:
    for name in (".env", "keys.pem", "sub/deep.pem", "by-the-folder.txt", "ours.txt"):
        (folder / name).write_text(f"{MARK} of {name}\n")
    (folder / ".snapd.toml").write_text('exclude = ["by-the-folder.txt"]\n')
    process = machine.serve_socket()
    raw = machine.raw().open(folder, options={"exclude": [".env", "*.pem"]})
    tree = raw.result("snapshot/track")["hash"]
    raw.result("session/start", {"sessionId": "s"})
    step = raw.result("step/begin", {"sessionId": "s"})["stepId"]
    (folder / ".env").write_text(f"{MARK} of .env, changed\n")
    (folder / "a.txt").write_text("changed\n")
    raw.result("step/end", {"stepId": step})
    assert MARK not in raw.result("snapshot/diff", {"hash": tree})["diff"]
    raw.result("session/undo", {"sessionId": "s"})
    assert (folder / ".env").read_text() == f"{MARK} of .env, changed\n"
    store = Path(raw.result("snapshot/status")["store"]["path"])
    raw.close()
    process.terminate()
    machine.exit_code(process)
    held = stored(store)
    assert f"{MARK} of ours.txt".encode() in held
    assert held.count(MARK.encode()) == held.count(f"{MARK} of ours.txt".encode())


def misuse(raw: Raw, folder: Path) -> None:
    """Says all that is wrong, each with a mark in it."""
    raw.send(framed(f'{{"jsonrpc": "{MARK}", "id": 1, "method": "{MARK}"}}'.encode()))
    raw.send(framed(f'{{"jsonrpc": "2.0", {MARK}'.encode()))
    raw.send(framed(b'{"jsonrpc": "2.0", "id": "\xff' + MARK.encode() + b'"}'))
    raw.send(framed(f'{{"jsonrpc": "2.0", "id": 1, "result": "{MARK}"}}'.encode()))
    raw.send(request(1, f"no/{MARK}", {"x": MARK}))
    raw.send(request(1, "snapshot/patch", {"hash": MARK}))
    raw.send(request(1, "snapshot/restore", {"hash": "0" * 40, "onConflict": MARK}))
    raw.send(notification(f"no/{MARK}", {"x": MARK}))
    raw.send(notification("textDocument/didOpen", {"textDocument": MARK}))
    raw.send(notification("$/cancelRequest", {"id": MARK}))
    raw.send(notification("workspace/didChangeConfiguration", {"settings": {MARK: MARK, "token": MARK}}))
    raw.send(notification("workspace/didChangeConfiguration", {"settings": {"exclude": MARK}}))
    raw.send(request("end", "snapshot/status"))
    while raw.answer()["id"] != "end":
        pass


def work(raw: Raw, folder: Path) -> None:
    """All that is done with a folder, where every text has a mark in it."""
    document = (folder / "a.txt").as_uri()
    (folder / "a.txt").write_text(f"{MARK} one\nb\nc\n")
    (folder / "binary").write_bytes(b"\0" + MARK.encode() + os.urandom(100))
    (folder / "link").symlink_to(f"{MARK}-target")
    item = {"uri": document, "languageId": "x", "version": 1, "text": f"{MARK} typed"}
    raw.send(notification("textDocument/didOpen", {"textDocument": item}))
    change = {"textDocument": {"uri": document, "version": 2}, "contentChanges": [{"text": f"{MARK} more"}]}
    raw.send(notification("textDocument/didChange", change))
    tree = raw.result("snapshot/track")["hash"]
    raw.result("session/start", {"sessionId": "s", "title": f"{MARK} title", "agent": f"{MARK} agent"})
    begin = {"sessionId": "s", "messageId": f"{MARK} m", "tool": f"{MARK} tool", "description": f"{MARK} d"}
    step = raw.result("step/begin", begin)["stepId"]
    (folder / "a.txt").write_text(f"{MARK} two\nb\nc\n")
    raw.result("step/end", {"stepId": step})
    assert MARK in raw.result("snapshot/diff", {"hash": tree})["diff"]
    raw.result("snapshot/diffFull", {"from": tree})
    raw.result("step/hunks", {"stepId": step, "file": "a.txt"})
    conflict = raw.result("session/undo", {"sessionId": "s"})
    assert [each["reason"] for each in conflict["files"]] == ["unsavedInEditor"]
    raw.send(notification("textDocument/didClose", {"textDocument": {"uri": document}}))
    raw.result("session/undo", {"sessionId": "s", "stepId": step})
    raw.result("session/history")
    raw.result("snapshot/fileAt", {"hash": tree, "file": "a.txt"})
    raw.result("session/end", {"sessionId": "s"})
    (folder / "a.txt").unlink()
    (folder / "a.txt").mkdir()
    raw.result("snapshot/restore", {"hash": tree})


@pytest.mark.hazard(82)
def test_no_log_holds_what_is_in_files_in_messages_or_in_tokens(machine: Machine, folder: Path) -> None:
    site = machine.root / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(VERBOSE)
    env = {"SNAPD_TOKEN": f"{MARK} token", "PYTHONPATH": str(site), "PYTHONASYNCIODEBUG": "1"}
    process, port = machine.serve_tcp(env=env)
    stranger = machine.raw(("127.0.0.1", port))
    stranger.send(initialize(folder, options={"token": f"{MARK} wrong"}))
    assert "error" in stranger.answer(0)
    raw = machine.raw(("127.0.0.1", port)).open(folder, options={"token": f"{MARK} token"})
    misuse(raw, folder)
    work(raw, folder)
    broken = machine.raw(("127.0.0.1", port))
    broken.send(b"X-" + MARK.encode() + b": " + MARK.encode() + b"\r\n\r\n")
    broken.says_nothing_more()
    raw.send(request(1, "snapshot/fileAt", {"hash": "0" * 40, "file": MARK}))
    raw.close()
    process.send_signal(signal.SIGTERM)
    machine.exit_code(process)
    said = machine.logged()
    # it does log, and at that level
    assert "DEBUG" in said
    assert MARK not in said, [line for line in said.splitlines() if MARK in line][:5]
    for line in said.splitlines():
        assert len(line) < 1000, line[:1000]

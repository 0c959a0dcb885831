"""`snapd gc`, `snapd du` and `snapd purge`, as people run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from snapd_client import Client

from tests.cli.running import Home, Terminal
from tests.cli.steps import put, take
from tests.support.published import until_published

SECRET = b"token = 7f3a-very-secret\n"


def store_of(home: Home, project: str, *args: str) -> str:
    return str(home.run(project, "status", "--json", *args).json["store"]["path"])


def bytes_of(store: str) -> int:
    return sum(os.lstat(os.path.join(above, name)).st_size for above, _, names in os.walk(store) for name in names)


def fsck(store: str) -> None:
    until_published(store)
    done = subprocess.run(
        ["git", "--git-dir", store, "fsck", "--strict", "--full", "--no-dangling"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b""), done


@pytest.mark.parametrize("way", [(), ("--no-daemon",)], ids=["daemon", "alone"])
def test_gc(own_home: Home, way: tuple[str, ...]) -> None:
    project = own_home.project("p", {"a": b"1"})
    trees = []
    for number in range(3):
        put(project, {"a": os.urandom(3000), "n": b"%d" % number})
        trees.append(own_home.track(project, *way))
    said = own_home.ok(project, "gc", *way)
    assert said.startswith("0 snapshots removed, "), said
    assert own_home.run(project, "gc", "--older-than", "0", "--yes", "--json", *way).json["removed"] == 2
    fsck(store_of(own_home, project, *way))
    for wrong in ("-1", "nan", "inf"):
        result = own_home.run(project, "gc", f"--older-than={wrong}", *way)
        assert (result.code, "--older-than" in result.err) == (2, True)
    assert own_home.run(project, "files", trees[0], *way).code == 1
    assert own_home.ok(project, "files", trees[2], *way).split() == ["a", "n"]


def test_gc_of_all_and_of_what_is_missing(own_home: Home) -> None:
    here, there = own_home.project("here", {"a": b"1"}), own_home.project("there", {"a": b"2"})
    for project in (here, there):
        for number in range(2):
            put(project, {"a": b"%d" % number})
            own_home.track(project)
    alone = own_home.project("alone", {"a": b"3"})
    own_home.ok(own_home.path, "stop")
    own_home.track(alone, "--no-daemon")
    stores = {project: store_of(own_home, project, "--no-daemon") for project in (here, there, alone)}
    own_home.track(here)
    shutil.rmtree(there)
    result = own_home.run(own_home.path, "gc", "--all", "--older-than", "0", "-y")
    assert (result.code, result.err) == (0, "")
    assert [line.partition(": ")[::2] for line in result.text.splitlines()] == [
        (alone, result.text.splitlines()[0].partition(": ")[2]),
        (here, result.text.splitlines()[1].partition(": ")[2]),
        (there, "no longer exists; its snapshots are kept, and 'snapd gc --missing' removes them"),
    ]
    assert os.path.exists(stores[there])
    size = bytes_of(stores[there])
    rows = own_home.run(own_home.path, "gc", "--missing", "--json").json["stores"]
    # the lock itself is taken, and who owns it is told, in the meantime
    assert [(row["folder"], row["missing"], row.get("gone")) for row in rows] == [
        (alone, False, None),
        (here, False, None),
        (there, True, True),
    ]
    assert abs(rows[2]["freedBytes"] - size) < 100
    assert not os.path.exists(stores[there])
    for project in (here, alone):
        fsck(stores[project])
    assert own_home.ok(here, "files", "last").split() == ["a"]


def test_du_adds_up(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"1", "big": os.urandom(50_000)})
    # an event names what was found by the one before it: what a session made and removed again is its own
    for session, name, size in (("one", "x", 30_000), ("two", "y", 10_000)):
        take(own_home, project, session, {name: os.urandom(size)})
        take(own_home, project, session, {name: None})
    put(project, {"z": os.urandom(20_000)})
    own_home.track(project)
    put(project, {"z": None})
    own_home.track(project)
    own_home.ok(own_home.path, "stop")
    row = own_home.run(project, "du", "--json").json["stores"][0]
    assert row["bytes"] == bytes_of(row["store"])
    sessions = {each["sessionId"]: each["bytes"] for each in row["sessions"]}
    parts = sum(sessions.values()) + row["noSession"] + row["shared"] + row["unused"] + row["linked"] + row["other"]
    assert parts == row["bytes"]
    # what cannot be compressed, and some trees and commits
    for found, least in ((sessions["one"], 30_000), (sessions["two"], 10_000), (row["noSession"], 20_000)):
        assert least <= found <= least + 4000
    assert 50_000 <= row["shared"] <= 54_000
    assert (row["unused"], row["linked"], row["missing"]) == (0, 0, False)
    assert [each["sessionId"] for each in row["sessions"]] == ["one", "two"]
    text = own_home.ok(project, "du")
    assert text.index("session one") < text.index("session two")
    assert text.splitlines()[0].endswith(project)
    every = own_home.run(project, "du", "--all", "--json").json
    assert (every["bytes"], len(every["stores"])) == (row["bytes"], 1)
    assert own_home.ok(project, "du", "--all").splitlines()[-1].endswith("all")
    empty = own_home.project("empty", {"a": b""})
    assert own_home.run(empty, "du").code == 2


@pytest.mark.parametrize("way", [(), ("--no-daemon",)], ids=["daemon", "alone"])
def test_purge(own_home: Home, way: tuple[str, ...]) -> None:
    project = own_home.project("p", {"a": b"1", "key": SECRET})
    old = own_home.track(project, *way)
    oid = (
        subprocess.run(["git", "hash-object", "--stdin"], input=SECRET, capture_output=True, check=True, cwd="/")
        .stdout.decode()
        .strip()
    )
    store = store_of(own_home, project, *way)
    until_published(store)
    result = own_home.run(project, "purge", "key", "--yes", *way)
    assert (result.code, "still in the folder" in result.err) == (2, True)
    os.remove(os.path.join(project, "key"))
    result = own_home.run(project, "purge", "key", *way)
    assert (result.code, "cannot be undone" in result.err) == (2, True)
    told = own_home.ok(project, "purge", "key", "--dry-run", *way)
    assert told.splitlines() == [
        "1 snapshot to be rewritten: 1 version of 1 file, 25 bytes",
        "  key  (1 version, 25 bytes)",
    ]
    assert subprocess.run(["git", "--git-dir", store, "cat-file", "-e", oid], check=False).returncode == 0
    assert own_home.ok(project, "purge", "key", "-y", *way).startswith("1 snapshot rewritten; ")
    gone = subprocess.run(["git", "--git-dir", store, "cat-file", "-e", oid], check=False, capture_output=True)
    assert gone.returncode != 0
    fsck(store)
    for path in Path(store).rglob("*"):
        assert oid[2:] not in path.name
    assert own_home.run(project, "files", old, *way).code == 1
    assert own_home.run(project, "purge", "key", "-y", *way).code == 1
    assert own_home.run(project, "purge", *way).code == 2
    assert own_home.run(project, "purge", "a", "--workspace", *way).code == 2
    assert own_home.ok(project, "purge", "--workspace", "-y", *way).endswith("freed\n")
    assert "lastHash" not in own_home.run(project, "status", "--json", *way).json
    assert own_home.track(project, *way)


def test_dropping_all_snapshots_asks(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"1"})
    first = own_home.track(project)
    with open(os.path.join(project, "a"), "wb") as file:
        file.write(b"2")
    own_home.track(project)
    refused = own_home.run(project, "gc", "--older-than", "0")
    assert (refused.code, "confirm with --yes" in refused.err) == (2, True)
    for answer, code in ((b"n\n", 1), (b"y\n", 0)):
        assert own_home.run(project, "files", first).code == 0
        terminal = Terminal(own_home, project, "gc", "--older-than", "0")
        terminal.wait_for(b"[y/N/?]")
        terminal.type(answer)
        assert terminal.finish().code == code
    assert own_home.run(project, "files", first).code == 1


def test_purge_asks(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"1", "key": SECRET})
    own_home.track(project)
    os.remove(os.path.join(project, "key"))
    for answer, code in ((b"n\n", 1), (b"y\n", 0)):
        terminal = Terminal(own_home, project, "purge", "key")
        terminal.wait_for(b"[y/N/?]")
        terminal.type(answer)
        assert terminal.finish().code == code
    assert own_home.run(project, "purge", "key", "-y").code == 1


def test_purge_checks_before_it_asks(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"1", "my key": SECRET})
    own_home.track(project)
    put(project, {"my key": SECRET * 2})
    own_home.track(project)
    for words, code, said in (
        ("my key", 2, "snapd: 'my key': still in the folder"),
        ("nope", 1, "snapd: nope is in no snapshot"),
    ):
        terminal = Terminal(own_home, project, "purge", words)
        done = terminal.finish()
        assert (done.code, "[y/N/?]" in done.err) == (code, False)
        assert said in done.err
        assert "hint: " in done.err
    os.remove(os.path.join(project, "my key"))
    asked = Terminal(own_home, project, "purge", "my key").answer(b"n\n")
    assert (asked.code, "nothing was changed" in asked.err) == (1, True)
    assert [line.rstrip() for line in asked.err.splitlines()[:2]] == [
        "2 snapshots to be rewritten: 2 versions of 1 file, 75 bytes",
        "  'my key'  (2 versions, 75 bytes)",
    ]
    told = Terminal(own_home, project, "purge", "my key", "--json", out=False).answer(b"n\n")
    assert (told.code, told.json["error"]["kind"]) == (1, "declined")


def test_a_renamed_folder_is_named_offered_its_history_and_kept(own_home: Home) -> None:
    old, new = own_home.project("old", {"a": b"a\n"}), own_home.at("new")
    first = own_home.track(old)
    os.rename(old, new)
    words = f"the folder was {old}: 'snapd adopt {old}' takes its history"
    assert words in own_home.run(new, "log").err
    rows = own_home.run(own_home.path, "gc", "--missing", "--json").json["stores"]
    assert [row.get("movedTo") for row in rows if row["folder"] == old] == [new]
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s",
        "prompt": "p",
        "cwd": new,
        "transcript_path": "t",
    }
    for told in (f"this folder was at {old} before", ""):
        said = own_home.run(new, "hook", stdin=json.dumps(prompt).encode()).text
        assert told in said if told else not said
    assert words in own_home.ok(new, "status")
    (history,) = (row for row in own_home.run(new, "doctor", "--json").json["checks"] if row["check"] == "history")
    assert (history["ok"], history["found"]) == (False, words)
    assert own_home.run(new, "adopt", "--json").json["kept"] is True
    assert first in own_home.ok(new, "snapshots", "--json")
    assert own_home.run(new, "adopt", old).err.startswith(f"snapd: {old}: no former history")


def test_adopt_ends_the_daemon_that_was_named_and_no_other(own_home: Home) -> None:
    old, new, other = (
        own_home.project("old", {"a": b"a\n"}),
        own_home.at("new"),
        own_home.project("other", {"b": b"b\n"}),
    )
    at = ("--socket", own_home.at("named.sock"))
    first = own_home.ok(old, "track", *at).strip()
    own_home.track(other)
    os.rename(old, new)
    own_home.ok(new, "adopt", *at)
    assert first in own_home.ok(new, "snapshots", "--json", *at)
    assert own_home.run(new, "stop", "--json").json["stopped"] is True
    assert own_home.run(new, "stop", "--json", *at).json["stopped"] is True


def test_du_names_sessions_by_their_titles_or_first_prompts(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"1"})
    own_home.ok(project, "track")
    with Client.connect(own_home.at("run/daemon.sock")) as client:
        client.initialize([project])
        for session, title in (("one", "Tidy up"), ("two", None)):
            client.request(
                "session/start", {"sessionId": session, "agent": "bot", **({"title": title} if title else {})}
            )
            client.request("session/message", {"sessionId": session, "messageId": session, "text": "Fix the\nparser"})
            client.request("session/end", {"sessionId": session})
    text = own_home.ok(project, "du")
    assert "session one  bot  Tidy up\n" in text
    assert "session two  bot  Fix the parser\n" in text

"""Sessions, steps and undo over the socket: what every client is told, unsaved text in editors, errors, and kills."""

from __future__ import annotations

import os
import re
import signal
import threading
from datetime import datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client, to_uri
from snapd_client.errors import SnapdError

from snapd.core.feed import KEPT
from tests.support.amounts import amount

from .machine import Machine, Raw, error_of, notification, request, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.thorough

TOLD = ("snapshot/didTrack", "snapshot/didRevert", "session/didChange")
LINES = b"".join(b"%d\n" % number for number in range(1, 21))
HASH = re.compile("[0-9a-f]{40}")


def replaced(**lines: bytes) -> bytes:
    found = LINES.splitlines(keepends=True)
    for name, line in lines.items():
        found[int(name[1:]) - 1] = line + b"\n"
    return b"".join(found)


def write(folder: Path, **files: bytes) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def a_step(raw: Raw, folder: Path, session: str, *, more: dict[str, Any] | None = None, **files: bytes) -> str:
    """A step in which files are written."""
    begun = raw.result("step/begin", {"sessionId": session, **(more or {})})
    write(folder, **files)
    step: str = raw.result("step/end", {"stepId": begun["stepId"]})["stepId"]
    return step


@pytest.fixture
def work(folder: Path) -> Path:
    """A folder with a text in it."""
    write(folder, text=LINES)
    return folder


# -- the wire


def test_what_a_session_looks_like(daemon: Machine, work: Path) -> None:
    raw = daemon.raw().open(work)
    made = raw.result("session/start", {"agent": "A", "title": "T"})["sessionId"]
    begun = raw.result(
        "step/begin",
        {
            "sessionId": made,
            "messageId": "m",
            "partId": "p",
            "tool": "edit",
            "description": "why",
            "command": "sed -i 1d f",
        },
    )
    assert begun.keys() == {"stepId", "hash"}
    assert HASH.fullmatch(begun["hash"])
    (session,) = raw.result("session/list")["sessions"]
    started = session.pop("startedAt")
    assert datetime.fromisoformat(started).tzinfo is not None
    assert session == {
        "sessionId": made, "agent": "A", "title": "T", "name": "T", "stepCount": 1, "undoable": 0, "redoable": 0,
    }  # fmt: skip
    write(work, text=replaced(l2=b"A"), new=b"\0")
    ended = raw.result("step/end", {"stepId": begun["stepId"]})
    files = [
        {"file": "new", "status": "added", "additions": 0, "deletions": 0, "binary": True},
        {"file": "text", "status": "modified", "additions": 1, "deletions": 1, "binary": False},
    ]
    assert ended == {"stepId": begun["stepId"], "from": begun["hash"], "to": ended["to"], "files": files}
    (step,) = raw.result("session/steps", {"sessionId": made})["steps"]
    assert step.pop("startedAt") <= step.pop("endedAt")
    assert step == {
        "stepId": begun["stepId"], "sessionId": made, "index": 0, "messageId": "m", "partId": "p", "agent": "A",
        "tool": "edit", "description": "why", "command": "sed -i 1d f", "from": begun["hash"], "to": ended["to"],
        "state": "applied", "files": files,
    }  # fmt: skip
    (diff,) = raw.result("session/diff", {"sessionId": made, "limit": 1})["diffs"]
    assert diff["file"] == "new"
    undone = raw.result("session/undo", {"sessionId": made})
    assert undone["applied"] is True
    assert undone["before"] == ended["to"]
    assert undone["after"] == begun["hash"]
    assert undone["files"] == [{"file": "new", "outcome": "deleted"}, {"file": "text", "outcome": "restored"}]
    assert [(one["stepId"], one["state"]) for one in undone["steps"]] == [(begun["stepId"], "undone")]
    redone = raw.result("session/redo", {"sessionId": made})
    assert [one["state"] for one in redone["steps"]] == ["applied"]
    reverted = raw.result("session/revert", {"sessionId": made, "messageId": "m"})
    assert (reverted["messageId"], reverted["snapshot"]) == ("m", ended["to"])
    assert reverted["diff"] == raw.result("snapshot/diff", {"hash": ended["to"], "to": begun["hash"]})["diff"]
    assert raw.result("session/unrevert", {"sessionId": made})["after"] == ended["to"]
    assert raw.result("session/end", {"sessionId": made}) == {}
    assert "endedAt" in raw.result("session/list")["sessions"][0]


def test_a_step_that_is_begun_here_and_ended_there(daemon: Machine, work: Path) -> None:
    one, other = daemon.raw().open(work), daemon.raw().open(work)
    session = one.result("session/start")["sessionId"]
    begun = one.result("step/begin", {"sessionId": session})
    one.close()
    write(work, text=b"1")
    assert [file["file"] for file in other.result("step/end", {"stepId": begun["stepId"]})["files"]] == ["text"]
    # files as a client may name them
    begun = other.result("step/begin", {"sessionId": session})
    beside = other.result("step/begin", {"sessionId": other.result("session/start")["sessionId"]})
    write(work, text=b"2", new=b"2")
    ended = other.result("step/end", {"stepId": begun["stepId"], "files": [to_uri(str(work / "text"))]})
    assert [file["file"] for file in ended["files"]] == ["text"]
    ended = other.result("step/end", {"stepId": beside["stepId"], "files": [str(work / "new")]})
    assert [file["file"] for file in ended["files"]] == ["new"]


# -- notifications


def told(raw: Raw, until: int) -> list[dict[str, Any]]:
    """What a client was told up to a number, in that order; a `didChange` comes whenever it is looked."""
    while not any(each["params"].get("seq", 0) >= until for each in raw.others):
        message = raw.read()
        assert message is not None
        raw.others.append(message)
    return [each for each in raw.others if "seq" in each["params"] and each["params"]["seq"] <= until]


def latest(raw: Raw) -> int:
    seq: int = raw.result("snapshot/events", {"since": 0})["latest"]
    return seq


def seqs(messages: Iterable[dict[str, Any]]) -> list[int]:
    return [message["params"]["seq"] for message in messages]


def test_two_clients_are_told_the_same_and_a_late_one_catches_up(daemon: Machine, work: Path) -> None:
    one, other = daemon.raw().open(work), daemon.raw().open(work)
    session = one.result("session/start", {"sessionId": "s"})["sessionId"]
    a_step(one, work, session, text=b"1")
    a_step(other, work, session, text=b"2", new=b"n")
    other.result("session/undo", {"sessionId": session, "count": 2})
    one.result("session/redo", {"sessionId": session})
    one.result("session/end", {"sessionId": session})
    last = latest(one)
    heard = told(one, last)
    assert heard == told(other, last)
    assert seqs(heard) == list(range(1, last + 1))
    late = daemon.raw().open(work)
    caught = late.result("snapshot/events", {"since": 0})
    assert caught["latest"] == last
    assert caught["events"] == [{"method": each["method"], "params": each["params"]} for each in heard]
    assert seqs(late.result("snapshot/events", {"since": last - 2})["events"]) == [last - 1, last]
    assert late.result("snapshot/events", {"since": last}) == {"events": [], "latest": last}
    assert late.result("snapshot/events", {"since": last + 1}) == {"reset": True, "latest": last}
    # every change of the session was told, and where it was about a step, as it was by then
    changes = [each["params"] for each in heard if each["method"] == "session/didChange"]
    assert [(each.get("step") or {}).get("state") for each in changes] == [
        None, "open", "applied", "open", "applied", "undone", "undone", "applied", None,
    ]  # fmt: skip
    counts = [(each["session"]["undoable"], each["session"]["redoable"]) for each in changes]
    assert counts == [(0, 0), (0, 0), (1, 0), (1, 0), (2, 0), (0, 2), (0, 2), (1, 1), (1, 1)]
    assert [each["params"]["kind"] for each in heard if each["method"] == "snapshot/didRevert"] == ["undo", "redo"]


def test_no_number_is_given_twice(machine: Machine, work: Path) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        process = machine.serve_socket()
        raw = machine.raw().open(work)
        first = latest(raw)
        a_step(raw, work, raw.result("session/start")["sessionId"], text=os.urandom(4))
        last = latest(raw)
        assert last > first
        raw.close()
        process.send_signal(how)
        machine.exit_code(process)
        raw = next_daemon(machine).open(work)
        answer = raw.result("snapshot/events", {"since": last})
        assert answer["latest"] >= last
        assert answer == {"reset": True, "latest": answer["latest"]} or answer["events"] == []
        assert raw.result("snapshot/events", {"since": first})["reset"] is True
        machine.processes[-1].send_signal(signal.SIGTERM)
        machine.exit_code(machine.processes[-1])


def test_who_was_away_too_long(daemon: Machine, work: Path) -> None:
    raw = daemon.raw().open(work)
    for _ in range(KEPT + 1):
        raw.result("session/start", {"sessionId": "s"})
    answer = raw.result("snapshot/events", {"since": 0})
    assert answer.keys() == {"reset", "latest"}
    assert len(raw.result("snapshot/events", {"since": answer["latest"] - KEPT})["events"]) == KEPT


def next_daemon(machine: Machine) -> Raw:
    """A connection to a new daemon, where the one before may have left its socket."""
    machine.socket.unlink(missing_ok=True)
    machine.serve_socket()
    return machine.raw()


# -- editors


def document(path: Path, text: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"uri": to_uri(str(path)), "version": 1}
    if text is not None:
        found |= {"languageId": "plain", "text": text}
    return found


class Editor:
    """An editor with one document."""

    def __init__(self, daemon: Machine, folder: Path, path: Path) -> None:
        self.raw = daemon.raw().open(folder)
        self.path = path

    def settled(self) -> None:
        self.raw.result("snapshot/status")
        self.raw.result("session/list")

    def open(self, text: str) -> None:
        self.raw.send(notification("textDocument/didOpen", {"textDocument": document(self.path, text)}))
        self.settled()

    def change(self, text: str) -> None:
        changes = {"textDocument": document(self.path), "contentChanges": [{"text": text}]}
        self.raw.send(notification("textDocument/didChange", changes))
        self.settled()

    def save(self) -> None:
        self.raw.send(notification("textDocument/didSave", {"textDocument": document(self.path)}))
        self.settled()

    def close(self) -> None:
        self.raw.send(notification("textDocument/didClose", {"textDocument": document(self.path)}))
        self.settled()


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {
        file["file"]: file["outcome"] + (f":{file['reason']}" if "reason" in file else "") for file in result["files"]
    }


UNSAVED = {"text": "conflict:unsavedInEditor"}


def test_unsaved_text_is_nobodys_to_lose(daemon: Machine, work: Path) -> None:
    agent = daemon.raw().open(work)
    session = agent.result("session/start")["sessionId"]
    before = agent.result("snapshot/track")["hash"]
    a_step(agent, work, session, text=b"agent\n")

    def asked(**more: Any) -> dict[str, str]:
        return outcomes(agent.result("session/undo", {"sessionId": session, "dryRun": True, **more}))

    editor = Editor(daemon, work, work / "text")
    editor.open("agent\n")
    assert asked() == {"text": "restored"}
    editor.change("agent\ntyped\n")
    assert asked() == UNSAVED
    editor.change("agent\n")
    assert asked() == {"text": "restored"}
    editor.change("typed\n")
    editor.save()
    assert asked() == {"text": "restored"}
    editor.change("typed again\n")
    editor.close()
    assert asked() == {"text": "restored"}
    # an editor that brings what it had when it was closed
    editor.open("from the last time\n")
    assert asked() == UNSAVED
    # whoever asks, and whatever is asked, but by name
    for method, params in (
        ("session/undo", {"sessionId": session}),
        ("session/undo", {"sessionId": session, "onConflict": "merge"}),
        ("session/revert", {"sessionId": session, "messageId": "none"}),
        ("snapshot/restore", {"hash": before}),
        ("snapshot/restore", {"hash": before, "onConflict": "merge"}),
        ("snapshot/revert", {"patches": [{"hash": before, "files": ["text"]}]}),
    ):
        if method == "session/revert":
            continue
        assert outcomes(agent.result(method, {**params, "dryRun": True})) == UNSAVED, method
        assert outcomes(editor.raw.result(method, {**params, "dryRun": True})) == UNSAVED, method
    refused = agent.result("session/undo", {"sessionId": session, "onConflict": "fail"})
    assert (refused["applied"], outcomes(refused)) == (False, UNSAVED)
    assert (work / "text").read_bytes() == b"agent\n"
    assert asked(onConflict="overwrite") == {"text": "restored"}
    # it is gone, and with it what it had
    editor.raw.close()
    wait_until(lambda: asked() == {"text": "restored"}, "the editor to be gone")
    assert outcomes(agent.result("session/undo", {"sessionId": session})) == {"text": "restored"}
    assert (work / "text").read_bytes() == LINES


def test_two_editors_and_odd_documents(daemon: Machine, work: Path) -> None:
    agent = daemon.raw().open(work)
    session = agent.result("session/start")["sessionId"]
    a_step(agent, work, session, text=b"agent\n")
    one, other = (Editor(daemon, work, work / "text") for _ in range(2))
    for editor in (one, other):
        editor.open("agent\n")
        editor.change("typed\n")
    one.save()
    params = {"sessionId": session, "dryRun": True}
    assert outcomes(agent.result("session/undo", params)) == UNSAVED
    other.close()
    assert outcomes(agent.result("session/undo", params)) == {"text": "restored"}
    for uri in ("untitled:1", "file:///", "file:///proc/self/mem", "git:/a", "file://elsewhere/a", "", "file:///a%00b"):
        one.raw.send(
            notification(
                "textDocument/didOpen",
                {"textDocument": {"uri": uri, "version": 1, "languageId": "x", "text": "\U0001f600"}},
            )
        )
    one.settled()
    assert outcomes(agent.result("session/undo", params)) == {"text": "restored"}
    # what is typed into a symlink is saved into the file behind it
    (work / "link").symlink_to("text")
    linked = Editor(daemon, work, work / "link")
    linked.open("agent\n")
    linked.change("typed\n")
    assert outcomes(agent.result("session/undo", params)) == UNSAVED
    (work / "link").unlink()
    linked.close()
    assert outcomes(agent.result("session/undo", params)) == {"text": "restored"}


# -- errors


@pytest.mark.parametrize(
    ("method", "params", "error", "data"),
    [
        ("session/end", {"sessionId": "x"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("session/steps", {"sessionId": "x"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("session/diff", {"sessionId": "x"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("session/undo", {"sessionId": "x"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("session/redo", {"sessionId": "x"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("session/revert", {"sessionId": "x", "messageId": "m"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("session/unrevert", {"sessionId": "x"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("step/begin", {"sessionId": "x"}, (1009, "unknownSession"), {"sessionId": "x"}),
        ("step/begin", {"sessionId": "s", "parentStepId": "x"}, (1009, "unknownStep"), {"stepId": "x"}),
        ("step/end", {"stepId": "x"}, (1009, "unknownStep"), {"stepId": "x"}),
        ("step/hunks", {"stepId": "x", "file": "a"}, (1009, "unknownStep"), {"stepId": "x"}),
        ("step/revertHunks", {"stepId": "x", "file": "a", "hunks": [0]}, (1009, "unknownStep"), {"stepId": "x"}),
        ("step/revertFiles", {"stepId": "x", "files": ["a"]}, (1009, "unknownStep"), {"stepId": "x"}),
        ("step/revertFiles", {"stepId": "x"}, (-32602, "invalidParams"), {"field": "files"}),
        ("step/revertFiles", {"stepId": "x", "files": ["../a"]}, (1005, "pathOutsideWorkspace"), {"file": "../a"}),
        ("step/begin", {"sessionId": "s", "detached": 1}, (-32602, "invalidParams"), {"field": "detached"}),
        ("session/undo", {"sessionId": "s", "stepId": "x"}, (1009, "unknownStep"), {"stepId": "x"}),
        ("session/diff", {"sessionId": "s", "stepId": "x"}, (1009, "unknownStep"), {"stepId": "x"}),
        ("session/revert", {"sessionId": "s", "messageId": "m"}, (1009, "unknownStep"), {"messageId": "m"}),
        ("session/undo", {"sessionId": "s"}, (1010, "nothingToUndo"), {"sessionId": "s"}),
        ("session/redo", {"sessionId": "s"}, (1010, "nothingToRedo"), {"sessionId": "s"}),
        ("session/unrevert", {"sessionId": "s"}, (1010, "nothingToRedo"), {"sessionId": "s"}),
        ("session/undo", {}, (1010, "nothingToUndo"), {}),
        ("session/redo", {}, (1010, "nothingToRedo"), {}),
        ("session/undo", {"messageId": "m"}, (1009, "unknownStep"), {"messageId": "m"}),
        ("session/undo", {"stepId": "x", "messageId": "m"}, (-32602, "invalidParams"), {"field": "messageId"}),
        ("session/undo", {"afterStepId": "x"}, (1009, "unknownStep"), {"stepId": "x"}),
        ("session/undo", {"sessionId": "s", "count": 0}, (-32602, "invalidParams"), {"field": "count"}),
        ("session/undo", {"sessionId": "s", "count": "1"}, (-32602, "invalidParams"), {"field": "count"}),
        ("session/undo", {"sessionId": "s", "onConflict": "x"}, (-32602, "invalidParams"), {"field": "onConflict"}),
        ("session/redo", {"sessionId": 1}, (-32602, "invalidParams"), {"field": "sessionId"}),
        ("session/revert", {"sessionId": "s"}, (-32602, "invalidParams"), {"field": "messageId"}),
        ("session/start", {"sessionId": 5}, (-32602, "invalidParams"), {"field": "sessionId"}),
        ("session/diff", {"sessionId": "s", "cursor": "x"}, (-32602, "invalidParams"), {"field": "cursor"}),
        ("session/diff", {"sessionId": "s", "limit": 0}, (-32602, "invalidParams"), {"field": "limit"}),
        ("session/history", {"cursor": "x"}, (-32602, "invalidParams"), {"field": "cursor"}),
        ("step/end", {"stepId": "x", "files": "a"}, (-32602, "invalidParams"), {"field": "files"}),
        ("step/end", {"stepId": "x", "files": ["../a"]}, (1009, "unknownStep"), {"stepId": "x"}),
        ("step/hunks", {"stepId": "x", "file": "/etc/a"}, (1005, "pathOutsideWorkspace"), {"file": "/etc/a"}),
        ("step/revertHunks", {"stepId": "x", "file": "a", "hunks": [True]}, (-32602, "invalidParams"), {}),
        ("snapshot/events", {"since": "1"}, (-32602, "invalidParams"), {"field": "since"}),
    ],
)  # fmt: skip
def test_errors(
    daemon: Machine, work: Path, method: str, params: Any, error: tuple[int, str], data: dict[str, Any]
) -> None:
    raw = daemon.raw().open(work)
    raw.result("session/start", {"sessionId": "s"})
    answer = raw.ask(1, method, params)
    assert error_of(answer) == error
    assert answer["error"]["data"].items() >= data.items()
    assert "Traceback" not in str(answer)


def test_errors_of_a_step(daemon: Machine, work: Path) -> None:
    raw = daemon.raw().open(work)
    session = raw.result("session/start")["sessionId"]
    step = a_step(raw, work, session, text=b"1\n")
    for params in (
        {"stepId": step, "file": "text", "hunks": [1]},
        {"stepId": step, "file": "text", "hunks": [-1]},
        {"stepId": step, "file": "text", "hunks": [0, 0]},
    ):
        assert error_of(raw.ask(1, "step/revertHunks", params)) == (-32602, "invalidParams")
    params = {"stepId": step, "files": ["text", "a.txt"]}
    assert error_of(raw.ask(1, "step/revertFiles", params)) == (-32602, "invalidParams")
    assert error_of(raw.ask(1, "step/hunks", {"stepId": step, "file": "a.txt"})) == (-32602, "invalidParams")
    raw.result("session/end", {"sessionId": session})
    assert error_of(raw.ask(1, "step/begin", {"sessionId": session})) == (1009, "unknownSession")
    other = raw.result("session/start")["sessionId"]
    assert error_of(raw.ask(1, "session/undo", {"sessionId": other, "stepId": step})) == (1009, "unknownStep")


def test_snapshots_switched_off(daemon: Machine, work: Path) -> None:
    raw = daemon.raw().open(work, options={"snapshot": False})
    session = raw.result("session/start")["sessionId"]
    assert error_of(raw.ask(1, "step/begin", {"sessionId": session})) == (-32602, "invalidParams")


# -- progress and cancel


def test_a_long_undo_tells_how_far_it_is_and_can_be_taken_back(daemon: Machine, work: Path) -> None:
    raw = daemon.raw().open(work)
    session = raw.result("session/start")["sessionId"]
    begun = raw.result("step/begin", {"sessionId": session})["stepId"]
    for number in range(4000):
        (work / f"n{number}").write_bytes(b"%d" % number)
    raw.result("step/end", {"stepId": begun})
    raw.result("session/undo", {"sessionId": session})
    # writing four thousand files aside, each synced, takes long
    raw.others.clear()
    raw.send(request(5, "session/redo", {"sessionId": session, "workDoneToken": "t"}))
    raw.until(lambda each: each["method"] == "$/progress" and each["params"]["value"]["kind"] == "begin")
    raw.send(notification("$/cancelRequest", {"id": 5}))
    answer = raw.answer(5)
    state = raw.result("session/steps", {"sessionId": session})["steps"][0]["state"]
    found = sum(name.startswith("n") for name in os.listdir(work))
    if "error" in answer:
        assert error_of(answer)[0] == -32800
        assert (state, found) == ("undone", 0)
    else:
        assert (state, found) == ("applied", 4000)
    assert not [name for name in os.listdir(work) if "snapd" in name]


# -- a client that goes


@pytest.mark.parametrize("dies", [True, False])
def test_the_users_edits_after_an_agent_left_in_its_step_stay(daemon: Machine, work: Path, dies: bool) -> None:
    """It died, or closed the folder."""
    watching = daemon.raw().open(work)
    agent = daemon.raw().open(work)
    session = agent.result("session/start")["sessionId"]
    begun = agent.result("step/begin", {"sessionId": session})
    write(work, text=replaced(l2=b"AGENT"))
    if dies:
        agent.close()
    else:
        removed = {"event": {"added": [], "removed": [{"uri": to_uri(work), "name": "w"}]}}
        agent.send(notification("workspace/didChangeWorkspaceFolders", removed))
    left = watching.until(
        lambda message: message.get("method") == "snapshot/didTrack" and message["params"]["hash"] != begun["hash"]
    )
    assert left["params"]["previous"] == begun["hash"]
    other = daemon.raw().open(work)
    write(work, text=replaced(l2=b"AGENT", l9=b"USER"))
    other.result("session/undo", {"sessionId": session})
    assert (work / "text").read_bytes() == replaced(l9=b"USER")


def test_a_step_is_ended_over_another_connection(daemon: Machine, work: Path) -> None:
    """Hooks of agents connect anew for each of their calls."""
    first = daemon.raw().open(work)
    session = first.result("session/start")["sessionId"]
    step = first.result("step/begin", {"sessionId": session})["stepId"]
    first.close()
    write(work, text=replaced(l2=b"AGENT"))
    second = daemon.raw().open(work)
    assert [file["file"] for file in second.result("step/end", {"stepId": step})["files"]] == ["text"]


def test_a_detached_step_goes_on(daemon: Machine, work: Path) -> None:
    watching = daemon.raw().open(work)
    hook = daemon.raw().open(work)
    session = hook.result("session/start")["sessionId"]
    step = hook.result("step/begin", {"sessionId": session, "detached": True})["stepId"]
    write(work, text=replaced(l2=b"AGENT"))
    hook.close()
    write(work, text=replaced(l2=b"AGENT", l9=b"MORE"))
    watching.result("session/undo", {"sessionId": session, "stepId": step})
    assert (work / "text").read_bytes() == LINES


# -- kill -9


@pytest.mark.parametrize("seed", range(amount(3, 12)))
def test_a_daemon_killed_while_it_undoes(machine: Machine, work: Path, seed: int) -> None:
    dice = Random(seed)
    process = machine.serve_socket()
    raw = machine.raw().open(work)
    session = raw.result("session/start", {"sessionId": "s"})["sessionId"]
    states = [contents(work)]
    for number in range(4):
        a_step(raw, work, session, **{f"f{name}": b"%d %d\n" % (number, name) for name in range(40)})
        states.append(contents(work))
    killer = threading.Timer(dice.random() * 0.25, process.kill)
    killer.start()
    try:
        while True:
            for method in ("session/undo", "session/redo"):
                raw.send(request(1, method, {"sessionId": session, "count": dice.randrange(1, 5)}))
                if next_answer(raw) is None:
                    raise ConnectionResetError
    except OSError:
        pass
    killer.join()
    machine.exit_code(process)
    raw = next_daemon(machine).open(work)
    tree = raw.result("snapshot/track")["hash"]
    steps = raw.result("session/steps", {"sessionId": session})["steps"]
    applied = [step["state"] == "applied" for step in steps]
    # some from the first on, and the folder is what they left
    assert applied == sorted(applied, reverse=True)
    assert contents(work) == states[sum(applied)]
    (found,) = raw.result("session/list")["sessions"]
    assert (found["undoable"], found["redoable"]) == (sum(applied), 4 - sum(applied))
    if sum(applied):
        assert tree == steps[sum(applied) - 1]["to"]
        raw.result("session/undo", {"sessionId": session, "count": 9})
    assert contents(work) == states[0]
    raw.result("session/redo", {"sessionId": session, "count": 9})
    assert contents(work) == states[4]


def next_answer(raw: Raw) -> dict[str, Any] | None:
    """The next answer, None where the daemon is gone."""
    while (message := raw.read()) is not None:
        if "method" not in message:
            return message
    return None


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


# -- many at once


def test_reads_beside_writers(daemon: Machine, work: Path) -> None:
    """Steps that overlap are ended with what they wrote, while others look: who wrote what is always one of two."""
    stop = threading.Event()
    failures: list[BaseException] = []
    names = ("one", "two")

    def ask(client: Client) -> None:
        try:
            while not stop.is_set():
                for session in client.request("session/list")["sessions"]:
                    steps = client.request("session/steps", {"sessionId": session["sessionId"]})["steps"]
                    for step in steps:
                        shown = [file["file"] for file in step.get("files", ())]
                        assert shown in ([], [step["tool"]], sorted(names)), step
                client.request("session/history")
        except (SnapdError, AssertionError) as error:
            failures.append(error)

    writer = daemon.client(work)
    readers = [threading.Thread(target=ask, args=(daemon.client(work),)) for _ in range(2)]
    for name in names:
        writer.request("session/start", {"sessionId": name})
    for reader in readers:
        reader.start()
    try:
        for number in range(40):
            begun = {name: writer.request("step/begin", {"sessionId": name, "tool": name})["stepId"] for name in names}
            write(work, **dict.fromkeys(names, b"%d\n" % number))
            for name in names:
                writer.request("step/end", {"stepId": begun[name], "files": [name]})
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not failures, failures
    for name in names:
        steps = writer.request("session/steps", {"sessionId": name})["steps"]
        assert all([file["file"] for file in step["files"]] == [name] for step in steps)
        assert not any(file.get("shared") for step in steps for file in step["files"])

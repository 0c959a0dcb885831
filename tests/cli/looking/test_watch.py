"""`snapd watch`: what is told while it happens, and that it outlives the daemon."""

from __future__ import annotations

import json
import re
import signal
from argparse import Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Notification
from snapd_client.notifications import DISCONNECTED, RECONNECTED, UNREACHABLE

from snapd.cli.commands import watch
from snapd.cli.commands.watch import EventLines
from snapd.cli.terminal.layout import columns
from snapd.cli.terminal.output import Painter
from snapd.sharing.sessions import SHORTEST
from tests.cli.running import Terminal
from tests.cli.steps import put, take

if TYPE_CHECKING:
    from tests.cli.running import Home

NOW = datetime(2026, 11, 21, 14, 40, 5, tzinfo=UTC)
TREE = "0123456789abcdef0123456789abcdef01234567"


def row(file: str, plus: int = 1, minus: int = 1, status: str = "modified") -> dict[str, Any]:
    return {"file": file, "status": status, "additions": plus, "deletions": minus, "binary": False}


def about(state: str | None = None, files: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """The params of `session/didChange`."""
    session = {"sessionId": "5f1c0a2288888888", "agent": "claude", "name": "the parser"}
    if state is None:
        return {"session": {**session, **more}}
    step = {"stepId": "a" * 16, "index": 2, "state": state, **({} if files is None else {"files": files}), **more}
    return {"session": session, "step": step}


class Told:
    """What is said of notifications, at one time and in so many columns."""

    def __init__(self, width: int = 100) -> None:
        self.happening = EventLines(Painter(Namespace(color="never")))
        self.width = width

    def step(self, *args: Any, **more: Any) -> list[str]:
        return self.lines("session/didChange", about(*args, **more))

    def changes(self, *rows: dict[str, Any]) -> list[str]:
        return self.lines("snapshot/didChange", {"base": TREE, "files": list(rows)})

    def lines(self, method: str, params: dict[str, Any]) -> list[str]:
        return self.happening.lines(method, params, NOW, self.width)


def test_a_step_from_its_beginning_to_its_redo(cut_ids: None) -> None:
    told = Told()
    assert told.step() == ["14:40:05  Claude Code ╭ session began 5f1c0a22 the parser"]
    assert told.step() == []
    assert told.step("open", tool="Edit") == ["14:40:05  Claude Code ◎ aaaaaaaa Edit  begins"]
    assert told.step("open", tool="Edit") == []
    assert told.changes(row("a.py")) == ["14:40:05                M a.py  +1 -1"]
    assert told.step("applied", [row("a.py"), row("src/b", 3, 0, "added")], tool="Edit") == [
        "14:40:05  Claude Code ● aaaaaaaa Edit",
        "                        M a.py  +1 -1",
        "                        A src/b  +3 -0",
    ]
    assert told.step("undone", [row("a.py")], tool="Edit") == ["14:40:05  Claude Code ○ aaaaaaaa Edit  undone"]
    assert told.step("partly", [row("a.py")])[0].endswith("◐ aaaaaaaa a.py +1 -1  partly undone")
    assert told.step("applied", [row("a.py")])[0].endswith("● aaaaaaaa a.py +1 -1  redone")
    assert told.step(endedAt="x")[0].endswith("╯ session ended 5f1c0a22 the parser")


def test_steps_without_words(cut_ids: None) -> None:
    told = Told()
    assert told.step("open") == ["14:40:05  Claude Code ◎ aaaaaaaa step 3  begins"]
    assert told.step("applied", [row("a.py", 7, 2)]) == ["14:40:05  Claude Code ● aaaaaaaa a.py +7 -2"]
    told.step("open")
    # nobody misses it
    assert told.step("applied", []) == []
    told.step("open", tool="Read")
    assert told.step("applied", [], tool="Read")[0].endswith("Read  nothing changed")


def test_what_the_user_does() -> None:
    told = Told()
    assert told.changes(row("a")) == ["14:40:05  you         ◦ M a  +1 -1"]
    # all that differs is told each time
    assert told.changes(row("a")) == []
    assert told.changes(row("a"), row("b")) == ["14:40:05  you         ◦ M b  +1 -1"]
    assert told.changes(row("b", 2)) == [
        "14:40:05  you         ◦ M b  +2 -1",
        "14:40:05  you         ◦ a is as it was",
    ]
    assert told.lines("snapshot/didTrack", {"hash": TREE}) == []
    assert told.changes(row("b", 2)) == ["14:40:05  you         ◦ M b  +2 -1"]
    many = told.changes(*(row(f"src/{number}") for number in range(9)))
    assert many[0] == "14:40:05  you         ◦ 9 files in src/"
    assert (len(many), many[7]) == (9, "                        … and 3 more files")


def test_operations(cut_ids: None) -> None:
    told = Told()
    files = [{"file": "a", "outcome": "restored"}, {"file": "b", "outcome": "unchanged"}]
    assert told.lines("snapshot/didRevert", {"kind": "restore", "after": TREE, "files": files}) == [
        "14:40:05              ◆ restore to 01234567  1 file",
        "                        restored  a",
    ]
    # its steps tell of it
    assert told.lines("snapshot/didRevert", {"kind": "undo", "after": TREE, "files": files}) == []


@pytest.mark.parametrize("width", [40, 60, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    told = Told(width)
    long = [row("资料/" * 40 + "x"), row("b" * 200, 12345)]
    lines = told.changes(*long) + told.changes(long[0]) + told.step() + told.step("open", tool="资" * 90)
    lines += told.step("applied", long) + told.step("undone", long[:1])
    files = [{"file": "资料/" * 40, "outcome": "restored"}]
    lines += told.lines("snapshot/didRevert", {"kind": "restore", "after": TREE, "files": files})
    assert max(map(columns, lines)) <= width


def test_watching(own_home: Home) -> None:
    home = own_home
    project = home.project("watched", {"a.txt": b"1\n"})
    home.track(project)
    watched = Terminal(home, project, "watch", "--color", "never", keys=True)
    watched.wait_for(f"watching {project}".encode())
    put(project, {"mine.txt": b"1\n"})
    watched.wait_for("◦ A mine.txt  +1 -0".encode())
    step = take(home, project, "claude", {"a.txt": b"2\n3\n"}, "--agent", "claude", "--tool", "Edit")
    watched.wait_for(f"● {step[:SHORTEST]} Edit".encode())
    watched.wait_for(b"M a.txt  +2 -1")
    home.ok(project, "undo", "-y", step)
    watched.wait_for(f"○ {step[:SHORTEST]} Edit  undone".encode())
    assert home.run(project, "stop").code == 0
    watched.wait_for(b"the daemon has ended; connecting again")
    watched.wait_for(b"connected again")
    later = take(home, project, "claude", {"b.txt": b"1\n"})
    watched.wait_for(f"● {later[:SHORTEST]} b.txt +1 -0".encode())
    watched.type(b"\x03")
    result = watched.finish()
    assert result.code == 130
    times = [line for line in result.err.splitlines() if re.match(r"\d\d:\d\d:\d\d  ", line)]
    assert len([line for line in times if step[:SHORTEST] in line]) == 3
    # it took no snapshot, and began nothing
    kinds = [entry["kind"] for entry in home.run(project, "log", "--json").json["entries"]]
    assert kinds == ["step", "undo", "step", "user"]


def test_watching_for_programs(home: Home, project: str) -> None:
    home.track(project)
    watched = Terminal(home, project, "watch", "--json", out=False)
    watched.wait_for(b"watching ")
    out = watched.process.stdout
    assert out is not None
    step = take(home, project, "s", {"a.txt": b"2\n"})
    told: list[dict[str, Any]] = []
    while not any(one["params"].get("step", {}).get("state") == "applied" for one in told):
        told.append(json.loads(out.readline()))
    assert {one["method"] for one in told} <= {"snapshot/didTrack", "snapshot/didChange", "session/didChange"}
    numbers = [one["params"]["seq"] for one in told]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert told[-1]["params"]["step"]["stepId"] == step
    watched.process.send_signal(signal.SIGINT)
    assert watched.finish().code == 130


class Answering:
    """A daemon in which no step is open."""

    def subscribe(self, _: object) -> None:
        pass

    def request(self, method: str, params: dict[str, Any]) -> Any:
        assert method == "snapshot/status"
        return {"openSteps": []}


def told(seq: int) -> tuple[str, dict[str, Any]]:
    params = {"seq": seq, "base": TREE, "files": [row(f"f{seq}")]}
    return "snapshot/didChange", params


def test_the_loss_of_the_daemon_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    daemon: Any = Answering()
    watching = watch.Watch(Namespace(json=True, color="never"), daemon, daemon)
    error = OSError("refused")
    for method, params in (
        told(7),
        (DISCONNECTED, {"reason": "it ended"}),
        (UNREACHABLE, {"reason": "refused", "error": error}),
        told(8),
        (RECONNECTED, {}),
        told(9),
    ):
        watching.on_notification(Notification(method, params))
    shown = capsys.readouterr()
    assert [json.loads(line)["params"]["seq"] for line in shown.out.splitlines()] == [7, 8, 9]
    assert [line for line in shown.err.splitlines() if not line.startswith("hint: ")] == [
        "snapd: the daemon has ended; connecting again",
        "snapd: no daemon yet: refused",
        "snapd: connected again",
    ]

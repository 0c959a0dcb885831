"""Events that the daemon could not record at once: none is lost, and each counts once, in its order."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.hook import spool
from snapd.hook.dialects import DIALECTS
from snapd.hook.event import Event
from snapd.hook.report import reports
from tests.cli.running import Home
from tests.support.git import run_git

from .agent import Agent, Done


@pytest.fixture
def home() -> Iterator[Home]:
    """A home for each test: a process that replays the spool outlives its hook and takes the next test's events."""
    home = Home()
    yield home
    home.close()


WAIT = 60.0


@contextlib.contextmanager
def stalled(agent: Agent) -> Iterator[None]:
    """A daemon that is alive and does nothing."""
    pid = int(Path(agent.home.at("run/daemon.sock.pid")).read_text())
    os.kill(pid, signal.SIGSTOP)
    agent.in_process = False
    agent.variables = {"SNAPD_HOOK_SECONDS": "0.2"}
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        agent.in_process = True
        agent.variables = {}


def settled(agent: Agent) -> None:
    """Waits until nothing waits."""
    deadline = time.monotonic() + WAIT
    while agent.waiting():
        assert time.monotonic() < deadline, agent.log()
        time.sleep(0.02)


def turn(agent: Agent) -> None:
    agent.on("UserPromptSubmit", prompt="go")
    agent.edit("T1", "a.py", "agent\n")
    agent.begin("T2", "Bash", command="make")
    agent.write("made", "1")
    agent.end("T2", "Bash", command="make")
    agent.on("Stop")


@pytest.fixture
def of_another_user() -> Iterator[Agent]:
    """One whose processes, which go on for a while, meet no other test."""
    home = Home()
    yield Agent(home, home.project("p", {"a.py": b"a\n", "b.py": b"b\n"}))
    home.close()


def test_a_whole_turn_while_the_daemon_is_busy(of_another_user: Agent) -> None:
    agent = of_another_user
    agent.edit("T0", "b.py", "before\n")
    with stalled(agent):
        turn(agent)
        agent.write("mine", "the user's")
        (sizes, modes) = zip(
            *((each.stat().st_size, stat.S_IMODE(each.stat().st_mode)) for each in _spool(agent).iterdir()), strict=True
        )
        assert set(modes) == {0o600}
        assert all(sizes)
        assert stat.S_IMODE(_spool(agent).stat().st_mode) == 0o700
    # nobody has to do anything: who could not wait left somebody who does
    settled(agent)
    assert agent.steps()[1:] == [
        Done("T1", None, "P", "Edit", ("a.py",), "applied"),
        Done("T2", None, "P", "Bash", ("made",), "applied"),
    ]
    assert agent.of_the_user() == {"mine"}
    assert [entry["text"] for entry in agent.entries() if entry["kind"] == "message"] == ["go"]
    late = [entry["step"].get("late") for entry in agent.entries() if entry["kind"] == "step"]
    assert late == [None, True, True]
    assert agent.home.ok(agent.root, "log").count("(reported late)") == 2


def _spool(agent: Agent) -> Path:
    return Path(agent.home.at("data/snapd/agents/spool"))


def test_what_waits_is_recorded_before_what_comes(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    with _unreachable(agent, monkeypatch):
        agent.on("UserPromptSubmit", prompt="go")
        agent.begin("T1", "Edit", file_path=agent.path("a.py"))
    agent.write("a.py", "agent\n")
    assert len(agent.waiting()) == 2
    agent.end("T1", "Edit", file_path=agent.path("a.py"))
    assert agent.waiting() == []
    assert agent.steps() == [Done("T1", None, "P", "Edit", ("a.py",), "applied")]


def test_few_processes_wait_for_a_daemon(of_another_user: Agent) -> None:
    agent = of_another_user
    agent.edit("T0", "a.py", "before\n")
    with stalled(agent):
        agent.variables = {"SNAPD_HOOK_SECONDS": "0.5"}
        for number in range(4):
            agent.on("UserPromptSubmit", prompt=f"{number}", prompt_id=f"P{number}")
        kept = len(agent.waiting())
        deadline = time.monotonic() + WAIT
        while len(replays(agent)) > 2:
            assert time.monotonic() < deadline, replays(agent)
            time.sleep(0.02)
        assert kept == len(agent.waiting()) == 4, agent.log()
    settled(agent)
    told = [entry["text"] for entry in agent.entries() if entry["kind"] == "message"]
    assert sorted(told) == ["0", "1", "2", "3"]


def replays(agent: Agent) -> list[int]:
    """The processes of a user that are to record what waits."""
    home = f"SNAPD_DATA_DIR={agent.home.env['SNAPD_DATA_DIR']}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"--replay" in (process / "cmdline").read_bytes() and home in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


def test_an_event_that_waits_though_it_was_recorded_counts_once(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(agent)
    before = agent.entries()
    with _unreachable(agent, monkeypatch):
        turn(agent)
    agent.on("SessionStart", source="resume")
    assert agent.waiting() == []
    assert [entry for entry in agent.entries() if entry["kind"] != "user"] == before


def test_a_session_whose_store_is_locked_holds_up_no_other(agent: Agent, home: Home) -> None:
    locked = Agent(home, home.project("locked", {"a.py": b"a\n"}))
    told = []
    with in_process(home, locked.root):
        told = [locked.on("UserPromptSubmit", prompt=text, prompt_id=text, session_id="L") for text in ("go", "on")]
        agent.edit("T1", "a.py", "agent\n")
        assert [step.files for step in agent.steps()] == [("a.py",)]
        status = home.run(locked.root, "doctor", "--json").json["checks"]
        (found,) = [check for check in status if check["check"] == "agents"]
        assert not found["ok"]
        assert "2 events" in found["found"]
        said = home.run(locked.root, "status").err
        assert "not recorded yet: 2 of what agents reported here, first of claude: another process" in said
    said = told[0]["hookSpecificOutput"]["additionalContext"]
    assert f"process {os.getpid()}" in said
    assert told[1] is None
    assert len(locked.waiting()) == 2
    home.ok(locked.root, "sessions")
    assert locked.waiting() == []
    assert [entry["text"] for entry in locked.entries() if entry["kind"] == "message"] == ["go", "on"]


def test_status_tells_programs_what_waits(home: Home) -> None:
    outer = home.project("outer", {"a.py": b"a\n"})
    assert home.run(outer, "status", "--json").json["waiting"] == []
    inner = f"{outer}/inner"
    os.mkdir(inner)
    run_git(Path(inner), "init", "-q")
    with in_process(home, inner):
        Agent(home, inner).on("UserPromptSubmit", prompt="go", prompt_id="go", session_id="L")
        (waiting,) = home.run(outer, "status", "--json").json["waiting"]
    assert (waiting["agent"], waiting["folder"]) == ("claude", inner)
    assert "another process" in waiting["why"]


@contextlib.contextmanager
def in_process(home: Home, root: str) -> Iterator[None]:
    """Somebody who works on a store without the daemon."""
    from snapd.backend import open_local
    from snapd.locations import Locations

    locations = Locations("", home.at("data"), home.at("run"), home.at("home"))
    backend = open_local(locations, None, root, {})
    try:
        yield
    finally:
        backend.close()


@contextlib.contextmanager
def _unreachable(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object, **__: object) -> Any:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patched:
        patched.setattr("snapd.hook.main.DaemonConnection", refuse)
        patched.setattr("snapd.hook.spool.start_replay", lambda _: None)
        yield


def test_an_agent_that_cannot_reach_the_daemon_is_told_once(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    with _unreachable(agent, monkeypatch):
        told = [agent.on("Stop"), *(agent.on("UserPromptSubmit", prompt="go") for _ in range(2))]
        assert [each is None for each in told] == [True, False, True]
        assert "Operation not permitted" in told[1]["hookSpecificOutput"]["additionalContext"]
        # where nothing can be kept, nothing remembers it either
        monkeypatch.setattr(spool, "MOST_EVENTS", 3)
        assert "not recorded" in json.dumps(agent.on("UserPromptSubmit", prompt="go"))
        assert agent.begin("T1", "Bash", command="x") is None
    assert len(agent.waiting()) == 3
    assert "lost an event" in agent.log()
    agent.on("SessionStart", source="startup")
    assert agent.waiting() == []


@pytest.mark.parametrize("data", [b"", b"{}\n{}", b'{"agent": "claude"}\n{"hook_event_name": 7}', b"\xff"])
def test_what_is_damaged_holds_up_nothing(agent: Agent, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with _unreachable(agent, monkeypatch):
        agent.on("UserPromptSubmit", prompt="go")
    (name,) = agent.waiting()
    for changed in (f"{int(name[:20]) - 1:020d}{name[20:]}", "a-b-c-d", "x.event.new"):
        (_spool(agent) / changed).write_bytes(data)
        # what a crash left long ago
        os.utime(_spool(agent) / changed, (1, 1))
    agent.edit("T1", "a.py", "agent\n")
    assert [step.message for step in agent.steps()] == ["P"]
    assert "passed over an event that waited" in agent.log()
    assert agent.waiting() == []


def test_a_spool_of_somebody_else_is_not_used(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    _spool(agent).mkdir(parents=True, mode=0o700)
    _spool(agent).chmod(0o777)
    with _unreachable(agent, monkeypatch):
        agent.on("UserPromptSubmit", prompt="go")
    assert agent.waiting() == []
    assert "not the user's own" in agent.log()
    _spool(agent).rmdir()


def test_a_store_that_another_daemon_has_is_used_through_that(of_another_user: Agent) -> None:
    """A sandbox may hide the directory of the socket, so that a second daemon starts."""
    agent = of_another_user
    agent.edit("T1", "a.py", "agent\n")
    agent.home.env["SNAPD_RUNTIME_DIR"] = agent.home.at("other")
    agent.edit("T2", "b.py", "agent\n")
    agent.home.ok(agent.home.path, "stop")
    agent.home.env["SNAPD_RUNTIME_DIR"] = agent.home.at("run")
    assert [step.part for step in agent.steps()] == ["T1", "T2"]
    assert agent.waiting() == []


def test_a_spool_that_goes_while_an_event_comes(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = {"hook_event_name": "Stop", "session_id": "S", "cwd": agent.root}
    event = Event(payload, DIALECTS["claude"], 7)
    folder = str(tmp_path / "above" / "spool")
    real, gone = os.scandir, []

    def racing(path: str) -> Any:
        if len(gone) < 2:
            # whoever recorded the last one removes the directory
            gone.append(os.rmdir(path))
        return real(path)

    monkeypatch.setattr(spool.os, "scandir", racing)
    spool.keep(folder, event, b"{}", "why", False)
    assert len(spool.waiting(folder)) == 1


def test_the_size_of_a_transcript_is_from_when_the_prompt_was_sent(tmp_path: Path) -> None:
    transcript = tmp_path / "session.jsonl"
    payload: dict[str, Any] = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "S",
        "prompt_id": "P",
        "prompt": "go",
    }
    payload |= {"cwd": str(tmp_path), "transcript_path": str(transcript)}
    assert Event(dict(payload), DIALECTS["claude"], 1).transcript_size == 0
    transcript.write_text("1234")
    assert Event(payload, DIALECTS["claude"], 1).transcript_size == 4
    transcript.write_text("123456")

    waited = json.loads(json.dumps(payload))
    assert Event(waited, DIALECTS["claude"], 1, is_late=True).transcript_size == 4
    for path in "\ud83d", "/\ud83d", "a\0", "session.jsonl", 1, None:
        strange = {**payload, "transcript_path": path}
        del strange["snapd_transcript_size"]
        (report,) = reports(Event(strange, DIALECTS["claude"], 1))
        assert "transcript" not in report

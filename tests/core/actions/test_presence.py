"""An agent that is gone, or was interrupted, without an event: its step owns nothing of what happens then."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.core import attribution
from snapd.model.call import Call
from snapd.watch.agents import AgentAtWork
from tests.rpc.machine import wait_until
from tests.support.sessions import Agents

WORDS = ("[Request interrupted",)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as running:
        yield running
        running.kill()


def line(text: str) -> bytes:
    return json.dumps({"type": "user", "message": {"content": [{"type": "text", "text": text}]}}).encode() + b"\n"


def test_what_the_transcript_says(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    agent = AgentAtWork(None, str(path), WORDS)
    assert not agent.is_gone()
    path.write_bytes(line("go") + line('a file says "[Request interrupted by user]" and goes on'))
    assert not agent.is_gone()
    # what was there before the step is of another one, also if it is the very last
    path.write_bytes(path.read_bytes() + line("[Request interrupted by user]"))
    assert agent.is_gone()
    later = AgentAtWork(None, str(path), WORDS)
    with path.open("ab") as file:
        file.write(line("go on"))
        file.flush()
        assert not later.is_gone()
        # it may be written in pieces, and without blanks
        file.write(b'{"text":"[Request inter')
        file.flush()
        assert not later.is_gone()
        file.write(b'rupted by user for tool use]"}\n')
    assert later.is_gone()


def test_odd_transcripts(tmp_path: Path) -> None:
    for path in (str(tmp_path), "/nowhere/x", "a\0b", "/dev/zero", None):
        assert not AgentAtWork(None, path, WORDS).is_gone()
    assert not AgentAtWork(1 << 40, None, ()).is_gone()
    (tmp_path / "t").write_bytes(b'""')
    assert not AgentAtWork(None, str(tmp_path / "t"), ()).is_gone()


def test_a_system_without_descriptors_of_processes(
    monkeypatch: pytest.MonkeyPatch, process: subprocess.Popen[bytes]
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    agent = AgentAtWork(process.pid, None, ())
    assert not agent.is_gone()
    process.kill()
    process.wait()
    assert agent.is_gone()
    assert not AgentAtWork(process.pid, None, ()).is_gone()


@pytest.mark.parametrize("how", ["killed", "interrupted"])
@pytest.mark.parametrize("ends", ["undo", "next step", "abandoned", "session"])
def test_what_a_person_repairs_is_theirs(
    agents: Agents, tmp_path: Path, process: subprocess.Popen[bytes], how: str, ends: str
) -> None:
    transcript = tmp_path / "elsewhere.jsonl"
    transcript.write_bytes(line("[Request interrupted by user]"))
    workspace = agents.bench.workspace
    step = agents.begin("one")
    agent = AgentAtWork(process.pid, str(transcript), WORDS)
    workspace.sessions.watch(step, agent)
    agents.bench.write({"a.txt": b"half\n"})
    if how == "killed":
        process.kill()
    else:
        with transcript.open("ab") as file:
            file.write(line("[Request interrupted by user for tool use]"))
    wait_until(lambda: not workspace.sessions.attended_by(agent), "the agent to be gone")
    agents.bench.write({"b.txt": b"the user's\n", "new": b"the user's\n"})
    if ends == "undo":
        assert agents.undo("one") == {"a.txt": "restored"}
    elif ends == "next step":
        agents.begin("one", ends=step)
    elif ends == "abandoned":
        workspace.sessions.finish(step, None, Call(), is_left=True)
    else:
        workspace.sessions.end("one", Call())
    assert agents.files(step) == {"a.txt": "modified"}
    assert agents.bench.read()["new"] == b"the user's\n"


def test_an_end_that_the_agent_reports_speaks_for_it(agents: Agents, process: subprocess.Popen[bytes]) -> None:
    step = agents.begin("one")
    agent = AgentAtWork(process.pid, None, ())
    agents.bench.workspace.sessions.watch(step, agent)
    process.kill()
    wait_until(lambda: not agents.bench.workspace.sessions.attended_by(agent), "the agent to be gone")
    agents.bench.write({"b.txt": b"by its child\n"})
    agents.end(step)
    assert agents.files(step) == {"b.txt": "modified"}


@pytest.mark.parametrize("known", ["nothing", "transcript", "process"])
def test_a_session_starts_beside_a_step_that_is_silent(
    agents: Agents, process: subprocess.Popen[bytes], known: str
) -> None:
    step = agents.begin("one")
    if known != "nothing":
        pid = process.pid if known == "process" else None
        agents.bench.workspace.sessions.watch(step, AgentAtWork(pid, "/nowhere/x", WORDS))
    agents.bench.write({"a.txt": b"by either\n"})
    agents.start("two")
    agents.bench.workspace.sessions.finish(step, None, Call(), is_left=True)
    assert agents.files(step) == ({"a.txt": "modified"} if known == "process" else {})


def test_a_silent_step_that_its_agent_ends_after_all(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"a.txt": b"by the agent\n"})
    agents.start("two")
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified"}


def test_nothing_outlives_the_machine(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.start("two")
    step = agents.begin("one")
    agents.bench.write({"a.txt": b"agent\n"})
    agents.end(agents.begin("two"), [])
    assert attribution.booted_at() < time.time() * 1000
    monkeypatch.setattr(attribution, "booted_at", lambda: int(time.time() * 1000) + 1)
    agents.bench.reopen()
    agents.bench.write({"b.txt": b"the user's\n"})
    assert agents.undo("one") == {"a.txt": "restored"}
    assert agents.files(step) == {"a.txt": "modified"}

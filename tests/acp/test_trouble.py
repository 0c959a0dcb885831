"""A daemon that is slow, stuck or killed, and our own defects: the conversation goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.acp import conversation, recording
from snapd.model.errors import IoError
from tests.acp.ledger import Ledger, Talk
from tests.acp.peers import Proxied, until
from tests.acp.streams import opening, prompt, result, said
from tests.acp.test_proxy import call, is_over, names, open_parts, opened, over
from tests.cli.running import Home


class Gate:
    """A daemon's answers, which wait until they are let go."""

    def __init__(self, ledger: Ledger) -> None:
        self._opened = threading.Event()
        ledger.trouble = lambda _: self.wait()

    def wait(self) -> None:
        assert self._opened.wait(60)

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def talk(ledger: Ledger) -> Talk:
    made = Talk(ledger)
    made.say_all(*opening("S", "/home/somebody/project"))
    return made


@pytest.fixture
def gate(ledger: Ledger, talk: Talk) -> Iterator[Gate]:
    made = Gate(ledger)
    yield made
    made.open()


def test_a_prompt_waits_for_its_snapshot(ledger: Ledger, talk: Talk, gate: Gate) -> None:
    verdict = talk.conversation.from_editor(prompt(3, "S").data)
    assert verdict.hold is not None
    holding = threading.Thread(target=verdict.hold)
    holding.start()
    assert ledger.of("step/begin") == []
    gate.open()
    holding.join()
    assert len(ledger.of("step/begin")) == 1


def test_a_hold_has_a_limit_and_is_not_repeated_while_the_daemon_is_behind(
    ledger: Ledger, talk: Talk, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "HOLD_SECONDS", 0.01)
    first = talk.conversation.from_editor(prompt(3, "S").data)
    assert first.hold is not None
    first.hold()
    talk.conversation.from_agent(result(3, stopReason="end_turn").data)
    monkeypatch.setattr(recording, "HOLD_SECONDS", 1e6)
    second = talk.conversation.from_editor(prompt(4, "S").data)
    assert second.hold is not None
    # this would wait for a long time
    second.hold()
    assert ledger.of("step/begin") == []
    gate.open()
    talk.settle()
    assert len(ledger.of("step/begin")) == 2
    third = talk.conversation.from_editor(prompt(5, "S").data)
    talk.settle()
    assert third.hold is None or third.hold() is None


def test_a_daemon_that_hangs_does_not_keep_the_end(
    ledger: Ledger, talk: Talk, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "CLOSE_SECONDS", 0.01)
    talk.conversation.from_editor(prompt(3, "S").data)
    talk.close()
    assert ledger.of("step/begin") == []


def test_a_session_elsewhere_is_not_held_up(ledger: Ledger, talk: Talk) -> None:
    other = "/home/somebody/other"
    talk.say_all(*opening("O", other, start=11))
    blocked = threading.Event()
    begun = ledger.request

    def request(method: str, params: dict[str, Any], report: Any = None) -> Any:
        if params.get("sessionId") == "S" and method == "agent/report":
            assert blocked.wait(60)
        return begun(method, params, report)

    ledger.request = request  # type: ignore[method-assign]
    talk.conversation.from_editor(prompt(3, "S").data)
    verdict = talk.conversation.from_editor(prompt(4, "O").data)
    assert verdict.hold is not None
    verdict.hold()
    assert [step["sessionId"] for step in ledger.steps.values()] == ["O"]
    blocked.set()
    talk.settle()


def test_a_daemon_that_answers_with_errors_is_told_of_nothing_twice(ledger: Ledger, talk: Talk) -> None:
    def full(method: str) -> None:
        if method == "agent/report":
            raise IoError("no space left", errno="ENOSPC")

    ledger.trouble = full
    talk.say_all(prompt(3, "S"), call("a"), over("a"), result(3, stopReason="end_turn"))
    assert ledger.of("step/end") == []


def test_what_an_agent_names_is_passed_on_with_its_directory(ledger: Ledger, talk: Talk) -> None:
    files = [{"path": "/outside/a"}, {"path": "sub/../b"}, {"path": "\ud800"}, {"path": "file:///c"}]
    talk.say_all(prompt(3, "S"), call("a"), over("a", kind="edit", locations=files))
    (ended,) = ledger.of("step/end")
    assert ended["files"] == ["/outside/a", "sub/../b", "file:///c"]
    assert ended["directory"] == "/home/somebody/project"
    assert [step["open"] for step in ledger.steps.values()] == [True, False]


def test_a_defect_of_ours_does_not_break_a_recording(ledger: Ledger, talk: Talk) -> None:
    def defect(method: str) -> None:
        if method == "agent/report":
            raise KeyError(method)

    ledger.trouble = defect
    verdict = talk.conversation.from_editor(prompt(3, "S").data)
    assert verdict.hold is not None
    verdict.hold()
    ledger.trouble = lambda _: None
    talk.say_all(result(3, stopReason="end_turn"), prompt(4, "S"))
    assert len(ledger.steps) == 1


def test_a_defect_of_ours_does_not_break_the_conversation(
    home: Home, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from snapd.acp import proxy

    def defect(*_: Any) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr(conversation.Conversation, "from_agent", defect)
    editor, screen = os.pipe(), os.pipe()
    os.close(editor[1])
    daemon: Any = Ledger()
    assert proxy.run(["sh", "-c", "echo passed on"], daemon, (editor[0], screen[1])) == 0
    assert os.read(screen[0], 100) == b"passed on\n"
    for descriptor in (editor[0], *screen):
        os.close(descriptor)


# -- with a real daemon


def daemon_of(home: Home) -> int:
    return int(Path(home.at("run/daemon.sock.pid")).read_text().split()[0])


@pytest.mark.parametrize("after", ["opening", "call"])
def test_a_daemon_that_is_killed(own_home: Home, after: str) -> None:
    home = own_home
    project = home.project("p", {"a.txt": b"1\n"})
    proxied = opened(home, project)

    def kill(at: str) -> None:
        if after == at:
            pid = daemon_of(home)
            os.kill(pid, signal.SIGKILL)
            # while it dies it may let somebody in, such as the command that looks at the steps
            until(lambda: is_over(pid))

    kill("opening")
    proxied.say(prompt(3, "S", "write b"))
    proxied.say(call("t1"))
    until(lambda: "t1" in open_parts(home, project))
    kill("call")
    Path(project, "b.txt").write_text("new\n")
    proxied.say(over("t1"))
    proxied.say(result(3, stopReason="end_turn"))
    until(lambda: ("t1", "applied", ["b.txt"]) in names(home, project))
    until(lambda: open_parts(home, project) == set())
    told, _ = proxied.command(prompt(4, "S", "/undo"))
    assert told.startswith("Undid the prompt “write b”.")
    assert not Path(project, "b.txt").exists()
    proxied.leave()
    proxied.hang_up()
    assert proxied.end() == (0, b"")
    assert open_parts(home, project) == set()


def test_a_daemon_that_stands_still_holds_a_prompt_for_a_moment(own_home: Home) -> None:
    home = own_home
    project = home.project("p", {"a.txt": b"1\n"})
    proxied = opened(home, project)
    pid = daemon_of(home)
    os.kill(pid, signal.SIGSTOP)
    try:
        for each in (prompt(3, "S"), call("t1"), over("t1"), result(3, stopReason="end_turn"), prompt(4, "S")):
            assert proxied.say(each) == each.data
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: len(names(home, project)) == 3)
    proxied.say(said("agent", id=4, error={"code": 1, "message": "no"}))
    proxied.leave()
    proxied.hang_up()
    assert proxied.end() == (0, b"")


def test_a_proxy_that_is_killed_leaves_the_agent_without_an_editor(home: Home, project: str) -> None:
    proxied = opened(home, project)
    proxied.say(prompt(3, "S"))
    proxied.process.kill()
    assert proxied.at_agent.rest() == b""
    proxied.hang_up()
    assert proxied.end()[0] == -signal.SIGKILL
    # nobody works in the step any more: what changes now is the user's
    Path(project, "mine.txt").write_text("1\n")
    until(lambda: names(home, project) == [("prompt", "open", [])])


def test_two_proxies_in_one_folder(home: Home, project: str) -> None:
    first, second = opened(home, project), opened(home, project)
    first.say(prompt(3, "S", "one"))
    second.say(prompt(3, "S", "two"))
    for each in (first, second):
        each.say(result(3, stopReason="end_turn"))
        each.leave()
        each.hang_up()
        assert each.end() == (0, b"")
    assert [state for _, state, _ in names(home, project)] == ["applied", "applied"]


def test_the_proxy_is_not_needed_to_be_told_apart(home: Home, project: str) -> None:
    """`snapd acp` in the place of the agent's command gives the same conversation as the agent alone."""
    agent = ["sh", "-c", 'while read -r line; do printf "%s\\n" "$line"; done']
    proxied = Proxied(home, project, agent=agent)
    proxied.editor_says(b"one\ntwo\n")
    assert proxied.at_editor.take(8) == b"one\ntwo\n"
    proxied.leave()
    assert proxied.at_editor.rest() == b""
    assert proxied.end() == (0, b"")

"""What goes in at one side of the proxy comes out at the other, byte for byte, with steps beside it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from snapd_client import Client, ClientError

from snapd.acp import proxy
from tests.acp.ledger import Ledger
from tests.acp.peers import Proxied, until
from tests.acp.streams import NAMES, Line, captured, line, opening, prompt, result, said, update
from tests.acp.test_replay import commands_of
from tests.cli.running import Home

OURS = {"undo", "redo", "rewind", "steps"}


def opened(home: Home, project: str, cwd: str | None = None, **how: Any) -> Proxied:
    """A proxy with a session that is recorded: our commands were told."""
    made = Proxied(home, project, **how)
    for each in opening("S", cwd or project):
        assert made.say(each) == each.data
    assert {each["name"] for each in commands_of(made.at_editor.line()) or ()} == OURS
    return made


def steps(home: Home, project: str) -> list[dict[str, Any]]:
    """Those of the session, the first first, as another client sees them; none where nobody can be asked."""
    try:
        with Client.connect(home.at("run/daemon.sock"), timeout=60) as client:
            client.initialize([project])
            return list(client.session_steps("S")["steps"])  # type: ignore[arg-type]
    except (OSError, ClientError):
        return []


def names(home: Home, project: str) -> list[tuple[str, str, list[str]]]:
    return [
        (step.get("partId", "prompt"), step["state"], [row["file"] for row in step.get("files", ())])
        for step in steps(home, project)
    ]


def call(name: str, status: str = "pending", **fields: Any) -> Line:
    return update("S", "tool_call", toolCallId=name, kind="execute", title=f"run {name}", status=status, **fields)


def over(name: str, **fields: Any) -> Line:
    return update("S", "tool_call_update", toolCallId=name, status="completed", **fields)


def open_parts(home: Home, project: str) -> set[str]:
    return {part for part, state, _ in names(home, project) if state == "open"}


@pytest.mark.parametrize("name", NAMES)
def test_a_captured_conversation_byte_for_byte(home: Home, project: str, name: str) -> None:
    proxied = Proxied(home, project)
    told = False
    for each in captured(name, project):
        found = proxied.say(each)
        if not told and found != each.data and {row["name"] for row in commands_of(found) or ()} == OURS:
            # ours came first
            told, found = True, proxied.at_editor.line()
        if commands_of(each.data) is None:
            assert found == each.data
        else:
            assert commands_of(found)[:-4] == commands_of(each.data)  # type: ignore[index]
    proxied.leave()
    proxied.hang_up()
    assert proxied.end() == (0, b"")
    assert all(state == "applied" for _, state, _ in names(home, project))


def test_steps_of_a_turn_are_seen_by_others_and_undone_in_the_conversation(home: Home, project: str) -> None:
    proxied = opened(home, project)
    ask = prompt(3, "S", "change things")
    assert proxied.say(ask) == ask.data
    # the prompt was held until its snapshot was there
    assert open_parts(home, project) == {"prompt"}
    assert proxied.say(call("t1")) == call("t1").data
    until(lambda: "t1" in open_parts(home, project))
    Path(project, "a.txt").write_text("1\ntwo\n3\n")
    Path(project, "b.txt").write_text("new\n")
    proxied.say(over("t1"))
    proxied.say(result(3, stopReason="end_turn"))
    until(lambda: open_parts(home, project) == set())
    both = ["a.txt", "b.txt"]
    assert names(home, project) == [("prompt", "applied", both), ("t1", "applied", both)]
    turn, part = steps(home, project)
    assert part["parentStepId"] == turn["stepId"]
    assert part["messageId"] == turn["messageId"]
    assert (part["tool"], part["description"], part["agent"]) == ("execute", "run t1", "claude")
    told, answer = proxied.command(prompt("u", "S", "/undo"))
    assert told.startswith("Undid the prompt “change things”.")
    assert answer == {"jsonrpc": "2.0", "id": "u", "result": {"stopReason": "end_turn"}}
    assert Path(project, "a.txt").read_text() == "1\n2\n3\n"
    assert not Path(project, "b.txt").exists()
    told, _ = proxied.command(prompt("v", "S", "/redo"))
    assert Path(project, "b.txt").read_text() == "new\n"
    # the agent heard nothing of all that
    last = prompt(4, "S", "next")
    assert proxied.say(last) == last.data
    proxied.leave()
    proxied.hang_up()
    assert proxied.end() == (0, b"")
    assert open_parts(home, project) == set()


def test_a_permission_is_held_until_the_snapshot_of_its_call_is_there(home: Home, project: str) -> None:
    proxied = opened(home, project)
    proxied.say(prompt(3, "S"))
    asked = {"sessionId": "S", "toolCall": {"toolCallId": "t1", "kind": "edit", "title": "Edit"}, "options": []}
    permission = said("agent", id=0, method="session/request_permission", params=asked)
    assert proxied.say(permission) == permission.data
    assert open_parts(home, project) == {"prompt", "t1"}
    proxied.leave()
    proxied.hang_up()
    assert proxied.end()[0] == 0


def test_the_folder_is_the_one_around_the_sessions_directory(home: Home, project: str) -> None:
    subprocess.run(["git", "init", "-q", project], check=True)
    inside = os.path.join(project, "deep", "inside")
    os.makedirs(inside)
    other = home.project(f"{os.path.basename(project)}-other", {"x": b"1\n"})
    proxied = opened(home, other, cwd=inside)
    proxied.say(prompt(3, "S"))
    assert open_parts(home, project) == {"prompt"}
    proxied.leave()
    proxied.hang_up()
    assert proxied.end()[0] == 0
    assert names(home, other) == []


def strange_lines(chance: random.Random) -> list[bytes]:
    odd = [b"\n", b"\r\n", b"not json\n", b"\xff\xfe\n", b"[1,2]\n", b'{"half":\n', b"null\n", b"{}\n", b'{"id":1}\n']
    return [
        *odd,
        chance.randbytes(1000).replace(b"\n", b"") + b"\n",
        line({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "S", "update": "x" * 200_000}}),
        line(
            {"jsonrpc": "2.0", "id": 77, "method": "fs/write_text_file", "params": {"path": "/p", "content": "é" * 9}}
        ),
        line({"jsonrpc": "2.0", "id": "x", "method": "terminal/create", "params": {"command": "ls"}}),
    ]


def test_whatever_is_said_comes_out_in_order(home: Home, project: str) -> None:
    """Both ways at once, so that neither side waits for the other."""
    chance = random.Random(7)
    proxied = opened(home, project)
    sent = {}
    for side in ("editor", "agent"):
        lines = [each for _ in range(20) for each in strange_lines(chance)]
        chance.shuffle(lines)
        sent[side] = b"".join(lines) + b"without an end"
    speaking = [
        threading.Thread(target=proxied.editor_says, args=(sent["editor"],)),
        threading.Thread(target=proxied.agent_says, args=(sent["agent"],)),
    ]
    heard: dict[str, bytes] = {}
    hearing = threading.Thread(target=lambda: heard.update(agent=proxied.at_agent.take(len(sent["editor"]) - 14)))
    for thread in (*speaking, hearing):
        thread.start()
    heard["editor"] = proxied.at_editor.take(len(sent["agent"]) - 14)
    for thread in (*speaking, hearing):
        thread.join()
    proxied.leave()
    heard["agent"] += proxied.at_agent.rest()
    proxied.hang_up()
    heard["editor"] += proxied.at_editor.rest()
    assert proxied.end() == (0, b"")
    assert (heard["agent"], heard["editor"]) == (sent["editor"], sent["agent"])


def test_a_line_of_many_megabytes(home: Home, project: str) -> None:
    """Longer than what is read as a message."""
    proxied = Proxied(home, project)
    size = 70 << 20
    speaking = threading.Thread(target=proxied.editor_says, args=(b"x" * size + b"\nnext\n",))
    speaking.start()
    assert proxied.at_agent.take(size + 6) == b"x" * size + b"\nnext\n"
    speaking.join()
    proxied.hang_up()
    assert proxied.end()[0] == 0


@pytest.mark.parametrize("seed", range(3))
def test_random_chunks(home: Home, project: str, seed: int) -> None:
    chance = random.Random(seed)
    lines = [each for each in captured(chance.choice(NAMES), project) if each.side == "agent"]
    lines = [each for each in lines if b"availableCommands" not in each.data]
    data = b"".join(each.data for each in lines)
    proxied = Proxied(home, project)

    def speak() -> None:
        left = data
        while left:
            size = chance.choice([1, 10, 1000, 50_000])
            proxied.agent_says(left[:size])
            left = left[size:]

    speaking = threading.Thread(target=speak)
    speaking.start()
    assert proxied.at_editor.take(len(data)) == data
    speaking.join()
    proxied.leave()
    proxied.hang_up()
    assert proxied.end() == (0, b"")


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_agents_exit_code_and_its_standard_error(home: Home, project: str, code: int) -> None:
    agent = ["sh", "-c", f"echo out; echo err >&2; exit {code}"]
    proxied = Proxied(home, project, agent=agent)
    assert proxied.at_editor.rest() == b"out\n"
    assert proxied.end() == (code, b"err\n")


def test_a_signal_that_ends_the_agent_is_told_as_shells_do(home: Home, project: str) -> None:
    assert Proxied(home, project, agent=["sh", "-c", "kill -9 $$"]).end()[0] == 128 + 9


def test_an_agent_that_is_not_there(home: Home, project: str) -> None:
    code, told = Proxied(home, project, agent=["no-such-agent"]).end()
    assert (code, told) == (127, b"snapd: no-such-agent: command not found\nhint: check its name, and PATH\n")


def test_an_agent_that_cannot_be_run(home: Home, project: str) -> None:
    path = Path(project, "agent")
    path.write_bytes(b"\x7fELF nothing")
    path.chmod(0o755)
    code, told = Proxied(home, project, agent=[str(path)]).end()
    assert code == 126
    assert told.startswith(f"snapd: {path}: Exec format error\nhint: ".encode())


def test_no_agent(home: Home, project: str) -> None:
    done = home.run(project, "acp", "--")
    assert (done.code, done.err) == (
        2,
        "snapd: expected an agent after --\nhint: for example: snapd acp -- claude-agent-acp\n",
    )


def test_when_the_agent_dies_its_steps_end_and_the_editor_is_told_by_the_end(home: Home, project: str) -> None:
    proxied = opened(home, project)
    proxied.say(prompt(3, "S"))
    proxied.say(call("t1"))
    until(lambda: "t1" in open_parts(home, project))
    Path(project, "b.txt").write_text("new\n")
    os.kill(proxied.agent_pid, signal.SIGKILL)
    assert proxied.at_editor.rest() == b""
    assert proxied.end() == (128 + 9, b"")
    assert names(home, project) == [("prompt", "applied", ["b.txt"]), ("t1", "applied", ["b.txt"])]


@pytest.mark.parametrize("way", ["input", "output"])
def test_when_the_editor_is_gone_the_agent_ends_and_so_do_its_steps(home: Home, project: str, way: str) -> None:
    proxied = opened(home, project, code=5)
    proxied.say(prompt(3, "S"))
    if way == "input":
        proxied.leave()
    else:
        assert proxied.process.stdout is not None
        proxied.process.stdout.close()
        proxied.agent_says(call("t1").data)
    # the agent hears that nobody speaks to it any more
    assert proxied.at_agent.rest() == b""
    proxied.hang_up()
    assert proxied.end() == (5, b"")
    assert open_parts(home, project) == set()


DEAF = "import signal, sys, time\nsignal.signal(15, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(1000)"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_agent(home: Home, project: str, number: signal.Signals) -> None:
    proxied = opened(home, project)
    proxied.say(prompt(3, "S"))
    proxied.process.send_signal(number)
    assert proxied.end()[0] in (128 + number, 1)
    assert open_parts(home, project) == set()


def test_what_a_launcher_leaves_behind_is_ended(home: Home, project: str) -> None:
    """As codex-acp does: the real program has the pipes, and outlives the one that was started."""
    real = f"{sys.executable} -S -c 'import os,time; print(os.getpid(), flush=True); time.sleep(1000)'"
    proxied = Proxied(home, project, agent=["sh", "-c", f"{real} & read line; exit 4"])
    pid = int(proxied.at_editor.line())
    proxied.editor_says(b"end\n")
    assert proxied.at_editor.rest() == b""
    assert proxied.end()[0] == 4
    assert is_over(pid)


def is_over(pid: int) -> bool:
    """Whether a process has ended, be it that nobody has waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_an_agent_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "LEAVE_SECONDS", 0.05)
    editor = os.pipe()
    screen = os.pipe()
    daemon: Any = Ledger()

    def leave() -> None:
        assert os.read(screen[0], 100) == b"ready\n"
        os.close(editor[1])

    leaving = threading.Thread(target=leave)
    leaving.start()
    before = signal.getsignal(signal.SIGTERM)
    assert proxy.run([sys.executable, "-S", "-c", DEAF], daemon, (editor[0], screen[1])) == 128 + 9
    assert signal.getsignal(signal.SIGTERM) is before
    leaving.join()
    for descriptor in (editor[0], *screen):
        os.close(descriptor)


def test_the_log_is_told_where_it_is_asked_for(home: Home, project: str) -> None:
    quiet, asked = {}, {"SNAPD_LOG": "info"}
    for env in (quiet, asked):
        proxied = Proxied(home, project, "--socket", "/nowhere/at/all", env=env)
        for each in [*opening("S", project), prompt(3, "S", "/undo"), result(3, stopReason="end_turn")]:
            assert proxied.say(each) == each.data
        proxied.leave()
        proxied.hang_up()
        code, told = proxied.end()
        assert code == 0
        assert (b"cannot start the session" in told) == bool(env)
        assert bool(told) == bool(env)


def test_a_person_at_a_terminal_gets_the_agent_itself(home: Home, project: str) -> None:
    from tests.cli.running import Terminal

    terminal = Terminal(home, project, "acp", "--", "sh", "-c", "test -t 0 && test -t 1 && echo a terminal")
    assert "a terminal" in terminal.finish().text or b"a terminal" in terminal.seen


def test_snapshots_that_are_off_leave_the_conversation_alone(home: Home, project: str) -> None:
    proxied = Proxied(home, project, env={"SNAPD_ENABLED": "false"})
    for each in [
        *opening("S", project),
        prompt(3, "S", "/undo"),
        call("t1"),
        over("t1"),
        result(3, stopReason="end_turn"),
    ]:
        assert proxied.say(each) == each.data
    proxied.leave()
    proxied.hang_up()
    assert proxied.end() == (0, b"")
    assert names(home, project) == []


def test_a_folder_that_is_refused_leaves_the_conversation_alone(home: Home, project: str) -> None:
    proxied = Proxied(home, project)
    for each in [*opening("S", "/"), prompt(3, "S", "/undo"), result(3, stopReason="end_turn")]:
        assert proxied.say(each) == each.data
    proxied.leave()
    proxied.hang_up()
    assert proxied.end() == (0, b"")

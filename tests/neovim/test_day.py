"""A day with two agents, a user and a daemon that is killed; a long history, a long file."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from snapd_client import Client, ConnectionLost

from tests.cli.steps import read
from tests.neovim.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.running import Home
    from tests.neovim.editor import Neovim

FILES = [f"file{number}.txt" for number in range(6)]
LINES = 60
ROUNDS = 25


def text_of(words: str) -> bytes:
    """Lines far enough apart for what several people do in one file to be told apart."""
    return b"".join(b"%s %d\n" % (words.encode(), line) for line in range(LINES))


class Worker(threading.Thread):
    """An agent that changes one line of a file in each step, and says which file.

    Args:
        home: whose daemon.
        project: the folder.
        name: of the agent.
        line: the number of the line that is its own in every file.
        turn: held during a step: two that write the same file at once would share the change.
    """

    def __init__(self, home: Home, project: str, name: str, line: int, turn: threading.Lock) -> None:
        super().__init__(name=name)
        self._socket = home.at("run/daemon.sock")
        self._project = project
        self._line = line
        self._random = random.Random(name)
        self._turn = turn
        self.steps = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while self.steps < ROUNDS:
                # the daemon is killed once: whoever finds no daemon, or loses it, comes again
                with contextlib.suppress(ConnectionLost, OSError), Client.connect(self._socket, timeout=60) as client:
                    self._work(client)
        except BaseException as failure:  # whatever it is, the test has to hear of it
            self.failure = failure

    def _work(self, client: Client) -> None:
        client.initialize([self._project])
        agent = Agent(client, self._project, self.name)
        while self.steps < ROUNDS:
            with self._turn:
                file = self._random.choice(FILES)
                step = agent.begin(f"{self.name} {self.steps}")
                path = Path(self._project, file)
                lines = path.read_bytes().splitlines(keepends=True)
                lines[self._line] = b"%s %d\n" % (self.name.encode(), self.steps)
                path.write_bytes(b"".join(lines))
                client.step_end(step, [file])
                self.steps += 1


def shown(editor: Neovim, file: str) -> bytes:
    """What the buffer of a file has."""
    lines = editor.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true)", file)
    return "".join(f"{line}\n" for line in lines).encode()


def listed(editor: Neovim, buffer: int) -> set[str]:
    """The titles of the steps in the list."""
    return {found[1] for line in editor.lines(buffer) if (found := re.search(r"Edit (\w+ \d+) ", line))}


def test_a_day(neovim: Callable[..., Neovim], home: Home, project: str, client: Client) -> None:
    agent = Agent(client, project)
    agent.write({file: text_of("line") for file in FILES})
    client.track()
    editor = neovim(*FILES[:3])
    editor.command("argdo edit")
    editor.command("Snapd")
    editor.command("wincmd p")
    turn = threading.Lock()
    workers = [Worker(home, project, "claude", 10, turn), Worker(home, project, "codex", 40, turn)]
    for worker in workers:
        worker.start()
    # the user has a file that no agent touches in the same lines, and types without saving while all go on
    editor.command(f"buffer {FILES[0]}")
    editor.lua("vim.api.nvim_buf_set_lines(0, 59, 60, true, { 'mine, not saved' })")
    editor.until(lambda: all(worker.steps > 5 for worker in workers), lambda: "the agents")
    with turn:
        os.kill(int(Path(home.at("run/daemon.sock.pid")).read_text()), signal.SIGKILL)
    editor.until(lambda: not any(worker.is_alive() for worker in workers), lambda: "the agents")
    for worker in workers:
        worker.join()
        assert worker.failure is None
    # every step is listed (the screen is shorter than the list), and what nobody saved is there
    steps = editor.lua("return vim.fn.bufnr('snapd-steps://')")
    expected = {f"{worker.name} {number}" for worker in workers for number in range(ROUNDS)}
    editor.until(lambda: listed(editor, steps) == expected, lambda: f"{expected - listed(editor, steps)}")
    for file in FILES[1:3]:
        editor.until(lambda file=file: shown(editor, file) == read(project, file), lambda file=file: file)
    assert shown(editor, FILES[0]).endswith(b"mine, not saved\n")
    assert editor.lua("return vim.bo[vim.fn.bufnr(...)].modified", FILES[0])
    # undoing all of one agent leaves the other's lines
    editor.command(f"buffer {FILES[0]}")
    editor.command("edit!")
    with Client.connect(home.at("run/daemon.sock"), timeout=60) as other:
        other.initialize([project])
        other.session_undo("claude", ROUNDS)
    for file in FILES:
        lines = (read(project, file) or b"").splitlines()
        assert lines[10] == b"line 10", file
        assert lines[40].startswith((b"codex", b"line")), file
    for file in FILES[:3]:
        editor.until(lambda file=file: shown(editor, file) == read(project, file), lambda file=file: file)


def test_a_long_history(neovim: Callable[..., Neovim], agent: Agent) -> None:
    for number in range(1200):
        agent.step(f"step {number}", {"a.txt": b"%d\n" % number})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("step 1199")
    for _ in range(12):
        before = editor.lines()
        if "older entries" not in before[-1]:
            break
        editor.press("G<CR>")
        editor.until(lambda before=before: editor.lines() != before, lambda: editor.lines()[-1])
    assert any("step 0 " in line for line in editor.lines())
    # what is new comes while all of it is shown, too
    agent.step("the newest", {"a.txt": b"new\n"})
    editor.until(lambda: any("the newest" in line for line in editor.lines()), lambda: editor.lines()[1])


def test_a_long_file(neovim: Callable[..., Neovim], agent: Agent) -> None:
    count = 60_000
    text = b"".join(b"line %d\n" % line for line in range(count))
    agent.write({"long.txt": text})
    agent.client.track()
    editor = neovim("long.txt")
    editor.lua_until("return #vim.lsp.get_clients({ name = 'snapd', bufnr = 0 }) == 1")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'mine' }) vim.cmd.write()")
    editor.command("50001")
    agent.step("insert", {"long.txt": b"mine\nnew\n" + text.replace(b"line 7\n", b"")})
    editor.until(lambda: editor.lua("return vim.fn.getline(2)") == "new", lambda: editor.text)
    assert editor.lua("return vim.fn.getline('.')") == "line 49999"
    editor.press("uu")
    assert editor.lua("return { vim.fn.getline(1), vim.fn.line('$') }") == ["line 0", count]

"""The scripts of the shells: in the shells that this machine has, a Tab is pressed; of the others, the text is read."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

from snapd.cli.commands.completion import SCRIPTS
from snapd.sharing.sessions import SHORTEST
from tests.cli.running import WAIT
from tests.cli.steps import take

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.running import Home

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
READ = {
    "bash": 'eval "$(snapd completion bash)"',
    "zsh": 'autoload -Uz compinit && compinit -u -D; eval "$(snapd completion zsh)"',
    "fish": "snapd completion fish | source",
}
REGISTERED = {
    "bash": "complete -o nospace -F _snapd snapd",
    "zsh": "compdef _snapd snapd",
    "fish": "complete -c snapd -f",
}
TO_THE_START, TO_THE_END = b"\x01", b"\x05"


class Shell:
    """An interactive shell on a terminal, with `snapd` among its programs.

    Args:
        name: of the shell.
        home: whose shell.
        cwd: where it runs.
    """

    def __init__(self, name: str, home: Home, cwd: str) -> None:
        self.name = name
        self._done = home.at("done")
        programs = home.at("programs")
        os.makedirs(programs, exist_ok=True)
        with open(os.path.join(programs, "snapd"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {sys.executable} -m snapd "$@"\n')
        os.chmod(file.name, 0o755)
        env = {**home.env, "PATH": f"{programs}:{home.env['PATH']}", "HISTFILE": "/dev/null"}
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self._process = subprocess.Popen(
            START[name],
            cwd=cwd,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            # a shell wants to be told of its keys by the terminal
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - nothing else runs there
        )
        os.close(slave)
        self._seen = b""
        self._finish(READ[name].encode() + b"; true")

    def words(self, keys: str) -> list[str]:
        """The words of the line that some keys make, as the shell itself reads them."""
        text = self._finish(keys.encode() + TO_THE_START + b"printf '%s\\n' " + TO_THE_END)
        return text.splitlines()

    def _finish(self, line: bytes) -> str:
        """Has a line run; gives its output."""
        os.write(self._master, line + f" > {self._done}.new; mv {self._done}.new {self._done}\r".encode())
        deadline = time.monotonic() + WAIT
        poll = select.poll()
        poll.register(self._master, select.POLLIN)
        while not os.path.exists(self._done):
            assert time.monotonic() < deadline, self._seen
            if poll.poll(20):
                self._seen += os.read(self._master, 1 << 16)
        with open(self._done, encoding="utf-8") as file:
            text = file.read()
        os.remove(self._done)
        return text

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)


@pytest.fixture
def step(home: Home, project: str) -> str:
    home.track(project)
    return take(home, project, "work", {"my file.txt": b"1\n"}, "--agent", "ada")


@pytest.fixture(params=START)
def shell(home: Home, project: str, request: pytest.FixtureRequest) -> Iterator[Shell]:
    if shutil.which(request.param) is None:
        reason = f"{request.param} is not installed; on Debian: apt-get install {request.param}"
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    shell = Shell(request.param, home, project)
    try:
        yield shell
    finally:
        shell.close()


HOSTILE = [
    "a-$(touch PWNED)`touch PWNED`;touch PWNED;.txt",
    "b-'; touch PWNED; '\\'; touch PWNED; '.txt",
    'c-"; touch PWNED; "\\"; touch PWNED; ".txt',
    "d-!!t*?[a]{b,c} ${IFS}&|<(touch PWNED)>PWNED\\",
]


def test_a_hostile_name_stays_a_word(shell: Shell, project: str) -> None:
    for name in HOSTILE:
        with open(os.path.join(project, name), "w", encoding="utf-8"):
            pass
        for quote in ("", "'", '"'):
            assert shell.words(f"snapd purge -n {quote}{name[:2]}\t") == ["snapd", "purge", "-n", name], (name, quote)
        if shell.name == "bash":
            assert shell.words(f"snapd purge -n $'{name[:2]}\t") == ["snapd", "purge", "-n", name], name
    assert not os.path.exists(os.path.join(project, "PWNED"))


def test_a_tab_in_the_shell(shell: Shell, step: str) -> None:
    assert shell.words("snapd rest\t") == ["snapd", "restore"]
    assert shell.words("snapd restore la\t") == ["snapd", "restore", "last"]
    assert shell.words(f"snapd undo {step[:3]}\t") == ["snapd", "undo", step[:SHORTEST]]
    assert shell.words("snapd log --session w\t") == ["snapd", "log", "--session", "work"]
    assert shell.words("snapd undo --on-conflict=me\t") == ["snapd", "undo", "--on-conflict=merge"]
    # one Tab for the file, which leaves the word open, and one for the snapshot
    assert shell.words("snapd show my\tla\t") == ["snapd", "show", "my file.txt@last"]
    assert shell.words(f"snapd show README.md@{step[:5]}\t") == ["snapd", "show", f"README.md@{step[:SHORTEST]}"]
    assert shell.words(f"snapd revert {step} src/d\t") == ["snapd", "revert", step, "src/data.bin"]
    assert shell.words(f"snapd undo {step} 'my\t") == ["snapd", "undo", step, "my file.txt"]
    # nothing fits, so nothing changes
    assert shell.words("snapd restore zzz\t") == ["snapd", "restore", "zzz"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_asks_for_candidates(home: Home, name: str) -> None:
    script = home.ok(home.path, "completion", name)
    assert script == SCRIPTS[name]
    assert f" complete {name} " in script
    assert REGISTERED[name] in script
    if shutil.which(name):
        subprocess.run([name, "-n"], input=script.encode(), check=True)

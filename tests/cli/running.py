"""Runs the real command in an environment of its own: in this process, but where the process itself is what counts."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shutil
import subprocess
import tempfile
import termios
import time
from typing import Any

import attrs

from tests.cli import in_process
from tests.support import zygote
from tests.support.places import make_folder

WAIT = 60.0
_PROCESSES = frozenset({"serve", "connect", "mcp", "run", "bisect"})
"""Commands that are about a process: its signals, its input while it runs, its children."""


@attrs.frozen
class Result:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Home:
    """A user of their own: home, settings, data, runtime directory, and the daemon that their commands start."""

    def __init__(self) -> None:
        self.path = str(make_folder("snapd-"))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SNAPD_", "XDG_", "GIT_"))}
        self.env = {
            **kept,
            "HOME": self.at("home"),
            "XDG_CONFIG_HOME": self.at("home/.config"),
            "XDG_DATA_HOME": self.at("home/.local/share"),
            "SNAPD_DATA_DIR": self.at("data"),
            "SNAPD_RUNTIME_DIR": self.at("run"),
            # a hook that gives up leaves its event to be recorded later; the machine may be busy
            "SNAPD_HOOK_SECONDS": str(WAIT),
            "TERM": "xterm",
            "COLUMNS": "100",
            "PAGER": "cat",
        }
        for name in ("NO_COLOR", "LESS"):
            self.env.pop(name, None)
        os.makedirs(self.at("home/.config/snapd"))

    def at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def project(self, name: str, files: dict[str, bytes]) -> str:
        """Makes a folder with files, and gives its path."""
        root = self.at(name)
        for file, data in files.items():
            path = os.path.join(root, file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(data)
        return root

    def popen(self, cwd: str, *args: str | bytes, **options: Any) -> subprocess.Popen[bytes]:
        env = {**self.env, **options.pop("env", {})}
        return zygote.start(args, env, cwd, **options)

    def run(self, cwd: str, *args: str | bytes, env: dict[str, str] | None = None, stdin: bytes = b"") -> Result:
        """Runs the command with pipes or files for all its streams."""
        run = self._run_process if args and args[0] in _PROCESSES else self._run_here
        result = run(cwd, args, env or {}, stdin)
        assert "Traceback" not in result.err, result.err
        return result

    def run_process(
        self, cwd: str, *args: str | bytes, env: dict[str, str] | None = None, stdin: bytes = b""
    ) -> Result:
        """Runs the command as a process in any case."""
        return self._run_process(cwd, args, env or {}, stdin)

    def _run_process(self, cwd: str, args: tuple[str | bytes, ...], env: dict[str, str], stdin: bytes) -> Result:
        pipe = subprocess.PIPE
        with self.popen(cwd, *args, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            out, err = process.communicate(stdin, timeout=WAIT)
        return Result(process.returncode, out, err.decode("utf-8"))

    def _run_here(self, cwd: str, args: tuple[str | bytes, ...], env: dict[str, str], stdin: bytes) -> Result:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = in_process.run(args, cwd, {**self.env, **env}, stdin, (out.fileno(), err.fileno()))
            out.seek(0)
            err.seek(0)
            return Result(code, out.read(), err.read().decode("utf-8"))

    def ok(self, cwd: str, *args: str | bytes, env: dict[str, str] | None = None) -> str:
        """What the command says, which succeeds without complaint."""
        result = self.run(cwd, *args, env=env)
        assert (result.code, result.err) == (0, ""), result
        return result.text

    def track(self, cwd: str, *args: str) -> str:
        return self.ok(cwd, "track", *args).strip()

    def close(self) -> None:
        self.run(self.path, "stop")
        shutil.rmtree(self.path)


class Terminal:
    """A command on a terminal.

    Args:
        home: whose command.
        cwd: where it runs.
        args: its arguments.
        out: False where standard output is a pipe and the terminal has the rest.
        env: what its environment has besides.
        keys: whether it controls the command: then Ctrl-C is a signal.
        stderr: where standard error goes instead; closed here.
    """

    def __init__(
        self,
        home: Home,
        cwd: str,
        *args: str,
        out: bool = True,
        env: dict[str, str] | None = None,
        keys: bool = False,
        stderr: int | None = None,
    ) -> None:
        self._master, slave = pty.openpty()
        self.process = home.popen(
            cwd,
            *args,
            env=env or {},
            stdin=slave,
            stdout=slave if out else subprocess.PIPE,
            stderr=slave if stderr is None else stderr,
            start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if keys else None,
        )
        os.close(slave)
        if stderr is not None:
            os.close(stderr)
        self.seen = b""

    def wait_for(self, text: bytes, times: int = 1) -> None:
        """Waits until the terminal shows a text, so many times."""
        deadline = time.monotonic() + WAIT
        while self.seen.count(text) < times:
            assert time.monotonic() < deadline, self.seen
            assert self._read(1.0), self.seen

    def type(self, text: bytes) -> None:
        os.write(self._master, text)

    def answer(self, text: bytes) -> Result:
        """Types an answer to the question, once it is asked; finishes."""
        self.wait_for(b"[y/N")
        self.type(text)
        return self.finish()

    def finish(self) -> Result:
        """Reads to the end; standard error is what the terminal showed where standard output is a pipe."""
        deadline = time.monotonic() + WAIT
        while self._read(1.0):
            assert time.monotonic() < deadline, self.seen
        os.close(self._master)
        out = self.process.stdout.read() if self.process.stdout is not None else b""
        if self.process.stdout is not None:
            self.process.stdout.close()
        code = self.process.wait(WAIT)
        assert b"Traceback" not in self.seen, self.seen
        return Result(code, out, self.seen.decode("utf-8", "replace"))

    def _read(self, seconds: float) -> bool:
        # select.select cannot wait for a descriptor over 1023
        poll = select.poll()
        poll.register(self._master, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return True
        try:
            chunk = os.read(self._master, 1 << 16)
        except OSError:
            # what Linux says when nobody has the other end open any more
            return False
        self.seen += chunk
        return bool(chunk)

"""One user's environment: where daemons are started, talked to in raw bytes, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from snapd_client import Client, to_uri

from tests.support import zygote
from tests.support.places import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PATIENCE = 60.0
"""Seconds after which whatever is waited for is taken for lost."""


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """Waits for something that nobody tells of; gives what the condition gave."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)
    return found


@contextlib.contextmanager
def short_folder(prefix: str, files: Mapping[str, str]) -> Iterator[Path]:
    """A folder with some text files, outside every home and under a short path, for as long as the block takes."""
    path = make_folder(prefix)
    for name, text in files.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text)
    yield path
    shutil.rmtree(os.fsencode(path), ignore_errors=True)


def framed(body: bytes) -> bytes:
    """A body with its header: written here anew, so that the daemon's own framing is not its own judge."""
    return b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body


def request(message_id: Any, method: str, params: Any = None) -> bytes:
    """The frame of a request."""
    message = {"jsonrpc": "2.0", "id": message_id, "method": method}
    if params is not None:
        message["params"] = params
    return framed(json.dumps(message).encode())


def notification(method: str, params: Any = None) -> bytes:
    """The frame of a notification."""
    message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return framed(json.dumps(message).encode())


def initialize(*folders: Path | str | bytes, message_id: Any = 0, options: Any = None) -> bytes:
    """The frame of an `initialize` that opens folders."""
    uris = [to_uri(folder if isinstance(folder, bytes) else str(folder)) for folder in folders]
    params: dict[str, Any] = {
        "processId": None,
        "capabilities": {},
        "rootUri": None,
        "workspaceFolders": [{"uri": uri, "name": "w"} for uri in uris],
    }
    if options is not None:
        params["initializationOptions"] = options
    return request(message_id, "initialize", params)


class Raw:
    """Bytes to and from a daemon.

    Args:
        read_fd: what it says.
        write_fd: what it is told; the same for a socket.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.buffer = bytearray()
        self.others: list[dict[str, Any]] = []
        """What came that was no answer."""

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            assert _is_ready(self.write_fd, select.POLLOUT), "the daemon does not read"
            view = view[os.write(self.write_fd, view[: 1 << 16]) :]

    def send_as_much_as_is_read(self, data: bytes) -> None:
        """Sends until all is sent, or the daemon has closed the connection."""
        with contextlib.suppress(OSError):
            self.send(data)

    def _more(self) -> bool:
        assert _is_ready(self.read_fd, select.POLLIN), f"the daemon says nothing; others: {self.others}"
        try:
            chunk = os.read(self.read_fd, 1 << 16)
        except ConnectionResetError:
            chunk = b""
        self.buffer += chunk
        return bool(chunk)

    def read(self) -> dict[str, Any] | None:
        """The next message, None where the daemon closed the connection."""
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if not self._more():
                assert not self.buffer, f"cut off: {self.buffer!r}"
                return None
        name, _, length = bytes(self.buffer[:end]).partition(b": ")
        assert name == b"Content-Length", self.buffer[:200]
        del self.buffer[: end + 4]
        while len(self.buffer) < int(length):
            assert self._more(), "cut off in a body"
        message: dict[str, Any] = json.loads(self.buffer[: int(length)])
        del self.buffer[: int(length)]
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, message_id: Any = ...) -> dict[str, Any]:
        """The next answer, which has to be that of a request."""
        while True:
            message = self.read()
            assert message is not None, "the connection was closed instead of an answer"
            if "method" not in message:
                assert ("result" in message) != ("error" in message), message
                if message_id is not ...:
                    assert message["id"] == message_id, message
                return message
            self.others.append(message)

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Reads on to a notification that is wanted."""
        while True:
            for at, message in enumerate(self.others):
                if wanted(message):
                    return self.others.pop(at)
            message = self.read()
            assert message is not None, "the connection was closed"
            assert "method" in message, f"an answer came first: {message}"
            self.others.append(message)

    def ask(self, message_id: Any, method: str, params: Any = None) -> dict[str, Any]:
        """Sends a request and reads its answer."""
        self.send(request(message_id, method, params))
        return self.answer(message_id)

    def result(self, method: str, params: Any = None, message_id: Any = 77) -> Any:
        """The result of a request, which has to succeed."""
        answer = self.ask(message_id, method, params)
        assert "result" in answer, answer
        return answer["result"]

    def open(self, *folders: Path | str | bytes, options: Any = None) -> Raw:
        """Initialises the connection."""
        self.send(initialize(*folders, options=options))
        answer = self.answer(0)
        assert "result" in answer, answer
        return self

    def says_nothing_more(self) -> bool:
        """Whether the daemon closes the connection without another answer."""
        while (message := self.read()) is not None:
            if "method" not in message:
                return False
            self.others.append(message)
        return True

    def half_close(self) -> None:
        """Says nothing more."""
        if self.read_fd == self.write_fd:
            with socket.socket(fileno=os.dup(self.write_fd)) as half:
                half.shutdown(socket.SHUT_WR)
        else:
            os.close(self.write_fd)
            self.write_fd = -1

    def close(self) -> None:
        for fd in {self.read_fd, self.write_fd} - {-1}:
            os.close(fd)
        self.read_fd = self.write_fd = -1


def foreign_directory(wanted: Path) -> Path:
    """A directory that belongs to somebody else: where root can make one, the one wanted; else one of the system's."""
    if os.geteuid() != 0:
        return Path("/usr/lib")
    wanted.mkdir()
    os.chown(wanted, 65534, 65534)
    return wanted


class Machine:
    """A home, a configuration, data and a runtime directory, and the processes that run with them."""

    def __init__(self) -> None:
        self.root = make_folder("sd-")
        self.home = self.root / "home"
        self.config = self.root / "config"
        self.data = self.root / "data"
        self.runtime = self.root / "run"
        for made in (self.home, self.config, self.data):
            made.mkdir()
        self.socket = self.runtime / "daemon.sock"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._clients: list[Client | Raw] = []
        self._gates = self.root / "gates"
        self._gates.mkdir()
        self._log = self.root / "stderr"
        self._log.touch()
        self.defects_expected = False

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.config),
            "SNAPD_DATA_DIR": str(self.data),
            "SNAPD_RUNTIME_DIR": str(self.runtime),
            "TEST_GATES": str(self._gates),
            "LC_ALL": "C.UTF-8",
            **more,
        }

    @staticmethod
    def command(*arguments: str) -> list[str]:
        return [*zygote.command(), *arguments]

    def start(
        self, *arguments: str, env: dict[str, str] | None = None, within: tuple[str, ...] = (), **how: Any
    ) -> subprocess.Popen[bytes]:
        """Starts a snapd command, `within` another that runs it; it is ended with the machine.

        The loop of a daemon is watched: see `watched`.
        """
        watched = arguments[0] == "serve"
        with self._log.open("ab") as log:
            how = {"env": self.environment(**(env or {})), "stderr": log, **how}
            if within:
                process = subprocess.Popen([*within, *zygote.command(watched=watched), *arguments], **how)
            else:
                process = zygote.start(arguments, watched=watched, **how)
        self.processes.append(process)
        return process

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a snapd command to its end."""
        pipe = subprocess.PIPE
        environment = self.environment(**(env or {}))
        with zygote.start(arguments, environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
            out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(arguments, process.returncode, out.decode(), err.decode())

    def piped(self, *arguments: str, env: dict[str, str] | None = None) -> tuple[subprocess.Popen[bytes], Raw]:
        """A snapd command, and what talks to it through its standard streams."""
        process = self.start(*arguments, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert process.stdin is not None
        assert process.stdout is not None
        raw = Raw(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
        process.stdin.close()
        process.stdout.close()
        self._clients.append(raw)
        return process, raw

    def serve_stdio(self, *arguments: str, env: dict[str, str] | None = None) -> tuple[subprocess.Popen[bytes], Raw]:
        """A private daemon, and what talks to it."""
        return self.piped("serve", "--stdio", *arguments, env=env)

    def serve_socket(
        self, *arguments: str, env: dict[str, str] | None = None, within: tuple[str, ...] = ()
    ) -> subprocess.Popen[bytes]:
        """The per-user daemon, ready."""
        process = self.start("serve", *arguments, env=env, within=within, stdin=subprocess.DEVNULL)
        self.wait_for(process, self.socket)
        return process

    def wait_for(self, process: subprocess.Popen[bytes], path: Path) -> None:
        """Waits for a daemon to listen."""
        wait_until(lambda: path.exists() or process.poll() is not None, f"{path}: {self.logged()}")
        assert process.poll() is None, f"the daemon ended with {process.returncode}:\n{self.logged()}"

    def serve_tcp(self, *arguments: str, env: dict[str, str] | None = None) -> tuple[subprocess.Popen[bytes], int]:
        """A daemon on a TCP port."""
        process = self.start("serve", "--tcp", "127.0.0.1:0", *arguments, env=env, stdout=subprocess.PIPE)
        assert process.stdout is not None
        line = process.stdout.readline()
        process.stdout.close()
        assert line.startswith(b"listening on 127.0.0.1:"), (line, self.logged())
        return process, int(line.rpartition(b":")[2])

    def raw(self, address: Path | tuple[str, int] | None = None) -> Raw:
        """A connection to talk bytes on."""
        if isinstance(address, tuple):
            made = socket.create_connection(address, PATIENCE)
        else:
            made = socket.socket(socket.AF_UNIX)
            made.connect(str(address or self.socket))
        made.setblocking(True)
        fd = made.detach()
        raw = Raw(fd, fd)
        self._clients.append(raw)
        return raw

    def client(self, *folders: Path | str, options: dict[str, Any] | None = None) -> Client:
        """The project's own client, initialised."""
        client = Client.connect(str(self.socket), timeout=PATIENCE)
        self._clients.append(client)
        client.initialize(folders, options)
        return client

    @contextlib.contextmanager
    def held_up(self, what: str, folder: Path) -> Iterator[Callable[[], bool]]:
        """Holds something up in a folder for as long as the block takes: "look", "open" or "close"; see `watched`.

        Yields:
            Says whether anything waits.
        """
        gate = self._gates / f"{what}-{folder.name}"
        gate.touch()
        try:
            yield gate.with_suffix(".waiting").exists
        finally:
            gate.unlink()

    def exit_code(self, process: subprocess.Popen[bytes]) -> int:
        """Waits for a process to end."""
        return process.wait(PATIENCE)

    def logged(self) -> str:
        """What every process of the machine wrote on standard error."""
        text = self._log.read_text(errors="replace")
        for log in sorted(self.root.glob("run/*.log")):
            text += log.read_text(errors="replace")
        return text

    def check_log(self, seen: int = 0) -> None:
        """Makes sure that no process told of a defect."""
        text = self.logged()[seen:]
        assert "Traceback" not in text, text
        assert "defect" not in text, text

    @contextlib.contextmanager
    def lent(self) -> Iterator[Self]:
        """Lends a machine that many tests share: each has to leave its daemon alive and without a defect."""
        seen = len(self.logged())
        yield self
        # the system has 128 queues for a user, and each open folder takes one
        self.disconnect()
        assert self.processes[0].poll() is None, f"the daemon ended:\n{self.logged()}"
        self.check_log(seen)

    def disconnect(self) -> None:
        """Closes every connection: a folder that nobody has open can be let go of, and with it what watches it."""
        while self._clients:
            with contextlib.suppress(OSError):
                self._clients.pop().close()

    def finish(self) -> None:
        """Ends every process, the one that `snapd connect` left behind included."""
        self.disconnect()
        for process in self.processes:
            self._end(process)
        for note in self.root.glob("**/*.sock.pid"):
            with contextlib.suppress(ProcessLookupError, ValueError):
                number = int(note.read_text())
                os.kill(number, signal.SIGTERM)
                wait_until(lambda note=note: not note.exists(), f"the end of {number}")
        try:
            self.check_log()
        finally:
            shutil.rmtree(os.fsencode(self.root), ignore_errors=True)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        for stop in (process.terminate, process.kill):
            if process.poll() is None:
                stop()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
        assert process.poll() is not None


def tree_of(folder: Path) -> dict[bytes, tuple[int, bytes]]:
    """What a folder holds: names, modes and bytes."""
    found = {}
    for directory, _, names in os.walk(os.fsencode(folder)):
        for name in names:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            data = os.readlink(path) if os.path.islink(path) else Path(os.fsdecode(path)).read_bytes()
            found[os.path.relpath(path, os.fsencode(folder))] = (status.st_mode, data)
    return found


def error_of(answer: dict[str, Any]) -> tuple[int, str | None]:
    """Code and kind of an error answer."""
    assert "error" in answer, answer
    return answer["error"]["code"], answer["error"].get("data", {}).get("kind")


def messages(frames: Sequence[dict[str, Any]], method: str) -> list[dict[str, Any]]:
    """The params of those notifications that are of a method."""
    return [frame["params"] for frame in frames if frame.get("method") == method]


def _is_ready(descriptor: int, what: int) -> bool:
    # select.select cannot wait for a descriptor over 1023
    poll = select.poll()
    poll.register(descriptor, what)
    return bool(poll.poll(PATIENCE * 1000))

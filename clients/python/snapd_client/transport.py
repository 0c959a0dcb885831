"""The transports to snapd: a Unix socket, a command's stdin and stdout, a TCP port.

Each is a pair of non-blocking file descriptors, so that a write keeps its deadline, and `Transport.abort` can
interrupt every thread. POSIX only.
"""

from __future__ import annotations

import errno
import os
import select
import threading
from collections import deque
from time import monotonic, sleep

from snapd_client.errors import ConnectionLost, RequestTimeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from subprocess import Popen

__all__ = ["ProcessTransport", "Transport", "connect_tcp", "connect_unix", "spawn"]

_CROWDED = 1.0
"""How many seconds to retry a refused connection, while the daemon starts or too many clients wait."""
_FIRST_PAUSE = 0.005
_POST_TIMEOUT = 30.0
_ENDING_TIMEOUT = 0.5


class Transport:
    """A stream of bytes in both directions over file descriptors that it owns.

    One thread reads and in the end calls `close`; any thread may write and abort. For a socket, `read_fd` and
    `write_fd` are the same descriptor.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self._wake_fd, self._waker_fd = os.pipe()
        self._readable = select.poll()
        self._readable.register(read_fd, select.POLLIN)
        self._readable.register(self._wake_fd, select.POLLIN)
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._aborted = False
        self._closed = False
        self._outbox: deque[bytes] = deque()

    @property
    def aborted(self) -> bool:
        """Whether this side ended the stream."""
        return self._aborted

    def read(self, size: int) -> bytes:
        """Returns at most `size` bytes as soon as there are any; none at the end of the stream or when aborted.

        Raises `OSError` if the system cannot read.
        """
        while True:
            self._readable.poll()
            if self._aborted:
                return b""
            try:
                return os.read(self._read_fd, size)
            except BlockingIOError:
                continue

    def write(self, data: bytes, deadline: float | None = None) -> None:
        """Writes a whole frame; frames of several threads do not mix.

        If a frame was begun but cannot be finished, because of the deadline or an exception from a signal handler, the
        transport is aborted: the rest of the stream would be garbled.

        Args:
            data: The frame.
            deadline: When to give up, by `time.monotonic`; None for no limit.

        Raises:
            RequestTimeout: The deadline passed.
            ConnectionLost: The transport is closed or was aborted.
            OSError: The system cannot write.
        """
        if not self._writing.acquire(timeout=-1 if deadline is None else max(0.0, deadline - monotonic())):
            raise RequestTimeout("the connection was busy with another request until the time was up")
        try:
            self._write(data, deadline)
        finally:
            self._writing.release()
        self._flush()

    def post(self, data: bytes) -> None:
        """Writes a short frame now, or leaves it to the thread that is writing: the reader must not block."""
        self._outbox.append(data)
        self._flush()

    def abort(self) -> None:
        """Ends every read and write, now and later. May be called from any thread, and more than once."""
        with self._state:
            woken = self._aborted or self._closed
            self._aborted = True
            if not woken:
                os.write(self._waker_fd, b"x")

    def close(self) -> None:
        """Closes the file descriptors. Only the reading thread may call this."""
        self.abort()
        with self._writing, self._state:
            if not self._closed:
                self._closed = True
                for fd in {self._read_fd, self._write_fd, self._wake_fd, self._waker_fd}:
                    os.close(fd)

    def ending(self) -> str:
        """Returns how the process behind a closed transport ended, if that explains anything."""
        return ""

    def reap(self) -> None:
        """Ensures that the process behind a closed transport has ended."""

    def _write(self, data: bytes, deadline: float | None) -> None:
        view = memoryview(data)
        sent = 0
        try:
            while sent < len(data):
                if self._aborted:
                    raise ConnectionLost("the connection is closed")
                try:
                    sent += os.write(self._write_fd, view[sent:])
                except BlockingIOError:
                    self._wait_writable(deadline)
        except BaseException as error:
            # Where the other side hung up, the reader shall still find what it said before.
            if sent and (isinstance(error, RequestTimeout) or not isinstance(error, OSError)):
                self.abort()
            raise

    def _wait_writable(self, deadline: float | None) -> None:
        poll = select.poll()
        poll.register(self._write_fd, select.POLLOUT)
        poll.register(self._wake_fd, select.POLLIN)
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            raise RequestTimeout("the daemon did not take the request in time")
        poll.poll(None if left is None else left * 1000)

    def _flush(self) -> None:
        # Whoever holds the lock looks again after releasing it, so nothing posted meanwhile stays behind.
        while self._outbox and self._writing.acquire(blocking=False):
            try:
                while self._outbox:
                    self._write(self._outbox.popleft(), monotonic() + _POST_TIMEOUT)
            except (OSError, ConnectionLost, RequestTimeout):
                self.abort()
            finally:
                self._writing.release()


class ProcessTransport(Transport):
    """The stdin and stdout of a command that was started for this connection."""

    def __init__(self, process: Popen[bytes], read_fd: int, write_fd: int, grace: float) -> None:
        super().__init__(read_fd, write_fd)
        self._process = process
        self._grace = grace

    def ending(self) -> str:
        """Returns how the command ended, after waiting briefly for it."""
        from subprocess import TimeoutExpired

        try:
            status = self._process.wait(min(self._grace, _ENDING_TIMEOUT))
        except TimeoutExpired:
            return ""
        return f"the command ended with exit code {status}" if status >= 0 else f"signal {-status} ended the command"

    def reap(self) -> None:
        """Waits for the command, whose stdin is closed, and terminates it if it does not exit."""
        from subprocess import TimeoutExpired

        for stop in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(self._grace)
            except TimeoutExpired:
                stop()
            else:
                return
        self._process.wait()


def connect_unix(path: str | bytes | os.PathLike[str], timeout: float | None = None) -> Transport:
    """Connects to the daemon's Unix socket. Raises `OSError` if no daemon listens there."""
    import socket

    def connect(seconds: float | None) -> int:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
            made.settimeout(seconds)
            made.connect(os.fspath(path))
            return made.detach()

    fd = _persist(connect, timeout)
    return Transport(fd, fd)


def connect_tcp(host: str, port: int, timeout: float | None = None) -> Transport:
    """Connects to a daemon that listens on TCP. Raises `OSError` if no daemon listens there."""
    import socket

    def connect(seconds: float | None) -> int:
        with socket.create_connection((host, port), seconds) as made:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made.detach()

    fd = _persist(connect, timeout)
    return Transport(fd, fd)


def _persist(connect: Callable[[float | None], int], timeout: float | None) -> int:
    """Connects, and retries for a moment while too many others connect.

    `connect` takes the seconds that are left and returns the descriptor; `timeout` covers all attempts.
    """
    now = monotonic()
    deadline = None if timeout is None else now + timeout
    last = now + _CROWDED if deadline is None else min(now + _CROWDED, deadline)
    pause = _FIRST_PAUSE
    while True:
        try:
            return connect(None if deadline is None else max(deadline - monotonic(), _FIRST_PAUSE))
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNREFUSED) or monotonic() + pause > last:
                raise
        sleep(pause)
        pause *= 2


def spawn(
    command: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stderr: int | None = None,
    grace: float = 5.0,
) -> Transport:
    """Starts a command, such as `snapd connect` or `snapd serve --stdio`, and communicates over its stdin and stdout.

    The command runs in a session of its own, so that Ctrl-C in the terminal reaches only the caller, who cancels the
    request. See `Client.spawn` for the arguments. Raises `OSError` if the command cannot be started.
    """
    import subprocess

    child_in, write_fd = os.pipe()
    read_fd, child_out = os.pipe()
    try:
        process = subprocess.Popen(
            list(command),
            stdin=child_in,
            stdout=child_out,
            stderr=stderr,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    except BaseException:
        os.close(read_fd)
        os.close(write_fd)
        raise
    finally:
        os.close(child_in)
        os.close(child_out)
    return ProcessTransport(process, read_fd, write_fd, grace)

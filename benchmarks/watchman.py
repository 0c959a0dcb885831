"""A Watchman server of the benchmark's own, and questions to it: what the peers learn of changes from."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import Self

NEVER = "c:0:0"
"""A clock that no server has given: all that is there changed since."""
_START_SECONDS = 30.0
_POLL_SECONDS = 0.005
ANSWER_SECONDS = 120.0


def has_watchman() -> bool:
    """Whether there is one to run."""
    return shutil.which("watchman") is not None


class WatchmanServer:
    """A server that runs while this is entered, with nothing of the user's configuration or state.

    Args:
        directory: where its files go, with a short path.
    """

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, "sock")
        self._directory = directory

    def __enter__(self) -> Self:
        files = {"logfile": "log", "statefile": "state", "pidfile": "pid", "sockname": "sock"}
        self._process = subprocess.Popen(
            [
                *("watchman", "--foreground", "--no-save-state"),
                *(f"--{option}={os.path.join(self._directory, name)}" for option, name in files.items()),
            ],
            env={"PATH": os.environ["PATH"], "HOME": self._directory},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _START_SECONDS
        # the socket is there some time before anybody listens
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(f"watchman does not start: see {self._directory}/log")
            time.sleep(_POLL_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(self.path) == 0


class ChangedFile(NamedTuple):
    """A name that may have changed.

    Attributes:
        name: relative to the root.
        mode: as `lstat` gives it; what it was last where `exists` is false.
        exists: whether there is a file, or a directory, of that name.
    """

    name: str
    mode: int
    exists: bool


class Changes(NamedTuple):
    """What changed since a clock.

    Attributes:
        clock: to ask from the next time.
        files: and directories that may have changed.
        is_fresh_instance: whether that clock is unknown, and so what changed.
    """

    clock: str
    files: list[ChangedFile]
    is_fresh_instance: bool


class Watchman:
    """A connection to a server, which watches a directory from the first question on.

    Args:
        path: of the server's socket.
        root: of the directory.
    """

    def __init__(self, path: str, root: str) -> None:
        self._root = root
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_SECONDS)
        self._socket.connect(path)
        self._answers = self._socket.makefile("rb")
        self._is_watched = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    def changes(self, clock: str) -> Changes:
        """What changed since a clock, up to the moment of the question; no files where it is unknown."""
        return self._query(clock, empty_on_fresh_instance=True)

    def files(self) -> list[ChangedFile]:
        """All that is there."""
        return self._query(NEVER, empty_on_fresh_instance=False).files

    def _query(self, clock: str, *, empty_on_fresh_instance: bool) -> Changes:
        if not self._is_watched:
            self._ask("watch", self._root)
            self._is_watched = True
        # the server makes a file of its own and waits for the system to report it: by then, it knows what came before
        answer = self._ask(
            "query",
            self._root,
            {
                "since": clock,
                "fields": ChangedFile._fields,
                "empty_on_fresh_instance": empty_on_fresh_instance,
            },
        )
        return Changes(answer["clock"], [ChangedFile(**file) for file in answer["files"]], answer["is_fresh_instance"])

    def _ask(self, *words: object) -> dict[str, Any]:
        self._socket.sendall(json.dumps(words).encode() + b"\n")
        try:
            answer: dict[str, Any] = json.loads(self._answers.readline())
        except TimeoutError as error:
            raise RuntimeError("watchman does not answer: perhaps a file's name is not UTF-8") from error
        if "error" in answer:
            raise RuntimeError(f"watchman: {answer['error']}")
        return answer

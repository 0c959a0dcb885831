"""What the machine itself takes for the least that a row has to do: a bound from below, measured in the same run.

Each is a raw loop over calls of the system and of libraries in C, on the files of the run, warm. It knows beforehand
what changed, checks nothing and keeps nothing in mind. So nobody reaches it; it says how far a figure is from that.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import multiprocessing
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import orjson
from isal import isal_zlib

from .bench import Bench, Counts
from .measure import Samples, percentile, timed
from .peers import NAMES
from .syncing import sync_file_system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_MESSAGE, _ANSWER = b"x" * 120, b"y" * 90
"""About as long as a track and its answer."""
_ENTRY_BYTES = 28
"""Of a name in a tree: mode, blanks, id."""
_FAST, _SMALL, _BEST = 2, 5, 9
"""Levels: of ISA-L for many objects, of zlib for one, and the least bytes that zlib can make."""
_LINE = b"line %d of a file that is blamed\n"
_BLAMED_LINES = 5000
_LISTED = 1000
_ANY_CONNECTION = """
import _socket, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect(sys.argv[1])
server.sendall(b"x" * 120)
server.recv(65536)
"""
_SERVING = "import asyncio, orjson"
"""What a server in Python that speaks JSON cannot do without."""


class Limits:
    """The bounds of one run.

    Args:
        tree: the work tree, whose files are read.
        work: where files may be written.
        counts: how much the rows do.
    """

    def __init__(self, tree: str, work: str, counts: Counts) -> None:
        self.tree = tree
        self.work = work
        self.counts = counts
        self.files = list(_files_of(tree))
        self._trees: dict[str, bytes] = {}
        self._measured: dict[str, Samples] = {}

    def of(self, key: str) -> Samples | None:
        """The bound of a row; None where there is none: `benchmarks/README.md` says why."""
        name = SAME.get(key, key)
        if name.startswith("growth-") or name not in BOUNDS:
            return None
        if name not in self._measured:
            self._measured[name] = BOUNDS[name](self)
        return self._measured[name]

    # -- answers

    def exchange(self) -> Samples:
        """A message to another process, which has a thread answer it."""
        with _answering() as client:
            return self._often(partial(_exchange, client))

    def listed(self) -> Samples:
        """The same with a list of 1,000 files as JSON."""
        entries = [{"file": f"f{number}.txt", "additions": 1, "deletions": 1, "steps": 1} for number in range(_LISTED)]
        with _answering() as client:
            return self._often(lambda: (_exchange(client), orjson.dumps(entries)))

    def blamed(self) -> Samples:
        """The same with reading and hashing a file of 5,000 lines, and cutting it into lines."""
        path = os.path.join(self.work, "blamed")
        with open(path, "wb") as file:
            file.writelines(_LINE % number for number in range(_BLAMED_LINES))

        def ask() -> None:
            _exchange(client)
            _blob(_read(path)).splitlines()

        with _answering() as client:
            return self._often(ask)

    def durable(self) -> Samples:
        """The same with one append and one sync."""

        def ask() -> None:
            _exchange(client)
            os.write(journal, _MESSAGE)
            os.fdatasync(journal)

        with _answering() as client, self._journal() as journal:
            return self._often(ask)

    # -- snapshots

    def changed(self, count: int) -> Samples:
        """A message; reading, hashing, compressing so many files and the trees above them; one append and one sync."""
        some = self._some(count)

        def ask() -> None:
            _exchange(client)
            self._store(some, journal)

        with _answering() as client, self._journal() as journal:
            return self._often(ask)

    def named(self) -> Samples:
        """Listing all directories and asking for the status of every name, on all cores."""
        above = sorted({os.path.dirname(path) for path in self.files})
        return self._seldom(lambda: on_all_cores(above, _list))

    def read(self) -> Samples:
        """Reading, hashing and compressing every file, on all cores, and writing that, durably."""

        def one(path: str) -> bytes:
            return bytes(isal_zlib.compress(_blob(_read(path)), _FAST))

        return self._seldom(lambda: on_all_cores(self.files, one, self._scratch()))

    # -- contents

    def shown(self) -> Samples:
        """Expanding and hashing two texts for each file, and sending them as JSON to another process."""
        stored = [(path, zlib.compress(_read(path))) for path in self._some(self.counts.many)]

        def show() -> None:
            texts = []
            for path, data in stored:
                before, after = (_blob(zlib.decompress(data)) for _ in range(2))
                texts.append({"file": path, "before": before.decode("latin-1"), "after": after.decode("latin-1")})
            ours, theirs = socket.socketpair()
            with ours, theirs:
                reading = threading.Thread(target=_drain, args=(theirs,))
                reading.start()
                ours.sendall(orjson.dumps(texts))
                ours.shutdown(socket.SHUT_WR)
                reading.join()

        return self._seldom(show)

    def written(self, count: int) -> Samples:
        """Expanding so many files, writing each aside, moving it into its place, then one sync of the file system."""
        folder = self._scratch()
        some = itertools.islice(itertools.cycle(self.files), count)
        stored = [(os.path.join(folder, str(number)), zlib.compress(_read(path))) for number, path in enumerate(some)]

        def write() -> None:
            for path, data in stored:
                _write(path + ".new", _blob(zlib.decompress(data)))
                os.rename(path + ".new", path)
            sync_file_system(folder)

        write()
        return self._seldom(write)

    def exported(self) -> Samples:
        """Expanding all files and writing them into directories that are new."""
        stored = [(os.path.relpath(path, self.tree), zlib.compress(_read(path), 1)) for path in self.files]
        above = sorted({os.path.dirname(path) for path, _ in stored})
        folders = [self._scratch() for _ in range(self.counts.heavy)]

        def export() -> None:
            folder = folders.pop()
            for name in above:
                os.makedirs(os.path.join(folder, name), exist_ok=True)
            for name, data in stored:
                _write(os.path.join(folder, name), _blob(zlib.decompress(data)))

        return self._seldom(export)

    # -- processes

    def program(self, code: str, *words: str) -> float:
        """Seconds from the start of a Python program to its end; it finds packages only if it is a server."""
        options = ["-I"] if code == _SERVING else ["-I", "-S"]
        return timed(lambda: subprocess.run([sys.executable, *options, "-c", code, *words], check=True))[0]

    def started(self, code: str = "pass", times: int = 1) -> Samples:
        """Starting Python for some code, so many times."""
        return Samples("s", tuple(sum(self.program(code) for _ in range(times)) for _ in self._rounds()))

    def connected(self, times: int = 1) -> Samples:
        """Starting Python, connecting to another process and getting an answer, so many times."""
        path = os.path.join(self._scratch(), "s")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            threading.Thread(target=_answer_all, args=(server,), daemon=True).start()
            matches = [sum(self.program(_ANY_CONNECTION, path) for _ in range(times)) for _ in self._rounds()]
            # wakes up the thread that accepts
            server.shutdown(socket.SHUT_RDWR)
        return Samples("s", tuple(matches))

    def loaded(self) -> Samples:
        """Memory of a Python process that can serve, and has done nothing yet."""
        code = f"{_SERVING}; print(open('/proc/self/status').read())"
        done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
        line = next(line for line in done.stdout.splitlines() if line.startswith("VmRSS:"))
        return Samples("B", (int(line.split()[1]) * 1024,))

    # -- several, and on disk

    @functools.cached_property
    def together(self) -> tuple[Samples, Samples]:
        """As many processes as there are clients, each with one changed file again and again: a second, and the p99."""
        rates, slowest = [], []
        for _ in range(self.counts.heavy):
            taken = _in_processes(self.counts.clients, partial(self._keep_storing, self.counts.slice_seconds / 4))
            rates.append(sum(len(seconds) / sum(seconds) for seconds in taken))
            slowest.append(percentile([second for seconds in taken for second in seconds], 99))
        return Samples("1/s", tuple(rates)), Samples("s", tuple(slowest))

    def bytes_of_one(self) -> Samples:
        """Bytes of a file and the trees above it, compressed as well as zlib can."""
        sizes = [
            sum(len(zlib.compress(data, _BEST)) for data in self.objects([path]))
            for path in self._some(self.counts.steps)
        ]
        return Samples("B", (sum(sizes) / len(sizes),))

    # -- how

    def _keep_storing(self, seconds: float) -> list[float]:
        some = self._some(1)
        matches: list[float] = []
        until = time.perf_counter() + seconds
        with self._journal() as journal:
            # on a busy machine the time may be over at once
            while not matches or time.perf_counter() < until:
                matches.append(timed(lambda: self._store(some, journal))[0])
        return matches

    def _store(self, files: list[str], journal: int) -> None:
        os.write(journal, b"".join(zlib.compress(data, _SMALL) for data in self.objects(files)))
        os.fdatasync(journal)

    def objects(self, files: list[str]) -> Iterator[bytes]:
        """The bytes of files, each hashed, then as many as the trees above them have."""
        trees: set[str] = set()
        for path in files:
            os.lstat(path)
            yield _blob(_read(path))
            above = path
            while above != self.tree:
                above = os.path.dirname(above)
                trees.add(above)
        for above in trees:
            yield _blob(self._tree_bytes(above))

    def _tree_bytes(self, path: str) -> bytes:
        # made once: who has a tree in memory need not list it
        if path not in self._trees:
            names = [name.encode() for name in sorted(os.listdir(path)) if name != ".git"]
            ids = (hashlib.sha1(name).digest() for name in names)
            self._trees[path] = b"".join(b"100644 %b\0%b" % pair for pair in zip(names, ids, strict=True))
        return self._trees[path]

    def _some(self, count: int) -> list[str]:
        """So many files, from all over the tree; half of all where that is less, as in the rows."""
        count = Bench.at_most(count, self.files)
        return [self.files[number * len(self.files) // count] for number in range(count)]

    def _scratch(self) -> str:
        return tempfile.mkdtemp(prefix="limit-", dir=self.work)

    @contextmanager
    def _journal(self) -> Iterator[int]:
        descriptor = os.open(os.path.join(self._scratch(), "journal"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _rounds(self) -> range:
        return range(max(3, self.counts.repetitions // 3))

    def _often(self, work: Callable[[], object]) -> Samples:
        work()
        return Samples("s", tuple(timed(work)[0] for _ in range(self.counts.repetitions)))

    def _seldom(self, work: Callable[[], object]) -> Samples:
        return Samples("s", tuple(timed(work)[0] for _ in range(self.counts.heavy)))


def _files_of(tree: str) -> Iterator[str]:
    for above, directories, names in os.walk(tree):
        if ".git" in directories:
            directories.remove(".git")
        yield from (path for path in (os.path.join(above, name) for name in names) if not os.path.islink(path))


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _blob(data: bytes) -> bytes:
    """The bytes, which were hashed."""
    hashlib.sha1(data).digest()
    return data


def _list(path: str) -> bytes:
    with os.scandir(path) as entries:
        for entry in entries:
            os.lstat(entry.path)
    return b""


def on_all_cores(items: Sequence[str], one: Callable[[str], bytes], output: str | None = None) -> None:
    """Does something with each of many items, in a process for each core; what it gives is written durably."""
    cores = len(os.sched_getaffinity(0))

    def share(number: int) -> None:
        result = b"".join(map(one, items[number::cores]))
        if output is not None:
            descriptor = os.open(os.path.join(output, str(number)), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(descriptor, result)
            os.fdatasync(descriptor)

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=share, args=(number,)) for number in range(cores)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode != 0:
            raise RuntimeError("a process of a bound failed")


def _in_processes(count: int, work: Callable[[], list[float]]) -> list[list[float]]:
    """What some work gives in each of several processes at the same time."""
    context = multiprocessing.get_context("fork")
    results = [context.Pipe(duplex=False) for _ in range(count)]
    processes = [context.Process(target=lambda end=end: end.send(work())) for _, end in results]
    for process in processes:
        process.start()
    matches = [receiving.recv() for receiving, _ in results]
    for process in processes:
        process.join()
    return matches


@contextmanager
def _answering() -> Iterator[socket.socket]:
    """A connection to another process, which answers what it gets from a thread of its own."""
    ours, theirs = socket.socketpair()
    process = multiprocessing.get_context("fork").Process(target=_answer, args=(theirs, ours))
    process.start()
    theirs.close()
    with ours:
        yield ours
    process.join()


def _answer(connection: socket.socket, other: socket.socket | None = None) -> None:
    if other is not None:
        other.close()
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def reply() -> None:
        while waiting.get():
            connection.sendall(_ANSWER)

    replying = threading.Thread(target=reply)
    replying.start()
    while data := connection.recv(1 << 16):
        waiting.put(data)
    waiting.put(b"")
    replying.join()


def _answer_all(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            # nobody listens any more
            return
        with connection:
            _answer(connection)


def _exchange(client: socket.socket) -> bytes:
    client.sendall(_MESSAGE)
    return client.recv(1 << 16)


def _drain(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        pass


BOUNDS: dict[str, Callable[[Limits], Samples]] = {
    "noop": Limits.exchange,
    "one": lambda limits: limits.changed(1),
    "hundred": lambda limits: limits.changed(100),
    "first-git": Limits.named,
    "first-plain": Limits.read,
    "diff": Limits.shown,
    "restore": lambda limits: limits.written(Bench.at_most(limits.counts.many, limits.files)),
    "restore-many": lambda limits: limits.written(20_000),
    "flat-2000": lambda limits: limits.written(2000),
    "flat-20000": lambda limits: limits.written(20_000),
    "export": Limits.exported,
    "review": Limits.listed,
    "review-keep": Limits.durable,
    "blame": Limits.blamed,
    "spawn": lambda limits: limits.started(_SERVING),
    "memory": Limits.loaded,
    "clients": lambda limits: limits.together[0],
    "clients-p99": lambda limits: limits.together[1],
    "hook-pair": lambda limits: limits.connected(2),
    "cli-log": Limits.connected,
    "cli-version": Limits.started,
    "step-apparent": Limits.bytes_of_one,
}
SAME = {
    "first-seeded": "first-git",
    # all has to be read where nothing can be proved; of the others, some files at most
    **{f"first-{name}": "first-plain" for name in ("loose", "racy", "autocrlf")},
    **{f"first-{name}": "first-git" for name in ("touched", "alternates", "partial", "linked", "split", "lfs")},
    "restart": "first-git",
    "diff-few": "diff",
    **dict.fromkeys(("revert", "moved"), "review-keep"),
    **{f"{row}-{peer}": row for row in ("noop", "one", "hundred") for peer in NAMES},
    **{
        f"first-{state}-{peer}": bound
        for state, bound in (("seeded", "first-git"), ("loose", "first-plain"))
        for peer in NAMES
    },
    **dict.fromkeys((f"anatomy-{part}" for part in ("refused", "diff", "track")), "noop"),
    **dict.fromkeys(("small-noop", "status", "stall", "review-file", "blame-again"), "noop"),
    **dict.fromkeys(("small-one", "step-pair", "starved", "check"), "one"),
    **dict.fromkeys(("hook-before", "hook-after", "cli-track", "cli-undo", "cli-show", "cli-status"), "cli-log"),
}
"""Rows with the bound of another one."""

"""How far one client's work holds up the others, and what a folder with very many files in one place costs."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from snapd_client import SnapdError

from benchmarks.daemon import Daemon, track
from benchmarks.edits import Editor
from benchmarks.measure import Samples, WrongResult, agree, percentile, timed
from benchmarks.results import Row
from benchmarks.trees import copy_tree, generated_tree, warm

from .tracks import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd_client import Client

    from benchmarks.bench import Bench

_WAITING = 64
_FLAT = (2_000, 20_000)
UNKNOWN: Any = "bench/unknown"
"""The daemon refuses it at once, on its event loop and nowhere else."""


def busy(bench: Bench) -> Iterator[Row]:
    """A track in one folder, while another is busy without a pause and many clients wait for that."""
    with ExitStack() as stack:
        daemon = stack.enter_context(Daemon(bench.scratch()))
        busy_tree, tree = _small_tree(bench), _small_tree(bench)
        client = stack.enter_context(daemon.connect(tree))
        editor = Editor(tree, list(client.list_files_all(track(client))))

        def edit_and_track() -> float:
            editor.edit()
            return timed(lambda: track(client))[0]

        rounds = bench.counts.repetitions * 3
        edit_and_track()
        alone = [edit_and_track() for _ in range(rounds)]
        with _restored_again_and_again(daemon, busy_tree):
            beside = [edit_and_track() for _ in range(rounds)]
        with _restored_again_and_again(daemon, busy_tree), _waiting(daemon, busy_tree):
            starved = [edit_and_track() for _ in range(rounds)]
    name = "p99 of a track while another folder is restored without a pause"
    yield Row("busy", name, "nobody else at work", _p99(beside), _p99(alone))
    yield Row(
        "starved", f"the same, and {_WAITING} clients wait for that folder", "nobody waits", _p99(starved), _p99(beside)
    )


def stall(bench: Bench) -> Iterator[Row]:
    """The event loop while folders are opened, tracked and closed."""
    slowest = []
    for _ in range(bench.counts.heavy):
        with Daemon(bench.scratch()) as daemon, daemon.connect(_small_tree(bench)) as client:
            ping = partial(be_refused, client)
            with _in_background(partial(daemon.first_track, bench.tree)) as is_done:
                taken = [timed(ping)[0]]
                while not is_done():
                    taken.append(timed(ping)[0])
            slowest.append(max(taken))
    yield Row("stall", "slowest answer of the event loop while a folder opens", "", Samples("s", tuple(slowest)))


def flat(bench: Bench) -> Iterator[Row]:
    """Bringing back all files of one directory, by `revert` and by `restore`."""
    for count in _FLAT:
        tree = os.path.join(bench.scratch(), "flat")
        os.makedirs(tree)
        names = [f"file{number:06}.txt" for number in range(count)]
        _write(tree, names, "before")
        with Daemon(bench.scratch()) as daemon, daemon.connect(tree) as client:
            target = track(client)
            ways: dict[str, Callable[[], object]] = {
                "revert": partial(client.revert, [{"hash": target, "files": names}]),
                "restore": partial(client.restore, target),
            }
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(bench.counts.heavy):
                for way, bring_back in ways.items():
                    _write(tree, names, f"{way} {number}")
                    track(client)
                    os.sync()
                    seconds[way].append(timed(bring_back)[0])
                    agree(track(client), target)
        yield Row(
            f"flat-{count}",
            f"revert of {count:,} files of one directory",
            "restore of the same files",
            Samples("s", tuple(seconds["revert"])),
            Samples("s", tuple(seconds["restore"])),
        )


def check(bench: Bench) -> Iterator[Row]:
    """A track while the whole store is checked."""
    pair = bench.pair()
    pair.track()
    with pair.daemon.connect(pair.tree) as other:
        rounds = bench.counts.repetitions

        def edit_and_track() -> float:
            pair.editor.edit()
            return timed(lambda: track(pair.client))[0]

        alone = [edit_and_track() for _ in range(rounds)]
        beside: list[float] = []
        while len(beside) < rounds:
            with _in_background(partial(_check, other)) as is_done:
                while not is_done():
                    beside.append(edit_and_track())
    pair.track()
    yield Row("check", "p99 of a track during a full check", "no check", _p99(beside), _p99(alone))


def _check(client: Client) -> None:
    problems = client.check()["problems"]
    if problems:
        raise WrongResult(f"the check of the store found {problems}")


def be_refused(client: Client) -> None:
    """Has a request be refused at once, since its method is unknown."""
    try:
        client.request(UNKNOWN, {})
    except SnapdError:
        return
    raise WrongResult(f"{UNKNOWN} was answered")


def _p99(seconds: list[float]) -> Samples:
    return Samples("s", (percentile(seconds, 99),))


def _small_tree(bench: Bench) -> str:
    tree = os.path.join(bench.scratch(), "small")
    copy_tree(generated_tree(bench.cache, SMALL), tree)
    warm(tree)
    return tree


def _write(tree: str, names: list[str], text: str) -> None:
    for name in names:
        with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
            file.write(f"{name} {text}\n")


@contextmanager
def _restored_again_and_again(daemon: Daemon, tree: str) -> Iterator[None]:
    """While this lasts, a folder is restored to one snapshot and then to the other."""
    stopping = threading.Event()
    with daemon.connect(tree) as client:
        hashes = [track(client)]
        Editor(tree, list(client.list_files_all(hashes[0]))).edit(SMALL // 2)
        hashes.append(track(client))

        def work() -> None:
            number = 0
            while not stopping.is_set():
                client.restore(hashes[number % 2])
                number += 1

        with _in_background(work):
            try:
                yield
            finally:
                stopping.set()


@contextmanager
def _waiting(daemon: Daemon, tree: str) -> Iterator[None]:
    """While this lasts, so many clients wait for their turn in a folder, and wait again when they had it."""
    stopping = threading.Event()
    with ExitStack() as stack:
        for _ in range(_WAITING):
            client = stack.enter_context(daemon.connect(tree))

            stack.enter_context(_in_background(partial(_track_until, stopping, client)))
        try:
            yield
        finally:
            stopping.set()


def _track_until(stopping: threading.Event, client: Client) -> None:
    while not stopping.is_set():
        track(client)


@contextmanager
def _in_background(work: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Does something in a thread; gives what says whether it is done, and raises what it raised."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield lambda: not thread.is_alive()
    finally:
        thread.join()
    if failed:
        raise failed[0]

"""Power losses: the store and the work tree lie on disks that are files, and these are copied while all goes on.

A copy has what was written to the disk, and nothing of what the system still held in memory: what a power cut at that
moment would leave. Copies are taken at failpoints, and every snapshot that was answered by then must be in them.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from snapd import failpoints
from snapd.gitstate import restore
from tests.support.git import run_git

from .checks import Broken, History, verify
from .forks import Say, run
from .mounts import apart, make_image, mount_image, sync
from .scenarios import Act, Scenario, bench_at

_MEGABYTES = 24
_PLACES = ("data", "work")


def copies(directory: Path, scenario: Scenario, hashes: dict[str, str], at: Iterable[int]) -> tuple[int, list[str]]:
    """Does the work of a scenario on such disks, and checks copies of them.

    Args:
        directory: a new one, for it.
        scenario: the work.
        hashes: git's own of each state.
        at: after how many failpoints a copy is taken.

    Returns:
        How many copies there were, and what does not hold.
    """
    folder = directory / "case"
    wanted = set(at)
    for place in _PLACES:
        (folder / place).mkdir(parents=True, exist_ok=True)
        make_image(str(directory / place), _MEGABYTES)

    def work(say: Say) -> None:
        apart()
        for place in _PLACES:
            mount_image(str(directory / place), str(folder / place))
        if scenario.git:
            run_git(folder / "work", "init", "-q")

        def tell(**what: object) -> None:
            if "folder" in what:
                # the user's own files are the user's to sync
                sync(str(folder / "work"))
            say(**what)

        act = Act(bench_at(folder), scenario.states, hashes, tell)
        scenario.prepare(act)
        for place in _PLACES:
            sync(str(folder / place))
        count = 0
        lock = threading.Lock()

        def listen(name: str) -> None:
            nonlocal count
            with lock:
                count += 1
                if count in wanted:
                    for place in _PLACES:
                        target = directory / f"{place}-{count}"
                        subprocess.run(["cp", "--sparse=always", str(directory / place), str(target)], check=True)
                    say(copy=count, point=name)

        failpoints.listener = listen
        try:
            scenario.work(act)
        finally:
            failpoints.listener = None

    ended = run(work)
    failures = [str(crash) for crash in ended.all("crash")]
    said: list[dict[str, object]] = []
    count = 0
    for one in ended.said:
        said.append(one)
        if "copy" in one:
            count += 1
            problem = _check(directory, one["copy"], scenario, hashes, said)
            if problem:
                failures.append(f"{scenario.name}, power lost at {one['point']} ({one['copy']}): {problem}")
    return count, failures


def _check(
    directory: Path, number: int, scenario: Scenario, hashes: dict[str, str], said: Iterable[dict[str, object]]
) -> str | None:
    history = History(scenario, said)
    folder = directory / "case"

    def check(say: Say) -> None:
        apart()
        for place in _PLACES:
            mount_image(str(directory / f"{place}-{number}"), str(folder / place))
            # of ext4 alone
            shutil.rmtree(folder / place / "lost+found", ignore_errors=True)
        # whatever is there is from before the machine started again
        restore.booted_at = lambda: time.time_ns() // 1_000_000
        try:
            verify(scenario, folder, history, hashes, say)
        except Broken as error:
            say(broken=str(error))

    ended = run(check)
    for place in _PLACES:
        (directory / f"{place}-{number}").unlink()
    return next(iter((*ended.all("crash"), *ended.all("broken"))), None)

"""`make fuzz`: looks for input that breaks something, for as long as it is told.

A quarter of the time goes to atheris, on framing, parsing and params in its own process; a quarter to hypothesis, which
asks real daemons; a quarter to remotes whose sessions are forged; and a quarter to all that reads others' text, with a
bound in time for each input. What atheris and the latter find is left in `--keep`: put it into the corpus, where every
run tries it again, or among the seeds of the parser.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import random
import subprocess
import sys
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from snapd.wire.methods import METHODS
from tests.fuzz.counting import COUNT
from tests.fuzz.hostile import Hostile, check_hostile
from tests.fuzz.parsers import check as check_read
from tests.fuzz.parsers import mutated, parsers
from tests.fuzz.properties import check_corpus, check_framing, check_notifications, check_params, check_streams
from tests.fuzz.strategies import CORPUS
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COSTLY = {"snapshot/cleanup": 2}


def main() -> int:
    """Runs, tells what was done, and gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0, help="how long in all")
    parser.add_argument("--keep", type=Path, default=None, help="where inputs are left that broke something")
    options = parser.parse_args()
    keep = options.keep or Path(tempfile.mkdtemp(prefix="snapd-fuzz-"))
    keep.mkdir(parents=True, exist_ok=True)
    failures = _covered(options.seconds / 4, keep)
    failures += _asked(time.monotonic() + options.seconds / 4)
    failures += _fetched(time.monotonic() + options.seconds / 4)
    failures += _read(time.monotonic() + options.seconds / 4, keep)
    print(f"failures: {failures}" + (f"; see above and {keep}" if failures else ""))
    return 1 if failures else 0


def _covered(seconds: float, keep: Path) -> int:
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed here: framing is left to hypothesis alone", flush=True)
        return 0
    with tempfile.TemporaryDirectory() as grown, tempfile.NamedTemporaryFile() as counter:
        counter.write(bytes(COUNT.size))
        counter.flush()
        seeds = Path(grown) / "seeds"
        seeds.mkdir()
        for path in CORPUS.iterdir():
            # 0 and 1: as a stream, and as a message
            data = path.read_bytes()
            for how in (0, 1, 2):
                (seeds / f"{path.name}-{how}").write_bytes(bytes([how]) + data)
        arguments = [f"-max_total_time={max(1, int(seconds))}", "-max_len=4096", "-verbosity=0", "-timeout=20"]
        command = [sys.executable, "-m", "tests.fuzz.covered", counter.name, *arguments, f"-artifact_prefix={keep}/"]
        done = subprocess.run([*command, grown, str(seeds)], capture_output=True, text=True, check=False)
        inputs, frames = COUNT.unpack(Path(counter.name).read_bytes())
        found = sum(1 for path in Path(grown).iterdir() if path.is_file())
    print(f"atheris: {inputs} inputs, {frames} frames, {found} inputs that reached something new", flush=True)
    if done.returncode:
        print(done.stdout + done.stderr)
    return int(done.returncode != 0)


def _asked(until: float) -> int:
    daemons = frames = failures = 0
    while time.monotonic() < until:
        # one history that grows without end would be all that is measured
        target = Target()
        daemons += 1
        for check in _checks(target):
            if time.monotonic() > until:
                break
            try:
                frames += check() or 0
            except Exception:
                failures += 1
                traceback.print_exc()
                target.reconnect()
        frames += target.frames
        try:
            target.close()
        except AssertionError:
            failures += 1
            traceback.print_exc()
    print(f"hypothesis: {frames} frames, {daemons} daemons", flush=True)
    return failures


def _fetched(until: float) -> int:
    fetched = refused = failures = 0
    while time.monotonic() < until:
        # each fetch leaves something that all later ones read
        hostile = Hostile()
        try:
            check_hostile(hostile, 40, random=True)
        except Exception:
            failures += 1
            traceback.print_exc()
        fetched += hostile.fetched
        refused += hostile.refused
        try:
            hostile.close()
        except AssertionError:
            failures += 1
            traceback.print_exc()
    print(f"forged: {fetched} fetches, {refused} of them refused", flush=True)
    return failures


def _read(until: float, keep: Path) -> int:
    # a parser says of many inputs that it ignores them
    logging.disable()
    chance = random.Random()
    folder = tempfile.TemporaryDirectory()
    found = parsers(Path(folder.name))
    inputs = failures = 0
    slowest = (0.0, "")
    while time.monotonic() < until:
        name, parser = chance.choice(list(found.items()))
        data = mutated(parser.seeds, chance, chance.choice([100, 1 << 12, 1 << 16, 1 << 20]))
        inputs += 1
        try:
            slowest = max(slowest, (check_read(parser, data), name))
        except AssertionError:
            failures += 1
            (keep / f"{name.replace('/', '-')}-{inputs}").write_bytes(data)
            traceback.print_exc()
    folder.cleanup()
    logging.disable(logging.NOTSET)
    print(f"parsers: {inputs} inputs of {len(found)} kinds, the slowest {slowest[0]:.2f} s ({slowest[1]})", flush=True)
    return failures


def _checks(target: Target) -> Iterator[Callable[[], int | None]]:
    yield partial(check_corpus, target)
    yield partial(check_framing, 300, random=True)
    yield partial(check_streams, target, 150, random=True)
    yield partial(check_notifications, target, 100, random=True)
    for method in METHODS:
        yield partial(check_params, target, method, _COSTLY.get(method, 40), random=True)


if __name__ == "__main__":
    sys.exit(main())

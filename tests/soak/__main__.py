"""`python -m tests.soak --minutes N --seed S`: see `make soak`. The figures come last; a failure keeps its folder."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

from .client import Tape
from .histories import histories
from .soak import Soak
from .wired import wired


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--seed", type=int, help="of all that is chosen (default: a new one)")
    parser.add_argument("--kill-every", type=int, default=12, help="rounds between kills, on average (default: 12)")
    parser.add_argument("--verify-every", type=int, default=5, help="rounds between looks at the store (default: 5)")
    options = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    # a socket's path is short, and the folder must not lie in anybody's home
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir="/tmp")).resolve()
    os.umask(0o022)
    soak = Soak(folder / "crowd", seed, options.kill_every, options.verify_every)
    tape = Tape(soak.figures)

    async def run() -> None:
        crowd = soak.run(options.minutes)
        told = histories(folder / "histories", seed, options.minutes, 1, tape)
        hooks = wired(folder / "wired", seed, options.minutes, 1, tape)
        await first_failure([asyncio.ensure_future(each) for each in (crowd, told, hooks)])

    print(f"seed {seed}, in {folder}", flush=True)
    try:
        asyncio.run(run())
    except (Exception, KeyboardInterrupt):
        # whatever it was, or whoever lost patience: these are what finds it again
        for each in (soak.diary, tape.diary):
            print(each.last())
        traceback.print_exc(file=sys.stdout)
        print(soak.figures.table())
        print(f"FAILED with seed {seed}; {folder} is kept")
        return 1
    print(soak.figures.table())
    print(f"clean, with seed {seed}")
    shutil.rmtree(os.fsencode(folder))
    return 0


async def first_failure(tasks: list[asyncio.Future[None]]) -> None:
    """Waits for all; where one fails, the others are stopped, and clean up, before its error is raised."""
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()


if __name__ == "__main__":
    sys.exit(main())

"""Drives the same histories against the daemons of two checkouts, and compares all that they say and leave behind.

A difference prints the seed, the number of the operation and both answers, and keeps the folders.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import random
import shutil
import sys
import time
from collections import Counter, deque
from collections.abc import Collection
from pathlib import Path
from random import Random

import attrs

from tests.support.places import make_folder

from .history import History, Operation
from .side import EPOCH, Clock, Side, parsed

ROOT = Path(__file__).resolve().parents[2]
_LAST = 25
_OF_LOOKS = ("snapshot/status.files", "snapshot/status.ignored", "step/end.ignored")
"""Where files are watched, and once somebody reviews, the daemon also looks between requests, or during one."""
_OF_KILLS = ("*.uncaptured",)
"""What a killed daemon had noticed of files that no snapshot has depends on when it last saved what it saw."""
_OF_REVIEWS = (
    "git.refs",
    "git.objects",
    "git.commits",
    "snapshot/check.snapshots",
    "snapshot/cleanup.removed",
    "snapshot/purge.snapshots",
)
"""Once somebody reviews, it also records what it sees then."""


class Differs(Exception):
    """The two daemons differ."""


@attrs.define
class Figures:
    """What was compared."""

    histories: int = 0
    operations: int = 0
    errors: Counter[str] = attrs.field(factory=Counter)
    notifications: int = 0
    looks_at_git: int = 0
    methods: Counter[str] = attrs.field(factory=Counter)


@attrs.define
class Pair:
    """Both sides of a run.

    Args:
        git_every: operations from one look at the stores to the next.
        ignored: what is not compared.
    """

    old: Side
    new: Side
    clock: Clock
    git_every: int
    ignored: Collection[str]
    about: str = ""
    figures: Figures = attrs.field(factory=Figures)
    last: deque[str] = attrs.field(factory=lambda: deque(maxlen=_LAST))

    async def go(self, seed: str, number: int, count: int, kills: bool) -> None:
        """One history; raises `Differs`."""
        sides = (self.old, self.new)
        dice = Random(f"{seed}/{number}")
        self.last.clear()
        self.clock.set(EPOCH)
        is_git, watcher, reviews = dice.random() < 0.5, dice.choice(["auto", "none"]), dice.random() < 0.3
        self.about = f"watcher {watcher}{', in git' * is_git}{', with reviews' * reviews}"
        ignored = {
            *self.ignored,
            *_OF_KILLS,
            *(_OF_LOOKS if watcher == "auto" or reviews else ()),
            *(_OF_REVIEWS if reviews else ()),
        }
        beginning = f"{seed}/{number}"
        await asyncio.gather(
            *(side.begin(f"h{number}", {"watcher": watcher}, ignored, is_git, Random(beginning)) for side in sides)
        )
        history = History(dice, kills, reviews)
        for at, operation in enumerate(history.operations(count)):
            self.last.append(f"{at}: {operation}")
            self.clock.set(self.clock.now + operation.later)
            told = await asyncio.gather(*(perform(side, operation) for side in sides))
            self._same("the answers", *told)
            heard = await asyncio.gather(*(side.told() for side in sides))
            self._same("the notifications", *heard)
            self.figures.notifications += len(heard[0].splitlines())
            files = [side.files() for side in sides]
            self._same("the folders", *files)
            self.figures.operations += 1
            self.figures.methods[operation.method or operation.kind] += 1
            if at % self.git_every == self.git_every - 1:
                await self._look_at_git()
            if operation.kind == "request":
                answer = parsed(told[0])
                error = answer.get("error")
                if error is not None:
                    self.figures.errors[error.get("data", {}).get("kind", str(error["code"]))] += 1
                history.learn(operation, answer)
            else:
                history.see(files[0])
        await self._look_at_git()
        await asyncio.gather(*(side.end() for side in sides))
        self.figures.histories += 1

    async def _look_at_git(self) -> None:
        self._same("the stores", *await asyncio.gather(*(asyncio.to_thread(side.git) for side in (self.old, self.new))))
        self.figures.looks_at_git += 1

    def _same(self, what: str, old: str, new: str) -> None:
        if old != new:
            lines = difflib.unified_diff(_lines(old), _lines(new), "old", "new", lineterm="", n=3)
            raise Differs(f"{what} differ:\n" + "\n".join(lines))


def _lines(text: str) -> list[str]:
    """Text in pieces that a person can compare."""
    return text.replace(', "', ',\n"').replace("{", "{\n").splitlines()


async def perform(side: Side, operation: Operation) -> str:
    """Does an operation on one side; gives what came of it."""
    dice = Random(operation.seed)
    if operation.kind == "request":
        return await side.ask(operation.who, operation.method, operation.params)
    if operation.kind == "edit":
        return ", ".join(side.edit(dice) for _ in range(dice.randint(1, 3)))
    if operation.kind == "hang up":
        return await side.hang_up(operation.who)
    return await (side.reopen() if operation.kind == "reopen" else side.kill())


async def compare(
    top: Path,
    old: Path,
    new: Path,
    histories: int,
    operations: int,
    seed: str,
    ignored: Collection[str] = (),
    git_every: int = 10,
    first: int = 0,
    kills: bool = True,
) -> Figures:
    """Compares two checkouts.

    Raises:
        Differs: they differ; the message says where.
    """
    clock = Clock(top / "clock")
    pair = Pair(Side(top, "old", old, clock), Side(top, "new", new, clock), clock, git_every, ignored)
    daemons = [side.daemon for side in (pair.old, pair.new)]
    number = first
    try:
        await asyncio.gather(*(daemon.start() for daemon in daemons))
        for number in range(first, first + histories):
            await pair.go(seed, number, operations, kills)
        for daemon in daemons:
            await daemon.stop()
            daemon.check_log()
    except BaseException as error:
        await asyncio.gather(*(side.abandon() for side in (pair.old, pair.new)))
        if not isinstance(error, Exception):
            raise
        before = "\n".join(pair.last)
        where = f"seed {seed}, history {number} ({pair.about}): --first {number} --histories 1 finds it again"
        raise Differs(f"{before}\n{where}\n{type(error).__name__}: {error}") from error
    return pair.figures


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.equivalence", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the other checkout, with its own .venv")
    parser.add_argument("--new", type=Path, default=ROOT, help="the checkout that is compared (default: this one)")
    parser.add_argument("--histories", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--operations", type=int, default=100, help="in each of them (default: 100)")
    parser.add_argument("--seed", help="of all that is chosen (default: a new one)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first history (default: 0)")
    parser.add_argument(
        "--git-every", type=int, default=10, help="operations between looks at the stores (default: 10)"
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        help="what is not compared: method.field, git.refs, git.commits, git.objects",
    )
    options = parser.parse_args()
    seed = options.seed or f"{random.SystemRandom().getrandbits(32)}"
    os.umask(0o022)
    top = make_folder("equiv-")
    begun = time.monotonic()
    try:
        figures = asyncio.run(
            compare(
                top,
                options.old.resolve(),
                options.new.resolve(),
                options.histories,
                options.operations,
                seed,
                options.ignore,
                options.git_every,
                options.first,
            )
        )
    except Differs as differs:
        print(f"{differs}\nFAILED with seed {seed}; {top} is kept")
        return 1
    shutil.rmtree(os.fsencode(top))
    for field in attrs.fields(Figures):
        print(f"{field.name}: {getattr(figures, field.name)}")
    print(f"the same, with seed {seed}, in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

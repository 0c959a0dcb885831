"""Random bursts of edits, each followed at once by a snapshot that is held against the oracle.

`python -m tests.worktree.snapshot.bursts ROUNDS [SEED]` runs many more than the suite does.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import attrs

from snapd.core.feed import TrackNotice
from snapd.model.call import Call
from snapd.model.errors import Cancelled, PathOutsideWorkspace, SnapdError
from snapd.model.snapshot import CaptureSettings, DriftQuery
from snapd.watch import inotify_clock
from snapd.watch.queues import OVERFLOW, Event, Fanotify, Inotify
from snapd.worktree.snapshot import walker
from snapd.worktree.snapshot.walker import ListerPool
from tests.support.git import run_git
from tests.support.workspace import close_all, make
from tests.worktree.changes import stored_files
from tests.worktree.edits import Editor, OtherProcess
from tests.worktree.oracle import Oracle

Watcher = Literal["auto", "watchdog", "none"]
Step = tuple[Any, ...]
"""What happens, and to what: `("edit", process, name, arguments...)`, or something that the engine does itself."""
Burst = list[Step]

_DIRECTORIES = (b"d", b"e", b"d/d", b"d/e", b"e/d", b"e/build", b"build", b"build/sub", b"d/d/d", b"n\xff")
_NAMES = (b"a", b"b", b"c.log", b"keep.log", b"out", b"\xfe\n", b"x y", b".gitattributes")
_PATTERNS = (b"*.log", b"!keep.log", b"build", b"build/", b"/out", b"out", b"d/", b"/d/e", b"!a", b"*", b"# none", b"")
_SIZES = (0, 1, 1, 7, 7, 7, 300, 5000, 20_001)
_LIMIT = 20_000
_EMPTY_BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
_EXCLUDES: tuple[tuple[str, ...], ...] = ((), (), ("out",), ("*.log",), ("b", "/e/d"))


@attrs.frozen
class Case:
    """How bursts are run.

    Attributes:
        watcher: the clock that is asked for.
        overflow: how likely it is that the queue overflowed, each time that it is read.
        watches: the user's watches run out after at most so many.
        again: it is tried again at once when they have.
        inodes: the system may say which files were written to.
        helpers: processes list directories, and now and then one of them dies.
        git: the workspace is a git work tree, and its index changes.
    """

    watcher: Watcher = "auto"
    overflow: float = 0.0
    watches: int | None = None
    again: bool = False
    inodes: bool = True
    helpers: bool = False
    git: bool = False


CASES = {
    "inotify": Case(),
    "inotify, git": Case(git=True),
    "overflow": Case(overflow=0.4),
    "few watches": Case(watches=25),
    "few watches, tried again": Case(watches=25, again=True),
    "names alone": Case(inodes=False),
    "helpers": Case(helpers=True),
    "helpers, overflow": Case(overflow=0.4, helpers=True),
    "helpers, few watches, git": Case(watches=25, again=True, helpers=True, git=True),
    "helpers, no watcher, git": Case("none", helpers=True, git=True),
    "no watcher": Case("none"),
    "watchdog": Case("watchdog"),
}


@contextmanager
def faults(case: Case, dice: random.Random) -> Iterator[None]:
    """What goes wrong in a case, for as long as this lasts."""
    with ExitStack() as stack:

        def patch(target: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(target, name, value))

        read, add, answers = Inotify.read, Inotify.add, ListerPool.answers

        def overflowing(self: Inotify) -> Iterator[Event]:
            events = list(read(self))
            if events and dice.random() < case.overflow:
                # the kernel keeps what it had queued, and drops what came after
                yield from events[: dice.randrange(len(events))]
                yield Event(-1, OVERFLOW, b"")
            else:
                yield from events

        def limited(self: Inotify, directory: int) -> int:
            if case.watches is not None and dice.randrange(case.watches) == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return add(self, directory)

        def forbidden(*_: object) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        def dying(self: ListerPool[Any], seconds: float) -> Iterator[Any]:
            if dice.random() < 0.2:
                os.kill(dice.choice(self.pids), signal.SIGKILL)
            return answers(self, seconds)

        if case.overflow:
            patch(Inotify, "read", overflowing)
        if case.watches is not None:
            patch(Inotify, "add", limited)
        if case.again:
            patch(inotify_clock, "SHORTEST_PAUSE", 0.0)
        if not case.inodes:
            patch(Fanotify, "__init__", forbidden)
        if case.helpers:
            patch(walker, "LISTER_FROM", 2)
            patch(ListerPool, "answers", dying)
        yield


class Generator:
    """Thinks of bursts for what is in a folder."""

    def __init__(self, case: Case, seed: int, root: Path) -> None:
        self.dice = random.Random(seed)
        self._case = case
        self._root = os.fsencode(root)
        path, file, directory = self._path, self._file, self._directory
        data, byte, pick = self._data, self._byte, self._one_of
        self._edits: list[Step] = [
            ("write", path, data),
            ("write", file, data),
            ("save", file, data),
            ("nested", self._deep_file, data),
            ("disguise", file, byte),
            ("disguise", file, byte),
            ("recreate", file, byte),
            ("renew", directory, pick(_NAMES), data),
            ("touch", file, pick((0, 10**18, 10**18 + 1))),
            ("mkdir", directory),
            ("mkdir", directory),
            ("remove", file),
            ("remove", directory),
            ("rename", file, path),
            ("rename", path, path),
            ("rename", directory, directory),
            ("rename", directory, directory),
            ("away_and_back", directory, data),
            ("away_and_back", file, data),
            ("swap", directory, directory),
            ("swap", file, file),
            ("chmod", file, pick((0o644, 0o755, 0o600))),
            ("chmod", directory, pick((0o755, 0o700))),
            ("symlink", pick((b"a", b"..", b"d")), self._path_or_directory),
            ("link", file, path),
            ("link", file, path),
            ("fifo", path),
            ("append", file, data),
            ("append", file, data),
            ("map", file, byte),
            ("map", file, byte),
            ("write", self._rules, self._patterns),
            ("write", self._rules, self._patterns),
            ("save", self._rules, self._patterns),
            ("remove", self._rules),
            ("symlink", pick((b"a",)), self._rules),
            ("mkdir", self._rules),
        ]
        """The edits, with functions that make their arguments."""

    def burst(self) -> Burst:
        """What happens between two snapshots."""
        dice = self.dice
        steps = [self.edit_step() for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 5, 12)))]
        if dice.random() < 0.3:
            steps.insert(dice.randrange(len(steps) + 1), self._event())
        return steps

    def _event(self) -> Step:
        dice = self.dice
        kinds = ["drift"] * 6 + ["during"] * 6 + ["cancel"] * 3 + ["reopen", "reopen", "fail", "cleanup", "settings"]
        kind = dice.choice(kinds + ["forced"] * 2 + ["index"] * (3 if self._case.git else 0))
        if kind == "cancel":
            return kind, dice.randrange(12)
        if kind == "settings":
            return kind, dice.choice(_EXCLUDES), dice.choice((_LIMIT, _LIMIT, 6, 20_001))
        if kind == "forced":
            return kind, tuple(self._path() for _ in range(dice.choice((0, 0, 1, 2))))
        if kind == "index":
            return kind, dice.choice(("add", "add", "remove")), self._file()
        if kind == "during":
            return kind, dice.randrange(12), self.edit_step()
        return (kind,)

    def edit_step(self) -> Step:
        # what is out of reach of the clocks: a mapping that is written to and not let go of, see `Run.edit`
        name, *arguments = self.dice.choice(self._edits)
        return ("edit", self.dice.random() < 0.3, name, *(make() for make in arguments))

    def _one_of(self, values: tuple[Any, ...]) -> Callable[[], Any]:
        return lambda: self.dice.choice(values)

    def _byte(self) -> int:
        return self.dice.randrange(256)

    def _data(self) -> bytes:
        return bytes((self._byte(),)) * self.dice.choice(_SIZES)

    def _deep_file(self) -> bytes:
        return self._directory() + b"/%d/f/g" % self.dice.randrange(3)

    def _path_or_directory(self) -> bytes:
        return self.dice.choice((self._path, self._directory))()

    def _patterns(self) -> bytes:
        return b"\n".join(self.dice.choice(_PATTERNS) for _ in range(self.dice.randrange(4)))

    def _rules(self) -> bytes:
        above = self.dice.choice((b"", b"", self._directory() + b"/"))
        return above + b".gitignore"

    def _path(self) -> bytes:
        return self.dice.choice((b"", self._directory() + b"/", self._directory() + b"/")) + self.dice.choice(_NAMES)

    def _directory(self) -> bytes:
        return self.dice.choice(_DIRECTORIES)

    def _file(self) -> bytes:
        """One that is there, most of the time."""
        for _ in range(6):
            path = self._path()
            if os.path.isfile(os.path.join(self._root, path)):
                break
        return path


class Run:
    """A workspace that bursts happen to."""

    def __init__(self, case: Case, folder: Path, seed: int) -> None:
        self._case = case
        self._dice = random.Random(seed + 1)
        (folder / "outside").mkdir()
        (folder / "work").mkdir()
        if case.git:
            run_git(folder / "work", "init", "-q")
        self.bench = make(folder, inside="", watcher=case.watcher)
        # a machine without a queue left would have us test something else
        expected = {"auto": "inotify"}.get(case.watcher, case.watcher)
        assert self.bench.workspace.work_tree.clock.kind == expected
        self._settings = CaptureSettings(exclude=(), max_file_size=_LIMIT)
        self._forced: tuple[bytes, ...] = ()
        self._tracked: frozenset[bytes] = frozenset()
        self._editors = Editor(str(self.bench.root)), OtherProcess(str(self.bench.root))
        self.checked = 0

    def close(self) -> None:
        """Ends it."""
        for editor in self._editors:
            editor.close()
        self.bench.close()

    def play(self, burst: Burst) -> str | None:
        """Makes a burst happen and takes a snapshot; says what is wrong with that."""
        for step in burst:
            trouble = self._step(*step)
            if trouble is not None:
                return trouble
        self._unmap()
        return self._check()

    def _unmap(self) -> None:
        """Completes what was written through mappings: an event comes when the mapping goes."""
        for editor in self._editors:
            editor.make(("unmap_all",))

    def _track(self, call: Call | None = None) -> TrackNotice:
        try:
            return self.bench.workspace.snapshots.track(self._forced, call or Call())
        except PathOutsideWorkspace:
            # one of them leads through a symlink by now
            self._forced = ()
            return self.bench.workspace.snapshots.track((), call or Call())

    def oracle(self, also: tuple[bytes, ...] = ()) -> Oracle:
        """The workspace as it is; `also` names what is captured although it is ignored."""
        return Oracle(
            self.bench.root,
            self._settings.max_file_size,
            tuple(os.fsencode(pattern) for pattern in self._settings.exclude),
            self._tracked,
            (*self._forced, *also),
        )

    def _check(self) -> str | None:
        self.bench.configure(*self._settings.exclude, max_file_size=self._settings.max_file_size)
        tracked = self._track()
        self.checked += 1
        oracle = self.oracle()
        if tracked.tree != oracle.tree():
            held = stored_files(self.bench, tracked.tree)
            # rules that hide themselves stay in snapshots that had them: nobody could take them back otherwise
            hidden = tuple(path for path in held.keys() - oracle.files.keys() if path.endswith(b".gitignore"))
            oracle = self.oracle(hidden)
            if tracked.tree != oracle.tree():
                return self._difference(tracked.tree, oracle)
        # such a file may be too large by now
        skipped = {(skip.path, skip.reason.value) for skip in tracked.skipped} ^ oracle.skipped
        if any(path in oracle.files or not path.endswith(b".gitignore") for path, _ in skipped):
            return f"skipped {skipped}"
        return None

    def _difference(self, tree: bytes, oracle: Oracle) -> str:
        held = stored_files(self.bench, tree)
        differing = {
            path: f"{held.get(path)!r} instead of {oracle.files.get(path)!r}"
            for path in sorted({*held, *oracle.files})
            if held.get(path) != oracle.files.get(path)
        }
        return f"{differing}\nforced {self._forced} tracked {self._tracked}"

    def _step(self, kind: str, *arguments: Any) -> str | None:
        if kind == "edit":
            self.edit(*arguments)
            return None
        if kind == "settings":
            exclude, limit = arguments
            self._settings = CaptureSettings(exclude=exclude, max_file_size=limit)
            return None
        if kind == "forced":
            (self._forced,) = arguments
            return None
        result: str | None = getattr(self, f"_{kind}")(*arguments)
        return result

    def edit(self, other: bool, *edit: Any) -> None:
        """Makes an edit."""
        self._editors[other].make(edit)

    def _drift(self) -> None:
        self.bench.configure(*self._settings.exclude, max_file_size=self._settings.max_file_size)
        work_tree = self.bench.workspace.work_tree
        if work_tree.scanner.stored_tree is not None:
            store = self.bench.workspace.store
            work_tree.drift(
                DriftQuery(work_tree.scanner.stored_tree, store.read_tree, self._settings, (), 5, 1000), Call()
            )

    def _reopen(self) -> None:
        self.bench.reopen()

    def _cleanup(self) -> None:
        self.bench.workspace.upkeep.cleanup(0, Call())

    def _index(self, how: str, path: bytes) -> None:
        # nothing of the folder is read: git would wait for ever for a FIFO named `.gitattributes`
        change: list[str | bytes] = ["--add", "--cacheinfo", b"100644,%s,%s" % (_EMPTY_BLOB, path)]
        if how == "remove":
            change = ["--force-remove", "--", path]
        elif any(path.startswith(held + b"/") or held.startswith(path + b"/") for held in self._tracked):
            return
        run_git(self.bench.root, "update-index", *change)
        self._tracked = frozenset(run_git(self.bench.root, "ls-files", "-z").split(b"\0")[:-1])

    def _cancel(self, after: int) -> None:
        def report(message: str, done: int, total: int | None) -> None:
            nonlocal after
            after -= 1
            if after < 0:
                call.cancel()

        call = Call(report)
        self.bench.configure(*self._settings.exclude, max_file_size=self._settings.max_file_size)
        try:
            self._track(call)
        except Cancelled:
            return

    def _fail(self) -> None:
        def failing(*_: Any) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        batch = type(self.bench.workspace.store.batch())
        with mock.patch.object(batch, "commit", failing):
            try:
                self._track()
            except (OSError, SnapdError):
                return

    def _during(self, after: int, edit: Step) -> str | None:
        """Something happens while a snapshot is taken: what was complete before, and is there after, is in it."""
        left = after
        opening = os.open

        def busy(*arguments: Any, **options: Any) -> int:
            nonlocal left
            left -= 1
            if left == 0:
                self._step(*edit)
            return opening(*arguments, **options)

        self._unmap()
        before = self.oracle()
        before.tree()
        self.bench.configure(*self._settings.exclude, max_file_size=self._settings.max_file_size)
        with mock.patch.object(os, "open", busy):
            tracked = self._track()
        after_all = self.oracle()
        after_all.tree()
        held = set(stored_files(self.bench, tracked.tree).values())
        lost = {before.files[path] for path in before.files} & set(after_all.files.values()) - held
        exact = self.bench.workspace.work_tree.clock.kind == "inotify"
        return f"lost {lost}" if lost and exact and b".gitignore" not in repr(edit).encode() else None


def play(case: Case, seed: int, rounds: int, folder: Path) -> tuple[list[Burst], str | None]:
    """Makes random bursts happen.

    Returns:
        What happened, and what was wrong after the last of it.
    """
    folder.mkdir()
    history: list[Burst] = []
    generator = Generator(case, seed, folder / "work")
    with faults(case, random.Random(seed + 2)):
        run = Run(case, folder, seed)
        try:
            for _ in range(rounds):
                history.append(generator.burst())
                trouble = run.play(history[-1])
                if trouble is not None:
                    return history, trouble
        except Exception:
            return history, traceback.format_exc()
        finally:
            run.close()
    return history, None


def replay(case: Case, seed: int, history: list[Burst], folder: Path) -> str | None:
    """Makes bursts happen again."""
    folder.mkdir()
    with faults(case, random.Random(seed + 2)):
        run = Run(case, folder, seed)
        try:
            return next((trouble for burst in history if (trouble := run.play(burst)) is not None), None)
        finally:
            run.close()


def shrunk(case: Case, seed: int, history: list[Burst], folder: Path, tries: int = 80) -> tuple[list[Burst], str]:
    """Fewer bursts, and smaller ones, that still show what is wrong; with what that is."""
    trouble = ""

    def fails(candidate: list[Burst]) -> bool:
        nonlocal tries, trouble
        if tries <= 0:
            return False
        tries -= 1
        shutil.rmtree(folder, ignore_errors=True)
        try:
            found = replay(case, seed, candidate, folder)
        except Exception as error:
            found = repr(error)
            close_all()
        trouble = found or trouble
        return found is not None

    size = max(1, len(history) // 2)
    while size:
        at = 0
        while at < len(history):
            candidate = history[:at] + history[at + size :]
            if fails(candidate):
                history = candidate
            else:
                at += size
        size //= 2
    for at in range(len(history)):
        index = 0
        while index < len(history[at]):
            candidate = [*history[:at], history[at][:index] + history[at][index + 1 :], *history[at + 1 :]]
            if fails(candidate):
                history = candidate
            else:
                index += 1
    return history, trouble


def explain(case: Case, seed: int, history: list[Burst], trouble: str, folder: Path) -> str:
    """What to show for a failure."""
    fewer, last = shrunk(case, seed, history, folder)
    lines = [f"{case}, seed {seed}, burst {len(history)}: {trouble}", f"fewer: {last}"]
    lines += [f"  {burst!r}," for burst in fewer]
    return "\n".join(lines)


def _main(rounds: int, seed: int, names: list[str]) -> int:
    done = 0
    failures = 0
    while done < rounds:
        for name, case in CASES.items():
            if names and name not in names:
                continue
            with tempfile.TemporaryDirectory(prefix="snapd-bursts-") as scratch:
                history: list[Burst] = []
                try:
                    history, trouble = play(case, seed, 100, Path(scratch, "run"))
                finally:
                    close_all()
                done += len(history)
                if trouble is not None:
                    failures += 1
                    print(f"== {name}, seed {seed}, burst {len(history)}: {trouble}", flush=True)
                    print(f"== {name}\n{explain(case, seed, history, trouble, Path(scratch, 'again'))}", flush=True)
        seed += 1
    print(f"{done} bursts, {failures} failures, seeds to {seed}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(_main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000, sys.argv[3:]))

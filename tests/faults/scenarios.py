"""What is under way when something goes wrong: states of a folder as dicts, and work that leads from one to another.

The work says what it does: `folder` when it wrote files itself, `doing` before it asks for a change of the folder, and
`ack` for every snapshot that was answered. `gone` names a state whose snapshots may be others from then on.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.core.review.choice import Choice
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot
from snapd.model.snapshot import Outcome
from snapd.sharing.handover import HandoverOptions
from snapd.store import adopt
from snapd.store import object_store as batch
from snapd.store.journal import journal
from snapd.store.maintenance import scheduler
from snapd.worktree.apply import directories, files
from snapd.worktree.snapshot import reader as reading
from tests.support.git import run_git
from tests.support.secrets import check_gone
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Executable, Items, Symlink, make, read

from .forks import Say
from .inject import Fault

SESSION = "s"
HANDED = "handed"
_DAYS = 3 * 86400 * 10**9
_NOT_DONE = ("conflict", "kept", "skipped", "failed")


def _settled() -> bool:
    """Waits until no journal is being settled, and gives whether one was."""
    settling = [thread for thread in threading.enumerate() if thread.name == "snapd journal"]
    for thread in settling:
        thread.join()
    return bool(settling)


class Act:
    """A workspace at which a scenario works, and what it says of that.

    Args:
        bench: the workspace, not open.
        states: of the scenario.
        hashes: git's own of each of these states.
        say: told of everything.

    Attributes:
        quiet: waits for other clients, and gives whether there were any.
        again: whether something failed before.
    """

    def __init__(self, bench: Bench, states: Mapping[str, Items], hashes: Mapping[str, str], say: Say) -> None:
        self.bench = bench
        self.states = states
        self.say = say
        self.agents = Agents(bench)
        self.quiet: Callable[[], bool] = lambda: False
        self.again = False
        self._hashes = hashes

    def hash(self, state: str) -> bytes:
        return bytes.fromhex(self._hashes[state])

    def open(self) -> None:
        """Opens it; after an error of something else it is open still, as in a daemon that lives on."""
        if not self.bench.is_open:
            self.bench.open()

    def settle(self) -> None:
        """Has what failed halfway be ended, where this is another attempt: what is to be done next depends on that."""
        if self.again:
            self.bench.take()

    def become(self, state: str) -> None:
        """The user writes, when nobody else is looking, nor anything is killed: that would end the user as well."""
        # another client may come while the journal is settled, and its snapshot has the journal settled once more
        while self.quiet() or _settled():
            pass
        self.bench.become(self.states[state])
        self.say(folder=state)

    def track(self, state: str) -> str:
        tree = self.bench.track().hex()
        self.say(ack=[tree, state])
        return tree

    def step(self, state: str, work: Callable[[], None] = lambda: None) -> str:
        """An agent's step that leads to a state, and does something more."""
        step = self.agents.begin(SESSION)
        self.become(state)
        work()
        ended = self.agents.end(step)
        assert ended.step.to is not None
        self.say(ack=[ended.step.to.tree.hex(), state], step=step)
        return step

    def change(self, old: str, new: str, work: Callable[[], Any]) -> None:
        """Something that changes the folder, all of it or nothing."""
        self.say(doing=[old, new])
        outcome = work()
        left = [os.fsdecode(file.path) for file in outcome.files if file.outcome in _NOT_DONE]
        if left:
            self.say(left=left)
        else:
            self.say(folder=new)


@attrs.frozen
class Scenario:
    """One kind of work.

    Attributes:
        name: of it.
        states: by name, what the folder has.
        prepare: makes what it begins with; nothing goes wrong there.
        work: what is under way. It opens the workspace itself, and is begun again after an error.
        killed: of the name of another scenario, whose work was killed at a failpoint before.
        git: whether the folder is a git project.
        small: constants of snapd that are small for it, so that what is rare happens.
        after: what more must hold in the end, of the workspace, open.
        moves: whether a file that moves is to be there at any moment, under the one name or the other.
    """

    name: str
    states: Mapping[str, Items]
    prepare: Callable[[Act], None]
    work: Callable[[Act], None]
    git: bool = False
    killed: tuple[str, Fault] | None = None
    small: Mapping[tuple[Any, str], Any] = attrs.field(factory=dict)
    after: Callable[[Act], None] = lambda _: None
    moves: bool = False


def bytes_of(seed: int, size: int) -> bytes:
    """Bytes that do not compress."""
    return random.Random(seed).randbytes(size)


def lines(seed: int, count: int = 20) -> bytes:
    return b"".join(b"line %d of %d\n" % (number, seed) for number in range(count))


FIRST: Items = {
    "a.txt": lines(1),
    "run": Executable(b"#!/bin/sh\n"),
    "link": Symlink(b"a.txt"),
    "sub/b.txt": lines(2),
    "sub/deep/c.bin": bytes_of(3, 3000),
    "empty/": None,
    "gone/x": b"x\n",
    "gone/y": b"y\n",
    "mover/here": lines(9),
    "folder/one": lines(10),
    "folder/deep/two": lines(11),
}
SECOND: Items = {
    "a.txt": lines(4),
    "run": b"#!/bin/sh\nno more\n",
    "link": Symlink(b"sub/b.txt"),
    "sub/b.txt": lines(2),
    "sub/deep/c.bin": bytes_of(5, 3000),
    "new/one/d.txt": lines(6),
    "new/e.txt": b"",
    "gone": b"a file now\n",
    "moved": lines(9),
    "new/place/one": lines(10),
    "new/place/deep/two": lines(11),
}
THIRD: Items = {**SECOND, "a.txt": lines(7), "mine.txt": b"the user's own\n"}
MANY: Items = {**FIRST, **{f"many/{number % 3}/{number}": b"%d\n" % number for number in range(40)}}
LARGE: Items = {**FIRST, "large": bytes_of(8, 300_000)}

_ONE_THREAD = {(files, "PARALLEL_FROM"): 1000}
_SMALL_JOURNAL = {(journal, "FILE_FRAMES"): 2}


# -- track


def _prepare_one(act: Act) -> None:
    act.open()
    act.become("first")
    act.track("first")
    act.bench.close()


def _track(act: Act) -> None:
    act.open()
    for state in ("second", "many", "large", "third"):
        act.become(state)
        act.track(state)
    act.bench.close()


def _nothing(act: Act) -> None:
    act.become("first")


def _first_track(act: Act) -> None:
    act.open()
    act.track("first")
    act.bench.close()


def _project(act: Act) -> None:
    """A git project with a pack and with loose objects, and with something that is not in it."""
    folder = act.bench.folder / "work"
    act.become("many")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-q", "-m", "one")
    run_git(folder, "gc", "-q")
    act.become("second")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-q", "-m", "two")
    # what git looked at in the same tick as it wrote its index is believed by nobody
    changed = time.time_ns()
    probe = act.bench.folder / "probe"
    while not probe.exists() or probe.stat().st_ctime_ns <= changed:
        probe.unlink(missing_ok=True)
        probe.touch()
    (folder / ".git" / "index").unlink()
    run_git(folder, "reset", "-q")
    (folder / "untracked").write_bytes(b"not in git\n")
    act.say(folder="third")


def _first_track_of_a_project(act: Act) -> None:
    act.open()
    act.track("third")
    act.bench.close()


# -- restore


def _prepare_two(act: Act) -> None:
    act.open()
    for state in ("first", "many", "second"):
        act.become(state)
        act.track(state)
    act.become("third")
    act.bench.close()


def _restore(act: Act) -> None:
    act.open()
    act.settle()
    if act.bench.read() == act.states["third"]:
        act.change("third", "first", lambda: act.bench.restore(act.hash("first")))
    act.change("first", "many", lambda: act.bench.restore(act.hash("many")))
    act.bench.close()


# -- export


def _export(act: Act) -> None:
    act.open()
    out = act.bench.folder / "out"
    if out.exists():
        # only who was killed left anything, and not beside the store
        assert not act.again
        shutil.rmtree(out)
    act.bench.workspace.snapshots.export(act.hash("first"), os.fsencode(out), None, Call())
    assert read(out) == act.states["first"]
    shutil.rmtree(out)
    act.bench.close()


# -- sessions


def _prepare_steps(act: Act) -> None:
    act.open()
    act.become("first")
    act.agents.start(SESSION)
    for state in ("second", "large", "many"):
        act.step(state)
    act.bench.close()


def _prepare_undone(act: Act) -> None:
    _prepare_steps(act)
    act.open()
    act.change("many", "first", lambda: act.agents.undone(SESSION, 3)[0])
    act.bench.close()


def _undo(act: Act) -> None:
    act.open()
    act.settle()
    if act.agents.counts(SESSION) == (3, 0):
        act.change("many", "second", lambda: act.agents.undone(SESSION, 2)[0])
    if act.agents.counts(SESSION) == (1, 2):
        act.change("second", "first", lambda: act.agents.undone(SESSION, 1)[0])
    act.bench.close()


def _redo(act: Act) -> None:
    act.open()
    act.settle()
    if act.agents.counts(SESSION) == (0, 3):
        act.change("first", "second", lambda: act.agents.redone(SESSION, 1))
    if act.agents.counts(SESSION) == (1, 2):
        act.change("second", "many", lambda: act.agents.redone(SESSION, 2))
    act.bench.close()


def _steps(act: Act) -> None:
    act.open()
    act.agents.start(SESSION)
    act.become("second")
    act.step("third")
    act.step("many")
    act.bench.close()


# -- the project's git


def _git_says(act: Act) -> list[str]:
    """What git says of the project, and nothing if there is no repository."""
    folder = act.bench.root
    if not (folder / ".git").exists():
        return []
    questions = (
        ("for-each-ref",),
        ("rev-parse", "--symbolic-full-name", "HEAD"),
        ("ls-files", "-s"),
        ("stash", "list", "--format=%H %gs"),
        ("status", "--porcelain=v2", "--branch"),
    )
    is_bisecting = (folder / ".git" / "BISECT_START").exists()
    return [f"bisecting: {is_bisecting}", *(run_git(folder, *words).decode() for words in questions)]


def _note_git(act: Act, state: str) -> None:
    """Has `_git_is_as_noted` know what git says of a state."""
    notes = act.bench.folder / "git.json"
    known = json.loads(notes.read_text()) if notes.exists() else {}
    notes.write_text(json.dumps({**known, state: _git_says(act)}))


def _prepare_git(act: Act) -> None:
    """A step that changes everything of git that snapd records, and one that deletes the repository."""
    folder = act.bench.root
    run = functools.partial(run_git, folder)
    act.become("first")
    run("add", ".")
    run("commit", "-q", "-m", "one")
    run("branch", "topic")
    for number in range(2):
        (folder / "a.txt").write_bytes(lines(20 + number))
        run("stash", "-q")
    act.become("first")
    act.open()
    act.agents.start(SESSION)
    _note_git(act, "first")

    def change() -> None:
        run("add", "-A")
        run("commit", "-q", "-m", "two")
        run("branch", "-f", "topic")
        run("checkout", "-q", "-b", "new")
        run("tag", "v1", "HEAD~1")
        run("stash", "drop", "-q", "stash@{1}")
        run("rm", "-q", "--cached", "moved")
        run("bisect", "start")
        _note_git(act, "second")

    act.step("second", change)
    act.step("many", lambda: shutil.rmtree(folder / ".git"))
    _note_git(act, "many")
    act.bench.close()


def _prepare_git_undone(act: Act) -> None:
    _prepare_git(act)
    act.open()
    act.change("many", "first", lambda: _turn_git(act, 2))
    act.bench.close()


def _turn_git(act: Act, undo: int = 0, redo: int = 0) -> Outcome:
    """Undoes or redoes so many steps together with what they did to git."""
    options = OperationOptions("merge", False, False, git=True)
    steps = act.bench.workspace.undo_steps
    turning = (
        steps.undo(UndoRequest(SESSION, undo), options, Call()) if undo else steps.redo(SESSION, redo, options, Call())
    )
    return turning.outcome


def _undo_git(act: Act) -> None:
    act.open()
    act.settle()
    if act.agents.counts(SESSION) == (2, 0):
        act.change("many", "second", lambda: _turn_git(act, undo=1))
    if act.agents.counts(SESSION) == (1, 1):
        act.change("second", "first", lambda: _turn_git(act, undo=1))
    act.bench.close()


def _redo_git(act: Act) -> None:
    act.open()
    act.settle()
    if act.agents.counts(SESSION) == (0, 2):
        act.change("first", "second", lambda: _turn_git(act, redo=1))
    if act.agents.counts(SESSION) == (1, 1):
        act.change("second", "many", lambda: _turn_git(act, redo=1))
    act.bench.close()


def _git_is_as_noted(act: Act) -> None:
    """Git is as it was when the files were these, now and wherever an undo or a redo leads."""
    folder = act.bench.root
    # of the checks before this one
    (folder / "afterwards").unlink()
    notes = json.loads((act.bench.folder / "git.json").read_text())

    def check() -> str | None:
        found = act.bench.read()
        state = next((name for name in notes if dict(act.states[name]) == found), None)
        if state is not None:
            assert _git_says(act) == notes[state], state
        if (folder / ".git").exists():
            assert run_git(folder, "fsck", "--no-dangling") == b""
            # git clears what it leaves aside itself when the power is lost, such as `tmp_pack_*`, with `git gc`
            left = [path for path in (folder / ".git").rglob("*") if path.name.endswith((".lock", ".tmp"))]
            assert not left, left
        return state

    state = check()
    if state is None:
        # files were left, and git with them
        return
    done = act.agents.counts(SESSION)[0]
    assert state == ("first", "second", "many")[done]
    for undo, redo, wanted in ((done, 0, "first"), (0, 2, "many")):
        if undo or redo:
            assert _turn_git(act, undo, redo).applied
        assert check() == wanted


# -- other machines


_WITHOUT_EMPTY: Mapping[str, Items] = {
    "first": {name: content for name, content in FIRST.items() if content is not None},
    "second": SECOND,
}
"""A commit has no empty directory, so nobody knows that the other machine removed one."""


def _handed_over(act: Act) -> None:
    """A project in which nobody worked yet, and what was handed over of a copy of it."""
    folder = act.bench.folder
    act.open()
    act.become("first")
    act.track("first")
    act.bench.close()
    run_git(act.bench.root, "add", ".")
    run_git(act.bench.root, "commit", "-q", "-m", "one")
    other = make(folder / "other", act.states["first"], git=True)
    run_git(other.root, "fetch", "-q", str(act.bench.root), "HEAD")
    run_git(other.root, "reset", "-q", "FETCH_HEAD")
    agents = Agents(other)
    agents.start(HANDED)
    step = agents.begin(HANDED)
    other.become(act.states["second"])
    agents.end(step)
    carrier = other.workspace.remote_sessions.bundle(str(folder / "handed.bundle"))
    other.workspace.handover.hand_over(carrier, HandoverOptions(), Call())
    other.close()


def _take_over(act: Act) -> None:
    act.open()
    act.settle()
    now = "first" if act.bench.read() == act.states["first"] else "second"

    def take_over() -> Any:
        workspace = act.bench.workspace
        carrier = workspace.remote_sessions.bundle(str(act.bench.folder / "handed.bundle"))
        return workspace.takeover.take_over(carrier, None, OperationOptions("fail", True, False), Call()).outcome

    act.change(now, "second", take_over)
    act.bench.close()


def _goes_on_here(act: Act) -> None:
    """The session is here with its step, which can be undone; or not at all."""
    if HANDED not in {view.session.session_id for view in act.bench.workspace.sessions.all(Call()).views}:
        return
    (step,) = act.agents.steps(HANDED)
    assert step.step.state == "applied"
    assert act.agents.counts(HANDED) == (1, 0)


# -- steps in a row


def _follow(act: Act) -> None:
    """Steps each of which begins where the one before it ends."""
    act.open()
    act.agents.start(SESSION)
    step = next((view.step.step_id for view in act.agents.steps(SESSION)[-1:]), None) or act.agents.begin(SESSION)
    for state in ("second", "third", "many"):
        act.become(state)
        step = act.agents.begin(SESSION, ends=step)
    act.bench.close()


def _nothing_falls_between(act: Act) -> None:
    act.agents.start(SESSION)
    steps = [view.step for view in act.agents.steps(SESSION)]
    assert [step for step in steps if step.state == "open"] == steps[-1:]
    for earlier, later in itertools.pairwise(steps):
        assert earlier.to == later.from_, later


# -- review


def _keep(act: Act) -> None:
    act.open()
    act.settle()
    assert act.bench.workspace.review.keep(Choice(), Call()).files == ()
    act.bench.close()


def _all_or_nothing_is_pending(act: Act) -> None:
    """What was kept is kept as a whole; what is pending can be reverted."""
    review = act.bench.workspace.review
    pending = {os.fsdecode(file.path) for file in review.page(Choice(), Call()).files}
    first, many = act.states["first"], act.states["many"]
    # the checks before this one change files of their own
    changed = {name for name in many if name not in first}
    assert pending & changed in (set(), changed), pending


def _revert_pending(act: Act) -> None:
    act.open()
    act.settle()
    review = act.bench.workspace.review
    if review.page(Choice(), Call()).count:
        act.change("many", "first", lambda: review.revert(Choice(), OperationOptions("merge", False, False), Call()))
    act.bench.close()


# -- an operation that was killed: what ends it may be killed too


def recover(act: Act) -> None:
    act.open()
    act.bench.take()
    act.say(settled=True)
    act.bench.close()


# -- maintenance


def _prepare_old(act: Act) -> None:
    """Snapshots of long ago, some of them of sessions that have ended, in packs and in loose files."""
    act.open()
    now = time.time_ns
    try:
        time.time_ns = lambda: now() - 2 * _DAYS
        act.become("first")
        act.bench.track()
        time.time_ns = lambda: now() - _DAYS
        act.agents.start("old")
        for state in ("many", "large"):
            step = act.agents.begin("old")
            act.become(state)
            act.agents.end(step)
        act.bench.workspace.sessions.end("old", Call())
    finally:
        time.time_ns = now
    act.become("second")
    act.bench.track()
    act.agents.start(SESSION)
    act.step("third")
    act.bench.close()


def _cleanup(act: Act) -> None:
    act.open()
    act.bench.workspace.upkeep.cleanup(-1.0, Call())
    act.bench.close()


def _prepare_leaked(act: Act) -> None:
    """A secret in a snapshot, in a step that was undone, and in no file any more."""
    act.open()
    act.agents.start(SESSION)
    act.become("second")
    act.track("second")
    step = act.step("leaked")
    act.change("leaked", "second", lambda: act.agents.undone(SESSION, step=step)[0])
    act.bench.close()


def _purge(act: Act) -> None:
    act.open()
    act.say(gone="leaked")
    # where an attempt before this one came to its end
    with contextlib.suppress(FileNotInSnapshot):
        act.bench.workspace.upkeep.purge([b"key"], False, Call())
    act.bench.close()


def _is_purged(act: Act) -> None:
    """Asked for again, the secret is gone, however far it was when it was killed."""
    with contextlib.suppress(FileNotInSnapshot):
        act.bench.workspace.upkeep.purge([b"key"], False, Call())
    check_gone(act.bench.store, SECRET)


def _maintain(act: Act) -> None:
    """Snapshots, and the consolidation behind them that these make due."""
    act.open()
    for state in ("second", "many", "third", "large", "second"):
        act.become(state)
        act.track(state)
        keeper = act.bench.workspace.store.scheduler
        thread = keeper.thread
        if thread is not None:
            thread.join()
    act.bench.close()


def _no_links(*args: object, **options: object) -> None:
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


class _WithoutLinks:
    """`os`, on a file system of its own."""

    link = staticmethod(_no_links)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


STATES = {"first": FIRST, "second": SECOND, "third": THIRD, "many": MANY, "large": LARGE}
SECRET = b"a secret that nobody may see\n"
LEAKED = {**STATES, "leaked": {**SECOND, "key": SECRET}}
PROJECT = {**STATES, "third": {**SECOND, "untracked": b"not in git\n"}}
_STREAMED = {(reading, "STREAM_FROM"): 200_000}

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("track", STATES, _prepare_one, _track, small={**_SMALL_JOURNAL, **_STREAMED}),
        Scenario("first", STATES, _nothing, _first_track),
        Scenario("project", PROJECT, _project, _first_track_of_a_project, git=True),
        Scenario(
            "project_copied",
            PROJECT,
            _project,
            _first_track_of_a_project,
            git=True,
            small={(adopt, "os"): _WithoutLinks()},
        ),
        Scenario(
            "restore",
            STATES,
            _prepare_two,
            _restore,
            small={**_SMALL_JOURNAL, **_ONE_THREAD, (directories, "TOGETHER_FROM"): 3},
        ),
        Scenario("export", STATES, _prepare_one, _export),
        Scenario("steps", STATES, _prepare_one, _steps, small=_SMALL_JOURNAL),
        Scenario("follow", STATES, _prepare_one, _follow, small=_SMALL_JOURNAL, after=_nothing_falls_between),
        Scenario("undo", STATES, _prepare_steps, _undo, small=_ONE_THREAD, moves=True),
        Scenario("redo", STATES, _prepare_undone, _redo, small=_ONE_THREAD, moves=True),
        Scenario("undo_git", STATES, _prepare_git, _undo_git, git=True, small=_ONE_THREAD, after=_git_is_as_noted),
        Scenario(
            "redo_git", STATES, _prepare_git_undone, _redo_git, git=True, small=_ONE_THREAD, after=_git_is_as_noted
        ),
        Scenario(
            "recover_restore", STATES, _prepare_two, recover, killed=("restore", Fault("kill", "apply.exchanged", 2))
        ),
        Scenario(
            "recover_undo",
            STATES,
            _prepare_steps,
            recover,
            killed=("undo", Fault("kill", "apply.deleted", 2)),
            moves=True,
        ),
        Scenario(
            "recover_redo",
            STATES,
            _prepare_undone,
            recover,
            killed=("redo", Fault("kill", "database.commit", 1)),
            moves=True,
        ),
        Scenario("takeover", _WITHOUT_EMPTY, _handed_over, _take_over, git=True, after=_goes_on_here),
        Scenario("keep", STATES, _prepare_steps, _keep, after=_all_or_nothing_is_pending),
        Scenario("revert_pending", STATES, _prepare_steps, _revert_pending, small=_ONE_THREAD),
        Scenario("cleanup", STATES, _prepare_old, _cleanup),
        Scenario("purge", LEAKED, _prepare_leaked, _purge, after=_is_purged),
        Scenario(
            "maintain",
            STATES,
            _prepare_one,
            _maintain,
            small={(scheduler, "LOOSE_LIMIT"): 20, (scheduler, "PACK_LIMIT"): 1, (batch, "LOOSE_COUNT"): 4},
        ),
    )
}


def bench_at(folder: Path) -> Bench:
    """The workspace there, not open."""
    return Bench(folder, "")

"""Tries snapshots one after the other to find the change that broke the command."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from snapd.cli.terminal.naming import short
from snapd.cli.terminal.streams import can_be_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE_SECONDS = 5.0
"""How long a command has to end before it is killed."""
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126
_BY_SIGNAL = 128


class TrialCommand:
    """A command that runs several times, without terminal and input, so that each run has the same conditions.

    As a context manager, it turns Ctrl-C, SIGTERM and SIGHUP into one `KeyboardInterrupt`, raised only when the command
    has ended and in `interruptible` blocks, so that everything is cleaned up. After that, the process ends by SIGTERM
    or SIGHUP if it received one.
    """

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._before: dict[int, Any] = {}
        self._came: int | None = None
        self._is_interruptible = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> TrialCommand:
        for number in _STOPPING:
            # an ignored signal stays ignored, as with nohup
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._came in (signal.SIGTERM, signal.SIGHUP):
            # end by the same signal, so that the sender can see that
            signal.signal(self._came, signal.SIG_DFL)
            os.kill(os.getpid(), self._came)
        self._check()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Lets signals interrupt the block; raises `KeyboardInterrupt` if one came before."""
        try:
            self._is_interruptible = True
            self._check()
            yield
        finally:
            self._is_interruptible = False

    def run(self, directory: bytes) -> int:
        """Runs the command to its end, and ends what it leaves running in its process group.

        Returns its exit code, 128 plus the number of the signal that ended it, 127 if there is no such program, or 126
        if it cannot be run.
        """
        try:
            self._process = self._start(directory)
        except FileNotFoundError:
            return _NOT_FOUND
        except OSError:
            return _NOT_EXECUTABLE
        try:
            with self.interruptible():
                code = self._process.wait()
        except KeyboardInterrupt:
            self._end(self._process)
            raise
        finally:
            self._send(signal.SIGKILL)
            self._process = None
        return code if code >= 0 else _BY_SIGNAL - code

    def _check(self) -> None:
        if self._came is not None:
            raise KeyboardInterrupt

    def _start(self, directory: bytes) -> subprocess.Popen[bytes]:
        # standard output is for the result; if standard error has no reader, the command must not fail
        output = 2 if can_be_asked() else subprocess.DEVNULL
        return subprocess.Popen(
            self._words,
            cwd=directory,
            env={**os.environ, "PWD": os.fsdecode(directory)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._send(self._came or signal.SIGINT)
        try:
            process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._send(signal.SIGKILL)
            process.wait()

    def _send(self, number: int) -> None:
        """Sends a signal to the command and to everything it started that is still in its process group."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                # the group is empty; macOS raises the latter if only ended processes are left
                return

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._came is not None:
            # do not wait any longer
            self._send(signal.SIGKILL)
            return
        self._came = number
        if self._is_interruptible:
            raise KeyboardInterrupt


Verdict = Literal["good", "bad", "skip", "abort"]
Outcome = Literal["found", "unclear", "badBefore", "goodAfter", "untested", "aborted"]
_SKIP = 125
_LAST_BAD = 127
_FAILED: dict[Verdict, Outcome] = {"skip": "untested", "abort": "aborted"}
"""The outcome if a run at one of the ends is neither good nor bad."""
_BEGIN, _END = 0, 1


class Trial(NamedTuple):
    """A run of the command on the snapshot with the hash `tree`."""

    tree: str
    exit_code: int

    @property
    def verdict(self) -> Verdict:
        """The meaning of the exit code, as for `git bisect run`."""
        if self.exit_code == 0:
            return "good"
        if self.exit_code == _SKIP:
            return "skip"
        return "bad" if self.exit_code <= _LAST_BAD else "abort"


class TrialResult(NamedTuple):
    """The result of a search."""

    # `found`, or why it was not: snapshots between several changes were skipped; the command is bad before the first
    # change, or good after the last; one of these two was skipped; the command asked to stop
    outcome: Outcome
    suspects: tuple[Change, ...]  # the changes of which one broke it; empty unless the outcome is `found` or `unclear`
    exit_code: int  # of the command where it is first bad, or where the outcome shows


def find(changes: Sequence[Change], run: Callable[[int, str, int], Trial]) -> TrialResult:
    """Finds the change that broke a command, after checking that one end is good and the other bad.

    `changes` has at least one, each beginning where the one before it ends. `run` takes a snapshot's index in the
    sequence, its hash, and how many more runs follow at most if none is skipped. It is called once for each snapshot.
    """
    trees = [changes[0].before, *(change.after for change in changes)]
    known: dict[str, Trial] = {}

    def tried(state: int, more: int) -> Trial:
        tree = trees[state]
        if tree not in known:
            known[tree] = run(state, tree, more)
        return known[tree]

    search = Search(len(changes))
    for end, wanted, otherwise in _ends(len(changes)):
        trial = tried(end, search.most + (end == 0))
        if trial.verdict != wanted:
            return TrialResult(_FAILED.get(trial.verdict, otherwise), (), trial.exit_code)
    bad = known[trees[-1]]
    while (state := search.next()) is not None:
        trial = tried(state, max(0, search.most - 1))
        if trial.verdict == "abort":
            return TrialResult("aborted", (), trial.exit_code)
        search.note(state, {"good": True, "bad": False, "skip": None}[trial.verdict])
        if trial.verdict == "bad":
            bad = trial
    suspects = tuple(changes[at] for at in search.suspects)
    return TrialResult("found" if len(suspects) == 1 else "unclear", suspects, bad.exit_code)


def _ends(last: int) -> tuple[tuple[int, Verdict, Outcome], ...]:
    """Returns the first state and the last, each with the expected verdict and the outcome if it differs."""
    return (0, "good", "badBefore"), (last, "bad", "goodAfter")


class Search:
    """Searches for the change after which something is bad, in a sequence of states from a good one to a bad one.

    If a bad state can become good again on the way, it finds one of the changes that made one bad. There is at least
    one change: change N leads from state N to state N + 1.
    """

    def __init__(self, changes: int) -> None:
        self._good = 0
        self._bad = changes
        self._skipped: set[int] = set()

    @property
    def suspects(self) -> range:
        """The changes of which one made it bad; several at the end if states between them were skipped."""
        return range(self._good, self._bad)

    def next(self) -> int | None:
        """The state to try next, the one nearest to the middle; None if no further trial helps."""
        untried = [state for state in range(self._good + 1, self._bad) if state not in self._skipped]
        # twice the distance: the middle may lie between two states
        return min(untried, key=lambda state: abs(2 * state - self._good - self._bad), default=None)

    def note(self, state: int, is_good: bool | None) -> None:
        """Records whether a state is good; None if unknown."""
        if is_good is None:
            self._skipped.add(state)
        elif is_good:
            self._good = max(self._good, state)
        else:
            self._bad = min(self._bad, state)

    @property
    def most(self) -> int:
        """How many more states have to be tried at most, if none is skipped."""
        return (len(self.suspects) - 1).bit_length()


class Change(NamedTuple):
    """The difference between two consecutive, different snapshots."""

    before: str
    after: str
    name: str  # of the second one, for people
    # of any session, open in between, without parts of others among them; empty between steps
    steps: tuple[dict[str, Any], ...]


class _Edge(NamedTuple):
    """The beginning or the end of a step, in `order`: at the same time, a step ends before the next one begins."""

    order: tuple[str, str, int, int]
    step: dict[str, Any]

    @property
    def begins(self) -> bool:
        return self.order[-1] == _BEGIN

    @property
    def tree(self) -> str | None:
        """The snapshot that was taken then; None if it is not to be tried.

        What is undone cannot be why something fails now. A step that was undone is still listed where a snapshot taken
        by others has its changes.
        """
        if self.step["state"] == "undone":
            return None
        return str(self.step["from" if self.begins else "to"])

    @property
    def name(self) -> str:
        return f"{'before' if self.begins else 'after'} {short(self.step['stepId'])}"


def span(steps: Iterable[dict[str, Any]]) -> tuple[str, str] | None:
    """Returns when the first step that can be tried began and the last one ended; None without such steps."""
    edges = _tried(steps)
    return (edges[0].order[0], edges[-1].order[0]) if edges else None


def changes_of(steps: Sequence[dict[str, Any]], others: Iterable[dict[str, Any]] = ()) -> list[Change]:
    """Returns the changes in order of time, each beginning where the one before it ends.

    They range from the first to the last of `steps` that have ended and are not undone; steps of other sessions may
    have worked at the same time.
    """
    own = _tried(steps)
    if not own:
        return []
    first, last = own[0].order, own[-1].order
    changes: list[Change] = []
    tree: str | None = None
    under_way: dict[str, dict[str, Any]] = {}
    since: dict[str, dict[str, Any]] = {}
    for edge in _edges([*steps, *others]):
        is_tried = edge.tree is not None and first <= edge.order <= last
        if is_tried:
            if tree not in (None, edge.tree):
                changes.append(Change(str(tree), str(edge.tree), edge.name, _innermost(since)))
            tree = edge.tree
        name = edge.step["stepId"]
        if edge.begins:
            under_way[name] = since[name] = edge.step
        else:
            del under_way[name]
        if is_tried:
            since = dict(under_way)
    return changes


def _tried(steps: Iterable[dict[str, Any]]) -> list[_Edge]:
    return [edge for edge in _edges(steps) if edge.tree is not None and "endedAt" in edge.step]


def _edges(steps: Iterable[dict[str, Any]]) -> list[_Edge]:
    matches = []
    for step in steps:
        about = step["sessionId"], step["index"]
        matches.append(_Edge((step["startedAt"], *about, _BEGIN), step))
        if "endedAt" in step:
            matches.append(_Edge((step["endedAt"], *about, _END), step))
    return sorted(matches, key=lambda edge: edge.order)


def _innermost(steps: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    around = {step.get("parentStepId") for step in steps.values()}
    return tuple(step for name, step in steps.items() if name not in around)

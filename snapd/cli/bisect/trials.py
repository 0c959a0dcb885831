"""Tries snapshots one after the other until it is known which change broke the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .changes import Change

Verdict = Literal["good", "bad", "skip", "abort"]
Outcome = Literal["found", "unclear", "badBefore", "goodAfter", "untested", "aborted"]
_SKIP = 125
_LAST_BAD = 127
_FAILED: dict[Verdict, Outcome] = {"skip": "untested", "abort": "aborted"}
"""What it means if a run at one of the ends says neither good nor bad."""


class Trial(NamedTuple):
    """A run of the command.

    Attributes:
        tree: the hash of the snapshot that it ran on.
        exit_code: of the command.
    """

    tree: str
    exit_code: int

    @property
    def verdict(self) -> Verdict:
        """What the exit code says, as for `git bisect run`."""
        if self.exit_code == 0:
            return "good"
        if self.exit_code == _SKIP:
            return "skip"
        return "bad" if self.exit_code <= _LAST_BAD else "abort"


class Found(NamedTuple):
    """What came out.

    Attributes:
        outcome: `found`, or what kept it from being found: snapshots between several changes were skipped; the command
            is bad before the first change, or good after the last; one of these two was skipped; the command asked to
            stop.
        suspects: the changes of which one broke it; empty unless it is `found`, or `unclear` which of them.
        exit_code: of the command: where it is first bad, or where the outcome shows.
    """

    outcome: Outcome
    suspects: tuple[Change, ...]
    exit_code: int


def find(changes: Sequence[Change], run: Callable[[int, str, int], Trial]) -> Found:
    """Finds the change that broke a command.

    Both ends are tried first, for without one that is good and one that is bad there is nothing to find.

    Args:
        changes: at least one, each beginning where the one before it ends.
        run: runs the command on a snapshot, given by its place in the row and its hash, and told how many more runs
            there are after it, at most, if none is skipped. Called once for each snapshot, however often that comes.
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
            return Found(_FAILED.get(trial.verdict, otherwise), (), trial.exit_code)
    bad = known[trees[-1]]
    while (state := search.next()) is not None:
        trial = tried(state, max(0, search.most - 1))
        if trial.verdict == "abort":
            return Found("aborted", (), trial.exit_code)
        search.note(state, {"good": True, "bad": False, "skip": None}[trial.verdict])
        if trial.verdict == "bad":
            bad = trial
    suspects = tuple(changes[at] for at in search.suspects)
    return Found("found" if len(suspects) == 1 else "unclear", suspects, bad.exit_code)


def _ends(last: int) -> tuple[tuple[int, Verdict, Outcome], ...]:
    """The first state and the last: how each has to be, and what it means if it is not."""
    return (0, "good", "badBefore"), (last, "bad", "goodAfter")


class Search:
    """Looks for the change after which something is bad, in a row of states of which the first is good, the last bad.

    If a bad state can become good again on the way, it finds one of the changes that made one bad.

    Args:
        changes: how many there are, at least 1: change N leads from state N to state N + 1.
    """

    def __init__(self, changes: int) -> None:
        self._good = 0
        self._bad = changes
        self._skipped: set[int] = set()

    @property
    def suspects(self) -> range:
        """The changes of which one made it bad; more than one in the end if states between them were skipped."""
        return range(self._good, self._bad)

    def next(self) -> int | None:
        """The state to try next, the one nearest to the middle; None if there is no more to learn."""
        untried = [state for state in range(self._good + 1, self._bad) if state not in self._skipped]
        # twice the distance: the middle may lie between two states
        return min(untried, key=lambda state: abs(2 * state - self._good - self._bad), default=None)

    def note(self, state: int, is_good: bool | None) -> None:
        """Notes how a state is; None if that cannot be told."""
        if is_good is None:
            self._skipped.add(state)
        elif is_good:
            self._good = max(self._good, state)
        else:
            self._bad = min(self._bad, state)

    @property
    def most(self) -> int:
        """How many more states have to be tried, at most, if none is skipped."""
        return (len(self.suspects) - 1).bit_length()

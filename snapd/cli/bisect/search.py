"""Which state to try next: the search itself, which knows no snapshots."""

from __future__ import annotations


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

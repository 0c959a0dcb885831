"""What may have changed in a work tree since it was last asked: the seam between the watchers and the look.

A clock is a hint that errs on one side only: what it does not name has not changed. Where it cannot promise that it
says so (`Marks.everything`), and who asks looks at the whole work tree: rather look at all than tell a lie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable


class Place(Protocol):
    """A directory under watch, as the one who asks knows it."""

    watch: int
    """The number of its watch; -1 while it has none. The clock's own."""


ITSELF = b""
"""Among the names of a directory: it may have changed as a whole."""


@attrs.define
class Marks:
    """What may have changed.

    Attributes:
        everything: nothing can be said: all of it may have.
        names: the names that may have changed, by directory.
        inodes: inode numbers of files that were written to, by a name that may be gone; some may be of other files.
        why: why nothing can be said, where that is so.
    """

    everything: bool = False
    names: dict[Place, set[bytes]] = attrs.field(factory=dict)
    inodes: set[int] = attrs.field(factory=set)
    why: str = attrs.field(default="", eq=False)

    def __bool__(self) -> bool:
        return self.everything or bool(self.names) or bool(self.inodes)

    def doubt(self, why: str) -> None:
        """Says that everything may have changed."""
        self.everything = True
        self.why = self.why or why

    def add(self, place: Place, name: bytes) -> None:
        """Marks one name."""
        names = self.names.get(place)
        if names is None:
            self.names[place] = {name}
        else:
            names.add(name)

    def join(self, other: Marks) -> None:
        """Takes other marks in."""
        self.everything = self.everything or other.everything
        self.inodes |= other.inodes
        self.why = self.why or other.why
        for place, names in other.names.items():
            self.names.setdefault(place, set()).update(names)


class Clock(Protocol):
    """Watches one work tree. Safe to use from several threads.

    A directory must be watched before it is listed: what happens after is told, what happened before is seen.
    """

    @property
    def kind(self) -> str:
        """How it watches, for `snapshot/status`."""

    @property
    def reason(self) -> str | None:
        """Why it is not the best clock that there is, likewise; None where it is, and where the user wants this one."""

    @property
    def exact(self) -> bool:
        """Whether what it does not mark has surely not changed."""

    def watch(self, directory: int, place: Place) -> None:
        """Watches a directory, given by a descriptor, for as long as `place` is not forgotten.

        A directory that is watched as another place already (it was moved) is this place from now on.
        """

    def forget(self, place: Place) -> None:
        """Watches a directory no more."""

    def lend(self) -> tuple[int, ...]:
        """The queues, as descriptors by which another process may add watches (`lent.Lent`); empty without any.

        What happens in a directory that such a process watches is kept until `claim` says which place it is; `settle`
        ends that.
        """

    def claim(self, watch: int, place: Place) -> None:
        """Takes a watch that another process has added for that of a place, see `watch`."""

    def disclaim(self, watch: int) -> None:
        """Says that a watch that another process has added is for nothing: `settle` ends it, unless it is claimed."""

    def settle(self) -> None:
        """Says that no other process adds watches any more, and that all that count are claimed."""

    def take(self) -> Marks:
        """What may have changed since the last `take`: the barrier.

        Every change that was complete before this was called is in the marks of this or of an earlier call.
        """

    def put_back(self, marks: Marks) -> None:
        """Gives marks back that were not looked at: the next `take` has them again."""

    def listen(self, told: Callable[[], None]) -> None:
        """Has `told` called, from a thread of the clock's own, soon after something may have changed.

        Changes that come close together are told once. One listener at a time; nothing is spent while there is none.
        """

    def stop_listening(self) -> None:
        """Tells no more; when it returns, `told` is not running. Not to be called by `told`."""

    def close(self) -> None:
        """Lets go of everything."""

"""What may have changed in a work tree since the last question: the seam between the watchers and the look.

A clock may err on one side only: what it does not mark has not changed. Where it cannot promise that, it says so
(`Marks.everything`), and the caller looks at the whole work tree: rather a full look than a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs


class WatchedDirectory(Protocol):
    """A directory under watch, as the caller knows it."""

    watch: int
    """The number of its watch; -1 while it has none. Only the clock writes it."""


ITSELF = b""
"""Among the marked names of a directory: the directory as a whole may have changed."""


@attrs.define
class Marks:
    """What may have changed.

    Attributes:
        everything: the clock cannot say what: any file may have changed.
        names: the names that may have changed, by directory.
        inodes: inode numbers of files that were written to, by a name that may be gone; some may be of other files.
        why: the reason for `everything`; empty without it.
    """

    everything: bool = False
    names: dict[WatchedDirectory, set[bytes]] = attrs.field(factory=dict)
    inodes: set[int] = attrs.field(factory=set)
    why: str = attrs.field(default="", eq=False)

    def __bool__(self) -> bool:
        return self.everything or bool(self.names) or bool(self.inodes)

    def doubt(self, why: str) -> None:
        """Marks everything."""
        self.everything = True
        self.why = self.why or why

    def add(self, directory: WatchedDirectory, name: bytes) -> None:
        """Marks one name."""
        names = self.names.get(directory)
        if names is None:
            self.names[directory] = {name}
        else:
            names.add(name)

    def join(self, other: Marks) -> None:
        """Adds other marks."""
        self.everything = self.everything or other.everything
        self.inodes |= other.inodes
        self.why = self.why or other.why
        for directory, names in other.names.items():
            self.names.setdefault(directory, set()).update(names)


class Clock(Protocol):
    """Watches one work tree. Safe to use from several threads.

    Watch a directory before you list it: the listing shows what happened before, the marks what happens after.
    """

    @property
    def kind(self) -> str:
        """How it watches, for `snapshot/status`."""

    @property
    def reason(self) -> str | None:
        """Why there is no better clock, for `snapshot/status`; None for the best one, and where the user chose."""

    @property
    def exact(self) -> bool:
        """Whether what it does not mark has certainly not changed."""

    def watch(self, descriptor: int, directory: WatchedDirectory) -> None:
        """Watches the directory that a descriptor is open on, until `forget`.

        A directory that was watched as another one (it was moved) counts as this one from now on.
        """

    def forget(self, directory: WatchedDirectory) -> None:
        """Stops watching a directory."""

    def share_queues(self) -> tuple[int, ...]:
        """Descriptors by which another process can add watches (`SharedQueues`); empty where there are no queues.

        The clock keeps the events of such a watch until `adopt_watch` names its directory, or `end_sharing`.
        """

    def adopt_watch(self, watch: int, directory: WatchedDirectory) -> None:
        """Takes a watch that another process has added as that of a directory, as `watch` would."""

    def drop_watch(self, watch: int) -> None:
        """Marks a watch that another process has added as unwanted: `end_sharing` removes it, unless it is adopted."""

    def end_sharing(self) -> None:
        """Says that no other process adds watches any more, and that all wanted ones are adopted."""

    def take(self) -> Marks:
        """What may have changed since the last `take`: the barrier.

        Every change that was complete before the call is in the marks of this call or of an earlier one.
        """

    def put_back(self, marks: Marks) -> None:
        """Returns marks that nobody looked at: the next `take` has them again."""

    def listen(self, on_change: Callable[[], None]) -> None:
        """Calls `on_change`, in a thread of the clock's own, soon after something may have changed.

        It is called once for changes that come close together. One listener at a time; without one this costs nothing.
        """

    def stop_listening(self) -> None:
        """Stops calling `on_change`; when this returns, no call is running. `on_change` must not call it."""

    def close(self) -> None:
        """Ends all watches."""

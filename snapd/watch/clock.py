"""The interface between watchers and scans: what may have changed in a work tree since the last call.

What a clock does not mark has not changed. If it cannot guarantee that, it sets `Marks.everything`, and the caller
scans the whole work tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs


class WatchedDirectory(Protocol):
    """A directory of the caller under watch."""

    watch: int  # number of its watch; -1 for none; only written by the clock


ITSELF = b""  # among the marked names of a directory: the directory as a whole


@attrs.define
class Marks:
    """What may have changed."""

    everything: bool = False  # any file, even if not marked
    names: dict[WatchedDirectory, set[bytes]] = attrs.field(factory=dict)  # by directory
    inodes: set[int] = attrs.field(factory=set)  # of written files, whose name may be gone; some may be of other files
    why: str = attrs.field(default="", eq=False)  # the reason for `everything`

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
    """Watches one work tree; thread-safe.

    Watch a directory before you list it: the listing shows earlier changes, the marks later ones.
    """

    @property
    def kind(self) -> str:
        """How it watches, for `snapshot/status`."""

    @property
    def reason(self) -> str | None:
        """Why there is no better clock, for `snapshot/status`; None for the best one, or if the user chose it."""

    @property
    def exact(self) -> bool:
        """Whether what it does not mark has certainly not changed."""

    def watch(self, descriptor: int, directory: WatchedDirectory) -> None:
        """Watches an open directory until `forget`; one already watched as another (moved) counts as this one."""

    def forget(self, directory: WatchedDirectory) -> None:
        """Stops watching a directory."""

    def share_queues(self) -> tuple[int, ...]:
        """Returns descriptors by which another process can add watches (`SharedQueues`); empty if unsupported.

        The clock keeps the events of such a watch until `adopt_watch` names its directory, or `end_sharing`.
        """

    def adopt_watch(self, watch: int, directory: WatchedDirectory) -> None:
        """Takes over a watch that another process has added, as `watch` would."""

    def drop_watch(self, watch: int) -> None:
        """Marks another process's watch as unwanted: `end_sharing` removes it unless it is adopted."""

    def end_sharing(self) -> None:
        """Ends sharing: no other process adds watches any more, and all wanted ones are adopted."""

    def take(self) -> Marks:
        """Returns what may have changed since the last `take`, including every change complete before this call."""

    def put_back(self, marks: Marks) -> None:
        """Returns unused marks to the clock: the next `take` has them again."""

    def listen(self, on_change: Callable[[], None]) -> None:
        """Calls `on_change`, in a thread of the clock, soon after something may have changed; once for a burst.

        There is one listener at a time; without one this costs nothing.
        """

    def stop_listening(self) -> None:
        """Stops and awaits calls of `on_change`, which must not call it."""

    def close(self) -> None:
        """Ends all watches."""

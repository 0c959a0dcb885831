"""Names that came and went between two looks: no look ever sees them, and each may have been a name of any file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .inotify import CREATE, DELETE, MOVED_FROM, MOVED_TO

if TYPE_CHECKING:
    from collections.abc import Callable

    from .inotify import Event


class TransientNames:
    """Follows each name from the event that brings it to the event that removes it, until a look has seen the rest.

    Errs on the safe side: two renames do not show that two names were exchanged, so a name that came once counts as
    new until the end.

    Args:
        is_own: whether a name belongs to a file that snapd made for itself, and so is no name of another file.
    """

    def __init__(self, is_own: Callable[[bytes], object]) -> None:
        self._is_own = is_own
        self._came: dict[int, set[bytes]] = {}
        self._leaving: dict[int, bool] = {}

    def follow(self, event: Event) -> bool:
        """Takes in one event.

        Returns:
            Whether a name that came since the last look is gone.
        """
        came = self._came.setdefault(event.watch, set())
        if event.mask & MOVED_FROM:
            self._leaving[event.cookie] = event.name in came
            return False
        was_there = event.name in came
        if event.mask & MOVED_TO:
            if self._leaving.pop(event.cookie, True):
                came.add(event.name)
            return was_there
        if event.mask & CREATE and not self._is_own(event.name):
            came.add(event.name)
        return bool(event.mask & DELETE) and was_there

    def moved_out(self) -> bool:
        """Whether a new name was moved to where nobody watches. To be called when the queue is empty."""
        leaving, self._leaving = self._leaving, {}
        return any(leaving.values())

    def has_new_names(self, watch: int) -> bool:
        """Whether a directory has, or had, a new name."""
        return bool(self._came.get(watch))

    def end(self) -> None:
        """Starts again: a look has seen what is there now."""
        self._came.clear()

"""What came and is gone again between two looks: no look will ever see it, and it may have been a name of any file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .inotify import CREATE, DELETE, MOVED_FROM, MOVED_TO

if TYPE_CHECKING:
    from collections.abc import Callable

    from .inotify import Event


class Comings:
    """Follows names from when they come to when they go. A look ends it: what is there then, it has seen.

    Errs on the safe side: that two names were exchanged cannot be told from two renames, so that a name that came once
    counts as new until the end.

    Args:
        is_own: whether a name is that of a file which whoever asks makes for itself, and which is no name of another.
    """

    def __init__(self, is_own: Callable[[bytes], object]) -> None:
        self._is_own = is_own
        self._came: dict[int, set[bytes]] = {}
        self._leaving: dict[int, bool] = {}

    def follow(self, event: Event) -> bool:
        """Takes in one event.

        Returns:
            Whether something is gone that came since the last look.
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

    def left(self) -> bool:
        """Whether something new was moved to where nothing is told. For when all is told that there is to tell."""
        leaving, self._leaving = self._leaving, {}
        return any(leaving.values())

    def came_to(self, watch: int) -> bool:
        """Whether something new is, or was, in a directory."""
        return bool(self._came.get(watch))

    def end(self) -> None:
        """Begins anew: the look has seen what is there."""
        self._came.clear()

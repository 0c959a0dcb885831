"""Chooses the clock of a work tree."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Literal

from .inotify import Unsupported
from .inotify_clock import InotifyClock
from .mounts import file_system, reports_all_changes
from .plain import HintClock, NoClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import Clock

logger = logging.getLogger(__name__)

WatcherSetting = Literal["auto", "watchdog", "none"]


def open_clock(
    setting: WatcherSetting, root: bytes, descriptor: int, is_own: Callable[[bytes], object] = lambda _: False
) -> Clock:
    """Opens the best clock for a folder.

    Args:
        setting: `auto` for the best one; `watchdog` for hints, `none` for no watcher.
        root: the folder, absolute.
        descriptor: open on the folder.
        is_own: see `InotifyClock`.

    Returns:
        inotify on Linux, if the file system reports every change; watchdog's hints elsewhere.
    """
    if setting == "none":
        return NoClock()
    if setting == "watchdog" or not sys.platform.startswith("linux"):
        return HintClock(root)
    kind = file_system(descriptor)
    if not reports_all_changes(kind):
        reason = f"a file system of type {kind or 'unknown'} does not report every change"
        logger.info("%s: each request looks at every file", reason)
        return HintClock(root, reason)
    try:
        return InotifyClock(root, is_own)
    except Unsupported as error:
        logger.info("no inotify, each request looks at every file: %s", error)
        return NoClock(f"no inotify: {error}")

"""Chooses the clock of a work tree; defines the clocks without a watcher, and with one that only hints when to scan."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from .clock import Clock, Marks
from .inotify_clock import InotifyClock, file_system, reports_all_changes
from .queues import Unsupported

if TYPE_CHECKING:
    # only loaded if there is no better watcher
    from watchdog.observers.api import BaseObserver

POLL_SECONDS = 2.0
_BLIND = "no watcher reports what changed"

logger = logging.getLogger(__name__)

WatcherSetting = Literal["auto", "watchdog", "none"]


class NoClock:
    """A clock without watcher: every scan is a full one. A listener is called every two seconds."""

    kind = "none"
    exact = False

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, *_: object, **__: object) -> None:
        """Does nothing: there are no watches."""

    forget = adopt_watch = drop_watch = end_sharing = put_back = watch

    def share_queues(self) -> tuple[int, ...]:
        """See `Clock.share_queues`: there are none."""
        return ()

    def take(self) -> Marks:
        """See `Clock.take`: everything."""
        return Marks(everything=True, why=_BLIND)

    def listen(self, on_change: Callable[[], None]) -> None:
        """See `Clock.listen`."""
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._tick, args=(self._stop, on_change), name="snapd-watch", daemon=True
        )
        self._thread.start()

    def stop_listening(self) -> None:
        """See `Clock.stop_listening`."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """See `Clock.close`."""
        self.stop_listening()

    def _tick(self, stop: threading.Event, on_change: Callable[[], None]) -> None:
        while not stop.wait(POLL_SECONDS):
            on_change()


class HintClock(NoClock):
    """A clock that only knows when to scan, from watchdog: FSEvents and ReadDirectoryChangesW are no barrier."""

    kind = "watchdog"

    def __init__(self, root: bytes, reason: str | None = None) -> None:
        super().__init__(reason)
        self._root = os.fsdecode(root)
        self._observer: BaseObserver | None = None

    def listen(self, on_change: Callable[[], None]) -> None:
        """See `Clock.listen`."""
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                if event.event_type not in ("opened", "closed_no_write"):
                    on_change()

        observer = Observer()
        observer.daemon = True
        observer.name = "snapd-watch"
        try:
            observer.schedule(Handler(), self._root, recursive=True)
            observer.start()
        except OSError as error:
            logger.warning("cannot watch %s, it is looked at every %.0f s: %s", self._root, POLL_SECONDS, error)
            # an observer has a thread even before its start
            observer.stop()
            super().listen(on_change)
            return
        self._observer = observer

    def stop_listening(self) -> None:
        """See `Clock.stop_listening`."""
        super().stop_listening()
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join()


def open_clock(
    setting: WatcherSetting, root: bytes, descriptor: int, is_own: Callable[[bytes], object] = lambda _: False
) -> Clock:
    """Opens the best clock for a folder: inotify on Linux, if the file system reports every change; else hints."""
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

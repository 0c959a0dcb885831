"""Finds the folder of a session, and the daemon that keeps its snapshots."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from snapd.core.errors import IoError, WorkspaceRefused
from snapd.folders.root import folder_around
from snapd.locations import Locations
from snapd.settings import data_dir

if TYPE_CHECKING:
    from snapd.backend import Backend

logger = logging.getLogger(__name__)


class Daemon:
    """The user's daemon, which is started where it does not run.

    Args:
        socket: its socket; None for the user's own.
    """

    def __init__(self, socket: str | None = None) -> None:
        self._locations = Locations.from_environment(os.environ)
        self._socket = os.path.abspath(socket) if socket else self._locations.socket

    def folder_of(self, directory: str) -> str:
        """The folder whose snapshots have the files of a directory; the directory itself if it is none."""
        if not os.path.isdir(directory):
            return directory
        return folder_around(directory, self._locations, data_dir(self._locations.config_file))

    def start(self) -> None:
        """Starts the daemon where it does not run, while the agent starts: the first prompt need not wait for it."""
        from snapd.launch import ensure_daemon

        try:
            ensure_daemon(self._locations, self._socket).close()
        except IoError as error:
            # each session tries again, and says what it misses
            logger.warning("%s", error)

    def open(self, folder: str) -> Backend:
        """Opens a folder.

        Raises:
            SnapdError: the daemon cannot be reached, or refuses the folder; or snapshots are off.
        """
        from snapd.backend import open_remote
        from snapd.launch import ensure_daemon
        from snapd.settings.sources import as_options, for_the_daemon, read_environment

        own, unheard = for_the_daemon(read_environment(os.environ), self._locations.config_file)
        if unheard is not None:
            logger.warning("%s", unheard)
        ensure_daemon(self._locations, self._socket).close()
        found = open_remote(self._socket, folder, as_options(own))
        try:
            enabled = found.request("snapshot/status", {})["enabled"]
        except BaseException:
            found.close()
            raise
        if enabled:
            return found
        found.close()
        raise WorkspaceRefused(
            f"snapshots are off in {folder}", hint="turn them on with the setting 'enabled'", path=folder
        )

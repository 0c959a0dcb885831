"""One project of the library, opened in the user's daemon or in this process."""

from __future__ import annotations

import logging
import os
import threading
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from snapd.model.errors import IoError, SnapdError, StoreLocked
from snapd.model.paths import is_utf8, to_uri
from snapd.wire.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from snapd.backend import Backend
    from snapd.wire.values import RequestParams

    T = TypeVar("T")
    FileName: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

logger = logging.getLogger("snapd.library")

_METHODS = {method.params: method for method in METHODS.values()}
"""The method for each class of params."""
OPEN_SECONDS = 10.0
_POLL_SECONDS = 0.02


class Project:
    """Sends requests about one folder, which the first request opens. Safe to use from several threads.

    The parameters are those of `Snapshot`; `degrade` logs errors instead of raising them.
    """

    def __init__(
        self,
        project_dir: str | os.PathLike[str],
        *,
        enabled: bool,
        data_dir: str | os.PathLike[str] | None,
        in_process: bool,
        degrade: bool,
    ) -> None:
        self.enabled = enabled
        self.folder = os.path.abspath(project_dir)
        self._data_dir = os.fspath(data_dir) if data_dir is not None else None
        self._in_process = in_process
        self._degrade = degrade
        self._changed = threading.Condition(threading.Lock())
        self._running = 0
        self._backend: Backend | None = None

    def close(self) -> None:
        """Waits for running calls, then releases the store. The next call opens it again."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)
            backend, self._backend = self._backend, None
            if backend is not None:
                backend.close()

    def degrading(self, empty: T, work: Callable[[], T]) -> T:
        """Returns the result of `work`; with `degrade`, logs a `SnapdError` and returns `empty`."""
        try:
            return work()
        except SnapdError as error:
            if not self._degrade:
                raise
            self.log(error)
            return empty

    def log(self, error: SnapdError) -> None:
        """Logs an error instead of raising it."""
        logger.warning("snapshots of %s: %s", self.folder, error)

    def request(self, params: RequestParams) -> Any:
        """Sends these params and returns the result as the wire's object. Raises `SnapdError`."""
        with self._changed:
            if self._backend is not None and not self._backend.is_open:
                self._backend.close()
                self._backend = None
            if self._backend is None:
                self._backend = self.open_backend()
            backend = self._backend
            self._running += 1
        try:
            return backend.call(_METHODS[type(params)].name, params)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def request_or(self, empty: T, params: RequestParams | Callable[[], RequestParams], field: str | None = None) -> T:
        """Like `request`, or one field of its result; with `degrade`, logs an error and returns `empty`.

        `params` may be a function that returns the params; its errors are handled alike.
        """

        def work() -> T:
            result = self.request(params() if callable(params) else params)
            t: T = result if field is None else getattr(result, field)
            return t

        return self.degrading(empty, work)

    def pages(self, params: RequestParams, field: str) -> Iterator[Any]:
        """Yields the items of a field from all pages of a result. Raises `SnapdError`."""
        cursor: str | None = None
        while True:
            page = self.request(attrs.evolve(params, cursor=cursor))  # type: ignore[call-arg]
            yield from getattr(page, field)
            cursor = page.next_cursor
            if cursor is None:
                return

    def listed(
        self, params: RequestParams | Callable[[], RequestParams], field: str, limit: int | None = None
    ) -> list[Any]:
        """Returns at most `limit` items of `pages`; with `degrade`, logs an error and returns an empty list."""
        return self.degrading(
            [], lambda: list(islice(self.pages(params() if callable(params) else params, field), limit))
        )

    def open_backend(self) -> Backend:
        """Opens the folder in the user's daemon or in this process; raises `SnapdError`."""
        from snapd.backend import open_local, open_remote
        from snapd.locations import Locations
        from snapd.settings.sources import as_options, read_environment, split_environment

        locations = Locations.from_environment(os.environ)
        own: dict[str, Any] = {} if self.enabled else {"snapshot": False}
        if self._data_dir is not None:
            own["data_dir"] = self._relative_data_dir()
        environment = read_environment(os.environ)

        def remote(socket: str, own_locations: Locations | None = None) -> Backend:
            effective, unheard = split_environment(environment, locations.config_file)
            backend = open_remote(socket, self.folder, as_options({**effective, **own}), own_locations)
            if unheard is not None:
                logger.warning("%s", unheard)
            return backend

        deadline = time.monotonic() + OPEN_SECONDS
        while True:
            try:
                if self._in_process:
                    return open_local(locations, os.environ.get("XDG_CONFIG_HOME"), self.folder, environment, own)
                try:
                    return remote(locations.socket, locations)
                except IoError as error:
                    hint = f"{error.hint}; `Snapshot(..., in_process=True)` works without a daemon"
                    raise IoError(error.message, hint=hint, **error.data) from error
            except StoreLocked as error:
                if error.data.get("socket") is None:
                    raise
                locked = error
            try:
                return remote(str(locked.data["socket"]))
            except IoError:
                # the daemon is stopping and will release the store
                if time.monotonic() > deadline:
                    raise locked from None
            time.sleep(_POLL_SECONDS)

    def names(self, files: Iterable[FileName]) -> list[str]:
        """Returns file names for the wire. Raises `TypeError` for a single name."""
        if isinstance(files, (str, bytes, os.PathLike)):
            # each character would be a file name, and that file might be deleted
            raise TypeError(f"expected several files, got the one {files!r}: put it into a list")
        return [self.name(file) for file in files]

    def names_or_none(self, files: Iterable[FileName] | None) -> list[str] | None:
        """Like `names`; None for None."""
        return None if files is None else self.names(files)

    def name(self, file: FileName) -> str:
        """Returns a file name for the wire: a `file:` URI if it is not UTF-8."""
        name = os.fsencode(file)
        return name.decode("utf-8") if is_utf8(name) else to_uri(os.path.join(os.fsencode(self.folder), name))

    def _relative_data_dir(self) -> str:
        """Returns the data directory, relative if it is in the project, as the setting requires."""
        assert self._data_dir is not None
        data = os.path.realpath(os.path.join(self.folder, self._data_dir))
        root = os.path.realpath(self.folder)
        return os.path.relpath(data, root) if data.startswith(root + os.sep) else data

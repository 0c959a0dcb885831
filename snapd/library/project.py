"""One project as the library asks about it: in this process, or through the daemon that owns its store, unseen."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from snapd.core.errors import IoError, SnapdError, StoreLocked
from snapd.core.paths import is_utf8, to_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from snapd.backend import Backend

    T = TypeVar("T")
    FileName: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

logger = logging.getLogger("snapd.library")

_OPEN_SECONDS = 10.0
_POLL_SECONDS = 0.02


class Project:
    """Answers questions about one folder. Opened at the first; safe to use from several threads.

    Args:
        project_dir: the folder.
        enabled: whether snapshots are taken.
        data_dir: where the store lies; see `Snapshot`.
        degrade: whether what goes wrong is logged, and not raised.
    """

    def __init__(
        self,
        project_dir: str | os.PathLike[str],
        *,
        enabled: bool,
        data_dir: str | os.PathLike[str] | None,
        degrade: bool,
    ) -> None:
        self.enabled = enabled
        self._folder = os.path.abspath(project_dir)
        self._data_dir = os.fspath(data_dir) if data_dir is not None else None
        self._degrade = degrade
        self._changed = threading.Condition(threading.Lock())
        self._running = 0
        self._backend: Backend | None = None

    def close(self) -> None:
        """Lets another process own the store, once the calls under way are done. The next call opens it again."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)
            backend, self._backend = self._backend, None
            if backend is not None:
                backend.close()

    def ask(self, empty: T, ask: Callable[[], T]) -> T:
        """What a question is answered with; where that fails and is to be borne, it is logged and `empty` is given.

        Raises:
            SnapdError: see there.
        """
        try:
            return ask()
        except SnapdError as error:
            if not self._degrade:
                raise
            self.tell(error)
            return empty

    def tell(self, error: SnapdError) -> None:
        """Logs what went wrong and keeps nobody from going on."""
        logger.warning("snapshots of %s: %s", self._folder, error)

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request; raises `SnapdError`."""
        try:
            return self._request_once(method, params)
        except IoError as error:
            from snapd.wire.methods import METHODS

            # the daemon that answered for us has ended; whether it did what was asked is unknown
            if error.data.get("errno") != "EPIPE" or not METHODS[method].may_repeat(params):
                raise
        return self._request_once(method, params)

    def _request_once(self, method: str, params: dict[str, Any]) -> Any:
        with self._changed:
            if self._backend is not None and not self._backend.is_open:
                self._backend.close()
                self._backend = None
            if self._backend is None:
                self._backend = self._open()
            backend = self._backend
            self._running += 1
        try:
            return backend.request(method, params)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def pages(self, method: str, params: dict[str, Any], key: str) -> Iterator[Any]:
        """What all pages of an answer have under a key; raises `SnapdError`."""
        cursor: str | None = None
        while True:
            page = self.request(method, {**params, **without_none(cursor=cursor)})
            yield from page[key]
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def _open(self) -> Backend:
        from snapd.backend import open_local, open_remote
        from snapd.locations import Locations
        from snapd.settings.sources import as_options, for_the_daemon, read_environment

        locations = Locations.from_environment(os.environ)
        own: dict[str, Any] = {} if self.enabled else {"snapshot": False}
        if self._data_dir is not None:
            own["data_dir"] = self._relative_data_dir()
        environment = read_environment(os.environ)
        deadline = time.monotonic() + _OPEN_SECONDS
        while True:
            try:
                return open_local(locations, os.environ.get("XDG_CONFIG_HOME"), self._folder, environment, own)
            except StoreLocked as error:
                if error.data.get("socket") is None:
                    raise
                locked = error
            try:
                heard, unheard = for_the_daemon(environment, locations.config_file)
                backend = open_remote(str(locked.data["socket"]), self._folder, as_options({**heard, **own}))
            except IoError:
                # it is about to end, and the store is ours then
                if time.monotonic() > deadline:
                    raise locked from None
            else:
                if unheard is not None:
                    logger.warning("%s", unheard)
                return backend
            time.sleep(_POLL_SECONDS)

    def names(self, files: Iterable[FileName] | None) -> list[str] | None:
        """Files as JSON can name them.

        Raises:
            TypeError: it is one name.
        """
        if isinstance(files, (str, bytes, os.PathLike)):
            # its letters would be taken for files, and a file of that name deleted
            raise TypeError(f"expected several files, got the one {files!r}: put it into a list")
        return None if files is None else [self.name(file) for file in files]

    def name(self, file: FileName) -> str:
        """A file as JSON can name it."""
        name = os.fsencode(file)
        return name.decode("utf-8") if is_utf8(name) else to_uri(os.path.join(os.fsencode(self._folder), name))

    def _relative_data_dir(self) -> str:
        """A data directory inside the project is named relative to it: that is how settings say "inside"."""
        assert self._data_dir is not None
        data = os.path.realpath(os.path.join(self._folder, self._data_dir))
        root = os.path.realpath(self._folder)
        return os.path.relpath(data, root) if data.startswith(root + os.sep) else data


def without_none(**params: Any) -> dict[str, Any]:
    """Params without those that say nothing."""
    return {name: value for name, value in params.items() if value is not None}

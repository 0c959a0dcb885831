"""The library: snapshots of a project in this process, or through the daemon that owns its store, unseen."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from snapd.backend import file_bytes
from snapd.core.errors import IoError, SnapdError, StoreLocked
from snapd.core.paths import is_utf8, to_uri
from snapd.wire.converter import structure
from snapd.wire.snapshot import CleanupResult, StatusResult
from snapd.wire.values import FileDiff, Outcome, Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from snapd.backend import Backend
    from snapd.wire.values import OnConflict

    T = TypeVar("T")
    FileName = str | bytes | os.PathLike[str] | os.PathLike[bytes]

logger = logging.getLogger(__name__)

__all__ = ["CleanupResult", "FileDiff", "Outcome", "Patch", "Snapshot", "StatusResult"]

_NOTHING_DONE = Outcome(applied=False, before="", after="", files=[])
_NOT_TWICE = frozenset({"snapshot/restore", "snapshot/revert", "snapshot/cleanup"})
"""What must not be done again where it may have been done."""
_OPEN_SECONDS = 10.0
_POLL_SECONDS = 0.02


class Snapshot:
    """The snapshots of one project. Opened at the first call; safe to use from several threads.

    The shape is that of OpenCode's `Snapshot` and its Python and Go descendants: `track` before and after an agent's
    step, `patch` or `diff_full` to see the step, `revert` or `restore` to take it back.

    Args:
        project_dir: the folder.
        enabled: where False, `track` gives None.
        data_dir: where the store lies; a directory inside the project (such as `.agent/snapshots`) is left out of its
            own snapshots. Default: the user's data directory.
        errors: "raise" raises what goes wrong; "degrade" logs it and gives the empty result, so that an agent goes on.

    Raises:
        ValueError: `errors` is neither.
    """

    def __init__(
        self,
        project_dir: str | os.PathLike[str],
        *,
        enabled: bool = True,
        data_dir: str | os.PathLike[str] | None = None,
        errors: Literal["raise", "degrade"] = "raise",
    ) -> None:
        if errors not in ("raise", "degrade"):
            raise ValueError(f"errors: expected 'raise' or 'degrade', got {errors!r}")
        self._folder = os.path.abspath(project_dir)
        self._enabled = enabled
        self._data_dir = os.fspath(data_dir) if data_dir is not None else None
        self._degrade = errors == "degrade"
        self._changed = threading.Condition(threading.Lock())
        self._running = 0
        self._backend: Backend | None = None

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets another process own the store, once the calls under way are done. The next call opens it again."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)
            backend, self._backend = self._backend, None
            if backend is not None:
                backend.close()

    def track(self, force: Iterable[FileName] | None = None) -> str | None:
        """Takes a snapshot.

        Args:
            force: ignored paths to capture all the same.

        Returns:
            Its hash (40 hex digits); None where snapshots are off.

        Raises:
            SnapdError: there is no new snapshot.
        """
        if not self._enabled:
            return None
        params = _without_none(force=self._names(force))

        def ask() -> str | None:
            tree: str | None = self._request("snapshot/track", params)["hash"]
            return tree

        return self._ask(None, ask)

    def patch(self, from_hash: str, to_hash: str | None = None) -> Patch:
        """Names the files that differ from a snapshot.

        Args:
            from_hash: the snapshot.
            to_hash: another one; default: the files as they are now.

        Returns:
            The hash, and absolute paths (a `file:` URI where a name is not UTF-8); `revert` takes it as it is.

        Raises:
            SnapdError: see there.
        """
        params = _without_none(hash=from_hash, to=to_hash)
        return self._ask(
            Patch(hash=from_hash, files=[]), lambda: structure(self._request("snapshot/patch", params), Patch)
        )

    def diff(self, from_hash: str, to_hash: str | None = None, files: Iterable[FileName] | None = None) -> str:
        """The unified diff from a snapshot, as `git diff --no-renames` writes it.

        Args:
            from_hash: the snapshot.
            to_hash: another one; default: the files as they are now.
            files: only these.

        Raises:
            SnapdError: see there.
        """
        params = _without_none(hash=from_hash, to=to_hash, files=self._names(files))
        return self._ask("", lambda: self._request("snapshot/diff", params)["diff"])

    def diff_full(
        self,
        from_hash: str,
        to_hash: str | None = None,
        *,
        files: Iterable[FileName] | None = None,
        contents: bool = True,
        renames: bool = False,
    ) -> list[FileDiff]:
        """Each file that differs, before and after, with counts.

        Args:
            from_hash: the snapshot.
            to_hash: another one; default: the files as they are now.
            files: only these.
            contents: whether `before` and `after` are filled in.
            renames: whether moved files are found and shown as one.

        Raises:
            SnapdError: see there.
        """
        params = {
            **_without_none(to=to_hash, files=self._names(files)),
            "from": from_hash,
            "contents": contents,
            "renames": renames,
        }
        return self._ask(
            [],
            lambda: [structure(diff, FileDiff) for diff in self._pages("snapshot/diffFull", params, "diffs")],
        )

    def revert(
        self,
        hash: str | Patch | Iterable[Patch],  # noqa: A002 - the name that callers of its ancestors use
        files: Iterable[FileName] | None = None,
        *,
        dry_run: bool = False,
        on_conflict: OnConflict = "overwrite",
    ) -> Outcome:
        """Brings some files back; a file that the snapshot did not have is deleted.

        Args:
            hash: a snapshot's hash, together with `files`; or a patch; or several, of which the first that names a
                file wins.
            files: paths, absolute or relative to the project.
            dry_run: only say what would be done.
            on_conflict: what to do with files changed since the last snapshot.

        Raises:
            TypeError: a hash without files, files without a hash, or one name where several are expected.
            SnapdError: nothing was changed.
        """
        if isinstance(hash, str):
            if files is None:
                raise TypeError("revert: a hash needs the files to bring back")
            patches = [{"hash": hash, "files": self._names(files)}]
        elif files is not None:
            raise TypeError("revert: files go with a hash; a patch has its own")
        else:
            given = [hash] if isinstance(hash, Patch) else hash
            patches = [{"hash": patch.hash, "files": patch.files} for patch in given]
        params = {"patches": patches, "dryRun": dry_run, "onConflict": on_conflict}
        return self._ask(_NOTHING_DONE, lambda: structure(self._request("snapshot/revert", params), Outcome))

    def restore(
        self,
        hash: str,  # noqa: A002 - the name that callers of its ancestors use
        *,
        dry_run: bool = False,
        on_conflict: OnConflict = "overwrite",
    ) -> Outcome:
        """Makes the project exactly what a snapshot was; what is there now is in a snapshot first (`before`).

        Args:
            hash: the snapshot.
            dry_run: only say what would be done.
            on_conflict: what to do with files changed since the last snapshot.

        Raises:
            SnapdError: nothing was changed.
        """
        params = {"hash": hash, "dryRun": dry_run, "onConflict": on_conflict}
        return self._ask(_NOTHING_DONE, lambda: structure(self._request("snapshot/restore", params), Outcome))

    def get_file_at(self, hash: str, file: FileName) -> str | None:  # noqa: A002 - as above
        """A file's text as it was; where it is not UTF-8, each byte is one character (Latin-1).

        Args:
            hash: the snapshot.
            file: absolute, or relative to the project.

        Returns:
            The text; None only under `errors="degrade"`.

        Raises:
            FileNotInSnapshot: it was not there, or was skipped.
            SnapdError: see there.
        """
        data = self.get_bytes_at(hash, file)
        if data is None:
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("latin-1")

    def get_bytes_at(self, hash: str, file: FileName) -> bytes | None:  # noqa: A002 - as above
        """A file's exact bytes as they were; else as `get_file_at`."""

        def ask() -> bytes:
            return file_bytes(self._request("snapshot/fileAt", {"hash": hash, "file": self._name(file)}))

        return self._ask(None, ask)

    def list_files(self, hash: str, prefix: str = "") -> list[str]:  # noqa: A002 - as above
        """The files of a snapshot, relative to the project, ordered.

        Args:
            hash: the snapshot.
            prefix: only names that start with it.

        Raises:
            SnapdError: see there.
        """
        params = {"hash": hash, "prefix": prefix}
        return self._ask([], lambda: list(self._pages("snapshot/listFiles", params, "files")))

    def file_exists_at(self, hash: str, file: FileName) -> bool | None:  # noqa: A002 - as above
        """Whether a snapshot has a file.

        Args:
            hash: the snapshot.
            file: absolute, or relative to the project.

        Returns:
            None only under `errors="degrade"`: nobody knows.

        Raises:
            SnapdError: see there.
        """
        params = {"hash": hash, "file": self._name(file)}
        return self._ask(None, lambda: bool(self._request("snapshot/fileExists", params)["exists"]))

    def cleanup(self, older_than_days: float | None = None) -> CleanupResult:
        """Drops old snapshots; the newest always stays.

        Args:
            older_than_days: default: the configured retention.

        Raises:
            SnapdError: see there.
        """
        params = _without_none(olderThanDays=older_than_days)
        return self._ask(
            CleanupResult(removed=0, freed_bytes=0),
            lambda: structure(self._request("snapshot/cleanup", params), CleanupResult),
        )

    def status(self) -> StatusResult:
        """What is known of the project without looking at its files.

        Raises:
            SnapdError: see there, also under `errors="degrade"`: there is no empty status.
        """
        return structure(self._request("snapshot/status", {}), StatusResult)

    # -- inside

    def _ask(self, empty: T, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except SnapdError as error:
            if not self._degrade:
                raise
            logger.warning("snapshots of %s: %s", self._folder, error.message)
            return empty

    def _request(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return self._request_once(method, params)
        except IoError as error:
            # the daemon that answered for us has ended; whether it did what was asked is unknown
            if error.data.get("errno") != "EPIPE" or method in _NOT_TWICE:
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

    def _pages(self, method: str, params: dict[str, Any], key: str) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._request(method, {**params, **_without_none(cursor=cursor)})
            yield from page[key]
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def _open(self) -> Backend:
        from snapd.backend import open_local, open_remote
        from snapd.config import Settings, as_options, read_environment, read_file
        from snapd.locations import Locations

        locations = Locations.from_environment(os.environ)
        own: dict[str, Any] = {} if self._enabled else {"snapshot": False}
        if self._data_dir is not None:
            own["data_dir"] = self._relative_data_dir()
        environment = read_environment(os.environ)
        settings = Settings.of(read_file(locations.config_file), environment, own)
        deadline = time.monotonic() + _OPEN_SECONDS
        while True:
            try:
                return open_local(locations, os.environ.get("XDG_CONFIG_HOME"), self._folder, settings)
            except StoreLocked as error:
                if error.data.get("socket") is None:
                    raise
                locked = error
            try:
                return open_remote(str(locked.data["socket"]), self._folder, as_options({**environment, **own}))
            except IoError:
                # it is about to end, and the store is ours then
                if time.monotonic() > deadline:
                    raise locked from None
            time.sleep(_POLL_SECONDS)

    def _names(self, files: Iterable[FileName] | None) -> list[str] | None:
        if isinstance(files, (str, bytes)):
            # its letters would be taken for files, and a file of that name deleted
            raise TypeError(f"expected several files, got the one {files!r}")
        return None if files is None else [self._name(file) for file in files]

    def _name(self, file: FileName) -> str:
        """A file's name as JSON can say it."""
        name = os.fsencode(file)
        return name.decode("utf-8") if is_utf8(name) else to_uri(os.path.join(os.fsencode(self._folder), name))

    def _relative_data_dir(self) -> str:
        """A data directory inside the project is named relative to it: that is how settings say "inside"."""
        assert self._data_dir is not None
        data = os.path.realpath(os.path.join(self._folder, self._data_dir))
        root = os.path.realpath(self._folder)
        return os.path.relpath(data, root) if data.startswith(root + os.sep) else data


def _without_none(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}

"""One way to ask for things, whoever answers: this process itself, or the daemon that owns the store.

Both take and give the wire's JSON values and raise the errors of `snapd.core.errors`, so that what stands on them, the
library and the command line, is written once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from snapd.core import errors as core_errors
from snapd.core.errors import IoError, SnapdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd_client import Client, Progress

    from snapd.config import Settings
    from snapd.workspaces import Workspaces

    Report = Callable[[str, int | None], None]

_BY_KIND: dict[str, type[SnapdError]] = {
    found.kind: found
    for found in vars(core_errors).values()
    if isinstance(found, type) and issubclass(found, SnapdError) and found is not SnapdError
}


class Backend(Protocol):
    """Answers requests about one folder."""

    def request(self, method: str, params: dict[str, Any], report: Report | None = None) -> Any:
        """The result of a request.

        Args:
            method: of the wire's table.
            params: JSON values.
            report: told a message and a percentage (None where unknown) when work takes long.

        Raises:
            SnapdError: what the request was answered with.
        """

    @property
    def is_open(self) -> bool:
        """Whether requests can still be answered."""

    def close(self) -> None:
        """Lets go of the folder."""


class LocalBackend:
    """Answers in this process.

    Args:
        workspaces: those of this process.
        folder: absolute path of the workspace.
        settings: that hold for it.

    Raises:
        SnapdError: the folder cannot be opened; `StoreLocked` where another process owns its store.
    """

    def __init__(self, workspaces: Workspaces, folder: str, settings: Settings) -> None:
        self._workspaces = workspaces
        self._enabled = settings.snapshot
        self._folder = os.fsencode(folder)
        self._workspace = workspaces.acquire(self._folder, settings)

    def request(self, method: str, params: dict[str, Any], report: Report | None = None) -> Any:
        """See `Backend.request`."""
        from snapd.core.call import Call
        from snapd.handlers import HANDLERS, Context
        from snapd.wire import converter as wire
        from snapd.wire.methods import METHODS

        def tell(message: str, done: int, total: int | None) -> None:
            if report is not None:
                report(message, done * 100 // total if total else None)

        try:
            structured = wire.structure(params, METHODS[method].params)
        except wire.InvalidParams as error:
            raise core_errors.InvalidParams(str(error), field=error.field) from error
        roots = (self._workspace.root, self._folder)
        context = Context(self._workspace, roots, self._enabled, Call(tell))
        return wire.unstructure(HANDLERS[method](context, structured))

    @property
    def is_open(self) -> bool:
        """See `Backend.is_open`."""
        return True

    def close(self) -> None:
        """See `Backend.close`."""
        if self._workspaces.release(self._workspace):
            self._workspaces.close_unused()


class RemoteBackend:
    """Has a daemon answer.

    Args:
        connect: makes a connection that is not yet initialised.
        folder: absolute path of the workspace.
        options: `initializationOptions`.
    """

    def __init__(self, connect: Callable[[], Client], folder: str, options: dict[str, Any]) -> None:
        try:
            self._client = connect()
        except OSError as error:
            raise IoError(f"the daemon: {error}", errno="ECONNREFUSED") from error
        with _client_errors():
            self._client.initialize([folder], options)

    @property
    def is_open(self) -> bool:
        """See `Backend.is_open`."""
        return self._client.connected

    def request(self, method: str, params: dict[str, Any], report: Report | None = None) -> Any:
        """See `Backend.request`."""

        def tell(progress: Progress) -> None:
            if report is not None and progress.kind != "end":
                report(progress.message or progress.title or method, progress.percentage)

        with _client_errors():
            return self._client.request(method, params, on_progress=tell if report is not None else None)

    def close(self) -> None:
        """See `Backend.close`."""
        self._client.close()


class _client_errors:  # noqa: N801 - used as a statement
    """Raises the client's errors as those of the core."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        import snapd_client

        if isinstance(error, snapd_client.SnapdError):
            data = {key: value for key, value in error.data.items() if key != "kind"}
            known = _BY_KIND.get(error.kind)
            if known is not None:
                raise known(error.message, **data) from error
            raise IoError(error.message, errno="EPROTO", **data) from error
        if isinstance(error, snapd_client.ClientError):
            raise IoError(f"the daemon: {error}", errno="EPIPE") from error

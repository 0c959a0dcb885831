"""Requests about one folder, answered by this process or by the daemon, with the same values and errors."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from snapd.model import errors as core_errors
from snapd.model.errors import InvalidParams, IoError, SnapdError, UnknownComment

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from snapd_client import Cancellation, Client, Progress
    from snapd_client.methods import typed

    from snapd.locations import Locations
    from snapd.settings.in_force import Base, Options
    from snapd.settings.table import Layer
    from snapd.wire.values import RequestParams
    from snapd.workspaces import Workspaces

    T = TypeVar("T")
    Report = Callable[[str, int | None], None]

else:

    def typed(function):
        """Marks generated methods for type checkers; returns `function` unchanged."""
        return function


_BY_KIND: dict[str, type[SnapdError]] = {
    each.kind: each
    for each in vars(core_errors).values()
    if isinstance(each, type) and issubclass(each, SnapdError) and "kind" in vars(each)
}


def file_bytes(content: str, encoding: str) -> bytes:
    """Decodes the `content` of `snapshot/fileAt`."""
    if encoding == "utf-8":
        return content.encode("utf-8")
    from base64 import b64decode

    return b64decode(content)


def _class_of(kind: str) -> type[SnapdError]:
    """The class for an error kind; a new one for a kind that only a newer daemon has."""
    hint = "the daemon is newer than this program: 'snapd doctor' says which versions they have"
    return _BY_KIND.get(kind) or type(kind, (SnapdError,), {"kind": kind, "default_hint": hint})


_IDS = frozenset({"stepId", "parentStepId", "steps", "sharedWith", "sessionId", "messageId"})
"""The fields of answers that contain ids: texts, or lists of them."""
_HASHES = frozenset({"hash", "before", "after"})
_HASH = re.compile("[0-9a-f]{40}")


def beginnings(backend: Backend, answer: Any, known: Container[str] = ()) -> dict[str, str]:
    """Requests the short forms of all ids and hashes in an answer (JSON values), except `known`, with one request."""
    names: dict[str, None] = {}
    pending = [answer]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            of_steps = [value[key] for key in value.keys() & _IDS]
            # file contents also have fields of these names
            of_snapshots = [value[key] for key in value.keys() & _HASHES if _HASH.fullmatch(str(value[key]))]
            texts = [
                name for each in (*of_steps, *of_snapshots) for name in (each if isinstance(each, list) else [each])
            ]
            names.update(dict.fromkeys(name for name in texts if isinstance(name, str) and name not in known))
        pending += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (
        dict(zip(names, backend.request("session/prefixes", {"ids": [*names]})["prefixes"], strict=True))
        if names
        else {}
    )


def with_short_ids(backend: Backend, answer: T) -> T:
    """Returns the answer with ids and hashes shortened."""
    shown = beginnings(backend, answer)

    def shorten(value: Any) -> Any:
        if isinstance(value, dict):
            # the ids in a change of the folder's own git are not snapd's
            return {key: below if key == "git" else shorten(below) for key, below in value.items()}
        return [shorten(below) for below in value] if isinstance(value, list) else shown.get(value, value)

    shortened: T = shorten(answer)
    return shortened


def only_whole_step(steps: Sequence[Any]) -> str | None:
    """Returns the id of the one step that is no part of another of these; None if there are more, or none."""
    every = {step["stepId"] for step in steps}
    names = [str(step["stepId"]) for step in steps if step.get("parentStepId") not in every]
    return names[0] if len(names) == 1 else None


def pages(ask: Callable[[Any, Any], Any], method: str, params: Mapping[str, Any], key: str) -> Iterator[Any]:
    """Yields all items of a paged answer; `key` is the field with the items."""
    cursor: str | None = None
    while True:
        page = ask(method, {**params, "cursor": cursor})
        yield from page[key]
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def all_comments(ask: Callable[[Any, Any], Any], params: Mapping[str, Any]) -> list[Any]:
    """Returns the comments that `review/comments` lists."""
    return list(pages(ask, "review/comments", {"limit": 200, **params}, "comments"))


def find_comment(ask: Callable[[Any, Any], Any], word: str) -> Any:
    """Returns the comment whose id begins like this; raises `UnknownComment`, or `InvalidParams` for several."""
    matches = [row for row in all_comments(ask, {"state": "all"}) if word and row["commentId"].startswith(word)]
    if not matches:
        raise UnknownComment(f"there is no comment {word!r}", commentId=word)
    if len(matches) > 1:
        raise InvalidParams(f"several comments begin like {word!r}", hint="give more digits of the id", field="comment")
    return matches[0]


class ChatRewind(NamedTuple):
    """The conversation of a session, which goes back to before a message; `about` are the params that name both."""

    request: Callable[[Any, Any], Any]
    about: Mapping[str, Any]

    def look(self) -> Any:
        """Returns how it would go on."""
        return self.request("session/rewindChat", {**self.about, "dryRun": True})["chat"]

    def follow(self, planned: Mapping[str, Any], result: Mapping[str, Any]) -> Any:
        """Has it go on if the files went back; where it cannot, the answer says so even if the request fails."""
        problem = "stays as it is, because no file was changed"
        is_left = any(row["outcome"] == "conflict" for row in result["files"]) and result["before"] == result["after"]
        if result["applied"] and not is_left:
            try:
                return self.request("session/rewindChat", self.about)["chat"]
            except SnapdError as error:
                problem = f"stays as it is: {error}"
        left = {key: value for key, value in planned.items() if key in ("agent", "cwd", "drops", "prompt")}
        return {**left, "command": [], "problem": planned.get("problem", problem)}


class Backend(Protocol):
    """Answers requests about one folder."""

    @typed
    def request(self, method: str, params: Mapping[str, Any] | None = None, report: Report | None = None) -> Any:
        """Answers a request in JSON values; None in `params` means absent. Raises `SnapdError`.

        `report` is called with a message and a percentage (None if unknown) while a long request runs.
        """

    def call(self, method: str, params: RequestParams) -> Any:
        """Like `request`, with wire objects as params and result."""

    @property
    def is_open(self) -> bool:
        """Whether requests can still be answered."""

    def close(self) -> None:
        """Releases the folder."""


class LocalBackend:
    """Answers in this process. Raises `StoreLocked` if another process owns the store, or another `SnapdError`."""

    def __init__(self, workspaces: Workspaces, folder: str, options: Options) -> None:
        self._workspaces = workspaces
        self._folder = os.fsencode(folder)
        self._options = options
        self.workspace = workspaces.acquire(self._folder, options)

    @typed
    def request(self, method: str, params: Mapping[str, Any] | None = None, report: Report | None = None) -> Any:
        """See `Backend.request`."""
        from snapd.wire.converter import unstructure

        given = {name: value for name, value in (params or {}).items() if value is not None}
        return unstructure(self._handle(method, given, report))

    def call(self, method: str, params: RequestParams) -> Any:
        """See `Backend.call`."""
        from snapd.wire.converter import unstructure

        # the caller's values are checked when they are structured again
        return self._handle(method, unstructure(params), None)

    def _handle(self, method: str, params: dict[str, Any], report: Report | None) -> Any:
        from snapd.handlers import HANDLERS, Context
        from snapd.handlers.binding import structured
        from snapd.model.call import Call
        from snapd.wire.methods import METHODS

        def progress(message: str, done: int, total: int | None) -> None:
            if report is not None:
                report(message, done * 100 // total if total else None)

        given = structured(METHODS[method], params)
        roots = (self.workspace.root, self._folder)
        call = Call(progress)
        context = Context(self.workspace, roots, self._options.client, call)
        return _uninterrupted(lambda: HANDLERS[method](context, given), call.cancel)

    @property
    def is_open(self) -> bool:
        """See `Backend.is_open`."""
        return True

    def close(self) -> None:
        """See `Backend.close`. Raises `SnapdError` if the work tree could not be read for steps left open."""
        from snapd.model.call import Call

        try:
            self.workspace.sessions.leave(self._options.client, Call())
        finally:
            if self._workspaces.release(self.workspace, self._options):
                self._workspaces.close_unused()


shared: dict[tuple[str, str, str | None], tuple[Workspaces, Base]] = {}
"""This process's workspaces, by the directories that they depend on: a store has only one owner per process."""
_shared_lock = threading.Lock()


def open_local(
    locations: Locations, xdg_config_home: str | None, folder: str, environment: Layer, own: Layer | None = None
) -> LocalBackend:
    """Opens a folder in this process, with one store owner for all callers; `own` overrides the `environment`."""
    from snapd.settings.in_force import Base, Options, SettingsFile
    from snapd.workspaces import Workspaces, current_umask

    key = (locations.data, locations.home, xdg_config_home)
    with _shared_lock:
        if key not in shared:
            base = Base(SettingsFile(locations.config_file))
            shared[key] = Workspaces(locations, xdg_config_home, current_umask(), None), base
        workspaces, base = shared[key]
    options = Options(base, object())
    options.give(environment, "environment")
    options.give(own or {})
    return LocalBackend(workspaces, folder, options)


def open_remote(socket: str, folder: str, options: dict[str, Any], locations: Locations | None = None) -> RemoteBackend:
    """Opens a folder in the daemon on a socket; see `connect`. Raises as `RemoteBackend`."""
    return RemoteBackend(connect(socket, None, locations), folder, options)


def connect(
    socket: str,
    timeout: float | None,
    locations: Locations | None = None,
    on_wait: Callable[[], object] | None = None,
) -> Client:
    """Connects to the daemon on a socket, without initializing; None as `timeout` means no limit.

    With `locations`, the daemon is started if none runs, also after a lost connection, which is then reopened;
    `on_wait` is called if the start takes long. Raises `IoError`.
    """
    from snapd_client import Client
    from snapd_client.transport import Transport, connect_unix

    waits = [] if on_wait is None else [on_wait]

    def open_transport() -> Transport:
        if locations is not None:
            from snapd.launch import ensure_daemon

            descriptor = ensure_daemon(locations, socket, waits.pop() if waits else lambda: None).detach()
            return Transport(descriptor, descriptor)
        try:
            return connect_unix(socket, timeout)
        except OSError as error:
            raise IoError(
                f"cannot connect to the daemon at {socket}: {error.strerror or error}",
                hint="'snapd doctor' says more",
                path=socket,
                errno="ECONNREFUSED",
            ) from error

    return Client(open_transport, timeout=timeout, reconnects=locations is not None)


class RemoteBackend:
    """Answers through a daemon, by a `client` that it initializes with `options` and closes."""

    def __init__(self, client: Client, folder: str, options: dict[str, Any]) -> None:
        self._client = client
        try:
            with _client_errors():
                self._client.initialize([folder], options)
        except BaseException:
            self._client.close()
            raise

    @property
    def is_open(self) -> bool:
        """See `Backend.is_open`."""
        return self._client.connected

    @typed
    def request(
        self,
        method: Any,
        params: Any = None,
        report: Report | None = None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """See `Backend.request`; another thread may cancel it by `cancellation`."""

        def show(progress: Progress) -> None:
            if report is not None and progress.kind != "end":
                report(progress.message or "working", progress.percentage)

        with _client_errors():
            try:
                on_progress = show if report is not None else None
                return self._client.request(method, params, on_progress=on_progress, cancellation=cancellation)
            except ValueError as error:
                raise core_errors.InvalidParams(
                    f"params: cannot be written as JSON: {error}", field="params"
                ) from error

    def call(self, method: str, params: RequestParams) -> Any:
        """See `Backend.call`."""
        from snapd.wire.converter import structure, unstructure
        from snapd.wire.methods import METHODS

        given: Any = unstructure(params)
        name: Any = method
        return structure(self.request(name, given), METHODS[method].result)

    def close(self) -> None:
        """See `Backend.close`."""
        self._client.close()


def _uninterrupted(work: Callable[[], Any], cancel: Callable[[], None]) -> Any:
    """Runs work in a thread, as Ctrl-C could interrupt the main thread anywhere.

    On Ctrl-C it calls `cancel`, and raises KeyboardInterrupt once the work has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done = threading.Event()
    result: Any = None
    failure: BaseException | None = None

    def run() -> None:
        nonlocal result, failure
        try:
            result = work()
        except BaseException as error:
            failure = error
        finally:
            done.set()

    interrupt: KeyboardInterrupt | None = None
    threading.Thread(target=run, name="snapd-call").start()
    while not done.is_set():
        try:
            # a Ctrl-C just before it waits is seen only after it
            done.wait(0.5)
        except KeyboardInterrupt as error:
            interrupt = error
            cancel()
    if interrupt is not None:
        raise interrupt
    if failure is not None:
        raise failure
    return result


@contextmanager
def _client_errors() -> Iterator[None]:
    import snapd_client

    try:
        yield
    except snapd_client.SnapdError as error:
        data = {key: value for key, value in error.data.items() if key != "kind"}
        if error.kind:
            raise _class_of(error.kind)(error.message, **data) from error
        raise IoError(error.message, errno="EPROTO", **data) from error
    except snapd_client.ClientError as error:
        raise IoError(
            f"the daemon did not answer: {error}",
            hint="the request may have been carried out: check with 'snapd log', then try again",
            errno="EPIPE",
        ) from error

"""A request while it is answered: what it asks for, and its way to the daemon."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import orjson
from snapd_client import Cancellation
from snapd_client.methods import typed
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from snapd.model.errors import Cancelled, UnknownStep
from snapd.web.errors import BodyTooSlow
from snapd.web.link import path_of

from . import parameters

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from concurrent.futures import Executor

    from starlette.requests import Request

    from snapd.web.hub import Hub
    from snapd.web.link import Link, OtherFolders

    from .routes import Route

    T = TypeVar("T")

_BODY_SECONDS = 30.0
"""How long a body may take to come."""


@attrs.frozen
class Service:
    """What all requests share.

    Attributes:
        link: to the daemon.
        hub: passes on what the daemon tells.
        executor: the threads that wait for the daemon.
        quick: those that ask it for its status, which must not wait for the others.
        slow: those that search, which must not keep the others busy.
        folder: absolute path of the workspace.
        others: the other folders that the daemon has open.
        read_only: whether nothing may be changed.
    """

    link: Link
    hub: Hub
    executor: Executor
    quick: Executor
    slow: Executor
    folder: str
    others: OtherFolders
    read_only: bool

    @asynccontextmanager
    async def about(self, workspace: str | None) -> AsyncIterator[Service]:
        """The same about the folder that a request names.

        Args:
            workspace: an absolute path or a `file:` URI; None for the folder of this server.

        Raises:
            InvalidParams: it is neither.
            SnapdError: as `OtherFolders.opened`.
        """
        folder = self.folder if workspace is None else path_of(workspace)
        if folder == self.folder:
            yield self
            return
        async with self.others.opened(folder) as (link, hub):
            yield attrs.evolve(self, link=link, hub=hub, folder=folder)


class ApiRequest:
    """A request, and what it asks for.

    Args:
        service: what all requests share.
        route: of the request.
        request: as it came.
        given: the values of path, query and body, by the route's names.

    Attributes:
        params: the same, as params of the wire.

    Raises:
        InvalidParams: the values do not fit.
    """

    def __init__(self, service: Service, route: Route, request: Request, given: dict[str, Any]) -> None:
        self.service = service
        self.route = route
        self.request = request
        self.given = given
        self.params: Any = parameters.as_params(route, given)
        self._cancellation = Cancellation()

    @classmethod
    async def read(cls, service: Service, route: Route, request: Request) -> ApiRequest:
        """Reads a request.

        Raises:
            InvalidParams: it does not fit the route.
            SnapdError: its body did not come; see `body_of`.
        """
        given = parameters.from_query(route, request.scope["query_string"])
        if route.verb == "POST":
            given |= parameters.from_body(route, await body_of(request))
        return cls(service, route, request, given | parameters.from_path(route, request.path_params))

    @typed
    def ask(self, method: str, params: Any = None) -> Any:
        """The daemon's answer, as JSON values; for the threads of `work`.

        If the client is gone, a request that only reads is cancelled.

        Raises:
            SnapdError: the error that answers it.
        """
        return self.service.link.request(method, params, self._cancellation if self.route.verb == "GET" else None)

    def check_session(self) -> None:
        """Makes sure that the step is one of the session that the path names; for the threads of `work`.

        Raises:
            UnknownSession: there is no such session.
            UnknownStep: the session has no such step.
        """
        session, step = self.given["id"], self.given["stepId"]
        found = self.ask("step/find", {"prefix": step, "sessionId": session, "limit": 1})["steps"]
        if not any(each["stepId"] == step for each in found):
            raise UnknownStep(f"session {session} has no step {step}", sessionId=session, stepId=step)

    async def work(self, work: Callable[[], T], executor: Executor | None = None) -> T:
        """The result of work that waits for the daemon, done in another thread.

        If the client leaves meanwhile, what only reads is cancelled; what changes something goes on to its end.

        Args:
            work: what to do.
            executor: the threads that do it; default: those of the service.

        Raises:
            SnapdError: `work` raised it.
        """
        loop = asyncio.get_running_loop()
        doing = loop.run_in_executor(executor or self.service.executor, work)
        leaving = asyncio.ensure_future(self._left())
        both: set[asyncio.Future[Any]] = {doing, leaving}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                self._cancellation.cancel()
            return await doing
        finally:
            leaving.cancel()
            # also where this task itself was cancelled
            self._cancellation.cancel()

    async def _left(self) -> None:
        """Returns when the client is gone."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass


async def body_of(request: Request) -> bytes:
    """The body of a request.

    Raises:
        BodyTooSlow, BodyTooLarge: it did not come, or there is too much of it.
        Cancelled: the client has left in the middle of it.
    """
    try:
        return await asyncio.wait_for(request.body(), _BODY_SECONDS)
    except TimeoutError as error:
        raise BodyTooSlow(f"the body did not come within {_BODY_SECONDS:.0f} seconds") from error
    except ClientDisconnect as error:
        raise Cancelled("the client has left in the middle of the body") from error


def as_json(value: Any) -> Response:
    """An answer that is JSON."""
    return json_of(orjson.dumps(value))


def json_of(data: bytes) -> Response:
    """An answer that is JSON, encoded already."""
    return Response(data, media_type="application/json")


async def relay(asked: ApiRequest) -> Response:
    """The result of the route's method.

    Raises:
        SnapdError: the error that answers it.
    """
    method = asked.route.method
    assert method is not None
    name: Any = method.name

    def work() -> bytes:
        if asked.route.of_session:
            asked.check_session()
        return orjson.dumps(asked.ask(name, asked.params))

    return json_of(await asked.work(work))

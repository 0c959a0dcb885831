"""An HTTP request while it is answered: its params and its requests to the daemon."""

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


@attrs.frozen
class Service:
    """What all requests share; three executors, so that searches and long requests do not delay status requests."""

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
        """The service for a folder, as an absolute path or `file:` URI (else `InvalidParams`); None is our own."""
        folder = self.folder if workspace is None else path_of(workspace)
        if folder == self.folder:
            yield self
            return
        async with self.others.opened(folder) as (link, hub):
            yield attrs.evolve(self, link=link, hub=hub, folder=folder)


class ApiRequest:
    """A request with its values, by the route's names, as wire `params`. Raises `InvalidParams` if these do not fit."""

    def __init__(self, service: Service, route: Route, request: Request, given: dict[str, Any]) -> None:
        self.service = service
        self.route = route
        self.request = request
        self.given = given
        self.params: Any = parameters.as_params(route, given)
        self._cancellation = Cancellation()

    @classmethod
    async def read(cls, service: Service, route: Route, request: Request) -> ApiRequest:
        """Reads a request. Raises `InvalidParams` if it does not fit the route, and what `body_of` raises."""
        given = parameters.from_query(route, request.scope["query_string"])
        if route.verb == "POST":
            given |= parameters.from_body(route, await body_of(request))
        return cls(service, route, request, given | parameters.from_path(route, request.path_params))

    @typed
    def ask(self, method: str, params: Any = None) -> Any:
        """Sends a request to the daemon, in a thread of `work`; a read is cancelled if the client disconnects."""
        return self.service.link.request(method, params, self._cancellation if self.route.verb == "GET" else None)

    def check_session(self) -> None:
        """Raises `UnknownSession` or `UnknownStep` if the step is not of the path's session; in a thread of `work`."""
        session, step = self.given["id"], self.given["stepId"]
        steps = self.ask("step/find", {"prefix": step, "sessionId": session, "limit": 1})["steps"]
        if not any(each["stepId"] == step for each in steps):
            raise UnknownStep(f"session {session} has no step {step}", sessionId=session, stepId=step)

    async def work(self, work: Callable[[], T], executor: Executor | None = None) -> T:
        """Runs blocking work in a thread; if the client disconnects, read-only work is cancelled."""
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
            # also if this task itself was cancelled
            self._cancellation.cancel()

    async def _left(self) -> None:
        while (await self.request.receive())["type"] != "http.disconnect":
            pass


async def body_of(request: Request) -> bytes:
    """The body of a request. Raises `BodyTooSlow`, `BodyTooLarge`, or `Cancelled` if the client disconnects."""
    try:
        return await asyncio.wait_for(request.body(), _BODY_SECONDS)
    except TimeoutError as error:
        raise BodyTooSlow(f"the body did not come within {_BODY_SECONDS:.0f} seconds") from error
    except ClientDisconnect as error:
        raise Cancelled("the client has left in the middle of the body") from error


def as_json(value: Any) -> Response:
    """A JSON response."""
    return json_of(orjson.dumps(value))


def json_of(data: bytes) -> Response:
    """A response from encoded JSON."""
    return Response(data, media_type="application/json")


async def relay(asked: ApiRequest) -> Response:
    """The result of the route's wire method."""
    method = asked.route.method
    assert method is not None
    name: Any = method.name

    def work() -> bytes:
        if asked.route.of_session:
            asked.check_session()
        return orjson.dumps(asked.ask(name, asked.params))

    return json_of(await asked.work(work))

"""The routes of the API, from which dispatch and the OpenAPI document follow: verb, path, inputs and answers."""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import attrs

from snapd.web.api.answers import (
    ContentParams,
    EventsSince,
    RevertedSession,
    SearchParams,
    SearchResult,
    StateParams,
    Status,
)
from snapd.web.api.asking import relay
from snapd.web.api.contents import IMAGES, PLAIN, content, diff, revert, status, unrevert
from snapd.web.api.events import events
from snapd.web.api.search import search
from snapd.wire import methods
from snapd.wire.converter import wire_name
from snapd.wire.session import RevertOutcome, Session, SessionDiffResult
from snapd.wire.values import Outcome, RequestParams, fields_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.responses import Response

    from snapd.web.api.asking import ApiRequest
    from snapd.wire.methods import Method

_NAME = re.compile(r"\{(\w+)\}")
_OF_THE_CONNECTION = frozenset(wire_name(field.name) for field in fields_of(RequestParams))
"""Params that this server itself sets for the daemon."""
WORKSPACE = "workspace"
"""The query parameter that every route takes."""
_ABOUT_WORKSPACE = "Another folder that the daemon has open: its absolute path, or its `file:` URI."


@attrs.frozen
class Input:
    """One input of a route.

    `into` is the path of its field in the params, such as `("range", "start")`; `kind` is its type, as in the wire
    classes; `doc` is Markdown.
    """

    name: str
    place: Literal["path", "query", "body"]
    into: tuple[str, ...]
    kind: Any
    doc: str
    required: bool

    @property
    def takes_many(self) -> bool:
        """Whether it may be repeated in a query."""
        return get_origin(self.kind) is list

    @property
    def is_choice(self) -> bool:
        """Whether it is a list of fixed words, which a query gives as one comma-separated text."""
        return self.takes_many and get_origin(get_args(self.kind)[0]) is Literal


@attrs.frozen(eq=False)
class Route:
    """A route of the API.

    Attributes:
        verb: the HTTP method.
        path: with the names of its parameters in braces.
        params: the class of its params.
        results: the classes of its possible answers; empty if the answer is not JSON.
        method: the wire method that it calls, if any.
        names: the route's names of params fields, where they differ from the wire's.
        aliases: additional names of inputs.
        of_session: whether the path names a session that its step must belong to.
        kinds: error kinds that it may answer with besides those of its method.
        media: the content types of its answer.
    """

    verb: Literal["GET", "POST"]
    path: str
    params: type[attrs.AttrsInstance]
    results: tuple[type[attrs.AttrsInstance], ...]
    method: Method[Any, Any] | None = None
    names: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    aliases: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    of_session: bool = attrs.field(default=False, kw_only=True)
    kinds: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    media: tuple[str, ...] = attrs.field(default=("application/json",), kw_only=True)
    inputs: tuple[Input, ...] = attrs.field(init=False, eq=False)

    @inputs.default
    def _its_inputs(self) -> tuple[Input, ...]:
        in_path = _NAME.findall(self.path)
        place: Literal["query", "body"] = "query" if self.verb == "GET" else "body"
        found = []
        for field in fields_of(self.params):
            wire = wire_name(field.name)
            if wire in _OF_THE_CONNECTION:
                continue
            name = self.names.get(wire, wire)
            required = field.default is attrs.NOTHING
            kind, doc = _present(field.type), field.metadata["doc"]
            if name in in_path:
                found.append(Input(name, "path", (wire,), kind, doc, True))
            elif place == "query" and isinstance(kind, type) and attrs.has(kind):
                # a query has no objects
                for each in fields_of(kind):
                    part = wire_name(each.name)
                    found.append(Input(part, place, (wire, part), each.type, each.metadata["doc"], False))
            else:
                found.append(Input(name, place, (wire,), kind, doc, required))
        found.append(Input(WORKSPACE, "query", (), str, _ABOUT_WORKSPACE, False))
        if self.of_session:
            found.insert(0, Input("id", "path", (), str, "The session of the step.", True))
        assert sorted(in_path) == sorted(each.name for each in found if each.place == "path"), self.path
        return tuple(found)


def _present(annotation: Any) -> Any:
    """The type of a field without the markers for its absence."""
    if get_origin(annotation) in (Union, UnionType):
        members = [each for each in get_args(annotation) if each is not NoneType]
        return members[0] if len(members) == 1 else Union[tuple(members)]  # noqa: UP007 - made at run time
    return annotation


def plain(annotation: Any) -> Any:
    """A type without its annotations, such as a minimum."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


_OF_SESSION = {"sessionId": "id"}


@attrs.frozen
class Row:
    """A route and its handler."""

    route: Route
    answer: Callable[[ApiRequest], Awaitable[Response]]


def _relayed(
    verb: Literal["GET", "POST"],
    path: str,
    method: Method[Any, Any],
    names: dict[str, str] | None = None,
    *,
    of_session: bool = False,
) -> Row:
    route = Route(verb, path, method.params, (method.result,), method, names=names or {}, of_session=of_session)
    return Row(route, relay)


def _of_step(verb: Literal["GET", "POST"], name: str, method: Method[Any, Any]) -> Row:
    names = {"stepIds": "stepId"} if method is methods.STEP_CHANGES else {}
    return _relayed(verb, f"/session/{{id}}/steps/{{stepId}}/{name}", method, names, of_session=True)


def _agents_own(
    verb: Literal["GET", "POST"],
    name: str,
    method: Method[Any, Any],
    results: tuple[type[attrs.AttrsInstance], ...],
    answer: Callable[[ApiRequest], Awaitable[Response]],
) -> Row:
    """A route of the agent-facing API, which also accepts the agents' spelling of ids."""
    path, aliases = f"/session/{{id}}/{name}", {"messageID": "messageId", "partID": "partId"}
    return Row(Route(verb, path, method.params, results, method, names=_OF_SESSION, aliases=aliases), answer)


ROWS = (
    _relayed("GET", "/session", methods.SESSION_LIST),
    _relayed("GET", "/session/{id}/steps", methods.SESSION_STEPS, _OF_SESSION),
    _relayed("GET", "/session/{id}/messages", methods.SESSION_MESSAGES, _OF_SESSION),
    _relayed("GET", "/session/{id}/history", methods.SESSION_HISTORY, _OF_SESSION),
    _relayed("GET", "/session/{id}/review", methods.REVIEW_LIST, _OF_SESSION),
    _of_step("GET", "changes", methods.STEP_CHANGES),
    _of_step("GET", "diff", methods.STEP_DIFF),
    _of_step("GET", "hunks", methods.STEP_HUNKS),
    _of_step("POST", "revert-files", methods.STEP_REVERT_FILES),
    _of_step("POST", "revert-hunks", methods.STEP_REVERT_HUNKS),
    _relayed("POST", "/session/{id}/undo", methods.SESSION_UNDO, _OF_SESSION),
    _relayed("POST", "/session/{id}/redo", methods.SESSION_REDO, _OF_SESSION),
    _relayed("POST", "/session/{id}/review/keep", methods.REVIEW_KEEP, _OF_SESSION),
    _relayed("POST", "/session/{id}/review/revert", methods.REVIEW_REVERT, _OF_SESSION),
    _agents_own("GET", "diff", methods.SESSION_DIFF, (SessionDiffResult,), diff),
    _agents_own("POST", "revert", methods.SESSION_REVERT, (RevertedSession, RevertOutcome), revert),
    _agents_own("POST", "unrevert", methods.SESSION_UNREVERT, (Session, Outcome), unrevert),
    _relayed("GET", "/history", methods.SESSION_HISTORY),
    _relayed("GET", "/activity", methods.SESSION_ACTIVITY),
    _relayed("GET", "/review", methods.REVIEW_LIST),
    _relayed("GET", "/review/file", methods.REVIEW_FILE),
    _relayed("POST", "/review/keep", methods.REVIEW_KEEP),
    _relayed("POST", "/review/revert", methods.REVIEW_REVERT),
    _relayed("GET", "/blame", methods.BLAME),
    _relayed("GET", "/snapshot", methods.LIST),
    _relayed("GET", "/snapshot/{hash}/files", methods.LIST_FILES),
    _relayed("GET", "/diff", methods.DIFF_FULL, {"files": "file"}),
    Row(
        Route(
            "GET",
            "/content",
            ContentParams,
            (),
            kinds=methods.FILE_AT.errors,
            media=tuple(dict.fromkeys([PLAIN, *IMAGES.values()])),
        ),
        content,
    ),
    Row(Route("GET", "/search", SearchParams, (SearchResult,), kinds=methods.SESSION_HISTORY.errors), search),
    Row(Route("GET", "/status", StateParams, (Status,)), status),
    Row(Route("GET", "/events", EventsSince, (), kinds=methods.EVENTS.errors, media=("text/event-stream",)), events),
)
"""Every route except those of the page, the login, and the OpenAPI document."""

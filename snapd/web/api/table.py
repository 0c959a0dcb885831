"""The routes of the API: dispatch and the OpenAPI document follow from this table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from snapd.wire import methods
from snapd.wire.session import RevertOutcome, Session, SessionDiffResult
from snapd.wire.values import Outcome

from .answers import ContentParams, EventsSince, RevertedSession, SearchParams, SearchResult, StateParams, Status
from .asking import relay
from .contents import IMAGES, PLAIN, content, diff, revert, status, unrevert
from .events import events
from .routes import Route
from .search import search

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.responses import Response

    from snapd.wire.methods import Method

    from .asking import ApiRequest

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
    _relayed("POST", "/session/{id}/rewind-chat", methods.SESSION_REWIND_CHAT, _OF_SESSION),
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
    _relayed("GET", "/review/comments", methods.REVIEW_COMMENTS),
    _relayed("POST", "/review/comments", methods.REVIEW_COMMENT),
    _relayed("POST", "/review/comments/{commentId}/resolve", methods.REVIEW_RESOLVE),
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

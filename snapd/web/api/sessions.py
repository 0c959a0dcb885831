"""The three routes of the API that agents have: what a session changed, going back to before a message, and return."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import StreamingResponse

from snapd.backend import pages
from snapd.core.errors import SnapdError, UnknownSession

from .asking import as_json, relay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.responses import Response

    from .asking import Asked

logger = logging.getLogger(__name__)

_OF_REVERT = ("messageId", "partId", "snapshot", "diff", "applied", "files")
_SPELLED = {"messageID": "messageId", "partID": "partId"}
_ON_A_PAGE = 500
"""Sessions that are asked for at once."""


async def diff(asked: Asked) -> Response:
    """All that the session changed; one page of it where the client asks for pages.

    Raises:
        SnapdError: the error that answers it, or its first page.
    """
    if "cursor" in asked.params or "limit" in asked.params:
        return await relay(asked)
    page = await asked.work(lambda: asked.ask("session/diff", asked.params))
    if "nextCursor" not in page:
        return as_json(page)
    return StreamingResponse(_joined(asked, page), media_type="application/json")


async def _joined(asked: Asked, page: dict[str, Any]) -> AsyncIterator[bytes]:
    """One answer of all pages, of which no more than one is kept in memory."""
    yield b'{"diffs":['
    separator = b""
    while True:
        for each in page["diffs"]:
            yield separator + orjson.dumps(each)
            separator = b","
        cursor = page.get("nextCursor")
        if cursor is None:
            break
        params = {**asked.params, "cursor": cursor}
        try:
            page = await asked.work(lambda params=params: asked.ask("session/diff", params))  # type: ignore[misc]
        except SnapdError as error:
            # the JSON stays cut off, so that nobody takes it for all of it
            logger.warning("an answer was cut off: %s", error.kind)
            return
    yield b"]}"


async def revert(asked: Asked) -> Response:
    """Goes back to before a message, or a part of it.

    Raises:
        SnapdError: the error that answers it.
    """

    def work() -> dict[str, Any]:
        outcome: dict[str, Any] = asked.ask("session/revert", asked.params)
        if asked.params.get("dryRun"):
            return outcome
        done = {name: outcome[name] for name in _OF_REVERT if name in outcome}
        # as agents spell them
        done |= {spelled: outcome[name] for spelled, name in _SPELLED.items() if name in outcome}
        return {**_session(asked), "revert": done}

    return as_json(await asked.work(work))


async def unrevert(asked: Asked) -> Response:
    """Takes a revert back.

    Raises:
        SnapdError: the error that answers it.
    """

    def work() -> dict[str, Any]:
        outcome: dict[str, Any] = asked.ask("session/unrevert", asked.params)
        return outcome if asked.params.get("dryRun") else _session(asked)

    return as_json(await asked.work(work))


def _session(asked: Asked) -> dict[str, Any]:
    """The session as it is now."""
    wanted = asked.params["sessionId"]
    for each in pages(asked.ask, "session/list", {"limit": _ON_A_PAGE}, "sessions"):
        if each["sessionId"] == wanted:
            found: dict[str, Any] = each
            return found
    raise UnknownSession(f"session {wanted} was removed meanwhile", sessionId=wanted)

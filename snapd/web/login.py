"""`POST /login`: gives the page the cookie for the token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

from snapd.core.errors import InvalidParams

from .api.asking import body_of
from .errors import LoginNeeded

if TYPE_CHECKING:
    from starlette.requests import Request

    from .access import Access


async def login(request: Request, access: Access) -> Response:
    """Checks the token.

    Raises:
        InvalidParams: the body is no JSON object with a token.
        LoginNeeded: it is not the token.
        SnapdError: the body did not come; see `body_of`.
    """
    body = await body_of(request)
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidParams("the body is no JSON", field="body") from error
    token = given.get("token") if isinstance(given, dict) else None
    if not isinstance(token, str):
        raise InvalidParams("token: expected a string", field="token")
    if not access.is_token(token):
        raise LoginNeeded("this is not the token of this server")
    return Response(status_code=204, headers={"Set-Cookie": access.set_cookie()})

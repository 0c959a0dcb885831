"""Answers most routes: what the daemon answers to one method of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from .asking import json_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from .asking import Asked


async def relay(asked: Asked) -> Response:
    """The result of the route's method.

    Raises:
        SnapdError: the error that answers it.
    """
    method = asked.route.method
    assert method is not None

    def work() -> bytes:
        if asked.route.of_session:
            asked.check_session()
        return orjson.dumps(asked.ask(method.name, asked.params))

    return json_of(await asked.work(work))

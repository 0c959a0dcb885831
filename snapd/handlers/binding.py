"""Binds handlers to the methods of the wire's table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from snapd.core.errors import PlanChanged
from snapd.wire.converter import unstructure
from snapd.wire.methods import Method
from snapd.wire.values import RequestParams

from .context import Context

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R", bound=attrs.AttrsInstance)

Handler = Callable[[Context, P], R]
"""Carries out a request in a context: takes its params and returns its result."""

bound: dict[str, Handler[Any, Any]] = {}
"""The handlers that are bound so far, by the name of their method."""


def handles(method: Method[P, R]) -> Callable[[Handler[P, R]], Handler[P, R]]:
    """Makes the decorated function the handler of a method.

    Raises:
        ValueError: the method has a handler already.
    """

    def bind(handler: Handler[P, R]) -> Handler[P, R]:
        if method.name in bound:
            raise ValueError(f"{method.name} has two handlers")
        bound[method.name] = _expecting(handler) if "planChanged" in method.own_errors else handler
        return handler

    return bind


def _expecting(handler: Handler[Any, Any]) -> Handler[Any, Any]:
    """Answers with an error where the core only foretold what it would do, because the client expects another plan."""

    def handle(context: Context, params: Any) -> Any:
        result = handler(context, params)
        if isinstance(params.expect, str) and result.plan not in (None, params.expect):
            raise PlanChanged(
                "something else would be done than the plan that the request expects", outcome=unstructure(result)
            )
        return result

    return handle

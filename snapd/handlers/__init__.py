"""The handlers of the wire methods, one module per family: they convert between wire and core."""

from __future__ import annotations

from typing import Any

from snapd.wire.methods import METHODS

from . import (  # noqa: F401 - they bind
    agent,
    history,
    keep,
    look,
    review,
    session,
    sharing,
    step,
)
from .binding import Context, Handler, bound
from .history import encode_news

HANDLERS: dict[str, Handler[Any, Any]] = {method: bound[method] for method in METHODS}
"""The handler of each method of the wire's table."""

__all__ = ["HANDLERS", "Context", "encode_news"]

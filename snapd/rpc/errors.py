"""Turns errors into JSON-RPC answers, without letting internals out of the process."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from snapd.core.errors import Cancelled, IoError, SnapdError
from snapd.wire.errors import ERRORS, INTERNAL_ERROR, REQUEST_CANCELLED

logger = logging.getLogger(__name__)

_CODES = {error.kind: error.code for error in ERRORS.values()} | {"requestCancelled": REQUEST_CANCELLED}


class RpcError(Exception):
    """An error answer.

    Args:
        code: a code of JSON-RPC, LSP or snapd.
        message: a sentence for people.
        data: JSON values; errors of snapd have a `kind`.
    """

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def as_rpc_error(error: BaseException) -> RpcError:
    """Makes the answer for an error.

    Any exception other than an error of snapd is a defect: it is logged here, and the client only gets its type.
    """
    if isinstance(error, RpcError):
        return error
    if isinstance(error, SnapdError):
        return RpcError(_CODES[error.kind], error.message, {"kind": error.kind, **error.data})
    if isinstance(error, asyncio.CancelledError):
        return as_rpc_error(Cancelled("the request was cancelled"))
    if isinstance(error, MemoryError):
        return as_rpc_error(IoError("not enough memory for this request; ask for less at once", errno="ENOMEM"))
    logger.error("defect", exc_info=error)
    return RpcError(INTERNAL_ERROR, f"internal error ({type(error).__name__}); the log of the daemon has the details")

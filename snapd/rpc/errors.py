"""Errors as JSON-RPC answers: every error of the core has its code, and nothing else of it leaves the process."""

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
        code: of JSON-RPC, LSP or snapd.
        message: one sentence.
        data: JSON values, `kind` among them where it is an error of snapd.
    """

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def as_rpc_error(error: BaseException) -> RpcError:
    """The answer that tells a client of an error.

    What is no error of snapd is a defect of ours: it is logged here, and the client is told no more than that.
    """
    if isinstance(error, RpcError):
        return error
    if isinstance(error, SnapdError):
        return RpcError(_CODES[error.kind], error.message, {"kind": error.kind, **error.data})
    if isinstance(error, asyncio.CancelledError):
        return as_rpc_error(Cancelled("the request was cancelled"))
    if isinstance(error, MemoryError):
        return as_rpc_error(IoError("no memory is left for this", errno="ENOMEM"))
    logger.error("defect", exc_info=error)
    return RpcError(INTERNAL_ERROR, f"internal error ({type(error).__name__}); see the log of the daemon")

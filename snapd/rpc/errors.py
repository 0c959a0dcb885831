"""Errors as JSON-RPC answers: each error of the core has its code; of any other error, only the type leaves snapd."""

from __future__ import annotations

import asyncio
import logging

from snapd.core.errors import Cancelled, IoError, SnapdError
from snapd.rpc.transport.envelope import RpcError
from snapd.wire.errors import ERRORS, INTERNAL_ERROR, REQUEST_CANCELLED

logger = logging.getLogger(__name__)

_CODES = {error.kind: error.code for error in ERRORS.values()} | {"requestCancelled": REQUEST_CANCELLED}


def as_rpc_error(error: BaseException) -> RpcError:
    """The answer to a client for an error.

    Any error that is not one of snapd's own is a defect: it is logged here, and the client gets its type alone.
    """
    if isinstance(error, RpcError):
        return error
    if isinstance(error, SnapdError):
        return RpcError(_CODES[error.kind], error.message, error.hint, data={"kind": error.kind, **error.data})
    if isinstance(error, asyncio.CancelledError):
        return as_rpc_error(Cancelled("the request was cancelled"))
    if isinstance(error, MemoryError):
        return as_rpc_error(IoError("no memory is left for this", errno="ENOMEM"))
    logger.error("defect", exc_info=error)
    return RpcError(INTERNAL_ERROR, f"internal error ({type(error).__name__})")

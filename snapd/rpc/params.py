"""Converts clients' params to objects, and errors to answers."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from snapd.handlers.binding import structured
from snapd.model.errors import Cancelled, InvalidParams, IoError, SnapdError
from snapd.rpc.transport.framing import RpcError
from snapd.wire.errors import ERRORS, INTERNAL_ERROR, REQUEST_CANCELLED
from snapd.wire.methods import METHODS

from .language_server import CONVERTER, OpeningParams, lsp

_LSP_PARAMS: dict[str, Any] = {
    lsp.INITIALIZE: OpeningParams,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lsp.DidChangeWorkspaceFoldersParams,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: lsp.DidChangeConfigurationParams,
    lsp.CANCEL_REQUEST: lsp.CancelParams,
    lsp.TEXT_DOCUMENT_DID_OPEN: lsp.DidOpenTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CHANGE: lsp.DidChangeTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_SAVE: lsp.DidSaveTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CLOSE: lsp.DidCloseTextDocumentParams,
}
CLIENT_NOTIFICATIONS = frozenset(_LSP_PARAMS) - {lsp.INITIALIZE} | {lsp.EXIT}
"""The notifications that have an effect; all others are ignored."""
logger = logging.getLogger(__name__)
_CODES = {error.kind: error.code for error in ERRORS.values()} | {"requestCancelled": REQUEST_CANCELLED}


def structure(method: str, params: Any) -> Any:
    """Converts JSON params to an object, except those of an unknown method. Raises `RpcError`."""
    spec = METHODS.get(method)
    try:
        if spec is not None:
            return structured(spec, params)
        if method not in _LSP_PARAMS:
            return params
        if method == lsp.INITIALIZE and isinstance(params, dict):
            # do not refuse a client for a wrong value in an unused field
            given = params
            used = ("rootUri", "rootPath", "workspaceFolders", "initializationOptions")
            params = {name: given.get(name) for name in used}
            process = given.get("processId")
            params |= {"capabilities": {}, "processId": process if type(process) is int else None}
        return CONVERTER.structure(params, _LSP_PARAMS[method])
    except InvalidParams as error:
        raise as_rpc_error(error) from None
    except Exception as error:
        message = f"params: they do not fit {method}: {type(error).__name__}"
        raise as_rpc_error(InvalidParams(message, field="params")) from None


def as_rpc_error(error: BaseException) -> RpcError:
    """The error answer for an exception; one that is not snapd's own is logged as a bug, and only its type is sent."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, SnapdError):
        return RpcError(_CODES[error.kind], error.message, error.hint, data={"kind": error.kind, **error.data})
    if isinstance(error, asyncio.CancelledError):
        return as_rpc_error(Cancelled("the request was cancelled"))
    if isinstance(error, MemoryError):
        return as_rpc_error(IoError("out of memory", errno="ENOMEM"))
    logger.error("defect", exc_info=error)
    return RpcError(INTERNAL_ERROR, f"internal error ({type(error).__name__})")

"""What a client may say, and the params of it as objects."""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from snapd.core.errors import InvalidParams
from snapd.rpc.scheduling.workspace_queue import Access
from snapd.wire import converter as wire
from snapd.wire.methods import METHODS

from .errors import as_rpc_error

LSP = get_converter()
"""Between JSON values and the objects of the Language Server Protocol."""

_LSP_TYPES: dict[str, Any] = {
    lsp.INITIALIZE: lsp.InitializeParams,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lsp.DidChangeWorkspaceFoldersParams,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: lsp.DidChangeConfigurationParams,
    lsp.CANCEL_REQUEST: lsp.CancelParams,
    lsp.TEXT_DOCUMENT_DID_OPEN: lsp.DidOpenTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CHANGE: lsp.DidChangeTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_SAVE: lsp.DidSaveTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CLOSE: lsp.DidCloseTextDocumentParams,
}

CLIENT_NOTIFICATIONS = frozenset(
    {
        lsp.INITIALIZED,
        lsp.EXIT,
        lsp.SET_TRACE,
        lsp.CANCEL_REQUEST,
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
        lsp.TEXT_DOCUMENT_DID_OPEN,
        lsp.TEXT_DOCUMENT_DID_CHANGE,
        lsp.TEXT_DOCUMENT_DID_SAVE,
        lsp.TEXT_DOCUMENT_DID_CLOSE,
    }
)
"""What a client may say without asking; all else that it says so is passed over."""


def structure(method: str, params: Any) -> Any:
    """The params of a message as an object.

    Args:
        method: of a request or a notification; the params of one that is not known are left as they are.
        params: a JSON value.

    Raises:
        RpcError: they do not fit the method; names the first field that is wrong.
    """
    spec = METHODS.get(method)
    try:
        if spec is not None:
            return wire.structure(params, spec.params)
        if method not in _LSP_TYPES:
            return params
        if method == lsp.INITIALIZE and isinstance(params, dict):
            # whatever else a client says of itself there is nobody's concern, and no reason to refuse it
            given = params
            params = {name: given.get(name) for name in ("rootUri", "workspaceFolders", "initializationOptions")}
            process = given.get("processId")
            params |= {"capabilities": {}, "processId": process if type(process) is int else None}
        return LSP.structure(params, _LSP_TYPES[method])
    except wire.InvalidParams as error:
        raise as_rpc_error(InvalidParams(str(error), field=error.field)) from None
    except Exception as error:
        message = f"params: not those of {method}: {type(error).__name__}"
        raise as_rpc_error(InvalidParams(message, field="params")) from None


def access_of(method: str, params: Any) -> Access:
    """What a request does to its workspace."""
    access = METHODS[method].access
    if access == "compares":
        return Access.LOOK if params.to is None else Access.READ
    if access == "checks":
        return Access.WRITE if params.repair else Access.READ
    return Access.WRITE if access == "writes" else Access.READ

"""Makes objects of the params that clients send."""

from __future__ import annotations

from typing import Any

from snapd.core.errors import InvalidParams
from snapd.handlers.binding import structured
from snapd.wire.methods import METHODS

from .errors import as_rpc_error
from .language_server import CONVERTER, Opening, lsp

_LSP_PARAMS: dict[str, Any] = {
    lsp.INITIALIZE: Opening,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lsp.DidChangeWorkspaceFoldersParams,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: lsp.DidChangeConfigurationParams,
    lsp.CANCEL_REQUEST: lsp.CancelParams,
    lsp.TEXT_DOCUMENT_DID_OPEN: lsp.DidOpenTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CHANGE: lsp.DidChangeTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_SAVE: lsp.DidSaveTextDocumentParams,
    lsp.TEXT_DOCUMENT_DID_CLOSE: lsp.DidCloseTextDocumentParams,
}

CLIENT_NOTIFICATIONS = frozenset(_LSP_PARAMS) - {lsp.INITIALIZE} | {lsp.EXIT}
"""The notifications that have an effect here; all others are ignored."""


def structure(method: str, params: Any) -> Any:
    """The params of a message as an object.

    Args:
        method: of a request or a notification. The params of an unknown method are returned as they are.
        params: a JSON value.

    Raises:
        RpcError: the params do not fit the method. It names the first field that is wrong.
    """
    spec = METHODS.get(method)
    try:
        if spec is not None:
            return structured(spec, params)
        if method not in _LSP_PARAMS:
            return params
        if method == lsp.INITIALIZE and isinstance(params, dict):
            # an odd value in a field that is not used here is no reason to refuse the client
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

"""What snapd uses of pygls and lsprotocol; nothing else imports them.

Both have far more than snapd needs: the types of the whole protocol, and a converter that knows each of them. Here, a
type costs something once a message needs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
from cattrs import Converter, override
from cattrs.gen import make_dict_structure_fn

from .classes_later import classes_later

with classes_later():
    from lsprotocol import types as lsp

# these import all of lsprotocol's types
from pygls.protocol import JsonRPCProtocol
from pygls.protocol.json_rpc import RPCMessage
from pygls.server import JsonRPCServer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONVERTER", "Feature", "JsonRPCProtocol", "JsonRPCServer", "OpeningParams", "RPCMessage", "lsp"]


@attrs.frozen(kw_only=True)
class OpeningParams:
    """The params of `initialize`, without what does not matter to snapd.

    lsprotocol's own class leads to a class for each capability that an editor can have, 200 of them.

    Attributes:
        capabilities: what the client can do; must be there.
        process_id: of the client, if it named one.
        root_uri: the folder to open where `workspace_folders` are not given.
        root_path: the same by its path, as old clients send it.
        workspace_folders: the folders to open.
        initialization_options: settings, and the token.
    """

    capabilities: Any
    process_id: int | None = None
    root_uri: str | None = None
    root_path: Any = None
    workspace_folders: Sequence[lsp.WorkspaceFolder] | None = None
    initialization_options: Any = None


class Feature:
    """What pygls is given for a method: it sets attributes on it, which fails for a bound method.

    It also looks for a parameter that wants the server. With a function, it takes 2 ms to find out that the 60 of a
    connection have none; a hook has a connection of its own.

    Args:
        handle: is called with the params.
    """

    __signature__ = inspect.Signature([inspect.Parameter("params", inspect.Parameter.POSITIONAL_ONLY)])

    def __init__(self, handle: Callable[[Any], Any]) -> None:
        self._handle = handle

    def __call__(self, params: Any, /) -> Any:
        """Handles a message with these params."""
        return self._handle(params)


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _make_converter() -> Converter:
    """A converter that takes the messages of editors as `lsprotocol.converters.get_converter` does.

    That one asks each class of the protocol for its fields when it is made.
    """
    converter = Converter()

    def hook(cls: type[attrs.AttrsInstance]) -> Callable[[Any, Any], Any]:
        renamed: dict[str, Any] = {
            field.name: override(rename=_camel_case(field.name)) for field in attrs.fields(attrs.resolve_types(cls))
        }
        return make_dict_structure_fn(cls, converter, **renamed)

    converter.register_structure_hook_factory(attrs.has, hook)
    for anything in (lsp.LSPAny, int | str):
        converter.register_structure_hook(anything, lambda value, _: value)
    converter.register_structure_hook(lsp.LanguageKind | str, _language)
    return converter


def _language(value: Any, _: Any) -> Any:
    """Any language's name, whether or not the protocol lists it."""
    if isinstance(value, (list, dict)):
        raise ValueError("no name of a language")
    return value


CONVERTER = _make_converter()
"""Makes objects of what editors send."""

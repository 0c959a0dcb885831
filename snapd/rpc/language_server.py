"""The parts of pygls and lsprotocol that snapd uses, and their only import; types are processed on first use."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
from cattrs import Converter, override
from cattrs.gen import make_dict_structure_fn

from snapd.classes_later import classes_later

with classes_later():
    from lsprotocol import types as lsp

# these modules import all of lsprotocol's types
from pygls.protocol import JsonRPCProtocol
from pygls.protocol.json_rpc import RPCMessage
from pygls.server import JsonRPCServer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONVERTER", "Feature", "JsonRPCProtocol", "JsonRPCServer", "OpeningParams", "RPCMessage", "lsp"]


@attrs.frozen(kw_only=True)
class OpeningParams:
    """The params of `initialize` that snapd uses: lsprotocol's class refers to 200 classes of editor capabilities."""

    capabilities: Any
    process_id: int | None = None
    root_uri: str | None = None
    root_path: Any = None
    workspace_folders: Sequence[lsp.WorkspaceFolder] | None = None
    initialization_options: Any = None


class Feature:
    """A handler for pygls: it cannot use bound methods, and takes 2 ms to inspect a connection's 60 functions."""

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
    """A replacement for `lsprotocol.converters.get_converter`, which reads the fields of all classes at once."""
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
    """Accepts any language id, whether or not the protocol lists it."""
    if isinstance(value, (list, dict)):
        raise ValueError("no name of a language")
    return value


CONVERTER = _make_converter()

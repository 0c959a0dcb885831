"""Generates what the Python client, which imports nothing of snapd, needs: the types, and the table of methods.

The client needs the standard library alone, whatever its version: a class that has required and optional fields gets a
base for the required ones.
"""

from __future__ import annotations

import inspect
import json
import keyword
import re
import textwrap
from types import NoneType
from typing import TYPE_CHECKING, Any, get_origin

import attrs

from snapd.wire import values
from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS

from .classes import (
    BANNER,
    MEANING_OF_IDEMPOTENT,
    Notation,
    WireClass,
    base_of,
    doc_of,
    is_optional,
    one_line,
    own_fields,
    reachable_classes,
    type_of,
    without_links,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from snapd.wire.methods import Method
    from snapd.wire.values import RequestParams

    AnyMethod: TypeAlias = Method[RequestParams, attrs.AttrsInstance]

_WIDTH = 120
_NOTATION = Notation(
    {NoneType: "None"},
    "list[{}]",
    "dict[str, {}]",
    lambda literals: f"Literal[{', '.join(map(_literal, literals))}]",
    values.ALIASES,
)


def protocol_python() -> str:
    """Returns the types of params, results and notifications."""
    classes = reachable_classes()
    names = sorted([*values.ALIASES, *(cls.__name__ for cls in classes)])
    head = "\n".join(
        [
            f"# {BANNER}",
            '"""The shapes of params, results and notifications, by the names of the wire contract."""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import Literal, TypedDict",
            "",
            "__all__ = [",
            *(f'    "{name}",' for name in names),
            "]",
            "",
            *(f"{name} = {_NOTATION.write(alias, named=False)}" for name, alias in values.ALIASES.items()),
        ]
    )
    return "\n\n\n".join([head, *(_class(cls) for cls in classes)]) + "\n"


def methods_python() -> str:
    """Returns the table of methods: types, whether a request may be sent again, and a method of `Client` for each."""
    idempotent = "\n".join(f"    {json.dumps(each.name)}: {_literal(each.idempotent)}," for each in METHODS.values())
    overloads = "\n".join(_overload(each, "") for each in METHODS.values())
    directed = "\n".join(_overload(each, "to: Any, ") for each in METHODS.values())
    wrappers = "\n\n".join(wrapper for each in METHODS.values() for wrapper in _wrappers(each))
    return f'''# {BANNER}
# ruff: noqa: A002, D103, D205
"""The methods of the protocol, typed. Type checkers alone read the shapes."""

from __future__ import annotations

from snapd_client.requests import Requests, several_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Concatenate, Literal, ParamSpec, Protocol, overload

    from snapd_client import protocol as p
    from snapd_client.notifications import OnProgress
    from snapd_client.uris import FileName

    P = ParamSpec("P")

    class Request(Protocol[P]):
        """Sends a request: the name of the method decides which params it takes and what it returns."""

{overloads}

    class RequestTo(Protocol[P]):
        """Sends a request to somebody; see `Request`."""

{directed}

    class _Attribute(Protocol[P]):
        def __get__(self, instance: Any, owner: Any = ..., /) -> Request[P]: ...

    def typed(function: Callable[Concatenate[Any, str, Any, P], Any]) -> _Attribute[P]:
        """Types a method that sends any request, from its name and params."""
        ...

    def typed_function(function: Callable[Concatenate[Any, str, Any, P], Any]) -> RequestTo[P]:
        """Types a function that sends any request to its first argument."""
        ...

else:

    def typed(function):
        return function

    typed_function = typed

__all__ = ["IDEMPOTENT", "Methods", "typed", "typed_function"]

IDEMPOTENT: dict[str, bool | str] = {{
{idempotent}
}}
{_doc(MEANING_OF_IDEMPOTENT, "")}


class Methods(Requests):
    """A method for each request of the protocol, whose reference describes the parameters.

    See `Requests` for how to name workspaces and files. Each takes `timeout`, the seconds to wait, and `on_progress`.
    """

{wrappers}
'''


def _overload(method: AnyMethod, first: str) -> str:
    """Returns the types of one request; `first` is what comes before the name of the method."""
    params: WireClass = method.params
    default = "" if any(not is_optional(field) for field in values.fields_of(params)) else " = ..."
    head = "        @overload\n        def __call__"
    own = f"{first}method: Literal[{json.dumps(method.name)}], params: p.{method.params.__name__}{default}"
    line = f"{head}(self, {own}, *args: P.args, **kwargs: P.kwargs) -> p.{method.result.__name__}: ..."
    if len(line.splitlines()[1]) > _WIDTH:
        own = f"self, {own}, *args: P.args, **kwargs: P.kwargs"
        line = f"{head}(\n            {own}\n        ) -> p.{method.result.__name__}: ..."
        if len(own) + 12 > _WIDTH:
            parts = "".join(f"            {part},\n" for part in own.split(", "))
            line = f"{head}(\n{parts}        ) -> p.{method.result.__name__}: ..."
    return line


_POSITIONAL = 3
"""The maximum number of positional parameters of a method."""


def _wrappers(method: AnyMethod) -> Iterator[str]:
    """Yields the client's methods for one of the protocol: one, and one more that iterates over all pages."""
    family, _, verb = method.name.partition("/")
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in verb)
    name = snake if family == "snapshot" else f"{family}_{snake}"
    params: WireClass = method.params
    result: WireClass = method.result
    fields = [each for each in values.fields_of(params) if each.name not in ("workspace_uri", "work_done_token")]
    doc = _doc(one_line(inspect.cleandoc(method.params.__doc__ or "").split("\n\n")[0]), " " * 8)
    yield _wrapper(name, fields, f"p.{method.result.__name__}", doc, f'self._ask("{method.name}"', "")
    if any(field.name == "cursor" for field in fields):
        items = next(each for each in values.fields_of(result) if get_origin(each.type) is list)
        item = _NOTATION.write(items.type).removeprefix("list[").removesuffix("]")
        yield _wrapper(
            f"{name}_all",
            [field for field in fields if field.name != "cursor"],
            f"Iterator[{_named(item)}]",
            f'        """Iterates over the items of all pages of `{name}`, and fetches at most one page ahead."""',
            f'self._all("{method.name}"',
            f', "{wire_name(items.name)}"',
        )


def _wrapper(name: str, fields: list[attrs.Attribute[Any]], result: str, doc: str, call: str, more: str) -> str:
    fields = sorted(fields, key=is_optional)
    own = [f"{each.name}: {_parameter(each)}" for each in fields]
    own.insert(_POSITIONAL, "*")
    own += ["workspace_uri: str | None = None", "timeout: float | None = None", "on_progress: OnProgress | None = None"]
    params = "".join(f"            {json.dumps(wire_name(each.name))}: {_argument(each)},\n" for each in fields)
    inline = "{" + params.strip().rstrip(",").replace(",\n            ", ", ") + "}"
    lines = [
        f"    def {name}(",
        "        self,",
        *map(_split, (f"        {each}," for each in own)),
        f"    ) -> {result}:",
        doc,
    ]
    is_ask = not more
    start = f"result: {result} = " if is_ask else "return "
    if len(f"        params = {inline}") <= _WIDTH:
        lines.append(f"        params = {inline}")
    else:
        lines.append(f"        params = {{\n{params}        }}")
    lines.append(f"        {start}{call}, params{more}, workspace_uri, timeout, on_progress)")
    if is_ask:
        lines.append("        return result")
    return "\n".join(lines)


def _split(line: str) -> str:
    """Returns a parameter; a long literal has each of its values on a line."""
    if len(line) <= _WIDTH:
        return line
    name, _, choices = line.removesuffix("],").partition("Literal[")
    return f"{name}Literal[\n" + "".join(f"            {each},\n" for each in choices.split(", ")) + "        ],"


def _parameter(field: attrs.Attribute[Any]) -> str:
    """Returns the type of a parameter, with its default."""
    if field.name in ("files", "force"):
        kind = "Iterable[FileName]"
    elif field.name in ("file", "directory"):
        kind = "FileName"
    else:
        kind = _named(_NOTATION.write(type_of(field)))
        if kind.startswith("list["):
            kind = f"Iterable{kind.removeprefix('list')}"
    return f"{kind} | None = None" if is_optional(field) else kind


def _argument(field: attrs.Attribute[Any]) -> str:
    """Returns the value of a parameter on the wire."""
    if field.name in ("files", "force"):
        return f"self._names({field.name}, workspace_uri)"
    if field.name == "file":
        return "self._name(file, workspace_uri)"
    if field.name == "directory":
        return "self._folder(directory)"
    if field.name == "patches":
        return "self._patches(patches, workspace_uri)"
    return f"several_or_none({field.name})" if get_origin(type_of(field)) is list else field.name


def _named(kind: str) -> str:
    """Returns a type whose names are qualified by the module of the types."""
    return re.sub(r"\b(?!Literal\b)[A-Z]\w+(?![^\[]*\"\])", r"p.\g<0>", kind)


def _class(cls: WireClass) -> str:
    name, base, fields = cls.__name__, base_of(cls), own_fields(cls)
    # the client leaves out what is None
    absent = " | None" if issubclass(cls, values.RequestParams) else ""
    base_name = "TypedDict" if base is None else base.__name__
    required = [field for field in fields if not is_optional(field)]
    optional = [field for field in fields if is_optional(field)]
    blocks = []
    for own, end in ((required, ""), (optional, ", total=False")):
        keywords = [field for field in own if keyword.iskeyword(wire_name(field.name))]
        if keywords:
            # only the functional form can have such a field
            shape = ", ".join(f'"{wire_name(field.name)}": {_written(field, absent)}' for field in keywords)
            blocks.append(f'_{name}Keywords = TypedDict("_{name}Keywords", {{{shape}}}{end})')
            base_name = f"_{name}Keywords, TypedDict" if base is None else f"{base_name}, _{name}Keywords"
            own[:] = [field for field in own if field not in keywords]
    if required and optional:
        blocks.append(_lines(f"class _{name}Required({base_name}):", required, absent))
        base_name, required = f"_{name}Required", []
    total = ", total=False" if optional else ""
    doc = textwrap.indent(f'"""{doc_of(cls)}', "    ")
    doc += '\n    """' if "\n" in doc else '"""'
    blocks.append(_lines(f"class {name}({base_name}{total}):\n{doc}", optional or required, absent, blank=True))
    return "\n\n\n".join(blocks)


def _written(field: attrs.Attribute[Any], absent: str) -> str:
    """Returns the type of a field; `absent` is what else an optional one may be."""
    return _NOTATION.write(type_of(field)) + (absent if is_optional(field) else "")


def _lines(head: str, fields: list[attrs.Attribute[Any]], absent: str, *, blank: bool = False) -> str:
    lines = [head, *([""] if blank and fields else [])]
    for field in fields:
        line = f"    {wire_name(field.name)}: {_written(field, absent)}"
        if len(line) > _WIDTH:
            # a literal with many members
            line = line.replace("[", "[\n        ").replace(", ", ",\n        ").replace("]", ",\n    ]")
        lines.append(line)
        lines.append(_doc(field.metadata["doc"], "    "))
    return "\n".join(lines)


def _literal(value: bool | str) -> str:
    return json.dumps(value) if isinstance(value, str) else str(value)


def _doc(markdown: str, indent: str) -> str:
    text = without_links(markdown).replace("\\", "\\\\")
    if len(text) + len(indent) + 6 <= _WIDTH:
        return f'{indent}"""{text}"""'
    width = _WIDTH - len(indent)
    # a single line would be joined with its closing quotes, and then be too long
    width -= 3 if len(text) + 3 <= width else 0
    lines = textwrap.wrap(f'"""{text}', width, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join([*lines, '"""']), indent)

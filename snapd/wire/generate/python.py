"""Generates what the Python client needs, as it imports nothing of snapd: the shapes, and the table of methods.

The client needs the standard library alone, whatever its version: a class that has required
and optional fields gets a base for the required ones.
"""

from __future__ import annotations

import json
import keyword
import textwrap
from types import NoneType
from typing import Any

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
    own_fields,
    reachable_classes,
    type_of,
    without_links,
)

_WIDTH = 120
_NOTATION = Notation(
    {NoneType: "None"},
    "list[{}]",
    "dict[str, {}]",
    lambda literals: f"Literal[{', '.join(map(_literal, literals))}]",
    values.ALIASES,
)


def protocol_python() -> str:
    """The shapes of params, results and notifications."""
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
    """The table of methods."""
    rows = "\n".join(f"    {json.dumps(each.name)}: {_literal(each.idempotent)}," for each in METHODS.values())
    return f'''# {BANNER}
"""What the client has to know of each method."""

from __future__ import annotations

__all__ = ["IDEMPOTENT"]

IDEMPOTENT: dict[str, bool | str] = {{
{rows}
}}
{_doc(MEANING_OF_IDEMPOTENT, "")}
'''


def _class(cls: WireClass) -> str:
    name, base, fields = cls.__name__, base_of(cls), own_fields(cls)
    base_name = "TypedDict" if base is None else base.__name__
    required = [field for field in fields if not is_optional(field)]
    optional = [field for field in fields if is_optional(field)]
    blocks = []
    for own, end in ((required, ""), (optional, ", total=False")):
        keywords = [field for field in own if keyword.iskeyword(wire_name(field.name))]
        if keywords:
            # only the functional form can have such a field
            shape = ", ".join(f'"{wire_name(field.name)}": {_NOTATION.write(type_of(field))}' for field in keywords)
            blocks.append(f'_{name}Keywords = TypedDict("_{name}Keywords", {{{shape}}}{end})')
            base_name = f"_{name}Keywords, TypedDict" if base is None else f"{base_name}, _{name}Keywords"
            own[:] = [field for field in own if field not in keywords]
    if required and optional:
        blocks.append(_lines(f"class _{name}Required({base_name}):", required))
        base_name, required = f"_{name}Required", []
    total = ", total=False" if optional else ""
    doc = textwrap.indent(f'"""{doc_of(cls)}', "    ")
    doc += '\n    """' if "\n" in doc else '"""'
    blocks.append(_lines(f"class {name}({base_name}{total}):\n{doc}", optional or required, blank=True))
    return "\n\n\n".join(blocks)


def _lines(head: str, fields: list[attrs.Attribute[Any]], *, blank: bool = False) -> str:
    lines = [head, *([""] if blank and fields else [])]
    for field in fields:
        line = f"    {wire_name(field.name)}: {_NOTATION.write(type_of(field))}"
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
    lines = textwrap.wrap(f'"""{text}', _WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join([*lines, '"""']), indent)

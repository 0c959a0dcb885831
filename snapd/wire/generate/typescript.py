"""Generates `clients/typescript/src/protocol.ts`: the types for clients in TypeScript, and the numbers they need."""

from __future__ import annotations

import json
from types import NoneType
from typing import Literal, get_origin

from snapd.wire import errors, values
from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS, NOTIFICATIONS, PROTOCOL_VERSION

from .classes import (
    BANNER,
    MEANING_OF_IDEMPOTENT,
    RPC_CODES,
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

_NOTATION = Notation(
    {str: "string", bool: "boolean", float: "number", int: "number", NoneType: "null"},
    "{}[]",
    "Record<string, {}>",
    lambda literals: " | ".join(map(json.dumps, literals)),
    values.ALIASES,
)


def protocol_typescript() -> str:
    """Returns the text of the file."""
    blocks = [
        f"// {BANNER}",
        f"export const PROTOCOL_VERSION = {PROTOCOL_VERSION};",
        "/** The id of a git tree: 40 lower-case hexadecimal digits. */\nexport type TreeHash = string;",
        "/** The first digits of such an id, 6 or more. */\nexport type HashPrefix = string;",
        *(
            f"export type {name} = {_NOTATION.write(alias, named=False)};"
            for name, alias in values.ALIASES.items()
            if get_origin(alias) is Literal
        ),
        *(_class(cls) for cls in reachable_classes()),
        _map(
            "Requests",
            "The params and the result of each request.",
            {
                each.name: f"{{ params: {each.params.__name__}; result: {each.result.__name__} }}"
                for each in METHODS.values()
            },
        ),
        _map(
            "Notifications",
            "The params of each notification of the daemon.",
            {each.name: each.params.__name__ for each in NOTIFICATIONS.values()},
        ),
        "\n".join(
            [
                _doc(MEANING_OF_IDEMPOTENT),
                "export const IDEMPOTENT: Readonly<Record<keyof Requests, boolean | string>> = {",
                *(f"  {json.dumps(each.name)}: {json.dumps(each.idempotent)}," for each in METHODS.values()),
                "};",
            ]
        ),
        "/** What `error.data.kind` may be. */\nexport type ErrorKind =\n"
        + "\n".join(f'  | "{kind}"' for kind in errors.ERRORS)
        + ";",
        _codes(
            "ERROR_CODES",
            "The code of each kind of error.",
            {each.kind: each.code for each in errors.ERRORS.values()},
        ),
        _codes("RPC_ERROR_CODES", "The codes of JSON-RPC and LSP.", RPC_CODES),
    ]
    return "\n\n".join(blocks) + "\n"


def _class(cls: WireClass) -> str:
    base, fields = base_of(cls), own_fields(cls)
    doc = _doc("\n\n".join(map(one_line, doc_of(cls).split("\n\n"))))
    if base is not None and not fields:
        return f"{doc}\nexport type {cls.__name__} = {base.__name__};"
    extends = f" extends {base.__name__}" if base is not None else ""
    lines = [doc, f"export interface {cls.__name__}{extends} {{"]
    for field in fields:
        lines.append(_doc(field.metadata["doc"], "  "))
        mark = "?" if is_optional(field) else ""
        lines.append(f"  {wire_name(field.name)}{mark}: {_NOTATION.write(type_of(field))};")
    return "\n".join([*lines, "}"])


def _doc(markdown: str, indent: str = "") -> str:
    lines = without_links(markdown).split("\n")
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */"
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"])


def _map(name: str, doc: str, members: dict[str, str]) -> str:
    lines = [f'  "{member}": {kind};' for member, kind in members.items()]
    return "\n".join([_doc(doc), f"export interface {name} {{", *lines, "}"])


def _codes(name: str, doc: str, codes: dict[str, int]) -> str:
    lines = [f"  {kind}: {code}," for kind, code in codes.items()]
    return "\n".join([_doc(doc), f"export const {name} = {{", *lines, "} as const;"])

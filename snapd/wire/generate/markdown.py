"""Generates `docs/protocol.md`, the reference for people."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import NoneType
from typing import Any

from snapd.wire import errors
from snapd.wire.converter import wire_name
from snapd.wire.methods import COMMON_ERRORS, METHODS, NOTIFICATIONS, PROTOCOL_VERSION, Method
from snapd.wire.notifications import NotificationParams
from snapd.wire.values import RequestParams, TreeHash

from .classes import (
    BANNER,
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
)

_PROSE = Path(__file__).parents[1] / "prose.md"
_NOTATION = Notation(
    {str: "string", bool: "boolean", float: "number", int: "integer", NoneType: "null"},
    "{}[]",
    "Record<string, {}>",
    lambda values: " | ".join(map(json.dumps, values)),
    {"TreeHash": TreeHash},
)
"""The notation of TypeScript, but with integers, and with the values of a literal spelt out."""


def protocol_markdown() -> str:
    """Returns the prose of `prose.md`, with its `{{slots}}` filled from the table."""
    slots = {
        "version": str(PROTOCOL_VERSION),
        "request_params": _table(RequestParams),
        "values": "\n\n".join(_value(cls) for cls in _value_classes()),
        "methods": "\n\n".join(_method(method) for method in METHODS.values()),
        "notification_params": _table(NotificationParams),
        "notifications": "\n\n".join(
            f"### `{each.name}`\n\n{one_line(each.params.__doc__ or '')}\n\n{_table(each.params)}"
            for each in NOTIFICATIONS.values()
        ),
        "common_errors": _kinds(COMMON_ERRORS),
        "errors": "\n".join(
            [
                "| code | kind | when |",
                "|---|---|---|",
                *(f"| {each.code} | `{each.kind}` | {each.when} |" for each in errors.ERRORS.values()),
            ]
        ),
        **{re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name): str(n) for name, n in RPC_CODES.items()},
    }
    title, rest = _PROSE.read_text("utf-8").split("\n", 1)
    page = f"{title}\n\n<!-- {BANNER} -->\n{rest}"
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: slots[slot[1]], page)


def _value_classes() -> list[WireClass]:
    """Returns the classes that the page describes once, apart from the methods that use them."""
    described = {RequestParams, NotificationParams, *(each.params for each in NOTIFICATIONS.values())}
    for method in METHODS.values():
        described |= {method.params} if _is_shared(method.result) else {method.params, method.result}
    return [cls for cls in reachable_classes() if cls not in described]


def _is_shared(result: WireClass) -> bool:
    return result.__module__ == RequestParams.__module__


def _value(cls: WireClass) -> str:
    return "\n\n".join([f"### {cls.__name__}", *map(one_line, doc_of(cls).split("\n\n")), _table(cls)])


def _method(method: Method[Any, Any]) -> str:
    again = f"with `{method.idempotent}`" if isinstance(method.idempotent, str) else _yes_or_no(method.idempotent)
    return "\n\n".join(
        [
            f"### `{method.name}`",
            one_line(method.params.__doc__ or ""),
            f"Params:\n\n{_table(method.params)}" if own_fields(method.params) else "No params of its own.",
            _result(method.result),
            f"May be sent again: {again}.",
            *([f"Errors of its own: {_kinds(method.own_errors)}."] if method.own_errors else []),
        ]
    )


def _result(result: WireClass) -> str:
    base = base_of(result)
    if _is_shared(result):
        return f"Result: {_link(result)}."
    if not own_fields(result):
        return "Result: `{}`."
    return f"Result:\n\n{_table(result)}" if base is None else f"Result: {_link(base)}, and:\n\n{_table(result)}"


def _link(cls: WireClass) -> str:
    return f"[{cls.__name__}](#{cls.__name__.lower()})"


def _kinds(errors: tuple[str, ...]) -> str:
    return ", ".join(f"`{kind}`" for kind in errors)


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def _table(cls: WireClass) -> str:
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for field in own_fields(cls):
        name = wire_name(field.name) + ("?" if is_optional(field) else "")
        kind = _NOTATION.write(type_of(field)).replace("|", "\\|")
        doc = field.metadata["doc"]
        if isinstance(field.default, bool):
            doc += f" Default: {str(field.default).lower()}."
        rows.append(f"| `{name}` | `{kind}` | {doc} |")
    return "\n".join(rows)

"""Reads and checks the values in the path, query and body of a request, as the wire does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import parse_qsl, unquote_to_bytes

import orjson

from snapd.model.errors import InvalidParams, did_you_mean
from snapd.wire import converter
from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS
from snapd.wire.values import fields_of

from .routes import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import attrs

    from .routes import Input, Route

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS = {"true": True, "false": False}
_PARAMS: Iterable[type[attrs.AttrsInstance]] = [method.params for method in METHODS.values()]
_OF_THE_WIRE = frozenset(wire_name(field.name) for params in _PARAMS for field in fields_of(params))
_MOST_IN_QUERY = 1000


def from_path(route: Route, given: Mapping[str, str]) -> dict[str, str]:
    """The decoded path values by the route's names. Raises `InvalidParams` for a value that is not UTF-8."""
    return {each.name: _decoded(each.name, given[each.name]) for each in route.inputs if each.place == "path"}


def from_query(route: Route, query: bytes) -> dict[str, Any]:
    """The query's values by the route's names. Raises `InvalidParams` if one is malformed, mistyped or unknown."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_IN_QUERY)
    except ValueError as error:
        hint = f"send text in UTF-8, percent-encoded, and at most {_MOST_IN_QUERY} fields"
        raise InvalidParams("the query cannot be read", hint=hint, field="query") from error
    texts: dict[str, list[str]] = {}
    for name, text in pairs:
        texts.setdefault(name, []).append(text)
    known = _known(route, texts, "query")
    return {known[name].name: _from_texts(known[name], texts[name]) for name in known}


def from_body(route: Route, body: bytes) -> dict[str, Any]:
    """The body's values by the route's names; an empty body is an empty object. Raises `InvalidParams`."""
    try:
        given = orjson.loads(body) if body.strip() else {}
    except orjson.JSONDecodeError as error:
        raise InvalidParams(f"the body is not JSON: {error}", field="body") from error
    if not isinstance(given, dict):
        raise InvalidParams("the body is not a JSON object", field="body")
    known = _known(route, given, "body")
    # null means that a field is absent, as on the wire
    return {known[name].name: given[name] for name in known if given[name] is not None}


def as_params(route: Route, given: Mapping[str, Any]) -> dict[str, Any]:
    """Converts values to wire params. Raises `InvalidParams`, whose `field` is the route's name of the field."""
    params: dict[str, Any] = {}
    for each in route.inputs:
        if each.name not in given or not each.into:
            continue
        value = given[each.name]
        if each.place == "path" and each.takes_many:
            value = [value]
        into = params
        for part in each.into[:-1]:
            into = into.setdefault(part, {})
        into[each.into[-1]] = value
    try:
        converter.structure(params, route.params, forbid_extra=True)
    except converter.InvalidParams as error:
        field = _name_of(route, error.field)
        raise InvalidParams(f"{field}: {error.problem}", field=field) from error
    return params


def _name_of(route: Route, field: str) -> str:
    for each in route.inputs:
        wire = ".".join(each.into)
        if wire and re.match(rf"{re.escape(wire)}(?![A-Za-z])", field):
            return each.name + field[len(wire) :]
    return field


def _known(route: Route, given: Mapping[str, Any], place: str) -> dict[str, Input]:
    """The input for each given name, the route's or the wire's.

    A read-only route ignores names of other methods, as the wire does; all others are refused: a misspelt `dryRun`
    would change files.
    """
    own = {name: each for each in route.inputs for name in (each.into[-1:] or (each.name,))}
    own |= {each.name: each for each in route.inputs}
    own |= {alias: own[name] for alias, name in route.aliases.items() if name in own}
    known: dict[str, Input] = {}
    for name in given:
        result = own.get(name)
        shown = name.encode("utf-8", "replace").decode("utf-8")[:100]
        if result is None and (route.verb == "POST" or name not in _OF_THE_WIRE):
            names = [each.name for each in route.inputs if each.place == place]
            hint = f"{did_you_mean(shown, names)}this route knows: {', '.join(names) or 'none'}"
            raise InvalidParams(f"{shown}: is unknown", hint=hint, field=shown)
        if result is not None and result in known.values():
            raise InvalidParams(f"{shown}: is given twice", hint="give it once", field=shown)
        if result is not None and result.place == "path":
            raise InvalidParams(f"{shown}: is already given in the path", hint="give it once", field=shown)
        if result is not None and result.place != place:
            raise InvalidParams(
                f"{shown}: belongs in the {result.place}", hint=f"move it to the {result.place}", field=shown
            )
        if result is not None:
            known[name] = result
    return known


def _decoded(name: str, text: str) -> str:
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidParams(f"{name}: expected text in UTF-8, percent-encoded", field=name) from error


def _from_texts(each: Input, texts: list[str]) -> Any:
    if each.is_choice:
        return [part for text in texts for part in text.split(",")]
    if each.takes_many:
        member = get_args(each.kind)[0]
        return [_from_text(each.name, member, text) for text in texts]
    if len(texts) > 1:
        raise InvalidParams(f"{each.name}: is there {len(texts)} times", field=each.name)
    return _from_text(each.name, each.kind, texts[0])


def _from_text(name: str, kind: Any, text: str) -> Any:
    kind = plain(kind)
    if kind is bool:
        if text not in _BOOLEANS:
            raise InvalidParams(f"{name}: expected true or false", field=name)
        return _BOOLEANS[text]
    if kind is int:
        if not _INTEGER.fullmatch(text):
            raise InvalidParams(f"{name}: expected an integer", field=name)
        return int(text)
    return text

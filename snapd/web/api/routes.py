"""The description of a route: verb, path, inputs and answers."""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import attrs

from snapd.wire.converter import wire_name
from snapd.wire.values import RequestParams, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from snapd.wire.methods import Method

_NAME = re.compile(r"\{(\w+)\}")
_OF_THE_CONNECTION = frozenset(wire_name(field.name) for field in fields_of(RequestParams))
"""Params that this server itself sets for the daemon."""
WORKSPACE = "workspace"
_ABOUT_WORKSPACE = "Another folder that the daemon has open: its absolute path, or its `file:` URI."


@attrs.frozen
class Input:
    """One input; `into` is the path of its field in the params, as `("range", "start")`, and `doc` is Markdown."""

    name: str
    place: Literal["path", "query", "body"]
    into: tuple[str, ...]
    kind: Any
    doc: str
    required: bool

    @property
    def takes_many(self) -> bool:
        """Whether it may be repeated in a query."""
        return get_origin(self.kind) is list

    @property
    def is_choice(self) -> bool:
        """Whether it is a list of fixed words, which a query gives as one comma-separated text."""
        return self.takes_many and get_origin(get_args(self.kind)[0]) is Literal


@attrs.frozen(eq=False)
class Route:
    """A route of the API.

    `names` and `aliases` are its names of params fields that differ from the wire's. `results` is empty and `media` has
    the content types if the answer is not JSON. `kinds` are error kinds besides those of its method. With `of_session`,
    the path names a session that the step must belong to.
    """

    verb: Literal["GET", "POST"]
    path: str
    params: type[attrs.AttrsInstance]
    results: tuple[type[attrs.AttrsInstance], ...]
    method: Method[Any, Any] | None = None
    names: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    aliases: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    of_session: bool = attrs.field(default=False, kw_only=True)
    kinds: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    media: tuple[str, ...] = attrs.field(default=("application/json",), kw_only=True)
    inputs: tuple[Input, ...] = attrs.field(init=False, eq=False)

    @inputs.default
    def _its_inputs(self) -> tuple[Input, ...]:
        in_path = _NAME.findall(self.path)
        place: Literal["query", "body"] = "query" if self.verb == "GET" else "body"
        matches = []
        for field in fields_of(self.params):
            wire = wire_name(field.name)
            if wire in _OF_THE_CONNECTION:
                continue
            name = self.names.get(wire, wire)
            required = field.default is attrs.NOTHING
            kind, doc = _present(field.type), field.metadata["doc"]
            if name in in_path:
                matches.append(Input(name, "path", (wire,), kind, doc, True))
            elif place == "query" and isinstance(kind, type) and attrs.has(kind):
                # a query has no objects
                for each in fields_of(kind):
                    part = wire_name(each.name)
                    matches.append(Input(part, place, (wire, part), each.type, each.metadata["doc"], False))
            else:
                matches.append(Input(name, place, (wire,), kind, doc, required))
        matches.append(Input(WORKSPACE, "query", (), str, _ABOUT_WORKSPACE, False))
        if self.of_session:
            matches.insert(0, Input("id", "path", (), str, "The session of the step.", True))
        assert sorted(in_path) == sorted(each.name for each in matches if each.place == "path"), self.path
        return tuple(matches)


def _present(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        members = [each for each in get_args(annotation) if each is not NoneType]
        return members[0] if len(members) == 1 else Union[tuple(members)]  # noqa: UP007 - made at run time
    return annotation


def plain(annotation: Any) -> Any:
    """A type without its annotations, such as a minimum."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation

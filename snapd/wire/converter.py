"""Converts between JSON values and the classes of the wire, strictly: it coerces nothing, and reports what is wrong.

By default, cattrs turns null into `"None"` and `"ab"` into `["a", "b"]`, which is dangerous for paths. The hooks here
make a string only from a string, an integer only from an integer that is not a boolean, and a list only from a list.
They cover the types that `values` and similar modules use; a class with a field of any other type fails on first use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
from cattrs import Converter, override
from cattrs.gen import make_dict_unstructure_fn

from .values import AtLeast, Hexadecimal, NotEmpty, fields_of

T = TypeVar("T")

Structure = Callable[[Any, Any], Any]

_ABSENT = object()
_SCALARS: dict[type, str] = {str: "a string", int: "an integer", bool: "a boolean", float: "a number"}
_JSON_NAMES: Mapping[type, str] = {
    **_SCALARS,
    NoneType: "null",
    list: "an array",
    dict: "an object",
}


class InvalidParams(Exception):
    """A value does not fit its class.

    `field` is the path in the JSON, such as `patches[0].files[2]`, or `params` for the whole value; `problem` is such
    as `expected an integer, got a string`; `known` has the valid names for an unknown field, or the values for a
    missing one.
    """

    def __init__(self, field: str, problem: str, known: Iterable[str] = ()) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
        self.known = tuple(known)


class _Mismatch(Exception):
    """A value that does not fit, with the path to it, innermost part first; the path grows on the way up."""

    def __init__(self, problem: str, *path: str | int, known: Iterable[str] = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        self.known = known
        self.path: list[str | int] = list(path)

    def field(self) -> str:
        parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in reversed(self.path)]
        text = "".join(parts).removeprefix(".") or "params"
        return text.encode("utf-8", "replace").decode("utf-8")


def wire_name(name: str) -> str:
    """Returns the camelCase name of a Python field: `freed_bytes` is `freedBytes`, `from_` is `from`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in rest)


def structure(obj: object, cls: type[T], *, forbid_extra: bool = False) -> T:
    """Makes an object of a wire class from a JSON value; null means an empty object.

    With `forbid_extra`, refuses unknown fields instead of ignoring them. Raises `InvalidParams` for the first wrong
    field.
    """
    converter = _FORBIDDING if forbid_extra else _IGNORING
    try:
        return converter.structure({} if obj is None else obj, cls)
    except _Mismatch as mismatch:
        raise InvalidParams(mismatch.field(), mismatch.problem, mismatch.known) from None


def unstructure(value: attrs.AttrsInstance) -> dict[str, Any]:
    """Makes a JSON value from an object of a wire class, without optional fields that have their default."""
    unstructured: dict[str, Any] = _IGNORING.unstructure(value)
    return unstructured


def _mismatch(expected: str, value: object) -> _Mismatch:
    return _Mismatch(f"expected {expected}, got {_JSON_NAMES.get(type(value), type(value).__name__)}")


def _described(annotation: Any) -> str:
    """Returns the name of a type for `expected ...`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        base, *marks = get_args(annotation)
        return _described(base) + (" that is not empty" if NotEmpty() in marks else "")
    if origin is Literal:
        return " or ".join(
            f'"{value}"' if isinstance(value, str) else str(value).lower() for value in get_args(annotation)
        )
    if origin in (Union, UnionType):
        return " or ".join(_described(member) for member in get_args(annotation) if member is not NoneType)
    return _JSON_NAMES.get(origin or annotation, "an object")


def _scalar(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise _mismatch(_SCALARS[kind], value)
    return value


def _number(value: Any, _: Any) -> float:
    if type(value) is not int and type(value) is not float:
        raise _mismatch("a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Mismatch("expected a finite number")
    return number


def _within(part: str | int, hook: Structure, value: Any, annotation: Any) -> Any:
    """Structures a part of a value, and adds the part to the path of a mismatch in it."""
    try:
        return hook(value, annotation)
    except _Mismatch as mismatch:
        mismatch.path.append(part)
        raise


def _literal_hook(annotation: Any) -> Structure:
    allowed = get_args(annotation)

    def structure_literal(value: Any, _: Any) -> Any:
        for each in allowed:
            if type(value) is type(each) and value == each:
                return each
        expected = _described(annotation)
        raise _Mismatch(f"expected {expected}") if isinstance(value, str) else _mismatch(expected, value)

    return structure_literal


def _annotated_hook(annotation: Any, converter: Converter) -> Structure:
    base, *marks = get_args(annotation)
    structure_base = converter.get_structure_hook(base)

    def structure_annotated(value: Any, _: Any) -> Any:
        structured = structure_base(value, base)
        for mark in marks:
            if isinstance(mark, AtLeast) and structured < mark.minimum:
                raise _Mismatch(f"expected {_described(base)} of at least {mark.minimum}")
            if isinstance(mark, Hexadecimal) and not re.fullmatch(f"[0-9a-f]{{{mark.count()}}}", structured):
                raise _Mismatch(f"expected {mark.count(' to ')} lower-case hexadecimal digits")
            if isinstance(mark, NotEmpty) and not structured:
                raise _Mismatch(f"expected {_described(annotation)}")
        return structured

    return structure_annotated


def _union_hook(annotation: Any, converter: Converter) -> Structure:
    members = [member for member in get_args(annotation) if member is not NoneType]
    hooks = [(converter.get_structure_hook(member), member) for member in members]
    nullable = len(members) < len(get_args(annotation))

    def structure_union(value: Any, _: Any) -> Any:
        if value is None and nullable:
            return None
        if len(hooks) == 1:
            hook, member = hooks[0]
            return hook(value, member)
        inner: _Mismatch | None = None
        for hook, member in hooks:
            try:
                return hook(value, member)
            except _Mismatch as mismatch:
                inner = mismatch if mismatch.path else inner
        raise inner or _mismatch(_described(annotation), value)

    return structure_union


def _list_hook(annotation: Any, converter: Converter) -> Structure:
    (member,) = get_args(annotation)
    hook = converter.get_structure_hook(member)

    def structure_list(value: Any, _: Any) -> list[Any]:
        if type(value) is not list:
            raise _mismatch("an array", value)
        return [_within(index, hook, each, member) for index, each in enumerate(value)]

    return structure_list


def _is_empty_array(value: Any) -> bool:
    """Whether a value may stand for an empty object: some languages, such as Lua, cannot distinguish the two."""
    return type(value) is list and not value


def _dict_hook(annotation: Any, converter: Converter) -> Structure:
    """Structures an object whose names are data, such as those of files."""
    _, member = get_args(annotation)
    hook = converter.get_structure_hook(member)

    def structure_dict(value: Any, _: Any) -> dict[str, Any]:
        if _is_empty_array(value):
            value = {}
        if type(value) is not dict:
            raise _mismatch("an object", value)
        return {name: _within(name, hook, each, member) for name, each in value.items()}

    return structure_dict


def _class_hook(cls: type[attrs.AttrsInstance], converter: Converter, *, forbid_extra: bool) -> Structure:
    fields = [
        (
            each.alias,
            wire_name(each.name),
            converter.get_structure_hook(each.type),
            each.type,
            each.default is attrs.NOTHING,
        )
        for each in fields_of(cls)
    ]
    known = [wire for _, wire, *_ in fields]
    needs_nothing = not any(required for *_, required in fields)

    def structure_class(value: Any, _: Any) -> Any:
        if needs_nothing and _is_empty_array(value):
            value = {}
        if type(value) is not dict:
            raise _mismatch("an object", value)
        # first, since a misspelt name is missing, too
        for each in value if forbid_extra else ():
            if each not in known:
                raise _Mismatch("is unknown", str(each), known=known)
        arguments = {}
        for name, wire, hook, annotation, required in fields:
            given = value.get(wire, _ABSENT)
            if given is _ABSENT and required:
                raise _Mismatch("is missing", wire, known=(_described(annotation),))
            if given is _ABSENT or (given is None and not required):
                continue
            arguments[name] = _within(wire, hook, given, annotation)
        return cls(**arguments)

    return structure_class


def _unstructure_class_hook(cls: type[attrs.AttrsInstance], converter: Converter) -> Callable[[Any], dict[str, Any]]:
    renamed: dict[str, Any] = {each.name: override(rename=wire_name(each.name)) for each in fields_of(cls)}
    return make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True, **renamed)


def _refuse(annotation: Any) -> Structure:
    raise TypeError(f"no type of the wire: {annotation!r}")


def _originates(*origins: Any) -> Callable[[Any], bool]:
    return lambda annotation: get_origin(annotation) in origins


def _make_converter(*, forbid_extra: bool) -> Converter:
    converter = Converter(detailed_validation=False)
    # What is registered last is asked first.
    converter.register_structure_hook_factory(lambda _: True, _refuse)
    converter.register_structure_hook_factory(
        attrs.has, lambda cls: _class_hook(cls, converter, forbid_extra=forbid_extra)
    )
    converter.register_structure_hook_factory(_originates(list), lambda each: _list_hook(each, converter))
    converter.register_structure_hook_factory(_originates(dict), lambda each: _dict_hook(each, converter))
    converter.register_structure_hook_factory(_originates(Union, UnionType), lambda each: _union_hook(each, converter))
    converter.register_structure_hook_factory(_originates(Literal), _literal_hook)
    converter.register_structure_hook_factory(_originates(Annotated), lambda each: _annotated_hook(each, converter))
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _scalar)
    converter.register_structure_hook(float, _number)
    converter.register_unstructure_hook_factory(attrs.has, lambda cls: _unstructure_class_hook(cls, converter))
    return converter


_IGNORING = _make_converter(forbid_extra=False)
_FORBIDDING = _make_converter(forbid_extra=True)

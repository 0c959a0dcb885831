"""Puts off the work of attrs on classes that may never be used.

`lsprotocol.types` has more than 500 attrs classes, and pygls imports it whatever a server needs of it. attrs writes and
compiles the methods of each, which takes a third of the start of a daemon that uses a dozen of them. While
`classes_later` is entered, `attrs.define` only notes what it was asked for, and the class gets its methods as soon as
somebody makes an instance of it or asks for its fields.

Such a class is the same object before and after, so that others may hold it. Its instances have a `__dict__`, where
those of attrs have slots by default; there is no other difference.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_define: Callable[..., Any] = attrs.define
_COMPLETING = threading.RLock()
"""Held while a class gets its methods: another thread that needs them waits."""


class _Later:
    """Stands for an attribute of a class until the class is complete.

    Args:
        name: of the attribute.
        complete: gives the class its methods, this attribute among them.
    """

    def __init__(self, name: str, complete: Callable[[], None]) -> None:
        self._name = name
        self._complete = complete

    def __get__(self, instance: object | None, owner: type) -> Any:
        self._complete()
        return getattr(owner if instance is None else instance, self._name)


def _define_later(maybe_cls: type | None = None, **options: Any) -> Any:
    """As `attrs.define`, but the class gets its methods when they are needed."""

    def put_off(cls: type) -> Any:
        if "__init__" in vars(cls):
            # attrs leaves a method that the class has itself
            return _define(cls, **options)

        def complete() -> None:
            with _COMPLETING:
                # unless another thread was faster
                if isinstance(vars(cls)["__init__"], _Later):
                    # without `init`, attrs would take ours for one that the class has itself
                    _define(cls, **options | {"slots": False, "init": True})

        # what is asked for first, to learn the fields and to make an instance
        for name in ("__attrs_attrs__", "__init__"):
            setattr(cls, name, _Later(name, complete))
        return cls

    return put_off if maybe_cls is None else put_off(maybe_cls)


@contextmanager
def classes_later() -> Iterator[None]:
    """Has the classes that `attrs.define` makes in this block get their methods when they are needed.

    For the import of a module most of whose classes are never used. Enter it before there are threads: what these
    define meanwhile is put off, too.
    """
    vars(attrs)["define"] = _define_later
    try:
        yield
    finally:
        vars(attrs)["define"] = _define

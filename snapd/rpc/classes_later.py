"""Defers the work of attrs for classes that may never be used.

`lsprotocol.types` has more than 500 attrs classes, and pygls imports them all. attrs generates and compiles the methods
of each, which takes a third of the start of a daemon that uses a dozen. Within `classes_later`, `attrs.define` only
records its arguments; the class is completed when an instance is made or its fields are read.

The class stays the same object, so references to it stay valid. Its instances have a `__dict__` instead of slots.
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
"""Held while a class is completed: other threads that need it wait."""


class _Later:
    """Placeholder for an attribute; its first use completes the class."""

    def __init__(self, name: str, complete: Callable[[], None]) -> None:
        self._name = name
        self._complete = complete

    def __get__(self, instance: object | None, owner: type) -> Any:
        self._complete()
        return getattr(owner if instance is None else instance, self._name)


def _define_later(maybe_cls: type | None = None, **options: Any) -> Any:
    """As `attrs.define`, but completes the class on first use."""

    def put_off(cls: type) -> Any:
        if "__init__" in vars(cls):
            # attrs keeps a method that the class defines
            return _define(cls, **options)

        def complete() -> None:
            with _COMPLETING:
                # another thread may have completed it
                if isinstance(vars(cls)["__init__"], _Later):
                    # without `init`, attrs would take the placeholder for a method of the class
                    _define(cls, **options | {"slots": False, "init": True})

        # the first attributes used, to read the fields or make an instance
        for name in ("__attrs_attrs__", "__init__"):
            setattr(cls, name, _Later(name, complete))
        return cls

    return put_off if maybe_cls is None else put_off(maybe_cls)


@contextmanager
def classes_later() -> Iterator[None]:
    """Defers the classes that `attrs.define` makes in this block until their first use.

    For the import of a module most of whose classes are never used. Enter it before threads start: their classes would
    be deferred too.
    """
    vars(attrs)["define"] = _define_later
    try:
        yield
    finally:
        vars(attrs)["define"] = _define

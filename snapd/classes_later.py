"""Defers the work of attrs for classes that may never be used.

The daemon has some 500 attrs classes, and `lsprotocol.types` as many again. attrs generates and compiles the methods of
each, which takes most of the start of a daemon that uses a few dozen. Within `classes_later`, `attrs.define` and
`attrs.frozen` only record their arguments; the class is completed when an instance is made or its fields are read.

The class stays the same object, so references to it stay valid. Its instances have a `__dict__` instead of slots, so
the rooms whose objects are many keep slots.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WITH_SLOTS = (
    "snapd.model.snapshot",
    "snapd.model.trees",
    "snapd.worktree.state.",
    "snapd.worktree.snapshot.",
    "snapd.store.objects.",
    "snapd.core.compare.",
    "snapd.core.review.",
)
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
        # attrs keeps a method that the class defines
        if "__init__" in vars(cls) or options.get("init") is False or cls.__module__.startswith(_WITH_SLOTS):
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


def _freeze_later(maybe_cls: type | None = None, **options: Any) -> Any:
    """As `attrs.frozen`, but completes the class on first use."""
    return _define_later(maybe_cls, **{"frozen": True, "on_setattr": None, **options})


@contextmanager
def classes_later() -> Iterator[None]:
    """Defers the classes that are made in this block until their first use.

    For imports of modules most of whose classes are never used. Enter it before threads start: their classes would be
    deferred too.
    """
    names = vars(attrs)
    before = names["define"], names["frozen"]
    names["define"], names["frozen"] = _define_later, _freeze_later
    try:
        yield
    finally:
        names["define"], names["frozen"] = before

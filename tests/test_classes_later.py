"""Classes whose methods come late are the classes that attrs makes."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from snapd.classes_later import classes_later

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPLETED: list[str] = []


def note(cls: type, fields: list[Any]) -> list[Any]:
    """Notes that attrs makes the methods of a class."""
    COMPLETED.append(cls.__name__)
    return fields


with classes_later():

    @attrs.define
    class Later:
        text: str = attrs.field(validator=attrs.validators.instance_of(str))
        number: int = attrs.field(default=1)
        constant: str = "c"

    @attrs.define(kw_only=True, eq=False)
    class WithOptions:
        number: int

    @attrs.define
    class WithItsOwn:
        number: int

        def __init__(self) -> None:
            self.number = 7

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, WithItsOwn)

        __hash__ = None  # type: ignore[assignment]

    @attrs.frozen(kw_only=True)
    class Frozen:
        number: int

    @attrs.define
    class Base:
        first: int

    @attrs.define
    class Derived(Base):
        second: int

    @attrs.define(field_transformer=note)
    class Raced:
        number: int = attrs.field(validator=attrs.validators.ge(0))

    class Undecorated(Base):
        pass


@attrs.define
class Now:
    text: str = attrs.field(validator=attrs.validators.instance_of(str))
    number: int = attrs.field(default=1)
    constant: str = "c"


def is_complete(cls: type) -> bool:
    return isinstance(vars(cls)["__attrs_attrs__"], tuple)


def test_a_class_is_complete_once_it_is_used() -> None:
    assert not is_complete(Later)
    assert attrs.has(Later)
    assert is_complete(Later)
    assert not is_complete(WithOptions)
    with pytest.raises(TypeError):
        WithOptions(1)  # type: ignore[misc]
    assert is_complete(WithOptions)
    made = WithOptions(number=1)
    assert made != WithOptions(number=1)


def test_it_is_what_attrs_makes_at_once() -> None:
    def shown(cls: Any) -> list[Any]:
        return [(each.name, each.type, each.default, each.alias) for each in attrs.fields(cls)]

    later, now = Later("a", 2), Now("a", 2)
    assert shown(Later) == shown(Now)
    assert repr(later) == repr(now).replace("Now", "Later")
    assert attrs.asdict(later) == attrs.asdict(now)
    assert later == Later("a", 2)
    assert later != Later("a", 3)
    assert Later.__match_args__ == Now.__match_args__
    assert "constant" not in vars(Later)
    assert copy.deepcopy(later) == pickle.loads(pickle.dumps(later)) == later
    for cls in (Later, Now):
        with pytest.raises(TypeError):
            cls(5)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            cls("a").text = 5  # type: ignore[assignment]
        with pytest.raises(TypeError):
            hash(cls("a"))


def test_methods_that_the_class_has_itself_stay() -> None:
    made = WithItsOwn()
    assert made.number == 7
    assert repr(made) == "own"
    assert made == WithItsOwn()


def test_classes_that_derive_from_one() -> None:
    assert Undecorated(4).first == 4
    assert [each.name for each in attrs.fields(Derived)] == ["first", "second"]
    assert Derived(1, 2) == Derived(1, 2)


@pytest.fixture
def hurry() -> Iterator[None]:
    """Has threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurry")
def test_threads_that_make_the_first_instances_at_the_same_time() -> None:
    assert not is_complete(Raced)
    together, made = threading.Barrier(8), []

    def make(number: int) -> None:
        together.wait()
        made.append(Raced(number).number)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(made) == list(range(8))
    assert COMPLETED == ["Raced"]


def test_a_frozen_class_is_frozen() -> None:
    assert not is_complete(Frozen)
    frozen = Frozen(number=1)
    assert frozen == Frozen(number=1)
    assert hash(frozen) == hash(Frozen(number=1))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        frozen.number = 2  # type: ignore[misc]


def test_a_block_in_a_block_leaves_the_outer_one() -> None:
    with classes_later():
        with classes_later():
            pass

        @attrs.define
        class Outer:
            number: int

    assert not is_complete(Outer)


def test_attrs_is_as_before_afterwards() -> None:
    with pytest.raises(ZeroDivisionError), classes_later():
        raise ZeroDivisionError

    @attrs.define
    class After:
        number: int

    assert is_complete(After)

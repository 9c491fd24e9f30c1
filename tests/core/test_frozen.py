"""`frozen` makes the same values as `dataclass(frozen=True)`."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from penstock.core.frozen import frozen


@frozen()
class Point:
    """A point."""

    SIDES: ClassVar[int] = 2

    x: int
    y: list[int] = field(default_factory=list)
    hidden: int = field(default=0, repr=False, compare=False)


@dataclass(frozen=True)
class Reference:
    """The same from the standard library."""

    SIDES: ClassVar[int] = 2

    x: int
    y: list[int] = field(default_factory=list)
    hidden: int = field(default=0, repr=False, compare=False)


@frozen()
class Empty:
    """A value without fields."""


@frozen(eq=False, repr=False)
class Named(Point):
    """A class that keeps what it inherits, with a field more."""

    name: str = ""


@frozen()
class Own:
    """A class with methods of its own."""

    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


@frozen()
class OwnEqual:  # noqa: PLW1641 - `frozen` adds the hash
    """A class with its own comparison and no hash."""

    x: tuple[int, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnEqual)


@frozen(kw_only=True)
class Settings:
    """A value made by names."""

    size: int = 1


@frozen()
class Checked:
    """A value that is checked, may be called, and has a field that no argument sets."""

    low: int
    high: int = 9
    _: KW_ONLY
    step: int = 1
    seen: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")

    def __call__(self, item: int) -> int:
        return item


@pytest.mark.parametrize("name", ["x", "y", "hidden", "SIDES", "other"])
def test_no_attribute_can_be_set(name: str) -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(point, name, 2)
    assert point == Point(1)


def test_no_field_can_be_deleted() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del Point(1).x  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("args", [(1,), (1, [2]), (1, [2], 3)])
def test_text_and_fields_are_those_of_the_standard_library(args: tuple[Any, ...]) -> None:
    ours, theirs = Point(*args), Reference(*args)
    assert repr(ours) == repr(theirs).replace("Reference", "Point")
    assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
    assert vars(ours) == vars(theirs)


def test_equal_values_of_one_class_are_equal() -> None:
    assert Point(1, [2], 3) == Point(1, [2], 4)
    assert Point(1, [2]) != Point(1, [3])
    assert Point(1) != Reference(1)
    assert Point(1) != Named(1)
    assert Empty() == Empty()
    assert repr(Empty()) == "Empty()"
    assert len({Empty(), Empty(), Settings(), Settings(size=1), Settings(size=2)}) == 3


def test_a_value_inside_itself_is_shown_once() -> None:
    point = Point(1, [])
    point.y.append(point)  # pyright: ignore[reportArgumentType]
    assert repr(point) == "Point(x=1, y=[...])"


def test_methods_of_the_class_and_inherited_ones_stay() -> None:
    assert Own(1) == Own(2)
    assert hash(Own(1)) == 7
    assert repr(Own(1)) == "own"
    assert hash(OwnEqual((1,))) == hash(((1,),))
    assert repr(Named(1, name="a")) == "Named(x=1, y=[])"
    with pytest.raises(FrozenInstanceError):
        Named(1).name = "b"  # pyright: ignore[reportAttributeAccessIssue]


def test_arguments_are_checked_once_all_fields_are_set() -> None:
    assert vars(Checked(1, step=2)) == {"low": 1, "high": 9, "step": 2, "seen": []}
    assert Checked(1).seen is not Checked(1).seen
    with pytest.raises(ValueError, match="low is above high"):
        Checked(high=2, low=3)


@pytest.mark.parametrize(
    ("given", "named", "words"),
    [
        ((), {}, "missing a required argument: 'low'"),
        ((1,), {"low": 1}, "multiple values for argument 'low'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"hihg": 2}, "got an unexpected keyword argument 'hihg'"),
        ((1,), {"seen": []}, "got an unexpected keyword argument 'seen'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(given: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=rf"^Checked\(\): {words}$"):
        Checked(*given, **named)


def test_the_signature_is_that_of_the_fields() -> None:
    assert str(inspect.signature(Point)) == "(x: 'int', y: 'list[int]' = Ellipsis, hidden: 'int' = 0)"
    assert str(inspect.signature(Checked)) == "(low: 'int', high: 'int' = 9, *, step: 'int' = 1)"
    assert list(inspect.signature(Checked(1)).parameters) == ["item"]


def test_no_method_is_compiled() -> None:
    assert {Point.__init__.__code__, Point.__eq__.__code__} == {Checked.__init__.__code__, Checked.__eq__.__code__}


def test_arguments_that_are_names_only() -> None:
    assert Settings(size=2).size == 2
    with pytest.raises(TypeError, match="positional"):
        Settings(2)  # pyright: ignore[reportCallIssue]


def test_copies_are_equal_and_frozen() -> None:
    point = Point(1, [2], 3)
    for made in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point)), replace(point, x=1)):
        assert made == point
        assert made.hidden == 3
        with pytest.raises(FrozenInstanceError):
            made.x = 2  # pyright: ignore[reportAttributeAccessIssue]

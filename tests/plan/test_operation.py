"""Declarative operations: data that reads as it is written, called with one draw."""

from __future__ import annotations

from typing import ClassVar

import pytest

from penstock.core.frozen import frozen
from penstock.core.seeds import row_generator
from penstock.plan.functions import ElementFunction
from penstock.plan.operation import Operation


@frozen(repr=False)
class Times(Operation):
    name: ClassVar[str] = "times"

    factor: int
    offset: int = 0

    def apply(self, value, draw):
        return value * self.factor + self.offset + draw


@frozen(repr=False)
class Noise(Times):
    random: ClassVar[bool] = True


def test_the_repr_is_the_code_without_defaults():
    assert repr(Times(3)) == "times(3)"
    assert repr(Times(3, 4)) == "times(3, offset=4)"


def test_an_operation_draws_only_if_it_is_random():
    assert isinstance(Times(3), ElementFunction)
    assert Times(3, 1)(5, rng=row_generator(1, 2)) == 16
    drawn = row_generator(1, 2).bit_generator.random_raw()
    assert Noise(1)(0, rng=row_generator(1, 2)) == drawn
    assert Noise(1)(0) != Noise(1)(0)


def test_unspecified_methods_do_nothing():
    with pytest.raises(NotImplementedError):
        Operation().spec(None)
    with pytest.raises(NotImplementedError):
        Operation().apply(1, 0)

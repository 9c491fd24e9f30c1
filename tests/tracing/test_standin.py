"""Stand-ins give up wherever a value would be needed, and stay given up."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from penstock.tracing.forms import Kind, ValueForm
from penstock.tracing.operations import Rules
from penstock.tracing.standin import MOST_STEPS, GiveUpError, Trace, Value, value_of

I8 = np.dtype("i8")


def standing_for(kind, shape=()):
    return Value(Trace(1, Rules()), ValueForm(kind, I8, shape), 0).stand_in


NEEDING_A_VALUE = [
    *(bool, int, float, complex, str, repr, hash, bytes, list, round, math.floor, math.sqrt, np.asarray, copy.copy),
    *(lambda x: x.__index__(), lambda x: [1, 2][x], lambda x: range(x), lambda x: f"{x:>3}", lambda x: 3 in x),
    *(
        lambda x: x.nothing,
        lambda x: x(),
        lambda x: x @ x,
        lambda x: divmod(x, 2),
        lambda x: next(x),
        lambda x: x + "a",
    ),
    *(lambda x: np.sort(x), lambda x: np.add.reduce(x), lambda x: reversed(x)),
]


@pytest.mark.parametrize("needing", NEEDING_A_VALUE)
@pytest.mark.parametrize("kind", [Kind.PYTHON, Kind.NUMPY, Kind.OBJECT])
def test_values_of_stand_ins_are_not_available(needing, kind):
    stand_in = standing_for(kind)
    with pytest.raises(GiveUpError):
        needing(stand_in)
    assert value_of(stand_in).trace.failed


@pytest.mark.parametrize("symbol", ["x + 1", "1 - x", "x == x", "-x", "x[0]", "x.shape", "len(x)", "np.sqrt(x)"])
def test_objects_can_only_be_passed_on(symbol):
    stand_in = standing_for(Kind.OBJECT)
    with pytest.raises(GiveUpError):
        eval(symbol, {"x": stand_in, "np": np})


def test_stand_ins_refuse_attributes():
    stand_in = standing_for(Kind.ARRAY, (3,))
    with pytest.raises(GiveUpError):
        stand_in[0] = 1
    with pytest.raises(GiveUpError):
        stand_in.shape = (1, 3)
    with pytest.raises(GiveUpError):
        del stand_in[0]


def test_numpy_functions_use_the_rules():
    stand_in = standing_for(Kind.ARRAY, (3,))
    assert np.sqrt(stand_in).dtype == np.float64
    assert np.concatenate([stand_in, stand_in]).shape == (6,)
    assert (np.arange(3.0) * stand_in).shape == (3,)


def test_a_trace_has_a_limit_of_steps():
    stand_in = standing_for(Kind.ARRAY, (3,))
    for _ in range(MOST_STEPS):
        stand_in = stand_in + 1
    with pytest.raises(GiveUpError, match="too many"):
        stand_in + 1


def test_a_constant_has_a_value():
    trace = Trace(0, Rules())
    number = trace.lower(np.int64(3))
    assert bool(number)
    assert [10, 20, 30, 40][number] == 40
    assert float(number) == 3.0
    assert int(number + 2) == 5

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.core.errors import ElementError, PlanError
from penstock.core.lengths import INFINITE
from penstock.sources.integers import counter, integer_range

numbers = st.integers(-(2**63), 2**63 - 1)


def read(source, rows, out=None):
    return source.read_many(np.array(rows, np.int64), out).columns[0]


@pytest.mark.parametrize("count", [1, 2])
def test_numbers_are_an_array_for_one_row_too(count):  # else those that a buffer joins with later ones become a list
    column = integer_range(10).read_many(np.arange(count)).columns[0]
    assert isinstance(column, np.ndarray)
    assert column.dtype == np.int64


@given(numbers, numbers, numbers, st.booleans())
def test_a_range_counts_as_in_python(start, stop, step, given_memory):
    assume(step != 0)
    expected = range(start, stop, step)
    length = max(-(-(stop - start) // step), 0)
    assume(length <= 2**62)
    source = integer_range(start, stop, step)
    assert source.length == length
    rows = [row for row in (0, 1, length // 2, length - 1) if row in range(length)]
    out = [np.empty(len(rows), np.int64)] if given_memory else None
    values = read(source, rows, out)
    assert values.tolist() == [expected[row] for row in rows]
    assert out is None or values is out[0]


@pytest.mark.parametrize("arguments", [(5,), (2, 5), (5, 2), (5, 2, -1), (0,), (-3,), (np.int32(1), np.int64(9), True)])
def test_range_takes_one_to_three_numbers(arguments):
    source = integer_range(*arguments)
    expected = list(range(*arguments))
    assert source.length == len(expected)
    assert read(source, range(len(expected))).tolist() == expected


@pytest.mark.parametrize("arguments", [(1.0,), (0, 2.5), ("3",), (None,), (), (1, 2, 3, 4)])
def test_values_that_are_no_whole_numbers_are_a_type_error(arguments):
    with pytest.raises(TypeError):
        integer_range(*arguments)
    if arguments and len(arguments) < 3:
        with pytest.raises(TypeError, match="expected whole numbers"):
            integer_range(*arguments, dtype=np.float32)


def test_a_step_of_zero_is_a_value_error():
    with pytest.raises(ValueError, match="zero"):
        integer_range(0, 5, 0)


def test_a_dtype_that_does_not_hold_the_numbers_is_refused_when_made():
    assert read(integer_range(128, dtype=np.int8), [127]).dtype == np.int8
    with pytest.raises(PlanError, match=r"range\(129\): int8 does not hold 128"):
        integer_range(129, dtype=np.int8)
    with pytest.raises(PlanError, match="uint8 does not hold -1"):
        integer_range(-1, 3, dtype=np.uint8)
    with pytest.raises(PlanError, match="int64 does not hold 9223372036854775808"):
        integer_range(2**63, 2**63 + 1)
    with pytest.raises(PlanError, match=r"at most 2\*\*62"):
        integer_range(2**63)
    with pytest.raises(PlanError, match="not an integer or floating-point type"):
        integer_range(3, dtype=str)


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", ">i8"])
def test_values_have_the_requested_dtype(dtype):
    source = integer_range(3, dtype=dtype)
    out = [np.empty(3, dtype)]
    assert read(source, [0, 1, 2], out) is out[0]
    assert out[0].tolist() == [0, 1, 2]
    assert read(source, [2]).dtype == source.spec().dtype == np.dtype(dtype)


def test_a_counter_never_ends():
    source = counter(5, -3)
    assert source.length == INFINITE
    assert read(source, [0, 1, 2**40]).tolist() == [5, 2, 5 - 3 * 2**40]
    assert read(counter(7, 0), [0, 9]).tolist() == [7, 7]
    assert read(counter(), []).tolist() == []


def test_a_counter_beyond_its_dtype_is_an_error_with_the_number():
    source = counter(dtype=np.int8)
    assert read(source, [127]).tolist() == [127]
    with pytest.raises(ElementError, match="element 128 would be 128, which does not fit int8"):
        read(source, [3, 128, 4])
    with pytest.raises(ElementError, match="which does not fit int64"):
        read(counter(0, 2**62), [1, 2])
    with pytest.raises(PlanError, match="does not hold"):
        counter(2**63)
    with pytest.raises(PlanError, match="does not hold"):
        counter(0, 2**63)
    with pytest.raises(TypeError, match="whole numbers"):
        counter(0.5)


def test_names_records_and_fingerprints():
    source = integer_range(2, 10, 3)
    assert source.name == "range(2, 10, 3)"
    assert source.describe(1) == "the number 5"
    assert source.fingerprint() != integer_range(2, 10, 2).fingerprint()
    assert pickle.loads(pickle.dumps(source)) == source

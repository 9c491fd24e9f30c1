"""Numbers of a list are copied as the twin copies them, and nothing but Python's own; positions of `True` are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import copy_numbers, parsed_integers, true_positions
from penstock.kernels.reference import numbers as twin

WIDE = st.integers(-(2**63) - 1, 2**63) | st.sampled_from([-(2**63), 2**63 - 1, 2**64, -(2**200)])
VALUES = st.one_of(
    st.lists(WIDE),
    st.lists(st.floats()),
    st.lists(st.booleans()),
    st.lists(st.sampled_from([0, 1, True, False, 1.0, np.int64(3), np.float64(2), np.bool_(True), None, "1"])),
)


@given(VALUES, st.sampled_from([np.int64, np.float64, np.bool_]))
def test_numbers_are_copied_as_by_the_twin(values: list[object], dtype: type) -> None:
    made, expected = np.empty(len(values), dtype), np.empty(len(values), dtype)
    whole = twin.copy_numbers(values, expected)
    assert copy_numbers(values, made) == whole
    if whole:
        assert made.tobytes() == expected.tobytes()


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257])
def test_any_number_of_numbers_is_copied(count: int) -> None:
    for values in (list(range(count)), [x / 3 for x in range(count)], [x % 3 == 0 for x in range(count)]):
        out = np.empty(count, np.array(values[:1] or [0]).dtype)
        assert copy_numbers(values, out)
        assert out.tolist() == values


def test_subclasses_of_int_are_refused() -> None:
    class Sub(int):
        pass

    for other in (True, Sub(3), np.int64(3), np.int32(3), 3.0):
        assert not copy_numbers([1, other], np.empty(2, np.int64))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1)])
def test_memory_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="one number for each value"):
        copy_numbers([1, 2], np.empty(shape, np.int64))


def test_memory_that_cannot_be_written_is_refused() -> None:
    out = np.empty(2, np.int64)
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        copy_numbers([1, 2], out)
    with pytest.raises((ValueError, BufferError)):
        copy_numbers([1, 2], np.empty(4, np.int64)[::2])
    with pytest.raises(KeyError):
        copy_numbers([1, 2], np.empty(2, np.int32))


@given(st.lists(st.booleans()) | VALUES)
def test_positions_of_true_are_those_of_the_twin(values: list[object]) -> None:
    made, expected = true_positions(values), twin.true_positions(values)
    assert (made is None) == (expected is None)
    assert made is None or expected is None or made.tolist() == expected.tolist()


@pytest.mark.parametrize("other", [1, 0, None, np.bool_(True), "", 1.0])
def test_positions_of_values_that_are_no_flags_are_refused(other: object) -> None:
    assert true_positions([True, False, other]) is None


TEXTS = st.integers(-(2**64), 2**64).map(lambda number: str(number).encode())
OTHER_FORMS = [b"", b"-", b"+1", b" 1", b"1\n", b"1_0", b"007", b"-0", b"1.0", b"1\0", None, "1", 1]


@given(st.lists(TEXTS) | st.lists(TEXTS | st.sampled_from(OTHER_FORMS)))
def test_texts_are_parsed_as_by_the_twin(texts: list[object]) -> None:
    made, expected = parsed_integers(texts), twin.parsed_integers(texts)
    assert (made is None) == (expected is None)
    assert made is None or expected is None or made.tolist() == expected.tolist()

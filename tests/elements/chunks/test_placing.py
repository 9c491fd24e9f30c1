"""Large arrays are copied to their places in a batch while its elements are made."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import ElementError
from penstock.elements.chunks.placing import PLACED_FROM, placed_as_made
from penstock.testing.laws import same

NUMBER = np.arange(PLACED_FROM, dtype=np.uint8)


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize(
    "element",
    [
        lambda x: NUMBER + np.uint8(x),
        lambda x: {"image": NUMBER + np.uint8(x), "label": x},
        lambda x: (x, (NUMBER + np.uint8(x), np.full((2, PLACED_FROM), x))),
    ],
    ids=["array", "dict", "nested"],
)
def test_batches_of_large_elements_hold_what_the_function_returned(executor, element):
    from penstock import Options

    ds = Dataset.range(23).map(element).batch(4).with_options(Options(executor=executor, workers=2))
    for _ in range(2):  # an epoch with slots of the first
        batches = list(ds)
        assert same([*Dataset.from_tensor_slices(batches[0])], [element(x) for x in range(4)])
        assert same([*Dataset.from_tensor_slices(batches[-1])], [element(x) for x in range(20, 23)])


def test_an_array_that_the_function_uses_again_is_copied_before():
    buffer = np.zeros(PLACED_FROM, np.uint8)

    def again(x):
        buffer.fill(x)
        return buffer

    memory = [np.zeros((3, PLACED_FROM), np.uint8)]
    list(placed_as_made(map(again, range(3)), memory, 3))
    assert memory[0][:, 0].tolist() == [0, 1, 2]


def test_elements_that_the_function_keeps_stay_as_they_are():
    kept = [{"x": NUMBER.copy()} for _ in range(2)]
    arrays = [each["x"] for each in kept]
    made = list(placed_as_made(iter(kept), [np.zeros((2, PLACED_FROM), np.uint8)], 2))
    assert all(each["x"] is array for each, array in zip(kept, arrays, strict=True))
    assert not any(np.shares_memory(each["x"], array) for each, array in zip(made, arrays, strict=True))


def test_an_array_with_gaps_is_copied():
    memory = np.zeros((1, PLACED_FROM), np.uint8)
    (made,) = placed_as_made(iter([NUMBER[::-1]]), [memory], 1)
    assert made.base is memory
    assert (memory[0] == NUMBER[::-1]).all()


@pytest.mark.parametrize(
    ("element", "memory"),
    [
        (NUMBER[:-1], np.zeros((1, PLACED_FROM), np.uint8)),
        (NUMBER.astype(np.int8), np.zeros((1, PLACED_FROM), np.uint8)),
        (np.ma.masked_array(NUMBER), np.zeros((1, PLACED_FROM), np.uint8)),
        (NUMBER, np.zeros((2, PLACED_FROM), np.uint8)),
        (np.arange(3, dtype=np.uint8), np.zeros((1, 3), np.uint8)),
        ((NUMBER, 1), np.zeros((1, PLACED_FROM), np.uint8)),
    ],
    ids=["shorter", "another dtype", "another class", "more places", "small", "more leaves"],
)
def test_an_element_that_has_no_place_stays_where_it_is(element, memory):
    (made,) = placed_as_made(iter([element]), [memory], 1)
    assert made is element
    assert not memory.any()


def test_a_large_element_of_another_shape_is_named_with_its_row():
    ds = Dataset.range(16).map(lambda x: np.zeros(PLACED_FROM + (x == 13))).batch(4)
    with pytest.raises(ElementError, match="elements of rows 12 and 13 differ: shape"):
        list(ds)

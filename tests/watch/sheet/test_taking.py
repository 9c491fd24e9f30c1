"""Elements taken out of batches, lists, tensors and single elements."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.watch.sheet.taking import as_arrays, common_length, elements_in, is_batch

IMAGE = np.zeros((32, 40, 3), np.uint8)


@pytest.mark.parametrize(
    ("element", "batched"),
    [
        ({"image": np.zeros((4, 32, 32, 3)), "label": np.zeros(4)}, True),
        ((np.zeros((4, 28, 28)), np.zeros(4)), True),
        (np.zeros((3, 32, 32, 3)), True),
        (np.zeros((8, 16000), np.float32), True),
        (np.arange(5), True),
        (np.array(["a", "b"]), True),
        (ps.Ragged.from_rows([[1], [2, 3]]), True),
        ({"ids": ps.Ragged.from_rows([[1], [2, 3]]), "y": np.zeros(2)}, True),
        (IMAGE, False),
        ({"image": IMAGE, "label": 3}, False),
        ({"image": IMAGE, "mask": np.zeros((32, 40))}, False),
        (np.zeros((3, 32, 40), np.float32), False),
        (np.zeros((5, 32, 40), np.float32), True),
        (np.zeros(16000, np.float32), False),
        ({"x": np.zeros(3), "y": np.zeros(4)}, False),
        (3, False),
        ("text", False),
        ({}, False),
    ],
)
def test_a_batch_is_guessed(element, batched):
    assert is_batch(element) == batched


def test_at_most_so_many_elements_are_taken_of_all():
    batch = {"x": np.arange(10), "y": np.arange(20).reshape(10, 2)}
    taken, count = elements_in(batch, None, 3)
    assert (len(taken), count, taken[2]["x"], taken[2]["y"].tolist()) == (3, 10, 2, [4, 5])
    assert elements_in([batch, batch], None, 12)[1] == 20
    assert len(elements_in([batch, batch], None, 12)[0]) == 12
    assert elements_in([{"x": 1}, {"x": 2}], None, 9) == ([{"x": 1}, {"x": 2}], 2)
    assert elements_in([], None, 9) == ([], 0)


def test_a_guess_can_be_corrected():
    both = {"a": np.zeros((5, 2)), "b": np.zeros((5, 3))}
    assert elements_in(both, None, 9)[1] == 5
    assert elements_in(both, False, 9)[1] == 1
    assert elements_in(np.zeros((32, 40, 3)), True, 99)[1] == 32
    assert common_length({"a": np.zeros(2), "b": 1}) is None


def test_a_list_of_numbers_is_their_batch():
    assert elements_in([1, 2, 3], None, 9) == ([1, 2, 3], 3)


def test_array_likes_are_converted_and_those_that_fail_stay():
    class Tensor:
        def detach(self):
            return self

        def cpu(self):
            return np.arange(3)

        def __array__(self, dtype=None, copy=None):
            raise TypeError("on a device")

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise OSError("gone")

    broken = Broken()
    made = as_arrays({"t": Tensor(), "b": broken, "n": None})
    assert made["t"].tolist() == [0, 1, 2]
    assert made["b"] is broken

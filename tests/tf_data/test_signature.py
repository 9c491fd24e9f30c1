"""Signatures in the forms of `tf.data`."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import tf_data as data
from penstock.core.errors import ElementError
from penstock.tf_data.signature import Fitting, dtypes_of, of_types


def fitted(element, signature):
    (found,) = Fitting(lambda: [element], dtypes_of(signature))()
    return found


@pytest.mark.parametrize(
    ("element", "dtype", "expected"),
    [
        (1, np.int32, np.int32(1)),
        (1, np.float32, np.float32(1)),
        (1.5, np.float32, np.float32(1.5)),
        (True, np.int32, np.int32(1)),
        ([1, 2], np.int16, np.array([1, 2], np.int16)),
        ([], np.int16, np.array([], np.int16)),
        ([[1.0], [2.0]], np.float32, np.array([[1], [2]], np.float32)),
        (np.arange(3), np.uint8, np.arange(3, dtype=np.uint8)),
    ],
)
def test_numbers_and_lists_become_arrays(element, dtype, expected):
    found = fitted(element, data.TensorSpec(np.shape(element), dtype))
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, type(found)) == (expected.dtype, type(expected))


@pytest.mark.parametrize(("element", "dtype"), [(1.5, np.int32), (-1, np.uint8), (2**40, np.int32), ("a", np.int32)])
def test_lossy_conversions_are_not_made(element, dtype):
    assert fitted(element, data.TensorSpec((), dtype)) == element


def test_nestings_follow_the_signature():
    signature = {"x": data.TensorSpec((None,), np.int32), "y": (data.TensorSpec((), str), data.TensorSpec((), bool))}
    found = fitted({"x": [1, 2], "y": ("a", True)}, signature)
    assert found["x"].dtype == np.int32
    assert found["y"] == ("a", True)


def test_elements_of_another_nesting_are_unchanged():
    assert fitted({"x": 1}, (data.TensorSpec((), np.int32),)) == {"x": 1}


def test_ragged_and_sparse_leaves_are_unchanged():
    ragged = ps.Ragged.from_rows([[1], [2, 3]])
    signature = data.RaggedTensorSpec((None, None), np.int64)
    ds = data.Dataset.from_generator(lambda: iter([ragged]), output_signature=signature)
    assert next(iter(ds)) == ragged
    assert data.RaggedTensorSpec((2, None, 3), np.int64, ragged_rank=1).ragged_rank == 1


def test_an_iterator_with_a_state_keeps_it():
    class Counting:
        def __init__(self):
            self.at = 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.at == 5:
                raise StopIteration
            self.at += 1
            return self.at

        def state_dict(self):
            return {"at": self.at}

        def load_state_dict(self, state):
            self.at = state["at"]

    ds = data.Dataset.from_generator(Counting, output_signature=data.TensorSpec((), np.int32))
    it = iter(ds)
    taken = [next(it), next(it)]
    again = iter(ds)
    again.load_state_dict(it.state_dict())
    assert [*taken, *again] == [1, 2, 3, 4, 5]


def test_types_without_shapes_leave_shapes_open():
    assert of_types((np.int32, str), None) == ((np.dtype("i4"), str), None)


def test_a_shape_of_unknown_rank_is_refused():
    with pytest.raises(TypeError, match="a size for each dimension"):
        data.TensorSpec(None, np.int32)
    with pytest.raises(TypeError, match="a size for each dimension"):
        data.TensorSpec(3, np.int32)
    assert data.TensorSpec([-1, 3]) == data.TensorSpec((None, 3), np.float32)


def from_types(rows, types):
    return list(data.Dataset.from_generator(lambda: iter(rows), output_types=types))


def test_types_without_shapes_check_nesting_and_dtypes():
    assert from_types([(1, "a"), (2, b"b")], (np.int32, str)) == [(1, "a"), (2, b"b")]
    assert from_types([[1, 2], [3]], np.float32)[0].dtype == np.float32
    for rows, types in [
        ([1.5], np.int32),
        ([1], (np.int32, np.int32)),
        ([{"x": 1}], {"y": np.int32}),
        (["a"], np.int32),
        ([1], str),
    ]:
        with pytest.raises(ElementError, match=r"from_generator\(output_types=\): an element is"):
            from_types(rows, types)


def test_arrays_of_text_are_recognized_by_their_shape():
    signature = data.TensorSpec((None,), str)
    ds = data.Dataset.from_generator(lambda: iter([["a", "bc"], np.array(["d"])]), output_signature=signature)
    assert [row.tolist() for row in ds] == [["a", "bc"], ["d"]]
    assert ds.element_spec == signature
    for wrong in ([1, 2], "a", ["a", 1]):
        with pytest.raises(ElementError):
            list(data.Dataset.from_generator(lambda wrong=wrong: iter([wrong]), output_signature=signature))

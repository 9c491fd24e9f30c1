"""What is TensorFlow's is recognized without importing it, and converted both ways."""

from __future__ import annotations

import functools
import sys

import numpy as np
import pytest

import penstock as ps
from penstock.tf_data import tensors
from penstock.tf_data.tensors import (
    all_as_numpy,
    all_to_numpy,
    all_to_tensors,
    as_data,
    holds_tensors,
    imports_tensorflow,
    is_of_tensorflow,
    needs_tensors,
    sizes_in,
)


def test_nothing_is_tensorflow_s_in_a_program_without_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    assert not tensors.is_loaded()
    assert not imports_tensorflow({"np": np})
    assert not holds_tensors([np.zeros(3)])
    assert not needs_tensors(lambda x: x)
    assert all_to_numpy({"x": 3}) == {"x": 3}


def test_shapes_of_any_nesting_are_tuples():
    class Shape:
        def as_list(self):
            return [None, 3]

    assert sizes_in({"x": (Shape(), [4])}) == {"x": ((None, 3), [4])}


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow")


def test_a_module_counts_by_what_it_imports(tf):
    assert imports_tensorflow({"tf": tf})
    assert imports_tensorflow({"Dense": tf.keras.layers.Dense})
    assert not imports_tensorflow({"np": np, "pytest": pytest, "text": "tensorflow"})


def test_a_function_counts_by_what_it_uses(tf):
    def calls():
        return uses()

    def uses():
        return tf.zeros(3)

    class Callable:
        def __call__(self, x):
            return tf.cast(x, tf.float32)

    assert needs_tensors(calls)
    assert needs_tensors(functools.partial(uses))
    assert needs_tensors(Callable())
    assert needs_tensors(tf.keras.layers.Rescaling(2.0))
    assert needs_tensors(lambda x, zeros=tf.zeros: x)
    assert not needs_tensors(lambda x: np.sqrt(x) + 1)
    assert not needs_tensors(np.sqrt)


def test_values_are_recognized(tf):
    for value in (tf.int32, tf.TensorShape([3]), tf.TensorSpec([3]), tf.constant(3), tf.zeros, [{"x": tf.constant(1)}]):
        assert holds_tensors(value)
    assert not holds_tensors(["tensorflow", np.float32, 3])
    assert is_of_tensorflow(tf.RaggedTensorSpec([2, None], tf.int32))


def test_lists_are_converted_as_tensorflow_would(tf):
    made = as_data(
        {"i": [1, 2], "f": [0.5], "s": ["a", "b"], "t": (3, "x"), "n": np.array([1, 2]), "u": np.array(["ä"])}
    )
    assert made["i"].dtype == np.int32
    assert made["f"].dtype == np.float32
    assert made["s"].tolist() == [b"a", b"b"]
    assert made["t"] == (3, b"x")
    assert made["n"].dtype == np.int64
    assert made["u"].tolist() == ["ä".encode()]


def test_tensors_become_arrays_and_come_back(tf):
    element = {
        "dense": tf.constant([1.5, 2.5]),
        "one": tf.constant(3),
        "text": tf.constant("word"),
        "ragged": tf.ragged.constant([[1], [2, 3]]),
        "sparse": tf.sparse.from_dense([[0, 1], [2, 0]]),
        "variable": tf.Variable([1, 2]),
    }
    ours = all_to_numpy(element)
    assert isinstance(ours["ragged"], ps.Ragged)
    assert isinstance(ours["sparse"], ps.Sparse)
    assert ours["text"] == b"word"
    back = all_to_tensors(ours)
    assert back["ragged"].to_list() == [[1], [2, 3]]
    assert tf.sparse.to_dense(back["sparse"]).numpy().tolist() == [[0, 1], [2, 0]]
    assert back["one"].dtype == tf.int32
    assert back["dense"].numpy().tolist() == [1.5, 2.5]


def test_numpy_elements_have_scalars_and_bytes():
    made = all_as_numpy({"n": 3, "s": "text", "a": np.array(["x"], object), "x": np.zeros(2)})
    assert type(made["n"]) is np.int64
    assert made["s"] == b"text"
    assert made["a"].tolist() == [b"x"]

"""The feed to TensorFlow: a `tf.data.Dataset` with the plan's signature, and eager tensors."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError, MissingDependencyError, PlanError
from penstock.elements.spec import ArraySpec, ObjectSpec, RaggedSpec, SparseSpec
from penstock.feed.tensorflow import (
    numpy_dtype,
    own_spec,
    own_specs,
    sizes_of_shape,
    to_tensor,
    type_specs,
    without_lists,
)

FLOAT = np.dtype("f4")


def test_without_tensorflow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(MissingDependencyError, match=r"to_tensorflow\(\) needs tensorflow.*penstock\[tensorflow\]"):
        Dataset.range(3).to_tensorflow(eager=True)


def test_shapes_and_dtypes_are_read_without_tensorflow():
    assert sizes_of_shape([2, None, -1]) == (2, None, None)
    assert sizes_of_shape(None) is None
    assert numpy_dtype("f4") == FLOAT
    assert numpy_dtype("no dtype") is None
    spec = {"x": ArraySpec((None,), FLOAT), "s": ObjectSpec(str)}
    assert own_specs(spec) == spec
    with pytest.raises(TypeError, match="known number of dimensions"):
        own_spec(3)


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow")


def test_each_kind_of_leaf_has_a_spec_and_back(tf):
    ours = {
        "dense": ArraySpec((None, 3), FLOAT),
        "one": ArraySpec((), np.dtype("i8")),
        "text": ObjectSpec(bytes),
        "texts": ArraySpec((None,), np.dtype(object)),
        "ragged": RaggedSpec((2, None), FLOAT, 1, np.dtype("i4")),
        "sparse": SparseSpec((None, 9), FLOAT),
    }
    theirs = type_specs(ours)
    assert theirs["dense"] == tf.TensorSpec((None, 3), tf.float32)
    assert theirs["text"] == tf.TensorSpec((), tf.string)
    assert theirs["ragged"] == tf.RaggedTensorSpec((2, None), tf.float32, 1, tf.int32)
    assert theirs["sparse"] == tf.SparseTensorSpec((None, 9), tf.float32)
    assert own_specs(theirs) == ours


@pytest.mark.parametrize("leaf", [ObjectSpec(dict), ArraySpec((), np.dtype("M8[s]"))])
def test_other_types_are_refused(tf, leaf):
    with pytest.raises(ElementError, match=r"TensorFlow has no dtype|cannot become a tensor"):
        type_specs({"x": leaf})


def test_lists_become_tuples():
    assert without_lists({"a": [1, (2, [3])]}) == {"a": (1, (2, (3,)))}


def test_the_signature_is_the_plan_s_and_the_values_are_equal(tf):
    ds = Dataset.from_tensor_slices({"x": np.arange(16.0).reshape(8, 2), "s": list("abcdefgh")}).batch(3)
    made = ds.to_tensorflow()
    assert made.element_spec == {
        "x": tf.TensorSpec((None, 2), tf.float64),
        "s": tf.TensorSpec((None,), tf.string),
    }
    assert int(made.cardinality()) == 3
    for theirs, ours in zip(made, ds.iterator(epoch=0), strict=True):
        np.testing.assert_array_equal(theirs["x"].numpy(), ours["x"])
        assert [text.decode() for text in theirs["s"].numpy()] == ours["s"].tolist()


def test_ragged_sparse_lists_and_none_go_through(tf):
    ragged = Dataset.range(1, 5).map(np.arange).ragged_batch(2)
    (first, second) = ragged.to_tensorflow()
    assert first.to_list() == [[0], [0, 1]]
    assert second.to_list() == [[0, 1, 2], [0, 1, 2, 3]]
    sparse = Dataset.from_tensor_slices(np.eye(4, dtype=FLOAT)).sparse_batch(2, [4])
    np.testing.assert_array_equal(tf.sparse.to_dense(next(iter(sparse.to_tensorflow()))), np.eye(4)[:2])
    pair = Dataset.range(2).map(lambda n: [n, None])
    assert [(int(a), b) for a, b in pair.to_tensorflow()] == [(0, None), (1, None)]


def test_sizes_that_differ_between_elements_are_none(tf):
    rows = Dataset.range(1, 5).map(lambda n: np.zeros((n, 2), FLOAT))
    assert rows.to_tensorflow().element_spec == tf.TensorSpec((None, 2), tf.float32)
    even = Dataset.range(6).map(lambda n: np.zeros(3, FLOAT)).batch(4)
    assert even.to_tensorflow().element_spec == tf.TensorSpec((None, 3), tf.float32)


def test_an_element_that_does_not_fit_is_refused(tf):
    rows = Dataset.range(3).map(lambda n: np.zeros(n + 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"element 1 of this pass is float64\[2\]"):
        list(rows.to_tensorflow(element_spec=tf.TensorSpec([1], tf.float64)))
    assert len(list(rows.to_tensorflow(element_spec=ArraySpec((None,), np.dtype("f8"))))) == 3


def test_elements_of_different_types_are_refused(tf):
    with pytest.raises(PlanError, match="differ in their nesting"):
        Dataset.range(3).map(lambda n: np.zeros(2) if n else "text").to_tensorflow()


def test_every_iterator_is_the_next_pass_and_the_position_is_the_consumer_s(tf):
    ds = Dataset.range(10).shuffle(seed=1)
    made = ds.to_tensorflow()
    for epoch in (0, 1):
        assert [int(x) for x in made] == list(ds.iterator(epoch=epoch))
    it = iter(made)
    received = [int(next(it)) for _ in range(4)]
    saved = ds.state_dict()
    assert (saved["epoch"], saved["row"]) == (2, 4)
    again = Dataset.range(10).shuffle(seed=1)
    again.load_state_dict(saved)
    rest = again.to_tensorflow()
    assert int(rest.cardinality()) == tf.data.UNKNOWN_CARDINALITY  # this pass is shorter than later ones
    assert received + [int(x) for x in rest] == list(ds.iterator(epoch=2))


def test_eager_tensors_share_the_memory_of_batches(tf):
    data = np.arange(64, dtype=FLOAT).reshape(16, 4)
    feed = Dataset.from_tensor_slices({"x": data, "id": np.arange(16)}).batch(8).to_tensorflow(eager=True)
    with feed.iterator() as it:
        first = next(it)
        assert it.state_dict()["row"] == 1
        np.testing.assert_array_equal(first["x"], data[:8])
        assert isinstance(first["x"], tf.Tensor)
        assert first["id"].dtype == tf.int64
    aligned = _aligned(np.arange(64, dtype=FLOAT))
    tensor = to_tensor(aligned)
    aligned[0] = 7
    assert float(tensor[0]) == 7


@pytest.mark.parametrize("offset", [4, 8, 16, 32])
def test_memory_that_tensorflow_could_not_use_is_copied(tf, offset):
    array = _aligned(np.arange(256, dtype=np.uint8))[offset:]
    tensor = to_tensor(array)
    array[:] = 0
    assert int(tensor[0]) == offset
    assert int(tf.reduce_sum(tf.cast(tensor, tf.int32))) == sum(range(offset, 256))


@pytest.mark.parametrize("leaf", [3, 2.5, True, "text", b"bytes", np.float16(1), np.array(["a", "b"])])
def test_numbers_and_texts_become_tensors(tf, leaf):
    made = to_tensor(leaf)
    assert isinstance(made, tf.Tensor)
    kinds = {int: tf.int64, float: tf.float64, bool: tf.bool, str: tf.string, bytes: tf.string}
    assert made.dtype == kinds.get(type(leaf), tf.string if isinstance(leaf, np.ndarray) else tf.float16)


def test_objects_stay_in_eager_elements(tf):
    (element,) = Dataset.from_source([{"n": 1, "o": {1, 2}}]).to_tensorflow(eager=True)
    assert element["o"] == {1, 2}
    assert int(element["n"]) == 1


def test_flags_that_contradict_are_refused(tf):
    with pytest.raises(TypeError, match=r"eager=True, element_spec="):
        ps.Dataset.range(3).to_tensorflow(eager=True, element_spec=ArraySpec((), FLOAT))


def _aligned(array):
    """Return a copy whose memory begins at a multiple of 64 bytes."""
    memory = np.zeros(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    made = memory[start : start + array.nbytes].view(array.dtype)
    made[:] = array
    return made


def test_an_iterator_over_arrays_is_not_begun_while_a_function_is_traced(tf):
    ds = Dataset.range(4).batch(2)
    iterator = iter(ds)
    for wrong in (lambda: tf.constant(next(iterator)), lambda: tf.stack(list(ds))):
        with pytest.raises(Exception, match=r"later calls would repeat them; iterate over ds\.to_tensorflow\(\)"):
            tf.function(wrong)()
    assert ds.epoch == 0
    assert next(iterator).tolist() == [0, 1]
    with tf.Graph().as_default():  # of TensorFlow 1
        assert next(iter(ds)).tolist() == [0, 1]


@pytest.mark.parametrize("eager", [False, True])
def test_objects_that_are_no_text_are_refused_by_their_type(eager):
    pytest.importorskip("tensorflow")
    ds = Dataset.range(4).map(lambda x: object()).batch(2)
    with pytest.raises(Exception, match="an element of type object, which cannot become a tensor"):
        list(ds.to_tensorflow(eager=eager))
    for words in (["a", "b"], [b"a", b"b"]):
        texts = Dataset.from_source(words).batch(2).to_tensorflow(eager=eager)
        assert [batch.numpy().tolist() for batch in texts] == [[b"a", b"b"]]

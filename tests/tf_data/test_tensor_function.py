"""Functions of tensors, called with arrays."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import tf_data as data
from tests.frameworks import when_used

tf = when_used("tensorflow")
Dataset = data.Dataset


def values(ds):
    return [element.numpy().tolist() for element in ds]


def test_a_function_is_traced_once_with_static_shapes():
    traced = []

    def scaled(image, label):
        traced.append(image.shape.as_list())
        image.set_shape([4, 2])
        return tf.cast(image, tf.float32) / 2.0, tf.one_hot(label, 3)

    ds = Dataset.from_tensor_slices((np.arange(24).reshape(3, 4, 2), [0, 1, 2])).map(scaled)
    assert ds.element_spec == (tf.TensorSpec((4, 2), tf.float32), tf.TensorSpec((3,), tf.float32))
    assert [label.numpy().argmax() for _, label in ds.repeat(2)] == [0, 1, 2] * 2
    assert traced == [[4, 2]]
    assert ds.batch(2).element_spec[0] == tf.TensorSpec((None, 4, 2), tf.float32)


def test_python_branches_on_tensors_are_converted():
    def halved(x):
        if x % 2 == 0:  # AutoGraph's
            return x // 2
        return x

    assert values(Dataset.range(4).map(lambda x: halved(x) + tf.constant(0, tf.int64))) == [0, 1, 1, 3]


def test_results_may_be_lists_dicts_ragged_and_sparse():
    ds = Dataset.from_tensor_slices(["1,2.5", "3,4.5"])
    rows = ds.map(lambda line: tf.io.decode_csv(line, [0, 0.0]))  # returns a list
    assert [(int(a), float(b)) for a, b in rows] == [(1, 2.5), (3, 4.5)]
    words = Dataset.from_tensor_slices(["a b", "c"]).batch(2).map(tf.strings.split)
    assert next(iter(words)).to_list() == [[b"a", b"b"], [b"c"]]
    sparse = Dataset.range(2).map(lambda x: {"s": tf.sparse.from_dense([x, 5])})
    assert [tf.sparse.to_dense(each["s"]).numpy().tolist() for each in sparse] == [[0, 5], [1, 5]]
    assert isinstance(sparse.element_spec["s"], tf.SparseTensorSpec)


def test_python_inside_of_tensorflow_runs():
    ds = Dataset.range(3).map(lambda x: tf.py_function(lambda t: t.numpy() + 1, [x], tf.int64))
    assert values(ds) == [1, 2, 3]
    ds = Dataset.range(3).map(lambda x: tf.numpy_function(lambda a: [a, -a], [x], [tf.int64, tf.int64]))
    assert [(int(a), int(b)) for a, b in ds] == [(0, 0), (1, -1), (2, -2)]


def test_layers_are_functions():
    layer = tf.keras.layers.Rescaling(0.5)
    assert values(Dataset.from_tensor_slices([[2.0, 4.0]]).map(layer)) == [[1.0, 2.0]]


def test_functions_of_numpy_stay_functions_of_numpy():
    ds = Dataset.from_tensor_slices(np.arange(3)).map(lambda x: np.sqrt(np.asarray(x)).astype(np.float32))
    assert next(iter(ds)).dtype == tf.float32
    seen = []
    asked = Dataset.range(2).map(lambda x: seen.append(type(x)) or x, tensors=False)
    assert len(list(asked)) == 2
    assert seen[0] is int


def test_mistakes_appear_where_the_function_is_passed():
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        Dataset.from_tensor_slices(np.zeros((2, 3))).map(lambda x: tf.reshape(x, [3]) + tf.zeros([2], tf.float64))


def test_a_function_that_returns_a_dataset_is_for_flat_map():
    with pytest.raises(TypeError, match="flat_map"):
        Dataset.range(3).map(lambda x: Dataset.range(3), tensors=True)


@pytest.mark.parametrize(
    ("function", "drawn"),
    [
        (lambda x: x + tf.random.uniform([], 0, 9, tf.int64), "tf.random.uniform"),
        (lambda x: tf.random.shuffle([x, x]), "tf.random.shuffle"),
        (lambda x: tf.image.random_flip_left_right(tf.zeros([2, 2, 1])), "tf.image.random_flip_left_right"),
        (lambda x: tf.random.stateless_uniform([], [1, 2]), None),
        (lambda x: tf.image.stateless_random_brightness(tf.zeros([2, 2, 1]), 0.1, [1, 2]), None),
        (lambda x: x + tf.constant(1, tf.int64), None),
    ],
)
def test_check_finds_draws_from_the_generator_of_tensorflow(function, drawn):
    findings = [str(each) for each in Dataset.range(4).map(function).check().findings if each.code == "PS401"]
    assert [f"calls {drawn}()" in each for each in findings] == [True] * (drawn is not None)


def test_a_function_draws_from_tensorflow_with_a_seed_of_its_row():
    def drawn(x, *, rng):
        return tf.random.stateless_uniform([], rng.integers(1 << 31, size=2)) + float(x)

    ds = Dataset.range(6).map(drawn).with_options(ps.Options(seed=3))
    assert [float(x) for x in ds.iterator(epoch=0)] == [float(x) for x in ds.iterator(epoch=0)]
    ps.testing.verify_resume(ds)
    assert "PS401" not in [each.code for each in ds.check().findings]

"""`tf_data` in a module that imports TensorFlow: tensors in the elements, and functions of `tf` operations."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset as PenstockDataset
from penstock import tf_data as data
from penstock.core.errors import PlanError
from penstock.tf_data.tensor_dataset import TensorDataset
from tests.frameworks import when_used

tf = when_used("tensorflow")
Dataset = data.Dataset


def values(ds):
    return [element.numpy().tolist() for element in ds]


def test_elements_are_tensors_in_a_module_that_imports_tensorflow():
    ds = Dataset.from_tensor_slices([8, 3, 0])
    assert isinstance(ds, TensorDataset)
    assert [x.numpy() for x in ds] == [8, 3, 0]
    assert ds.element_spec == tf.TensorSpec((), tf.int32)
    assert ds.cardinality().numpy() == 3
    assert ds.take(ds.cardinality() // 2).cardinality() == 1
    assert [type(x) for x in ds.as_numpy_iterator()] == [np.int32] * 3
    assert ds[1].numpy() == 3


def test_windows_are_datasets_with_tensors():
    windows = Dataset.range(6).window(3, shift=2, drop_remainder=True)
    assert all(isinstance(window, TensorDataset) for window in windows)
    pairs = windows.flat_map(lambda w: w.batch(3)).map(lambda b: (b[:-1], b[-1:]))
    assert [(a.numpy().tolist(), b.numpy().tolist()) for a, b in pairs] == [([0, 1], [2]), ([2, 3], [4])]


def test_windows_of_other_sizes_than_the_first():
    ragged = Dataset.range(5).window(2).flat_map(lambda w: w.batch(2)).map(lambda b: b + tf.constant(1, tf.int64))
    assert values(ragged) == [[1, 2], [3, 4], [5]]


def test_every_operation_with_a_function_takes_tensors():
    ds = Dataset.range(6)
    assert values(ds.filter(lambda x: tf.equal(x % 2, 0))) == [0, 2, 4]
    assert values(ds.take_while(lambda x: tf.less(x, 2))) == [0, 1]
    assert values(ds.take(2).flat_map(lambda x: Dataset.from_tensors(x).repeat(2))) == [0, 0, 1, 1]
    assert values(ds.take(2).interleave(lambda x: Dataset.from_tensors(x).repeat(2), cycle_length=2)) == [0, 1, 0, 1]
    assert values(ds.scan(np.int64(0), lambda total, x: (total + x, total + x))) == [0, 1, 3, 6, 10, 15]
    grouped = ds.group_by_window(lambda x: x % 2, lambda key, group: group.batch(3), window_size=3)
    assert values(grouped) == [[0, 2, 4], [1, 3, 5]]
    rows = Dataset.from_generator(
        lambda: ([1] * n for n in (1, 3, 1)), output_signature=tf.TensorSpec([None], tf.int32)
    )
    bucketed = rows.bucket_by_sequence_length(lambda row: tf.shape(row)[0], [2], [2, 1])
    assert sorted(map(len, values(bucketed))) == [1, 2]
    assert ds.reduce(np.int64(0), lambda total, x: total + x).numpy() == 15
    resampled = ds.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], [0.5, 0.5], seed=1)
    assert len(next(iter(resampled))) == 2


def test_the_state_of_reduce_may_be_written_to():
    def count(counts, x):
        counts["odd"] += tf.cast(x % 2, tf.int32)
        return counts

    assert Dataset.range(5).reduce({"odd": 0}, count)["odd"].numpy() == 2


def test_other_frameworks_get_arrays_and_passes_are_shared():
    ds = Dataset.range(8).shuffle(8, seed=0).batch(4)
    assert [batch.numpy().tolist() for batch in ds] == [
        batch.tolist() for batch in PenstockDataset.range(8).shuffle(8, seed=0).batch(4)
    ]
    second = [batch.numpy().tolist() for batch in ds.to_tensorflow()]
    assert second == [batch.numpy().tolist() for batch in ds.iterator(epoch=1)]
    assert ds.epoch == 2


def test_saved_elements_come_back_as_tensors(tmp_path):
    Dataset.from_tensor_slices({"x": [1, 2]}).save(tmp_path / "saved")
    loaded = Dataset.load(tmp_path / "saved")
    assert [row["x"].numpy() for row in loaded] == [1, 2]


def test_keras_trains_on_it():
    ds = Dataset.from_tensor_slices((np.ones((8, 2), np.float32), np.ones(8))).batch(4)
    ds = ds.map(lambda x, y: (tf.cast(x, tf.float32), y))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(ds, epochs=2, validation_data=ds, verbose=0).history
    assert history["loss"][1] < history["loss"][0]
    assert model.predict(ds, verbose=0).shape == (8, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ds: ds.make_one_shot_iterator(), "for element in ds"),
        (
            lambda ds: tf.compat.v1.data.make_one_shot_iterator(dataset=ds),
            "TensorFlow itself takes only its own datasets",
        ),
        (lambda ds: ds._variant_tensor, r"pass ds\.to_tensorflow\(\)"),
        (lambda ds: ds.with_options(tf.data.Options()), "TensorFlow's options"),
        (lambda ds: tf.function(lambda: list(ds))(), r"iterate over ds\.to_tensorflow\(\) there"),
    ],
)
def test_what_tensorflow_s_own_code_needs_is_refused_in_one_sentence(call, message):
    with pytest.raises((AttributeError, TypeError, PlanError), match=message):
        call(Dataset.range(3))


def test_a_dataset_of_tensorflow_s_own_can_be_flattened():
    ds = Dataset.range(2).flat_map(lambda x: tf.data.Dataset.from_tensor_slices([x, x + 10]))
    assert values(ds) == [0, 10, 1, 11]

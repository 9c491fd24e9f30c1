"""`tf_data` in a module that imports TensorFlow: tensors in the elements, and functions of `tf` operations."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset as PenstockDataset
from penstock import tf_data as data
from penstock.core.errors import PlanError
from penstock.tf_data.tensor_dataset import TensorDataset

tf = pytest.importorskip("tensorflow")
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


def test_the_caller_may_say_which():
    assert list(Dataset.range(3, tensors=False)) == [0, 1, 2]
    assert not isinstance(Dataset.from_tensor_slices([1], tensors=False), TensorDataset)
    names = {"data": data}
    exec("plain, asked = data.Dataset.range(3), data.Dataset.range(3, tensors=True)", names)  # a module without it
    assert list(names["plain"]) == [0, 1, 2]
    assert names["asked"].element_spec == tf.TensorSpec((), tf.int64)
    assert isinstance(names["plain"].map(lambda x: tf.cast(x, tf.float32)), TensorDataset)
    assert isinstance(names["plain"].filter(lambda x: x > 1, tensors=True), TensorDataset)
    assert isinstance(names["data"].Dataset.zip((names["plain"], names["asked"])), TensorDataset)
    with pytest.raises(TypeError, match="tensors=3"):
        Dataset.range(3, tensors=3)


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


def test_generators_take_the_types_of_tensorflow():
    made = Dataset.from_generator(
        lambda n: (([1.5] * i, "a") for i in range(n)),
        args=[3],
        output_types=(tf.float32, tf.string),
        output_shapes=(tf.TensorShape([None]), tf.TensorShape([])),
    )
    assert made.element_spec == (tf.TensorSpec((None,), tf.float32), tf.TensorSpec((), tf.string))
    assert [(x.shape[0], s.numpy()) for x, s in made] == [(0, b"a"), (1, b"a"), (2, b"a")]
    ragged = Dataset.from_generator(
        lambda: iter([tf.ragged.constant([[1], [2, 3]])]), output_signature=tf.RaggedTensorSpec([2, None], tf.int32)
    )
    assert next(iter(ragged)).to_list() == [[1], [2, 3]]
    unknown = Dataset.from_generator(lambda: iter([3]), output_types=tf.int64, output_shapes=tf.TensorShape(None))
    assert values(unknown) == [3]


def test_a_checkpoint_of_tensorflow_saves_the_position(tmp_path):
    iterator = iter(Dataset.range(20).shuffle(20, seed=3))
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0), iterator=iterator)
    before = [int(next(iterator)) for _ in range(5)]
    saved = checkpoint.save(str(tmp_path / "at"))
    after = [int(next(iterator)) for _ in range(5)]
    checkpoint.restore(saved)
    assert [int(next(iterator)) for _ in range(5)] == after
    assert len({*before, *after}) == 10
    assert iterator.get_next_as_optional().has_value()


def test_the_end_is_an_empty_optional():
    iterator = iter(Dataset.range(1))
    assert iterator.get_next_as_optional().get_value().numpy() == 0
    assert not iterator.get_next_as_optional().has_value()


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


def test_files_may_be_named_by_tensors(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    files = Dataset.list_files(str(tmp_path / "*.txt"))
    lines = files.interleave(data.TextLineDataset, cycle_length=2)
    assert [line.numpy() for line in lines] == [b"a1", b"b1", b"a2", b"b2"]
    assert len(list(data.TextLineDataset(files))) == 4


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
        (lambda ds: tf.compat.v1.data.make_one_shot_iterator(ds), "TensorFlow itself takes only its own datasets"),
        (lambda ds: ds._variant_tensor, r"pass ds\.to_tensorflow\(\)"),
        (lambda ds: ds.with_options(tf.data.Options()), "TensorFlow's options"),
        (lambda ds: tf.function(lambda: [x for x in ds])(), r"iterate over ds\.to_tensorflow\(\) there"),
    ],
)
def test_what_tensorflow_s_own_code_needs_is_refused_in_one_sentence(call, message):
    with pytest.raises((AttributeError, TypeError, PlanError), match=message):
        call(Dataset.range(3))


def test_a_function_that_returns_a_dataset_is_for_flat_map():
    with pytest.raises(TypeError, match="flat_map"):
        Dataset.range(3).map(lambda x: Dataset.range(3), tensors=True)


def test_a_dataset_of_tensorflow_s_own_can_be_flattened():
    ds = Dataset.range(2).flat_map(lambda x: tf.data.Dataset.from_tensor_slices([x, x + 10]))
    assert values(ds) == [0, 10, 1, 11]

"""Pipelines as `tf.data`'s guide writes them, with the results that `tf.data` gives."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import tf_data as data

RNG = np.random.default_rng(0)


def test_images_and_labels_in_arrays():
    images, labels = RNG.integers(0, 256, (70, 28, 28), np.uint8), np.arange(70) % 10

    def scale(image, label):
        return image.astype(np.float32) / 255, label

    train = (
        data.Dataset.from_tensor_slices((images, labels), name="mnist")
        .map(scale, num_parallel_calls=data.AUTOTUNE)
        .cache()
        .shuffle(70, seed=1)
        .batch(32, drop_remainder=True)
        .prefetch(data.AUTOTUNE)
    )
    assert train.element_spec == (data.TensorSpec((32, 28, 28), np.float32), data.TensorSpec((32,), np.int64))
    assert len(train) == 2
    for x, y in train:
        for image, label in zip(x, y, strict=True):
            (row,) = np.flatnonzero((images.astype(np.float32) / 255 == image).all((1, 2)))
            assert labels[row] == label


def test_shuffle_before_repeat_keeps_epochs_apart():
    ds = data.Dataset.range(6).shuffle(6, seed=1).repeat(2).batch(6)
    first, second = (batch.tolist() for batch in ds)
    assert sorted(first) == sorted(second) == [0, 1, 2, 3, 4, 5]
    assert first != second


def test_texts_and_a_vocabulary():
    texts = ["the cat", "the dog sat", "a cat"]
    words = data.Dataset.from_tensor_slices(texts).flat_map(lambda text: data.Dataset.from_tensor_slices(text.split()))
    vocabulary = {word: number for number, word in enumerate(words.unique(), start=1)}
    assert vocabulary == {"the": 1, "cat": 2, "dog": 3, "sat": 4, "a": 5}

    ids = data.Dataset.from_tensor_slices(texts).map(lambda text: np.array([vocabulary[w] for w in text.split()]))
    assert [batch.tolist() for batch in ids.padded_batch(2, padded_shapes=[None], padding_values=0)] == [
        [[1, 2, 0], [1, 3, 4]],
        [[5, 2]],
    ]


def test_padded_batches_of_the_guide():
    ds = data.Dataset.range(100).map(lambda x: np.full([int(x)], x)).padded_batch(4, padded_shapes=(None,))
    first, second = list(ds.take(2))
    assert first.tolist() == [[0, 0, 0], [1, 0, 0], [2, 2, 0], [3, 3, 3]]
    assert second.shape == (4, 7)


def test_windows_of_a_series():
    def make_window(size, shift, stride):
        windows = data.Dataset.range(20).window(size, shift=shift, stride=stride)
        return windows.flat_map(lambda window: window.batch(size, drop_remainder=True))

    assert [x.tolist() for x in make_window(3, 1, 8)] == [[n, n + 8, n + 16] for n in range(4)]
    shift = data.Dataset.range(5).window(3, 1).map(len)
    assert list(shift) == [3, 3, 3, 2, 1]


def test_labels_that_are_the_next_values():
    batches = data.Dataset.range(20).batch(10, drop_remainder=True)
    pairs = list(batches.map(lambda batch: (batch[:-5], batch[-5:])))
    assert [(x.tolist(), y.tolist()) for x, y in pairs] == [
        ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9]),
        ([10, 11, 12, 13, 14], [15, 16, 17, 18, 19]),
    ]
    features, labels = batches, batches.skip(1).map(lambda labels: labels[:5])
    assert [(x[-1], y[0]) for x, y in data.Dataset.zip((features, labels))] == [(9, 10)]


def test_a_generator_of_the_guide():
    def count(stop):
        i = 0
        while i < stop:
            yield i
            i += 1

    ds = data.Dataset.from_generator(count, args=[25], output_types=np.int32, output_shapes=())
    batches = list(ds.repeat().batch(10).take(10))
    assert batches[2].tolist() == [20, 21, 22, 23, 24, 0, 1, 2, 3, 4]
    assert {batch.dtype for batch in batches} == {np.dtype(np.int32)}


def test_a_generator_of_uneven_sequences():
    def series():
        for i in range(5):
            yield i, [i / 2] * i

    signature = (data.TensorSpec((), np.int32), data.TensorSpec((None,), np.float32))
    ds = data.Dataset.from_generator(series, output_signature=signature)
    assert ds.element_spec == signature
    ids, sequences = next(iter(ds.padded_batch(5)))
    assert ids.tolist() == [0, 1, 2, 3, 4]
    assert (sequences.shape, sequences.dtype) == ((5, 4), np.float32)


def test_the_order_of_interleave():
    ds = data.Dataset.range(1, 6).interleave(
        lambda x: data.Dataset.from_tensors(x).repeat(6),
        cycle_length=2,
        block_length=4,
        num_parallel_calls=data.AUTOTUNE,
    )
    assert "".join(map(str, ds)) == "111122221122333344443344555555"


def test_lines_of_files_in_turn(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{line}\n" for line in range(3)))
    files = data.Dataset.list_files(f"{tmp_path}/*.txt", shuffle=False)

    def lines(path):
        with open(path) as file:
            for line in file:
                yield line.rstrip("\n")

    ds = files.interleave(lambda path: data.Dataset.from_generator(lines, str, args=[path]), cycle_length=2)
    assert list(ds) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_taking_rows_by_a_list_of_turns():
    datasets = [data.Dataset.from_tensors(word).repeat() for word in ("foo", "bar", "baz")]
    turns = data.Dataset.range(3).repeat(2)
    assert list(data.Dataset.choose_from_datasets(datasets, turns)) == ["foo", "bar", "baz", "foo", "bar", "baz"]


def test_resampling_an_uneven_dataset():
    negative = data.Dataset.from_tensors((0.0, 0)).repeat().take(2000)
    positive = data.Dataset.from_tensors((1.0, 1)).repeat()
    mix = data.Dataset.sample_from_datasets([negative, positive], weights=[0.5, 0.5], seed=0)
    labels = np.concatenate([y for _, y in mix.batch(100).take(10)])
    assert 400 < labels.sum() < 600
    rare = data.Dataset.range(5000).map(lambda x: (x, int(x % 10 == 0)))
    even = rare.rejection_resample(lambda x, y: y, target_dist=[0.5, 0.5], initial_dist=[0.9, 0.1], seed=0)
    kept = [y for _, (x, y) in even]
    assert 0.4 < np.mean(kept) < 0.6


def test_reductions():
    assert data.Dataset.range(5).reduce(np.int64(0), lambda count, _: count + 1) == 5
    pairs = data.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    assert pairs.reduce(0, lambda total, pair: total + pair[0] * pair[1]) == 11
    assert data.Dataset.range(3).batch(3).get_single_element().tolist() == [0, 1, 2]


def test_a_position_is_saved_and_restored():
    ds = data.Dataset.range(20).shuffle(20, seed=2).batch(3)
    it = ds.as_numpy_iterator()
    next(it)
    state = it.state_dict()
    rest = [batch.tolist() for batch in it]
    again = iter(ds)
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == rest


@pytest.mark.parametrize(
    ("build", "cardinality"),
    [
        (lambda ds: ds.batch(3), 3),
        (lambda ds: ds.batch(3, drop_remainder=True), 2),
        (lambda ds: ds.repeat(), data.INFINITE_CARDINALITY),
        (lambda ds: ds.filter(lambda x: True), data.UNKNOWN_CARDINALITY),
        (lambda ds: data.Dataset.zip((ds, ds.repeat())), 7),
        (lambda ds: ds.concatenate(ds.take(2)), 9),
        (lambda ds: ds.shard(3, 0), 3),
        (lambda ds: ds.window(3, 1), 7),
        (lambda ds: ds.batch(2, drop_remainder=True).unbatch(), 6),
    ],
)
def test_cardinalities(build, cardinality):
    assert build(data.Dataset.range(7)).cardinality() == cardinality

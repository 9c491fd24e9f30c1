"""Iterators over tensors, and their positions in TensorFlow's checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import tf_data as data
from tests.frameworks import when_used

tf = when_used("tensorflow")
Dataset = data.Dataset


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


def test_next_inside_a_function_takes_the_next_element_at_each_call():
    iterator = iter(Dataset.range(10).batch(3))
    step = tf.function(lambda each: tf.identity(next(each)))
    assert [step(iterator).numpy().tolist() for _ in range(3)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    saved = iterator.state_dict()
    assert step(iterator).numpy().tolist() == [9]
    with pytest.raises(tf.errors.OutOfRangeError):
        step(iterator)
    again = iter(Dataset.range(10).batch(3))
    again.load_state_dict(saved)
    closure = tf.function(again.get_next)
    assert closure().numpy().tolist() == [9]


def test_a_loop_inside_a_function_takes_elements_in_order():
    iterator = iter(Dataset.range(100))

    @tf.function
    def several(it, count):
        seen = tf.TensorArray(tf.int64, 0, dynamic_size=True)
        for at in tf.range(count):
            seen = seen.write(at, next(it))
        return seen.stack()

    assert several(iterator, tf.constant(60)).numpy().tolist() == list(range(60))
    assert several(iterator, tf.constant(40)).numpy().tolist() == list(range(60, 100))


def test_elements_of_a_function_have_the_shapes_and_nesting_of_all():
    ds = Dataset.from_tensor_slices({"x": np.zeros((5, 2), np.float32), "t": ["a", "b", "c", "d", "e"]}).batch(2)
    shapes = []

    @tf.function
    def step(it):
        element = next(it)
        shapes.append((element["x"].shape.as_list(), element["x"].dtype, element["t"].dtype))
        return element

    iterator = iter(ds)
    assert [step(iterator)["t"].numpy().tolist() for _ in range(3)] == [[b"a", b"b"], [b"c", b"d"], [b"e"]]
    assert shapes == [([None, 2], tf.float32, tf.string)]


def test_a_function_takes_ragged_elements_of_a_function_of_numpy():
    ds = Dataset.range(1, 5).map(np.arange, tensors=False).ragged_batch(2)
    iterator = iter(ds)
    step = tf.function(lambda it: tf.reduce_sum(next(it)))
    assert [int(step(iterator)) for _ in range(2)] == [1, 9]


def test_that_which_a_function_cannot_repeat_is_refused():
    ds = Dataset.range(4).batch(2)
    loop, plain, feed = iter(ds), ds.as_numpy_iterator(), iter(ds.to_tensorflow(eager=True))
    for wrong in (
        lambda: list(loop),
        lambda: tf.constant(next(plain)),
        lambda: next(feed),
        loop.get_next_as_optional,
    ):
        with pytest.raises(Exception, match=r"later calls would repeat them; iterate over ds\.to_tensorflow\(\)"):
            tf.function(wrong)()
    assert next(feed).numpy().tolist() == [0, 1]


def test_get_next_ends_as_in_tensorflow():
    iterator = iter(Dataset.range(1))
    assert iterator.get_next() == 0
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()

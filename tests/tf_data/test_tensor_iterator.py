"""Iterators over tensors, and their positions in TensorFlow's checkpoints."""

from __future__ import annotations

import pytest

from penstock import tf_data as data

tf = pytest.importorskip("tensorflow")
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

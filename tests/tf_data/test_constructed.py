"""Constructors and readers decide whether elements are tensors."""

from __future__ import annotations

import pytest

from penstock import tf_data as data
from penstock.tf_data.tensor_dataset import TensorDataset
from tests.frameworks import when_used

tf = when_used("tensorflow")
Dataset = data.Dataset


def values(ds):
    return [element.numpy().tolist() for element in ds]


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


def test_files_may_be_named_by_tensors(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    files = Dataset.list_files(str(tmp_path / "*.txt"))
    lines = files.interleave(data.TextLineDataset, cycle_length=2)
    assert [line.numpy() for line in lines] == [b"a1", b"b1", b"a2", b"b2"]
    assert len(list(data.TextLineDataset(files))) == 4


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

"""Iterators with the call forms of `tf.data`."""

from __future__ import annotations

import json

import pytest

from penstock import tf_data


@pytest.mark.parametrize("opened", [iter, lambda ds: ds.as_numpy_iterator(), lambda ds: ds.iterator(epoch=0)])
@pytest.mark.parametrize(
    "ds", [tf_data.Dataset.range(5), tf_data.Dataset.range(5).filter(lambda x: True)], ids=["rows", "a stream"]
)
def test_an_iterator_has_elements_positions_and_an_end(opened, ds):
    it = opened(ds)
    assert isinstance(it, tf_data.Iterator)
    assert isinstance(it, tf_data.NumpyIterator)
    assert [it.get_next(), next(it), it.get_next()] == [0, 1, 2]
    saved = json.loads(json.dumps(it.save()))
    assert [it.get_next(), it.get_next()] == [3, 4]
    for _ in range(2):
        with pytest.raises(StopIteration):
            it.get_next()
    it.restore(saved)
    assert list(it) == [3, 4]


def test_iterators_have_the_call_forms_after_any_transformation():
    ds = tf_data.Dataset.zip((tf_data.Dataset.range(3), tf_data.Dataset.range(3))).map(lambda a, b: a + b).batch(2)
    assert iter(ds).get_next().tolist() == [0, 2]
    assert iter(ds.apply(lambda x: x.unbatch())).get_next() == 0

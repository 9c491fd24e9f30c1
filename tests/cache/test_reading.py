"""Rows are read into columns of the types that were written."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.cache.store import CacheStore
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.uniform import VIEWED
from tests.cache.kinds import Box, chunk_of


def read(path, elements, **settings):
    store = CacheStore(path, "key", {}, **settings)
    store.write(np.arange(len(elements)), chunk_of(elements))
    return store.read(np.arange(len(elements)))[0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], np.ndarray), ([np.float32(1)] * 2, np.ndarray), ([np.zeros(3)] * 2, np.ndarray), ([1j, 2j], list),
        ([np.int64(1)] * 2, list), ([np.zeros(())] * 2, list), (["a", "b"], list), ([np.zeros(1), np.zeros(2)], list),
        ([np.zeros(VIEWED, np.uint8)] * 2, list), ([1 << 70] * 2, list),
    ],
)  # fmt: skip
def test_leaves_of_one_shape_are_arrays_unless_types_would_be_lost(tmp_path, values, kind):
    chunk = read(tmp_path, values)
    assert isinstance(chunk, Columns)
    assert type(chunk.columns[0]) is kind
    assert [type(each) for each in chunk.elements()] == [type(each) for each in values]


def test_elements_of_several_kinds_are_in_their_order(tmp_path):
    elements = [{"x": 1}, 2, {"x": "three"}, [4], {"x": 5}, 6.5]
    chunk = read(tmp_path, elements)
    assert isinstance(chunk, Items)
    assert chunk.elements() == elements


def test_leaves_of_several_kinds_in_one_structure_are_columns(tmp_path):
    chunk = read(tmp_path, [{"x": 1}, {"x": "two"}, {"x": 3.0}])
    assert isinstance(chunk, Columns)
    assert [(type(each["x"]), each["x"]) for each in chunk.elements()] == [(int, 1), (str, "two"), (float, 3.0)]


def test_arrays_are_read_only_however_they_are_kept(tmp_path):
    elements = [
        {"a": np.zeros(3), "b": Box(np.zeros(2), "x"), "c": np.zeros(i), "d": np.zeros(()), "e": {7}} for i in (1, 2)
    ]
    for i, compression in enumerate((None, "lz4")):
        for each in read(tmp_path / str(i), elements, compression=compression).elements():
            for array in (each["a"], each["b"].corner, each["c"], each["d"]):
                assert not array.flags.writeable


def test_an_object_whose_class_is_gone_is_a_missing_row(tmp_path, monkeypatch):
    read(tmp_path, [{3}, Box(1, "x"), Box({4}, "y"), {5}])
    monkeypatch.delattr("tests.cache.kinds.Box")
    store = CacheStore(tmp_path, "key", {})
    chunk, found = store.read(np.arange(4))
    assert found.tolist() == [True, False, False, True]
    assert chunk.elements() == [{3}, {5}]
    assert store.damaged == 2

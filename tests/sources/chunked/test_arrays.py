"""Arrays in chunks: blocks of whole chunks, of any number of files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from penstock.core.errors import DataError, PlanError
from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.sources.chunked.arrays import DescribedArray, chunked_files

ARRAYS = {
    "a": {
        "x": np.arange(500 * 300.0).reshape(500, 300),
        "in/label": np.arange(500),
        "in/name": np.array([f"n{i}" for i in range(500)], object),
    },
    "b": {
        "x": -np.arange(70 * 300.0).reshape(70, 300),
        "in/label": np.arange(500, 570),
        "in/name": np.array([f"n{i}" for i in range(500, 570)], object),
    },
}


def spec_of(array):
    return ObjectSpec(str) if array.dtype == object else ArraySpec(array.shape[1:], array.dtype)


@dataclass
class Memory:
    arrays: dict
    chunk: int = 100

    def described(self):
        return {
            name: DescribedArray(
                len(array),
                ObjectSpec(str) if array.dtype == object else ArraySpec(array.shape[1:], array.dtype),
                self.chunk,
            )
            for name, array in self.arrays.items()
        }

    def read(self, name, low, high):
        return self.arrays[name][low:high]

    def extents(self, name, low, high):
        return []


def open_memory(path):
    return Memory(ARRAYS[path])


def test_arrays_of_several_files_are_joined():
    source = chunked_files("read", open_memory, ["a", "b"], None, 1 << 22)
    assert source.store.bounds.tolist() == [0, 500, 570]
    element = source.read_many(np.array([501])).elements()[0]
    assert element["in"] == {"label": 501, "name": "n501"}
    assert element["x"][:2].tolist() == [-300, -301]
    assert source.describe(501) == "b, row 1"


def test_blocks_are_whole_chunks_of_a_megabyte_or_more():
    def opened(path):
        return Memory({"x": np.zeros((1000, 1 << 16), np.uint8)}, 5)

    source = chunked_files("read", opened, ["p"], None, 1 << 30)
    assert np.diff(source.store.bounds).tolist() == [20] * 50
    assert source.store.block_bytes == 20 << 16


def test_a_single_key_gives_rows_and_several_give_dicts():
    assert chunked_files("read", open_memory, ["a"], "in/label", 1).read_many(np.array([7])).elements() == [7]
    assert chunked_files("read", open_memory, ["a"], ["in/label"], 1).read_many(np.array([7])).elements() == [
        {"in": {"label": 7}}
    ]
    with pytest.raises(PlanError, match="p has no array 'y' with rows; it has 'x'"):
        chunked_files("read", lambda path: Memory({"x": np.zeros(3)}), ["p"], "y", 1)


def test_arrays_that_do_not_fit_together_are_refused():
    files = {"p": {"x": np.zeros(3), "y": np.zeros(4)}, "q": {"x": np.zeros((3, 2))}, "r": {"y": np.zeros(3)}, "s": {}}

    def opened(path):
        return Memory(files[path])

    with pytest.raises(
        DataError, match=r"p: its arrays have different lengths \(x: 3, y: 4\); choose some with columns="
    ):
        chunked_files("read", opened, ["p"], None, 1)
    with pytest.raises(DataError, match="p and q differ: rows of 'x' are float64"):
        chunked_files("read", opened, ["p", "q"], ["x"], 1)
    with pytest.raises(DataError, match="r has no array 'x'; p has"):
        chunked_files("read", opened, ["p", "r"], ["x"], 1)
    with pytest.raises(DataError, match="s has no array with rows"):
        chunked_files("read", opened, ["s"], None, 1)


def test_removed_rows_are_an_error():
    gone = Memory({"x": np.zeros(300)})
    source = chunked_files("read", lambda path: gone, ["p"], None, 1)
    gone.arrays["x"] = np.zeros(30)
    with pytest.raises(DataError, match="p, x: 30 of 300 rows found"):
        source.read_many(np.array([5]))


def test_arrays_without_rows_are_empty_datasets():
    empty = chunked_files("read", lambda path: Memory({"x": np.zeros((0, 2))}), ["p"], None, 1)
    assert len(empty.read_many(np.arange(0))) == empty.length == 0

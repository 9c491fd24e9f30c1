"""The memory of elements of all kinds, compared with what they take."""

from __future__ import annotations

import mmap
import sys
from collections import deque
from typing import NamedTuple

import numpy as np
import pytest

from penstock import Ragged, Sparse
from penstock.elements.chunks.chunk import Columns, Items, Kept
from penstock.elements.footprint import memory_of, memory_of_value
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.nested.structure import LEAF

KB = np.zeros(1000, np.uint8)


class Pair(NamedTuple):
    x: object
    y: object


class Plain:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("x",)


class Tensor:
    nbytes = 5000


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        (KB, 1000, 1000),
        ({"x": KB, "y": {"z": KB}}, 2000, 3000),
        ([KB] * 100, 100_000, 102_000),
        (tuple([KB] * 50), 50_000, 52_000),
        (Pair(KB, "text"), 1000, 1300),
        (deque([KB] * 100), 100_000, 103_000),
        ({str(i): KB for i in range(60)}, 60_000, 66_000),
        ({bytes([i]) * 1000 for i in range(100)}, 100_000, 115_000),
        (b"x" * 5000, 5000, 5100),
        ("é" * 5000, 5000, 5100),
        (bytearray(5000), 5000, 5100),
        (10**1000, 400, 500),
        (list(range(10_000)), 300_000, 400_000),
        (np.array([b"x" * 1000] * 100, object), 100_000, 110_000),
        (Ragged.from_rows([[1.0] * 100, [2.0] * 400]), 4000, 4100),
        (Sparse.from_dense(np.eye(100)), 1600, 2500),
        (Plain(image=KB, tags=[KB, KB]), 3000, 4500),
        (Tensor(), 5000, 5000),
        (Slotted(), 1, 100),
        (Plain, 1, 2000),
        (None, 1, 100),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, int) else "",
)
def test_a_value_takes_about_what_it_and_its_parts_take(value, least, most):
    assert least <= memory_of_value(value) <= most


@pytest.mark.parametrize(("mode", "of_pixel"), [("RGB", 4), ("L", 1), ("RGBA", 4), ("F", 4), ("1", 1)])
def test_an_image_of_pillow_counts_by_its_pixels(mode, of_pixel):
    images = pytest.importorskip("PIL.Image")
    assert memory_of_value({"image": images.new(mode, (100, 50))}) // 1000 == 5000 * of_pixel // 1000


def test_containers_within_one_another_end():
    endless = []
    endless.append(endless)
    deep = KB
    for _ in range(1000):
        deep = [deep]
    assert memory_of_value(endless) > 0
    assert memory_of_value(deep) > 0


def test_a_few_large_elements_among_some_small_ones_count_in_full():
    sizes = [10, 10, 1_000_000, 10, 10, 5_000_000, 10]
    assert memory_of(Items([np.zeros(size, np.uint8) for size in sizes])) == sum(sizes)


def test_many_elements_count_by_some_of_them():
    elements = [np.zeros(size, np.uint8) for size in (100, 300) * 500]
    assert 150_000 <= memory_of(Items(elements)) <= 250_000


def test_columns_count_by_their_arrays():
    assert memory_of(Columns(LEAF, [np.zeros((10, 5))], 10)) == 400
    assert memory_of(Columns(LEAF, [[KB, KB]], 2)) == 2000


def test_elements_that_others_keep_take_nothing():
    assert memory_of(Kept([KB])) == memory_of(Items([])) == 0
    whole = np.zeros(1000)
    part = whole[10:20]
    part.flags.writeable = False
    assert memory_of(leaf_column(part)) == 0
    assert memory_of(Items([{"part": part, "own": np.zeros(2, np.uint8)}])) == 2 + sys.getsizeof({"part": 0, "own": 0})


def test_a_mapped_file_takes_nothing(tmp_path):
    path = tmp_path / "rows.bin"
    path.write_bytes(bytes(4096))
    assert memory_of_value(np.memmap(path, mode="r")) == memory_of_value(np.memmap(path, mode="r")[5:9]) == 0
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        array = np.frombuffer(mapped, np.uint8)
        assert memory_of_value(array) == 0
        del array


def test_read_only_arrays_that_hold_their_own_memory_count():
    sealed = np.zeros(1000, np.uint8)
    sealed.flags.writeable = False
    view = np.zeros(1000, np.uint8)[:]
    view.flags.writeable = False
    assert memory_of_value(sealed) == memory_of_value(view) == 1000
    assert memory_of_value(np.frombuffer(b"x" * 1000, np.uint8)) == 1000

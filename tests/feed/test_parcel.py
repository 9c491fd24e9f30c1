"""Batches taken apart into arrays that travel, in one stretch of memory."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.encoded import EncodedImage
from penstock.feed.parcel import cargo_of, is_numeric, parcel_of


def fresh(nbytes):
    return np.full(nbytes, 0xEE, np.uint8)


def no_memory(nbytes):
    raise AssertionError("packed")


def opened(cargo, arrays):
    pairs = zip(arrays, cargo.begins, strict=True)
    return [cargo.memory[at : at + a.nbytes].view(a.dtype.newbyteorder("=")).reshape(a.shape) for a, at in pairs]


def test_images_are_decoded_where_they_are_in_the_batch():
    images = np.array([EncodedImage(b"a", (), ()), EncodedImage(b"b", (), ())])
    parcel = parcel_of({"x": np.zeros(2), "image": images, "words": np.array(["a", "b"], object)})
    assert len(parcel.encoded) == 1
    made = parcel.opened(parcel.arrays, lambda leaf, arrays: arrays[0], lambda leaf: [each.data for each in leaf])
    assert made["image"] == [b"a", b"b"]
    assert made["words"].tolist() == ["a", "b"]


def test_a_batch_comes_out_as_it_went_in():
    batch = {
        "x": np.arange(6.0).reshape(2, 3),
        "r": ps.Ragged.from_rows([[1], [2, 3]]),
        "deep": ps.Ragged.from_rows([[[1.0]], []]),
        "words": ps.Ragged.from_rows([["a"], []]),
        "s": ps.Sparse.from_dense(np.eye(2)),
        "names": np.array(["a", "b"], object),
        "n": (3, "text", None),
    }
    parcel = parcel_of(batch)
    assert parcel.paths().count('["deep"]') == 3
    made = parcel.opened([array + 1 for array in parcel.arrays], lambda leaf, arrays: (type(leaf), arrays), len)
    assert made["names"] is batch["names"]
    assert made["words"] is batch["words"]
    assert made["n"][1:] == ("text", None)
    assert made["n"][0][1][0] == 4
    assert made["x"][1][0].tolist() == (batch["x"] + 1).tolist()
    assert [part.tolist() for part in made["r"][1]] == [[2, 3, 4], [1, 2, 4]]
    assert len(made["s"][1]) == 2
    shallow = parcel_of(batch, deep_ragged=False)
    assert len(shallow.arrays) == len(parcel.arrays) - 3


@pytest.mark.parametrize(
    "arrays",
    [
        [np.arange(6.0)],
        [np.arange(6.0)[::-1], np.arange(5, dtype=np.uint8), np.float32(3)],
        [np.arange(4).astype(">i4"), np.zeros((0, 3), np.float32), np.array([True, False])],
        [],
    ],
)
def test_arrays_are_packed_end_to_end_at_multiples_of_128_bytes(arrays):
    arrays = list(map(np.asarray, arrays))
    cargo = cargo_of(arrays, fresh)
    assert all(begin % 128 == 0 for begin in cargo.begins)
    for array, copy in zip(arrays, opened(cargo, arrays), strict=True):
        np.testing.assert_array_equal(array, copy)


def test_arrays_that_lie_in_one_block_stay_there():
    block = fresh(4096)
    arrays = [block[1024:1064].view("f8"), np.zeros((0, 2)), block[1152:1156].view("i4")]
    arrays[0][:], arrays[2][:] = 1.5, 7
    cargo = cargo_of(arrays, no_memory)
    assert (cargo.memory.nbytes, cargo.begins) == (132, [0, 0, 128])
    assert np.shares_memory(cargo.memory, block)
    assert opened(cargo, arrays)[2].tolist() == [7]


@pytest.mark.parametrize(
    "places",
    [
        [(0, 64), (3968, 64)],  # far apart
        [(64, 64), (128, 64)],  # not aligned
    ],
)
def test_arrays_far_apart_or_out_of_line_are_packed(places):
    block = np.arange(4096).astype(np.uint8)
    arrays = [block[at : at + size] for at, size in places]
    cargo = cargo_of(arrays, fresh)
    assert not np.shares_memory(cargo.memory, block)
    assert [copy.tolist() for copy in opened(cargo, arrays)] == [array.tolist() for array in arrays]


def test_arrays_of_two_blocks_or_of_their_own_are_packed():
    for arrays in ([fresh(128)[:8], fresh(128)[:8]], [np.zeros(4), np.zeros(4)], [np.zeros((4, 4)).T]):
        cargo = cargo_of(arrays, fresh)
        assert not any(np.shares_memory(cargo.memory, array) for array in arrays)


def test_numbers_travel_and_nothing_else():
    assert all(map(is_numeric, [1, 2.0, True, 1j, np.zeros(2), np.float32(1)]))
    assert not any(map(is_numeric, ["a", b"a", None, np.array(["a"]), np.array([None]), np.array("2020", "M8[D]")]))

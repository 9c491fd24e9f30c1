"""Batches gathered ahead of the consumer: equal to batches gathered one by one; refused arguments."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels import Pool, SideThread, gather
from tests.draws import draws

POOL, SIDE = Pool(1 << 24), SideThread()


@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 30), st.lists(st.integers(0, 3000), max_size=3))
@settings(max_examples=draws(60))
def test_batches_are_those_gathered_one_by_one(batch, length, count, widths):
    draw = np.random.default_rng(length)
    sources = [draw.integers(0, 99, (length, width), np.uint8) for width in widths]
    rows = draw.integers(0, length, count * batch)
    ahead = POOL.gather_ahead(sources, rows, batch, list, SIDE)
    assert ahead is not None
    assert len(ahead) == count
    made = [ahead.popleft() for _ in range(count)]
    assert len(ahead) == 0
    for number, arrays in enumerate(made):
        wanted = rows[number * batch : (number + 1) * batch]
        for array, source in zip(arrays, sources, strict=True):
            assert array.tobytes() == gather(source, wanted).tobytes()
            assert array.flags.writeable


def test_every_batch_has_memory_of_its_own():
    source = np.zeros((1000, 1000), np.float32)
    ahead = POOL.gather_ahead([source], np.arange(1000)[::-1].copy(), 50, tuple, SIDE)
    assert ahead is not None
    places = sorted((array.ctypes.data, array.nbytes) for (array,) in [ahead.popleft() for _ in range(20)])
    assert not any(first + size > second for (first, size), (second, _) in pairwise(places))


def test_a_row_out_of_range_is_named():
    with pytest.raises(IndexError, match=r"row 3 is outside \[0, 3\)"):
        POOL.gather_ahead([np.arange(9), np.arange(3)], np.array([1, 3]), 1, tuple, SIDE)
    with pytest.raises(IndexError, match=r"row -1 is outside \[0, 3\)"):
        POOL.gather_ahead([np.arange(3)], np.array([1, -1]), 1, tuple, SIDE)


@pytest.mark.parametrize("batch", [0, 3])
def test_only_whole_batches_are_made(batch):
    with pytest.raises(ValueError, match="so many whole batches"):
        POOL.gather_ahead([np.arange(9)], np.arange(4), batch, tuple, SIDE)


def test_a_scalar_has_no_rows():
    with pytest.raises(ValueError, match="scalars"):
        POOL.gather_ahead([np.array(3)], np.arange(4), 2, tuple, SIDE)


def test_arrays_that_need_numpy_give_none():
    assert POOL.gather_ahead([np.array([None, 1])], np.arange(2), 1, tuple, SIDE) is None
    assert POOL.gather_ahead([np.arange(9)[::2]], np.arange(2), 1, tuple, SIDE) is None
    assert POOL.gather_ahead([np.arange(9)], np.arange(2.0), 1, tuple, SIDE) is None


def test_an_error_of_join_is_raised():
    ahead = POOL.gather_ahead([np.arange(9)], np.arange(4), 2, lambda arrays: arrays[1], SIDE)
    assert ahead is not None
    for _ in range(3):  # a batch that was not joined is lost, and the queue then ends
        with pytest.raises(IndexError):
            ahead.popleft()
    assert len(ahead) == 2

"""Windows, and batches of several sizes: their elements and how many there are."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.windowed import cycled, cycled_in, windowed, windows_in


@given(
    length=st.integers(0, 20),
    size=st.integers(1, 6),
    shift=st.integers(1, 6),
    step=st.integers(1, 4),
    drop=st.booleans(),
    spare=st.integers(0, 3),
    data=st.data(),
)
def test_a_window_is_a_slice_of_its_epoch(length, size, shift, step, drop, spare, data):
    epoch = [range(length)[start : start + size * step : step] for start in range(0, length, shift)]
    epoch = [window for window in epoch if len(window) == size or not drop]
    assert windows_in(length, size=size, shift=shift, step=step, drop=drop) == len(epoch)
    rows = data.draw(st.lists(st.integers(0, 3 * len(epoch)), max_size=9)) if epoch else []
    stride = length + spare
    wanted = [[row // len(epoch) * stride + place for place in epoch[row % len(epoch)]] for row in rows]
    elements, counts = windowed(
        np.array(rows, np.int64),
        size=size,
        shift=shift,
        step=step,
        windows=len(epoch),
        length=length,
        input_stride=stride,
    )
    assert elements.tolist() == [place for window in wanted for place in window]
    assert counts.tolist() == [len(window) for window in wanted]


@given(
    length=st.integers(0, 30),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    drop=st.booleans(),
    data=st.data(),
)
def test_batches_take_their_sizes_in_turn_and_each_epoch_begins_with_the_first(length, sizes, drop, data):
    epoch, left = [], list(range(length))
    for size in cycle(sizes):
        if not left:
            break
        epoch.append(left[:size])
        left = left[size:]
    if drop and epoch and len(epoch[-1]) < sizes[(len(epoch) - 1) % len(sizes)]:
        epoch.pop()
    assert cycled_in(length, sizes=sizes, drop=drop) == len(epoch)
    rows = data.draw(st.lists(st.integers(0, 3 * len(epoch)), max_size=9)) if epoch else []
    wanted = [[row // len(epoch) * length + place for place in epoch[row % len(epoch)]] for row in rows]
    elements, counts = cycled(
        np.array(rows, np.int64), sizes=sizes, batches=len(epoch), length=length, input_stride=length
    )
    assert elements.tolist() == [place for batch in wanted for place in batch]
    assert counts.tolist() == [len(batch) for batch in wanted]


def test_negative_rows_are_refused():
    with pytest.raises(ValueError, match="row -1 is negative"):
        windowed(np.array([-1]), size=1, shift=1, step=1, windows=3, length=3, input_stride=3)
    with pytest.raises(ValueError, match="row -1 is negative"):
        cycled(np.array([-1]), sizes=[1], batches=3, length=3, input_stride=3)

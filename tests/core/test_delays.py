"""Delays of elements in a shuffle buffer: within its memory, for every size."""

from __future__ import annotations

from itertools import chain

import pytest

from penstock.core.delays import Delays


@pytest.mark.parametrize(
    "buffers",
    [range(2, 3000), chain.from_iterable((2**k - 1, 2**k, 2**k + 1) for k in range(12, 62))],
    ids=["small", "large"],
)
def test_one_and_a_half_buffers_are_held_at_most_and_nearly_one_at_least(buffers):
    for buffer in buffers:
        delays = Delays(buffer)
        assert delays.held + delays.round <= 1.5 * buffer
        assert delays.held >= delays.pool >= buffer - 1  # all of an input as short as that is permuted
        assert delays.replayed <= 7 * buffer
        assert delays.waiting == sorted(delays.waiting, reverse=True)
        assert 0 < delays.waiting[0] < delays.round


def test_rounds_of_epochs_begin_at_all_positions():
    assert {Delays(20).head(key) for key in range(100)} == {1, 2, 3, 4}

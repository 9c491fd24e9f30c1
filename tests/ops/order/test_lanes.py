"""The shuffle buffer of a stream, for input in pieces of any size."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import CursorError
from penstock.kernels import permute_within
from penstock.ops.order.lanes import shuffle_buffered
from tests.plan.flows import elements_of, ids_of, stream_of


@pytest.mark.parametrize("sizes", [(1,), (3, 0, 1), (17,), (1000,)])
@pytest.mark.parametrize(("buffer", "size"), [(2, 3), (2, 1500), (5, 100), (40, 700), (1100, 6000)])
def test_the_order_is_that_of_the_kernel(buffer, size, sizes):
    source = stream_of(range(size), sizes)

    def begin(epoch, mark=None):
        return shuffle_buffered(source, epoch, mark, buffer, 7)

    wanted = permute_within(np.arange(size), size, buffer, 7).tolist()
    assert elements_of(begin) == wanted
    assert ids_of(begin, 2) == [2000 + element for element in wanted]


def test_a_mark_beyond_the_end_is_an_error():
    marks = [piece.after for piece in shuffle_buffered(stream_of(range(500), (9,)), 0, None, 20, 7)]
    for mark in (marks[2], marks[-2]):
        with pytest.raises(CursorError, match="beyond the end"):
            list(shuffle_buffered(stream_of(range(10), (9,)), 0, mark, 20, 7))
    assert (
        elements_of(lambda epoch, mark=None: shuffle_buffered(stream_of(range(500), (9,)), epoch, marks[-1], 20, 7))
        == []
    )

"""A stream's `shuffle` with a buffer in bytes: blocks end where the elements themselves say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Dataset, Options
from penstock.core.errors import PlanError
from penstock.ops.order.shuffle_bytes import ShuffleBytes
from penstock.ops.read.given import Given
from penstock.testing.laws import verify_determinism, verify_resume
from tests.plan.flows import assert_streams, begun, elements_of, stream_of

SIZES = st.lists(st.integers(0, 30), max_size=40)


def texts(sizes):
    return [f"{at}:".ljust(size, ".") for at, size in enumerate(sizes)]


def node(buffer, *, reshuffle=True):
    return ShuffleBytes(Given(), None, 1, reshuffle, buffer)


def as_bytes(x):
    return b"x" * (x * 7 % 40)


def everything(x):
    return True


@settings(max_examples=25)
@given(SIZES, st.integers(1, 200))
def test_every_element_comes_once_wherever_pieces_end_and_from_every_mark(sizes, buffer):
    elements = texts(sizes)
    wanted = elements_of(begun(node(buffer), stream_of(elements, (1,))))
    assert sorted(wanted) == sorted(elements)
    assert_streams(node(buffer), [elements], wanted)


@pytest.mark.parametrize("sizes", [[1] * 500, [40] * 200, [1, 90, 3] * 60])
def test_no_more_than_one_and_a_half_buffers_are_held_and_one_element(sizes):
    buffer, read, most = 200, [], 0
    source = stream_of([f"{at}".ljust(size) for at, size in enumerate(sizes)], (1,))

    def noted(epoch, mark=None):
        for piece in source(epoch, mark):
            read.append(len(piece.chunk.element(0)))
            yield piece

    given = 0
    for piece in node(buffer).flow((noted,), 0, None, np.empty):
        most = max(most, sum(read) - given)
        given += sum(map(len, piece.chunk.elements()))
    assert given == sum(read)
    assert buffer // 2 < most <= 1.5 * buffer + max(map(int, sizes))


def test_elements_move_by_about_what_the_buffer_holds():
    order = np.array(elements_of(begun(node(800), stream_of(list(range(5000)), (64,)))))
    moved = np.abs(order - np.arange(5000))
    assert moved.max() < 100  # of 8 bytes each
    assert moved.mean() > 10


def test_each_epoch_has_an_order_of_its_own_unless_it_should_not():
    for reshuffle in (True, False):
        source = begun(node(900, reshuffle=reshuffle), stream_of(list(range(300)), (64,)))
        assert (elements_of(source, 0) == elements_of(source, 1)) != reshuffle


@pytest.mark.parametrize("options", [Options(executor="inline"), Options(executor="threads", workers=2)])
def test_it_goes_on_exactly_with_any_executor(options):
    ds = Dataset.range(200).filter(everything).map(as_bytes).shuffle(buffer_bytes=400)
    verify_resume(ds, options=options, most=20)
    verify_determinism(ds)


def test_what_is_no_stream_is_permuted_as_a_whole():
    ds = Dataset.range(1000)
    assert list(ds.shuffle(buffer_bytes=1, seed=3)) == list(ds.shuffle(seed=3))
    assert ds.shuffle(buffer_bytes=1).cardinality() == 1000
    with pytest.raises(PlanError, match="without end"):
        ds.repeat().shuffle(buffer_bytes=100)


def test_explain_says_what_is_held_and_made_again():
    told = Dataset.range(9).filter(everything).shuffle(buffer_bytes=1 << 20, seed=4).explain()
    assert "shuffle(buffer_bytes=1048576, seed=4)" in told
    assert "makes up to 1,048,576 bytes of elements again; it holds up to 1,572,864" in told


def test_mistakes_are_found_when_it_is_built():
    ds = Dataset.range(9).filter(everything)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="buffer_bytes"):
            ds.shuffle(buffer_bytes=wrong)
    with pytest.raises(TypeError, match="buffer_bytes"):
        ds.shuffle(buffer_bytes="1 MiB")
    with pytest.raises(ValueError, match="one of buffer_size and buffer_bytes"):
        ds.shuffle(5, buffer_bytes=100)
    with pytest.raises(PlanError, match="buffer_size or buffer_bytes"):
        ds.shuffle()

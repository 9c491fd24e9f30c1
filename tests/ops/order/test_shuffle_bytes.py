"""A stream's `shuffle` with a buffer in bytes: elements of any sizes share it."""

from __future__ import annotations

import json
import weakref
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Dataset, Options
from penstock.core.errors import CursorError, PlanError
from penstock.elements.chunks.chunk import Items
from penstock.ops.order.shuffle_bytes import ShuffleBytes
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece
from penstock.testing.laws import verify_determinism, verify_resume
from tests.draws import draws
from tests.plan.flows import assert_same, assert_streams, begun, elements_of, stream_of

SIZES = st.lists(st.integers(0, 30), max_size=40)


def texts(sizes):
    return [f"{at}:".ljust(size, ".") for at, size in enumerate(sizes)]


def node(buffer, *, reshuffle=True):
    return ShuffleBytes(Given(), None, 1, reshuffle, buffer)


def as_bytes(x):
    return b"x" * (x * 7 % 40)


def everything(x):
    return True


@settings(max_examples=draws(25))
@given(SIZES, st.integers(1, 200))
def test_every_element_comes_once_for_any_pieces_and_from_every_mark(sizes, buffer):
    elements = texts(sizes)
    wanted = elements_of(begun(node(buffer), stream_of(elements, (1,))))
    assert sorted(wanted) == sorted(elements)
    assert_streams(node(buffer), [elements], wanted)


class Sized:
    """A weakly referenceable object of a given number of bytes."""

    def __init__(self, nbytes):
        self.nbytes = nbytes


def held_by(buffer, sizes, mark=None):
    """The most bytes that are held between two elements of the input, and the marks after all pieces."""
    alive, most, marks = weakref.WeakSet(), 0, []

    def elements(epoch, mark=None):
        nonlocal most
        for number in range(mark or 0, len(sizes)):
            element = Sized(sizes[number])
            alive.add(element)
            yield Piece(Items([element]), np.array([number]), number + 1)
            del element
            most = max(most, sum(element.nbytes for element in alive))

    for piece in node(buffer).flow((elements,), 0, mark, np.empty):
        marks.append(piece.after)
        del piece
    assert not alive
    return most, marks


@pytest.mark.parametrize("sizes", [[1] * 1500, [20] * 300, [1, 25, 3] * 200, [25] * 100 + [1] * 1500 + [25] * 100])
def test_at_most_one_and_a_half_buffers_of_bytes_are_held(sizes):
    most, marks = held_by(200, sizes)
    assert 200 < most <= 300
    assert held_by(200, sizes, marks[len(marks) // 2])[0] <= 300


def test_an_element_as_large_as_the_buffer_is_held_too():
    sizes = [1, 90, 3, 150, 260, 5] * 60
    given, read, most = 0, 0, 0

    def noted(epoch, mark=None):
        nonlocal read
        for piece in stream_of([f"{at}".ljust(size) for at, size in enumerate(sizes)], (1,))(epoch, mark):
            read += len(piece.chunk.element(0))
            yield piece

    for piece in node(200).flow((noted,), 0, None, np.empty):
        most = max(most, read - given)
        given += sum(map(len, piece.chunk.elements()))
    assert given == read
    assert 225 < most <= 225 + 2 * 260  # one is at hand that comes after


@pytest.mark.parametrize("forms", [texts, lambda sizes: [np.full(size, at) for at, size in enumerate(sizes)]])
def test_marks_of_a_restored_stream_resume_exactly(forms):
    sizes = np.random.default_rng(1).lognormal(2, 1, 300).astype(int).tolist()
    source = begun(node(300), stream_of(forms(sizes), (7,)))
    wanted, found, mark = elements_of(source), [], None
    for _ in range(len(sizes)):
        piece = next(source(0, mark), None)
        if piece is None:
            break
        found += piece.chunk.elements()
        mark = json.loads(json.dumps(piece.after))
    assert_same(found, wanted)


def test_a_mark_begins_a_few_buffers_back():
    marks, values = [], list(range(5000))
    pieces = list(node(800).flow((stream_of(values, (50,)),), 0, None, np.empty))
    half = len(pieces) // 2
    next(node(800).flow((stream_of(values, (50,), marks),), 0, pieces[half].after, np.empty))
    assert 0 < sum(map(len, pieces[: half + 1])) - marks[0] < 800 // 8 * 6.5


def test_a_mark_beyond_the_end_is_an_error():
    pieces = list(node(80).flow((stream_of(range(500), (9,)),), 0, None, np.empty))
    for piece in (pieces[5], pieces[-2]):
        with pytest.raises(CursorError, match="beyond the end"):
            list(node(80).flow((stream_of(range(10), (9,)),), 0, piece.after, np.empty))


def test_elements_move_by_a_few_buffers():
    order = np.array(elements_of(begun(node(800), stream_of(list(range(5000)), (64,)))))
    moved = np.arange(5000) - order  # of 8 bytes each
    assert moved.min() > -150
    assert moved.max() < 750
    assert 90 < moved.std() < 130


def test_shards_of_a_stream_add_up():
    ds = Dataset.range(300).filter(everything)
    shards = [list(ds.shard(3, index).shuffle(buffer_bytes=400, seed=1)) for index in range(3)]
    assert sorted(chain(*shards)) == list(range(300))
    assert all(shard != sorted(shard) for shard in shards)


def test_columns_stay_columns():
    ds = Dataset.range(300).map(lambda x: {"x": x, "y": b"y" * (x % 7)}).filter(everything)
    batches = list(ds.shuffle(buffer_bytes=400, seed=1).batch(50))
    assert {batch["x"].dtype for batch in batches} == {np.dtype(np.int64)}
    assert sorted(x for batch in batches for x in batch["x"].tolist()) == list(range(300))


def test_each_epoch_has_another_order_unless_reshuffling_is_off():
    for reshuffle in (True, False):
        source = begun(node(900, reshuffle=reshuffle), stream_of(list(range(300)), (64,)))
        assert (elements_of(source, 0) == elements_of(source, 1)) != reshuffle


@pytest.mark.parametrize("options", [Options(executor="inline"), Options(executor="threads", workers=2)])
def test_a_restored_stream_continues_exactly_with_any_executor(options):
    ds = Dataset.range(200).filter(everything).map(as_bytes).shuffle(buffer_bytes=400)
    verify_resume(ds, options=options, most=20)
    verify_determinism(ds)


def test_indexed_datasets_are_permuted_as_a_whole():
    ds = Dataset.range(1000)
    assert list(ds.shuffle(buffer_bytes=1, seed=3)) == list(ds.shuffle(seed=3))
    assert ds.shuffle(buffer_bytes=1).cardinality() == 1000
    with pytest.raises(PlanError, match="without end"):
        ds.repeat().shuffle(buffer_bytes=100)


def test_explain_shows_the_bytes_held_and_made_again():
    told = Dataset.range(9).filter(everything).shuffle(buffer_bytes=1 << 20, seed=4).explain()
    assert "shuffle(buffer_bytes=1048576, seed=4)" in told
    assert "makes up to 7,864,320 bytes of elements again; it holds up to 1,572,864" in told


def test_mistakes_are_found_when_the_pipeline_is_built():
    ds = Dataset.range(9).filter(everything)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="buffer_bytes"):
            ds.shuffle(buffer_bytes=wrong)
    with pytest.raises(ValueError, match=r"shuffle\(buffer_bytes='1 XB'\): expected a size such as 256MB"):
        ds.shuffle(buffer_bytes="1 XB")
    with pytest.raises(ValueError, match="either buffer_size or buffer_bytes"):
        ds.shuffle(5, buffer_bytes=100)
    with pytest.raises(PlanError, match="buffer_size or buffer_bytes"):
        ds.shuffle()

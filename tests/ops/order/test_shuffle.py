"""`shuffle`: a permutation of every epoch."""

from __future__ import annotations

import weakref
from itertools import chain

import numpy as np
import pytest

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import PlanError
from penstock.core.seeds import mix
from penstock.elements.chunks.chunk import Items
from penstock.index.blocked import even
from penstock.kernels import permute_within
from penstock.plan.flow import Piece
from penstock.plan.graph import blocks_of
from penstock.testing.laws import verify_determinism, verify_resume
from tests.plan.flows import assert_streams, begun, elements_of, stream_of

SIZES = [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("window", [None, 1, 5])
def test_every_element_comes_once_in_every_epoch(size, window):
    ds = Dataset.range(size).shuffle(window, seed=3)
    for epoch in (0, 1):
        assert sorted(ds.iterator(epoch=epoch)) == list(range(size))


def test_the_seed_determines_a_different_order_for_every_epoch():
    orders = [list(Dataset.range(50).shuffle(seed=1).iterator(epoch=epoch)) for epoch in range(3)]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert orders[1] == list(Dataset.range(50).shuffle(seed=1).iterator(epoch=1))
    assert orders[0] != list(Dataset.range(50).shuffle(seed=2))


def test_a_second_pass_takes_the_next_epoch():
    ds = Dataset.range(50).shuffle(seed=1)
    assert [list(ds), list(ds)] == [list(ds.iterator(epoch=0)), list(ds.iterator(epoch=1))]


def test_without_reshuffling_every_epoch_has_the_same_order():
    ds = Dataset.range(50).shuffle(seed=1, reshuffle_each_iteration=False)
    assert list(ds) == list(ds) != list(range(50))


def test_unseeded_datasets_have_different_orders():
    ds, other = Dataset.range(100).shuffle(), Dataset.range(100).shuffle()
    assert list(ds.iterator(epoch=0)) == list(ds.iterator(epoch=0)) != list(other.iterator(epoch=0))
    seeded = ds.with_options(Options(seed=4))
    assert list(seeded.iterator(epoch=0)) == list(seeded.iterator(epoch=0))


def test_two_unseeded_shuffles_have_different_orders():
    one, other = Dataset.range(100).shuffle(), Dataset.range(100).shuffle()
    pairs = list(Dataset.zip(one, other).with_options(Options(seed=1)))
    assert any(a != b for a, b in pairs)


@pytest.mark.parametrize("window", [2, 10, 100])
def test_a_buffer_size_limits_how_far_elements_move(window):
    order = np.array(list(Dataset.range(1000).shuffle(window, seed=0)))
    assert (order - np.arange(1000)).max() <= 1.5 * window
    assert (np.arange(1000) - order).max() < 6 * window
    assert (order != np.arange(1000)).mean() > 0.3


def test_a_buffer_of_one_keeps_the_order_and_a_large_one_shuffles_all():
    ds = Dataset.range(30)
    assert list(ds.shuffle(1, seed=0)) == list(range(30))
    for wide in (30, 10**9, UNKNOWN):
        assert list(ds.shuffle(wide, seed=0)) == list(ds.shuffle(seed=0))


@pytest.mark.filterwarnings("ignore:PS102")
def test_repeat_after_shuffle_keeps_epochs_apart():
    apart = list(Dataset.range(10).shuffle(seed=0).repeat(3))
    epochs = [apart[:10], apart[10:20], apart[20:]]
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 3
    assert epochs[0] != epochs[1] != epochs[2]
    mixed = list(Dataset.range(10).repeat(3).shuffle(seed=0))
    assert sorted(mixed) == sorted(apart)
    assert sorted(mixed[:10]) != list(range(10))


def test_endless_datasets_need_a_buffer_size():
    with pytest.raises(PlanError, match="shuffle before repeat"):
        Dataset.range(4).repeat().shuffle()
    ds = Dataset.counter().shuffle(8, seed=0)
    assert ds.cardinality() == INFINITE
    first = list(ds.take(1000))
    assert len(set(first)) == 1000
    assert max(abs(x - i) for i, x in enumerate(first)) < 6 * 8
    assert list(ds.take(1000).iterator(epoch=1)) != first


def test_the_order_is_not_stored():
    assert Dataset.range(10**15).shuffle(seed=1)[10**14] != 10**14


@pytest.mark.filterwarnings("ignore:PS104")
def test_take_and_skip_of_one_epoch_are_disjoint():
    ds = Dataset.range(100).shuffle(seed=5)
    for epoch in (0, 1):
        train, held_out = ds.skip(20).iterator(epoch=epoch), ds.take(20).iterator(epoch=epoch)
        assert sorted([*train, *held_out]) == list(range(100))


def test_the_arguments_are_shown():
    label = Dataset.range(9).shuffle(3, seed=7, reshuffle_each_iteration=False)._plan.label()
    assert label == "shuffle(3, seed=7, reshuffle_each_iteration=False)"


def test_compiling_without_a_seed_is_an_error():
    with pytest.raises(RuntimeError, match="bind_seeds"):
        Dataset.range(9).shuffle()._plan.rows_of(np.arange(2))


class Element:
    """An object that can be referred to weakly."""

    def __init__(self, number):
        self.number = number


def shuffled_stream(size, window, epoch=0, *, seed=3, reshuffle=True):
    node = Dataset.range(1).repeat().shuffle(window, seed=seed, reshuffle_each_iteration=reshuffle)._plan
    return elements_of(begun(node, stream_of(range(size), (7,))), epoch)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 9])
@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 8, 100])
def test_streams_are_supported(size, window):
    node = Dataset.range(1).repeat().shuffle(window, seed=3)._plan
    wanted = shuffled_stream(size, window)
    assert sorted(wanted) == list(range(size))
    assert_streams(node, [range(size)], wanted)


@pytest.mark.parametrize("window", [2, 3, 4, 5, 9, 64, 65, 3000])
@pytest.mark.parametrize("size", [100, 3000])
def test_streams_have_the_order_of_a_buffer(size, window):
    for epoch in (0, 1):
        node = Dataset.range(1).repeat().shuffle(window, seed=3)._plan
        order = elements_of(begun(node, stream_of(range(size), (7, 600))), epoch)
        if window < size:
            assert order == permute_within(np.arange(size), size, window, mix(3, epoch)).tolist()
        assert sorted(order) == list(range(size))


@pytest.mark.parametrize("window", [2, 3, 10, 100])
def test_streams_hold_at_most_one_and_a_half_buffers(window):
    alive, most = weakref.WeakSet(), 0

    def made():
        nonlocal most
        for number in range(2000):
            element = Element(number)
            alive.add(element)
            most = max(most, len(alive))
            yield element

    elements = made()

    def begin(epoch, mark=None):
        for number, element in enumerate(elements):
            yield Piece(Items([element]), np.array([number]), number)
            del element

    node, given = Dataset.range(1).repeat().shuffle(window, seed=3)._plan, 0
    for piece in node.flow((begin,), 0, None, np.empty):
        given += len(piece)
        del piece
    assert given == 2000
    assert most <= 3 * window + 8  # what is given is held too, and the piece before


def test_a_mark_begins_a_few_buffers_back():
    node, marks = Dataset.range(1).repeat().shuffle(100, seed=3)._plan, []
    pieces = list(node.flow((stream_of(range(10_000), (50,)),), 0, None, np.empty))
    after = pieces[len(pieces) // 2].after
    given = sum(map(len, pieces[: len(pieces) // 2 + 1]))
    next(node.flow((stream_of(range(10_000), (50,), marks),), 0, after, np.empty))
    assert 0 < given - marks[0] < 600


def test_streams_have_a_different_order_in_every_epoch():
    orders = [shuffled_stream(50, 9, epoch) for epoch in (0, 1, 2)]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert orders[1] == shuffled_stream(50, 9, 1)
    assert orders[0] != shuffled_stream(50, 9, seed=4)
    assert shuffled_stream(50, 9, 1, reshuffle=False) == shuffled_stream(50, 9, 0, reshuffle=False)


def test_a_stream_is_not_permuted_as_a_whole():
    stream = Dataset.range(9).filter(lambda x: True)
    for arguments in ((), (UNKNOWN,)):
        with pytest.raises(PlanError, match="stream cannot be permuted as a whole"):
            stream.shuffle(*arguments)
    assert sorted(stream.shuffle(100)) == list(range(9))


class Dear:
    """Numbers that lie in blocks."""

    def __init__(self, length, size, window):
        self.length, self.blocks = length, even(length, size, window)

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        return row

    def read_many(self, rows):
        return rows


def dear(length=1000, size=10, window=5):
    return Dataset.from_source(Dear(length, size, window))


def spread_of(order, size=10):
    """Return the largest distance between the first and the last row of a block."""
    order = np.array(order)
    places = [np.flatnonzero(order // size == block) for block in range(order.max() // size + 1)]
    return max(at[-1] - at[0] + 1 for at in places if len(at))


def test_data_that_is_expensive_to_read_row_by_row_is_shuffled_by_blocks():
    ds = dear().shuffle(seed=1)
    order = list(ds)
    assert sorted(order) == list(range(1000))
    assert spread_of(order) <= 50 < spread_of(list(dear().shuffle(seed=1, uniform=True)))
    assert list(dear().shuffle(seed=1, uniform=True)) == list(Dataset.range(1000).shuffle(seed=1))
    assert order != list(ds)
    for part in ("100 blocks of about 10 rows", "the rows of 5 at a time", "within 50", "(5% of an epoch)"):
        assert part in ds.explain()
    assert "blocks" not in dear().shuffle(seed=1, uniform=True).explain()


def test_blocks_that_fit_the_cache_are_shuffled_as_a_whole():
    assert list(dear(window=100).shuffle(seed=1)) == list(Dataset.range(1000).shuffle(seed=1))
    assert list(dear(0).shuffle(seed=1)) == []


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_of_a_shuffle_by_blocks_add_up(count):
    ds = dear().shuffle(seed=1)
    parts = [list(ds.shard(count, index)) for index in range(count)]
    assert sorted(chain(*parts)) == list(range(1000))
    first = [list(dear().shard(count, index).shuffle(seed=1)) for index in range(count)]
    assert sorted(chain(*first)) == list(range(1000))
    assert max(map(spread_of, first)) <= 50


@pytest.mark.parametrize(
    "cut",
    [
        lambda ds: ds.take(777),
        lambda ds: ds.skip(5),
        lambda ds: ds.shard(3, 1),
        lambda ds: ds[17:800:2],
        lambda ds: ds.exclude([3, 500]),
        lambda ds: ds.map(lambda x: x).prefetch(2).with_options(Options(workers=1)),
        lambda ds: ds.split({"a": 0.5, "b": 0.5}, key_func=int)["a"],
        lambda ds: ds.cache(),
        lambda ds: ds.enumerate().map(lambda i, x: x),
        lambda ds: Dataset.zip(ds, Dataset.range(900)).map(lambda x, y: x),
        lambda ds: ds.concatenate(Dataset.range(1000, 1500)),
    ],
)
def test_operations_that_keep_the_order_keep_the_blocks(cut):
    ds = cut(dear())
    order = list(ds.shuffle(seed=3))
    assert sorted(order) == list(ds) != order
    assert spread_of(order) <= 50


@pytest.mark.filterwarnings("ignore:PS102")
@pytest.mark.parametrize("move", [lambda ds: ds.shuffle(seed=2), lambda ds: ds[::-1], lambda ds: ds.repeat(2)])
def test_operations_that_change_the_order_have_no_blocks(move):
    assert sorted(move(dear()).shuffle(seed=3)) == sorted(move(dear()))
    assert blocks_of(move(dear())._plan) is None


def test_other_blocks_have_another_fingerprint():
    one, other, whole = (ds.shuffle(seed=1) for ds in (dear(), dear(window=6), dear(window=100)))
    states = [ds.iterator().state_dict() for ds in (one, other, whole)]
    for ds, state in ((one, states[1]), (other, states[2]), (whole, states[0])):
        with pytest.raises(ValueError, match="shuffle"):
            ds.iterator().load_state_dict(state)


def test_a_shuffle_by_blocks_resumes_exactly():
    ds = dear(100, 7, 2).shuffle(seed=5).batch(9)
    verify_resume(ds)
    verify_determinism(ds)

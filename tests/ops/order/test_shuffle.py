"""`shuffle`: a permutation of every epoch."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import PlanError
from tests.plan.flows import assert_streams, begun, elements_of, stream_of

SIZES = [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("window", [None, 1, 5])
def test_every_element_comes_once_in_every_epoch(size, window):
    ds = Dataset.range(size).shuffle(window, seed=3)
    for epoch in (0, 1):
        assert sorted(ds.iterator(epoch=epoch)) == list(range(size))


def test_every_epoch_has_another_order_that_the_seed_fixes():
    orders = [list(Dataset.range(50).shuffle(seed=1).iterator(epoch=epoch)) for epoch in range(3)]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert orders[1] == list(Dataset.range(50).shuffle(seed=1).iterator(epoch=1))
    assert orders[0] != list(Dataset.range(50).shuffle(seed=2))


def test_iterating_again_takes_the_next_epoch():
    ds = Dataset.range(50).shuffle(seed=1)
    assert [list(ds), list(ds)] == [list(ds.iterator(epoch=0)), list(ds.iterator(epoch=1))]


def test_without_reshuffling_every_epoch_has_the_same_order():
    ds = Dataset.range(50).shuffle(seed=1, reshuffle_each_iteration=False)
    assert list(ds) == list(ds) != list(range(50))


def test_without_a_seed_every_iterator_has_an_order_of_its_own():
    ds = Dataset.range(100).shuffle()
    assert list(ds.iterator(epoch=0)) != list(ds.iterator(epoch=0))
    seeded = ds.with_options(Options(seed=4))
    assert list(seeded.iterator(epoch=0)) == list(seeded.iterator(epoch=0))


def test_two_shuffles_without_a_seed_are_two_orders():
    one, other = Dataset.range(100).shuffle(), Dataset.range(100).shuffle()
    pairs = list(Dataset.zip(one, other).with_options(Options(seed=1)))
    assert any(a != b for a, b in pairs)


@pytest.mark.parametrize("window", [2, 10, 100])
def test_in_a_window_no_element_moves_as_far_as_the_window_is_wide(window):
    order = np.array(list(Dataset.range(1000).shuffle(window, seed=0)))
    assert np.abs(order - np.arange(1000)).max() < window
    assert (order != np.arange(1000)).mean() > 0.3


def test_a_window_of_one_changes_nothing_and_a_wide_one_shuffles_everything():
    ds = Dataset.range(30)
    assert list(ds.shuffle(1, seed=0)) == list(range(30))
    for wide in (30, 10**9, UNKNOWN):
        assert list(ds.shuffle(wide, seed=0)) == list(ds.shuffle(seed=0))


@pytest.mark.filterwarnings("ignore:PS102")
def test_a_repeat_after_it_keeps_epochs_apart_and_one_before_it_mixes_them():
    apart = list(Dataset.range(10).shuffle(seed=0).repeat(3))
    epochs = [apart[:10], apart[10:20], apart[20:]]
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 3
    assert epochs[0] != epochs[1] != epochs[2]
    mixed = list(Dataset.range(10).repeat(3).shuffle(seed=0))
    assert sorted(mixed) == sorted(apart)
    assert sorted(mixed[:10]) != list(range(10))


def test_an_endless_dataset_is_shuffled_in_windows_alone():
    with pytest.raises(PlanError, match="shuffle before repeat"):
        Dataset.range(4).repeat().shuffle()
    ds = Dataset.counter().shuffle(8, seed=0)
    assert ds.cardinality() == INFINITE
    first = list(ds.take(1000))
    assert len(set(first)) == 1000
    assert max(abs(x - i) for i, x in enumerate(first)) < 8
    assert list(ds.take(1000).iterator(epoch=1)) != first


def test_the_order_is_not_stored():
    assert Dataset.range(10**15).shuffle(seed=1)[10**14] != 10**14


@pytest.mark.filterwarnings("ignore:PS104")
def test_split_by_take_and_skip_the_parts_of_an_epoch_are_disjoint():
    ds = Dataset.range(100).shuffle(seed=5)
    for epoch in (0, 1):
        train, held_out = ds.skip(20).iterator(epoch=epoch), ds.take(20).iterator(epoch=epoch)
        assert sorted([*train, *held_out]) == list(range(100))


def test_the_arguments_are_shown():
    label = Dataset.range(9).shuffle(3, seed=7, reshuffle_each_iteration=False)._plan.label()
    assert label == "shuffle(3, seed=7, reshuffle_each_iteration=False)"


def test_it_does_not_run_without_a_seed():
    with pytest.raises(RuntimeError, match="bind_seeds"):
        Dataset.range(9).shuffle()._plan.rows_of(np.arange(2))


def shuffled_stream(size, window, epoch=0, *, seed=3, reshuffle=True):
    node = Dataset.range(1).repeat().shuffle(window, seed=seed, reshuffle_each_iteration=reshuffle)._plan
    return elements_of(begun(node, stream_of(range(size), (7,))), epoch)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 9])
@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 8, 100])
def test_of_a_stream(size, window):
    node = Dataset.range(1).repeat().shuffle(window, seed=3)._plan
    wanted = shuffled_stream(size, window)
    assert sorted(wanted) == list(range(size))
    assert_streams(node, [range(size)], wanted)


@pytest.mark.parametrize("window", [2, 3, 4, 5, 9, 64, 65])
def test_of_a_stream_no_element_moves_as_far_as_the_window_is_wide(window):
    order = np.array(shuffled_stream(3000, window))
    moved = order - np.arange(3000)
    assert np.abs(moved).max() < window
    assert (moved != 0).mean() > 0.3
    assert np.abs(moved).max() >= window // 2


def test_of_a_stream_every_epoch_has_another_order_that_the_seed_fixes():
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

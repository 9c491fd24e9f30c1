"""`repeat`: epochs one after another."""

from __future__ import annotations

from itertools import islice

import pytest

from penstock import INFINITE, Dataset, Options
from penstock.core.errors import PlanError
from tests.plan.flows import assert_streams, begun, elements_of, ids_of, stream_of

F, EMPTY, ENDLESS = Dataset.range(7), Dataset.range(0), Dataset.counter()


@pytest.mark.parametrize(
    ("ds", "count", "length"),
    [
        (F, 2, 14),
        (F, 1, 7),
        (F, 0, 0),
        (F, None, INFINITE),
        (F, -1, INFINITE),
        (ENDLESS, 2, INFINITE),
        (ENDLESS, 0, 0),
        (ENDLESS, None, INFINITE),
        (EMPTY, 2, 0),
        (EMPTY, None, 0),
    ],
)
def test_the_length_is_the_product_with_the_count(ds, count, length):
    assert ds.repeat(count).cardinality() == length


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_the_elements_repeat(size):
    assert list(Dataset.range(size).repeat(3)) == list(range(size)) * 3
    assert list(Dataset.range(size).repeat().take(2 * size + 1)) == [i % size for i in range(2 * size + 1)]


def test_an_endless_repeat_of_an_empty_dataset_is_empty():
    assert list(EMPTY.repeat()) == []


def test_epochs_of_a_repeat_share_no_epoch_of_the_input():
    ds = Dataset.range(6).shuffle(seed=0).repeat(2)
    single = Dataset.range(6).shuffle(seed=0)
    for epoch in (0, 1, 2):
        expected = [*single.iterator(epoch=2 * epoch), *single.iterator(epoch=2 * epoch + 1)]
        assert list(ds.iterator(epoch=epoch)) == expected


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_an_endless_repeat_reshuffles_and_begins_each_epoch_with_a_whole_one(size):
    ds = Dataset.range(size).shuffle(seed=0).repeat().take(2 * size)
    for epoch in (0, 1, 2):
        items = list(ds.iterator(epoch=epoch))
        assert sorted(items[:size]) == sorted(items[size:]) == list(range(size))


def test_repeats_multiply():
    assert list(Dataset.range(2).repeat(2).repeat(3)) == [0, 1] * 6


def test_more_elements_than_can_be_counted_are_refused():
    with pytest.raises(PlanError, match="repeat"):
        Dataset.range(2**40).repeat(2**30)


@pytest.mark.parametrize("size", [0, 1, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("epoch", [0, 2])
def test_streams_are_supported(size, count, epoch):
    node = Dataset.range(1).repeat(count)._plan
    assert_streams(node, [range(size)], list(range(size)) * count, epoch)
    epochs = ids_of(begun(node, stream_of(range(size), (2,))), epoch)
    assert epochs == [1000 * (epoch * count + again) + row for again in range(count) for row in range(size)]


def test_a_stream_repeated_without_end_never_comes_to_one_unless_it_is_empty():
    endless = Dataset.range(1).repeat()._plan
    assert list(islice(elements_of_each(begun(endless, stream_of(range(3), (2,)))), 8)) == [0, 1, 2, 0, 1, 2, 0, 1]
    assert elements_of(begun(endless, stream_of([], (2,)))) == []
    assert list(Dataset.range(9).filter(lambda x: x > 9).repeat()) == []


def elements_of_each(source):
    for piece in source(0):
        yield from piece.chunk.elements()


def test_every_iteration_of_a_stream_repeated_without_end_has_epochs_of_its_own():
    ds = Dataset.range(20).shuffle(seed=1).filter(lambda x: True).repeat().take(40)
    epochs = [list(ds.iterator(epoch=epoch)) for epoch in range(3)]
    parts = [tuple(part) for epoch in epochs for part in (epoch[:20], epoch[20:])]
    assert len(set(parts)) == 6
    assert all(sorted(part) == list(range(20)) for part in parts)


@pytest.mark.parametrize("epoch", [0, 1, 2, 30_000])
@pytest.mark.parametrize("below", [F, ENDLESS, F.repeat(), Dataset.range(2**40)])
def test_epochs_of_nested_repeats_stay_countable(below, epoch):
    def jitter(x, *, rng):
        return int(rng.integers(1 << 60))

    once = below.filter(lambda x: x % 2 == 0).batch(1).repeat()  # numbers its batches
    again = once.filter(lambda x: True).concatenate(below.batch(1)).repeat()
    ds = again.map(jitter).with_options(Options(seed=1))
    first = list(islice(ds.iterator(epoch=epoch), 9))
    assert len(set(first)) == 9
    assert first == list(islice(ds.iterator(epoch=epoch), 9))
    assert not set(first) & set(islice(ds.iterator(epoch=epoch + 1), 9))


@pytest.mark.parametrize("size", [7, 700, 10**9])
@pytest.mark.parametrize("cut", [lambda ds: ds.take(1), lambda ds: ds[2:4], lambda ds: ds.skip(1)[:3].batch(2)])
@pytest.mark.parametrize("epoch", [0, 1, 2, 7, 30_000])
def test_a_small_repeated_part_restarts_when_its_epochs_cannot_be_counted(size, cut, epoch):
    part = cut(Dataset.range(size))
    ds = part.repeat().take(2 * len(part)).repeat()
    once = list(map(str, part))
    for cut_again in (ds, Dataset.zip(ds, Dataset.range(9)).map(lambda x, y: x), part.repeat().take(9).repeat()):
        with cut_again.iterator(epoch=epoch) as it:
            assert list(map(str, islice(it, 2 * len(once)))) == once * 2
    mixed = Dataset.choose_from_datasets([part.repeat(), part.repeat()], Dataset.range(2).repeat(3)).repeat()
    assert len(list(islice(mixed.iterator(epoch=epoch), 9))) == 9

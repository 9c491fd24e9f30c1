"""Runs of rows and of streams: where epochs end, who makes the items, and how much is made ahead."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ClosedError, ElementError
from penstock.engine.runs.run import _Pause
from penstock.engine.tuning.tuner import Tuner

D = ps.Dataset


def everything(x):
    return True


def even(x):
    return x % 2 == 0


@pytest.fixture(params=["rows", "stream"])
def numbers(request):
    """The numbers below a count, as rows or as a stream."""
    return D.range if request.param == "rows" else lambda count: D.range(count).filter(everything)


def windows_of(it):
    return list(it._run.session._windows)


# Exhausted


@pytest.mark.parametrize("depth", [0, -7, 1])
def test_only_the_end_of_the_epoch_ends_a_run(depth, monkeypatch, numbers, way):
    monkeypatch.setattr(Tuner, "depth", lambda tuner: depth)
    assert list(numbers(30).map(lambda x: x + 1, vectorized=False).with_options(way)) == list(range(1, 31))


def test_an_exhausted_iterator_stays_at_its_end(numbers, way):
    it = numbers(5).batch(2).with_options(way).iterator()
    assert len(list(it)) == 3
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(it)
    assert it.state_dict()["row"] == 3
    it.close()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 256, 257])
def test_epochs_of_rows_may_have_any_length(count, way):
    for ds in (D.range(count), D.range(count).batch(2), D.range(count).batch(2, drop_remainder=True)):
        made = list(ds.with_options(way))
        assert len(made) == len(ds)
        assert [x for item in made for x in np.atleast_1d(item)] == list(range(count))[: len(made) * 2]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 256, 257, 5000])
def test_epochs_of_streams_may_have_any_length(count, way):
    for keep in (everything, even, lambda x: False):
        wanted = [x for x in range(count) if keep(x)]
        ds = D.range(count).filter(keep).with_options(way)
        assert list(ds) == wanted
        batches = [batch.tolist() for batch in ds.batch(7)]
        assert batches == [wanted[low : low + 7] for low in range(0, len(wanted), 7)]


@pytest.mark.parametrize("ds", [D.range(30).filter(lambda x: x < 5), D.range(5)], ids=["stream", "rows"])
def test_a_state_saved_at_the_end_has_no_more_items(ds, way):
    it = ds.with_options(way).iterator()
    assert len(list(it)) == 5
    it.load_state_dict(json.loads(json.dumps(it.state_dict())))
    assert list(it) == []


# Closed


def test_a_closed_iterator_reports_that_it_was_closed(numbers, way):
    it = numbers(5).with_options(way).iterator()
    assert next(it) == 0
    it.close()
    it.close()
    for _ in range(2):
        with pytest.raises(ClosedError, match="this iterator was closed"):
            next(it)
    assert it.state_dict()["row"] == 1


def test_an_iterator_closed_before_its_first_item_reports_it(numbers, way):
    it = numbers(5).with_options(way).iterator()
    it.close()
    with pytest.raises(ClosedError, match="closed"):
        next(it)
    assert it.state_dict()["row"] == 0


def test_a_with_block_closes_its_iterator(numbers, way):
    with numbers(5).with_options(way).iterator() as it:
        next(it)
    with pytest.raises(ClosedError):
        next(it)


def test_a_closed_iterator_continues_from_a_state(numbers, way):
    it = numbers(9).batch(2).with_options(way).iterator()
    next(it)
    it.close()
    it.load_state_dict(it.state_dict())
    assert [batch.tolist() for batch in it] == [[2, 3], [4, 5], [6, 7], [8]]


# Memory


def test_a_batch_larger_than_the_budget_comes_alone_with_one_warning(way):
    big = D.from_tensor_slices(np.zeros((20, 1000))).batch(4)
    assert len(list(big.with_options(way).with_options(ps.Options(memory_budget=4 * 8000)))) == 5
    it = big.with_options(way).with_options(ps.Options(memory_budget=4 * 8000 - 1)).iterator()
    with pytest.warns(ps.errors.BudgetWarning, match=r"one batch of .* takes about 32,000 bytes, .* allows 31,999"):
        next(it)
    for _ in it:  # another warning would be an error
        assert len(it._items) == sum(window.items for window in windows_of(it)) == 0
    assert len(it.stats().notes) == 1


def test_the_window_stays_within_the_budget():
    batch = 1 << 16
    ds = D.range(60).map(lambda x: np.zeros(batch, np.uint8)).batch(1)
    it = ds.with_options(ps.Options(executor="threads", workers=4, memory_budget=3 * batch)).iterator()
    most = 0
    next(it)  # the size of a batch is known from here
    for _ in range(5):
        next(it)
    for item in it:
        del item
        nbytes = sum(window.nbytes for window in windows_of(it))
        most = max(most, nbytes)
        assert nbytes <= 3 * batch
    assert most > 0


@pytest.mark.parametrize("depth", [None, 50])
def test_items_that_wait_for_the_consumer_count_toward_the_budget(at_once, depth):
    size, batches = 1 << 16, 6
    ds = D.range(100).map(lambda x: np.zeros(size, np.uint8)).batch(1)
    ds = (ds if depth is None else ds.prefetch(depth)).with_options(at_once)
    it, most = ds.with_options(ps.Options(memory_budget=batches * size)).iterator(), 0
    for _ in it:
        most = max(most, len(it._items) + sum(window.items for window in windows_of(it)))
    assert batches // 2 < most <= batches


def test_the_position_is_exact_within_items_that_were_made_together(at_once):
    ds, held = D.range(60).map(lambda x: x * x, vectorized=False), 0
    it = ds.with_options(at_once).iterator()
    for expected in range(60):
        assert (next(it), it.state_dict()["row"]) == (expected * expected, expected + 1)
        again = ds.iterator()
        again.load_state_dict(it.state_dict())
        assert next(again, None) == (None if expected == 59 else (expected + 1) ** 2)
        again.close()
        held = max(held, len(it._items))
    assert held > 1


def test_a_short_prefetch_has_a_short_window():
    ds = D.range(200).map(lambda x: x, num_parallel_calls=2).prefetch(3)
    with ds.iterator() as it:
        for _ in range(50):
            next(it)
            assert sum(window.items for window in windows_of(it)) <= 3 + 1


# Who runs it


def test_auto_stays_inline_for_cheap_work_and_uses_threads_for_expensive_work():
    with D.range(5000).batch(10).iterator() as it:
        for _ in range(400):
            next(it)
        assert it.stats().mode == "inline"

    def slow(x):
        threading.Event().wait(0.006)
        return x

    with D.range(500).map(slow).iterator() as it:
        for _ in range(4):
            next(it)
        assert it.stats().mode.endswith("threads")
        assert it.stats().decisions


def test_a_stream_moves_to_the_background_after_two_long_pauses():
    short, long = (1_000, 1), (50_000_000, 1)
    pause = _Pause()
    assert not any(pause.is_long(*look) for look in [short] * 9 + [long])
    assert pause.is_long(*long)


def test_a_stream_with_slow_elements_is_made_in_the_background():
    made, gone = [], threading.Event()

    def slow():
        for x in range(50):
            gone.wait(0.005)
            made.append(threading.get_ident())
            yield x

    with D.from_generator(slow).iterator() as it:
        assert [next(it) for _ in range(30)] == list(range(30))
        assert it._run._producer is not None
    assert made[0] == threading.get_ident() != made[29]


def test_threads_can_share_one_iterator(numbers, way):
    it = numbers(3000).map(lambda x: x).with_options(way).iterator()
    with ThreadPoolExecutor(4) as consumers:
        parts = list(consumers.map(lambda _: list(it), range(4)))
    assert sorted(x for part in parts for x in part) == list(range(3000))
    assert all(low < high for part in parts for low, high in pairwise(part))


def test_iterators_are_independent(numbers, way):
    ds = numbers(200).batch(3).with_options(way)
    one, other = ds.iterator(epoch=0), ds.iterator(epoch=0)
    pairs = list(zip(one, other, strict=True))
    assert len(pairs) == 67
    assert all(np.array_equal(a, b) and a is not b for a, b in pairs)


def test_a_function_may_iterate_a_dataset_itself(numbers, way):
    of_our_own = way if isinstance(way.executor, str | None) else ps.Options()  # a pool would wait for itself
    inner = numbers(10).batch(5).with_options(of_our_own)
    made = list(numbers(6).map(lambda x: x + sum(int(b.sum()) for b in inner.iterator(epoch=0))).with_options(way))
    assert made == [45 + x for x in range(6)]


def test_an_element_must_not_be_an_empty_structure(numbers, way):
    with pytest.raises(ElementError):
        list(numbers(3).map(lambda x: None).with_options(way))


def test_a_run_counts_on_from_the_work_of_the_one_before():
    it = D.range(20).map(lambda x: x, vectorized=False).batch(2).iterator()
    next(it)
    first, again = it._run, it._begun()
    cost, items = first.session.spent.wall, first.made.items
    again.count_on(first)
    while again.items() is not None:
        pass
    assert again.session.spent.wall > cost > 0
    assert again.made.items > items > 0

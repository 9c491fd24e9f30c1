"""The iterator's position, counts and end."""

from __future__ import annotations

import gc
import json
import pickle
import threading
import weakref

import pytest

from penstock import Dataset, Options
from penstock.core.errors import ClosedError, CursorError
from tests.workers import await_workers

DS = Dataset.range(20).shuffle(seed=1).map(lambda x: x + 1).batch(3)


def lists(it):
    return [batch.tolist() for batch in it]


@pytest.mark.parametrize("taken", range(8))
@pytest.mark.parametrize("options", [Options(), Options(workers=2)], ids=str)
def test_a_restored_iterator_continues_at_the_saved_position(taken, options):
    ds = DS.with_options(options)
    with ds.iterator(epoch=2) as it:
        first = [next(it).tolist() for _ in range(taken)]
        saved = json.loads(json.dumps(it.state_dict()))
        rest = lists(it)
    assert first + rest == lists(DS.iterator(epoch=2))
    restored = DS.iterator()
    restored.load_state_dict(saved)
    assert lists(restored) == rest


def test_the_position_counts_received_elements_also_after_closing():
    it = DS.with_options(Options(workers=2)).iterator()
    next(it)
    assert it.state_dict()["row"] == 1
    it.close()
    assert it.state_dict()["row"] == 1
    with pytest.raises(ClosedError):
        next(it)


def test_close_works_before_the_first_element_and_twice():
    it = DS.iterator()
    it.close()
    it.close()
    with pytest.raises(ClosedError, match="closed"):
        next(it)


def test_an_unseeded_order_is_in_the_state():
    ds = Dataset.range(50).shuffle().map(lambda x, *, rng: (int(x), rng.random()))
    it = ds.iterator(epoch=1)
    head = [next(it) for _ in range(5)]
    saved = it.state_dict()
    rest = list(it)
    again = ds.iterator()
    again.load_state_dict(saved)
    assert list(again) == rest
    assert sorted(x for x, _ in head + rest) == list(range(50))


def test_the_state_of_another_plan_is_refused_with_what_differs():
    saved = DS.iterator().state_dict()
    other = Dataset.range(20).shuffle(seed=1).map(lambda x: x + 2).batch(3).iterator()
    with pytest.raises(CursorError, match="another plan") as caught:
        other.load_state_dict(saved)
    lines = [line.strip() for line in str(caught.value).splitlines()]
    assert [line[0] for line in lines if line[0] in "+-"] == ["-", "+"]
    assert all("map(" in line for line in lines if line[0] in "+-")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 99}, "version 99"),
        ({"row": 8}, "row 8 of an epoch that has 7"),
        ({"row": -1}, "row is -1"),
        ({"epoch": "1"}, "epoch is '1'"),
        ({"seed": None}, "seed is None"),
        ({"ahead": [[1]]}, "ahead"),
        ({"ahead": [[5, 3]]}, "ahead"),
    ],
)
def test_an_invalid_state_is_refused(change, says):
    with pytest.raises(CursorError, match=says):
        DS.iterator().load_state_dict(DS.iterator().state_dict() | change)


def test_an_epoch_that_cannot_be_counted_is_refused_in_a_state_too():
    for epoch in (2**61, 2**70):
        with pytest.raises(ValueError, match="epoch"):
            DS.iterator().load_state_dict(DS.iterator().state_dict() | {"epoch": epoch})


@pytest.mark.parametrize("state", [None, [], "state", {}])
def test_values_that_are_no_states_are_refused(state):
    with pytest.raises(CursorError, match="state_dict"):
        DS.iterator().load_state_dict(state)


def test_a_failed_iterator_reports_the_failure_and_its_position():
    it = Dataset.range(10).map(lambda x: 1 // int(x - 4)).iterator()
    with pytest.raises(ZeroDivisionError):
        list(it)
    assert it.state_dict()["row"] == 4
    with pytest.raises(ClosedError, match="failed"):
        next(it)


@pytest.mark.parametrize("options", [Options(), Options(executor="threads", workers=2)], ids=str)
@pytest.mark.parametrize("ds", [Dataset.range(9), Dataset.range(9).filter(lambda x: x > 2)], ids=["indexed", "stream"])
def test_a_failed_iterator_is_released(ds, options):
    def refuse(x):
        raise ValueError(x)

    it = ds.map(refuse).with_options(options).iterator()
    with pytest.raises(ValueError, match=r"0|3"):
        next(it)
    await_workers()  # one that has just handed over the error still holds it, and so the frames that it passed
    gone = weakref.ref(it)
    del it
    gc.collect()
    assert gone() is None


def test_stats_count_the_received_elements():
    it = DS.iterator()
    assert it.stats().items == 0
    assert it.verdict().startswith("Too early to say: 0 ")
    next(it)
    assert (it.stats().items, it.stats().rows, it.stats().unit) == (1, 3, "batch")
    assert len(lists(it)) == 6
    assert (it.stats().items, it.stats().rows) == (7, 20)


@pytest.mark.parametrize("taken", range(10))
def test_the_position_of_a_stream_does_not_depend_on_rewrites(taken):
    ds = Dataset.range(20).filter(lambda x: x % 2 == 0).skip(0).take(-1).shuffle(3, seed=1).repeat(1).skip(1).skip(0)
    plain, optimised = ds.with_options(Options(rewrite=False)), ds
    wanted = list(ds.iterator(epoch=1))
    for one, other in ((plain, optimised), (optimised, plain), (plain, plain)):
        with one.iterator(epoch=1) as it:
            assert [next(it) for _ in range(min(taken, 9))] == wanted[:taken]
            saved = json.loads(json.dumps(it.state_dict()))
        with other.iterator() as it:
            it.load_state_dict(saved)
            assert it.state_dict()["row"] == min(taken, 9)
            assert list(it) == wanted[taken:]


@pytest.mark.parametrize("ds", [Dataset.range(9), Dataset.range(9).filter(lambda x: True)], ids=["indexed", "stream"])
def test_an_iterator_closed_by_another_thread_while_it_begins_raises_closed_error(ds):
    it = ds.with_options(Options(workers=2)).iterator()
    begin, closers = it._begun, [threading.Thread(target=it.close)]

    def begun():
        run = begin()
        closers[0].start()
        while not it._closed:
            pass
        return run

    it._begun = begun
    with pytest.raises(ClosedError, match="closed"):
        next(it)
    closers[0].join(20)
    assert not closers[0].is_alive()


@pytest.mark.parametrize("ds", [Dataset.range(9), Dataset.range(9).filter(lambda x: True)], ids=["rows", "stream"])
def test_a_consumer_that_takes_items_ahead_reports_where_it_stands(ds):
    it = ds.iterator()
    next(it)
    after_first = it.position()
    rest = [next(it), next(it)]
    it.report_position(after_first)
    again = ds.iterator()
    again.load_state_dict(it.state_dict())
    assert ds.state_dict() == it.state_dict()
    assert [next(again), next(again)] == rest
    assert it.position() != after_first  # where the iterator itself stands
    it.report_position(None)
    assert it.state_dict()["row"] == 3
    it.report_position(after_first)
    it.load_state_dict(again.state_dict())
    assert it.state_dict()["row"] == 3


def test_the_steps_before_a_close_count(monkeypatch):
    now = [1_000_000_000]
    monkeypatch.setattr("penstock.dataset.iterator.perf_counter_ns", lambda: now[0])
    with Dataset.range(80).batch(2).iterator() as it:  # many batches come at a time
        for _ in range(30):
            next(it)
            now[0] += 100_000_000  # a step of 0.1 s
    now[0] += 100_000_000_000
    assert it.stats().seconds == pytest.approx(3)
    assert "It took 10 batches/s" in it.verdict()


def test_an_iterator_is_not_pickled_and_says_what_to_save():
    with pytest.raises(TypeError, match=r"pickle the dataset and state_dict\(\)"):
        pickle.dumps(iter(Dataset.range(3)))

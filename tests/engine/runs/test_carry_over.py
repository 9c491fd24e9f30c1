"""Memory and tuning that one run hands on to the next."""

from __future__ import annotations

import gc
import threading

import numpy as np

from penstock import Dataset, Options
from penstock.engine.runs.scope import CarryOver
from penstock.engine.tasks.cost import MS, Cost
from penstock.engine.tasks.slots import Slots
from penstock.engine.tuning.tuner import INLINE_BYTES, THREAD_PAYS


def test_the_next_tuner_has_the_measurements_of_the_last_one():
    carry_over = CarryOver()
    first = carry_over.tuner(None)
    for _ in range(3):
        first.observe(Cost(10 * MS, 10 * MS), 1)
    first.item_bytes = 7
    threads = first.start_threads()
    second = carry_over.tuner(None)
    assert (second.threads, second.item_wall, second.item_bytes) == (threads, first.item_wall, 7)
    assert second.start_threads() == threads
    assert "as in the run before" in second.decisions[0]


def test_a_run_that_stayed_inline_begins_inline_again():
    carry_over = CarryOver()
    carry_over.tuner(None).observe(Cost(1000, 1000), 1)
    assert carry_over.tuner(None).threads == 0


def test_a_run_begins_inline_again_once_items_have_become_cheap():
    ds = Dataset.range(2000).map(lambda x: gone.wait(0.02 * (len(made) < 64)) or made.append(x) or x).batch(8)
    made, gone = [], threading.Event()
    modes = []
    for _ in range(3):
        with ds.iterator() as it:
            assert len(list(it)) == 250
            modes.append(it.stats().mode)
    assert (modes[0] != "inline", modes[2]) == (True, "inline")


def carried(nanoseconds, **kwargs):
    """Return the tuner of a run after one with threads, whose items cost that much each."""
    carry_over = CarryOver()
    first = carry_over.tuner(None)
    first.start_threads()
    for _ in range(9):
        first.observe(Cost(nanoseconds, nanoseconds), 1)
    return carry_over.tuner(None, **kwargs)


def test_a_run_begins_inline_if_items_beside_others_cost_less_than_twice_what_threads_need():
    assert carried(2 * THREAD_PAYS - 1, begins_inline=True).threads == 0
    assert carried(2 * THREAD_PAYS, begins_inline=True).threads > 0
    assert carried(THREAD_PAYS).threads > 0


def test_a_run_that_begins_inline_again_has_threads_after_a_few_expensive_items():
    tuner = carried(2 * THREAD_PAYS - 1, begins_inline=True)
    paid = []
    for _ in range(4):
        paid.append(tuner.threads_pay())
        tuner.observe(Cost(3 * THREAD_PAYS, 3 * THREAD_PAYS), 1)
    assert (paid[0], tuner.threads_pay()) == (False, True)


def returned(**kwargs):
    """Return the tuner of a run after one whose threads were given back."""
    carry_over = CarryOver()
    first = carry_over.tuner(None, begins_inline=True)
    first.observe(Cost(THREAD_PAYS, THREAD_PAYS), 1)
    first.start_threads()
    first.climb.threads = 0
    assert first.has_returned
    return carry_over.tuner(None, **kwargs)


def test_a_run_after_one_that_gave_its_threads_back_goes_on_inline_unless_threads_are_asked_for():
    again = returned(begins_inline=True)
    assert (again.has_returned, again.decisions) == (True, ["no threads, as in the run before"])
    assert returned().climb is None


def test_threads_that_the_user_asked_for_stay_for_cheap_items():
    carry_over = CarryOver()
    first = carry_over.tuner(None)
    first.start_threads()
    first.observe(Cost(1000, 1000), 1)
    assert carry_over.tuner(None, begins_inline=False).threads == first.threads


def test_an_epoch_after_the_first_begins_on_threads():
    def wait(x):
        gone.wait(0.006)
        return x

    gone = threading.Event()
    ds = Dataset.range(8).map(wait)
    assert list(ds) == list(ds) == list(range(8))
    it = ds.iterator()
    next(it)
    assert "thread" in it.stats().mode
    it.close()


def test_memory_is_reused_in_the_next_epoch():
    batch_bytes = 2 * INLINE_BYTES  # so that each is made alone, in memory of one size
    ds = Dataset.from_tensor_slices(np.zeros((24, batch_bytes // 32))).batch(4).with_options(Options(executor="inline"))
    places = []
    for _ in range(2):
        places.append({batch.ctypes.data for batch in ds})
        gc.collect()
    assert places[0] & places[1]


def blocks(sizes):
    def reserve(nbytes):
        sizes.append(nbytes)
        return np.empty(nbytes, np.uint8)

    return reserve


def test_batches_are_written_into_blocks_of_the_caller_s_one_for_all_leaves():
    sizes = []
    data = {"x": np.arange(80.0).reshape(8, 10), "y": np.arange(8)}
    ds = Dataset.from_tensor_slices(data).map(lambda e: e).batch(4).with_options(Options(executor="inline"))
    batches = list(ds.iterator(allocate=blocks(sizes)))
    assert set(sizes) == {384 + 128}
    for batch in batches[1:]:  # the first tells how large they are
        assert batch["x"].base is batch["y"].base
        assert batch["x"].base.nbytes == 512
        assert (batch["y"].ctypes.data - batch["x"].ctypes.data) % 128 == 0
    assert np.concatenate([batch["x"] for batch in batches]).tolist() == data["x"].tolist()
    sizes.clear()
    list(ds)
    assert sizes == []


def test_large_batches_are_written_into_the_caller_s_blocks_though_a_native_thread_could_gather_them():
    sizes = []
    data = np.arange(64 * (1 << 17), dtype=np.float32).reshape(64, 1 << 17)
    ds = Dataset.from_tensor_slices(data).shuffle(seed=0).batch(4)
    with ds.iterator(allocate=blocks(sizes)) as it:
        assert all(batch.base is not None and batch.base.dtype == np.uint8 for batch in it)
    assert sum(sizes) >= 16 * (2 << 20)


def test_a_later_epoch_writes_all_its_batches_in_place(monkeypatch):
    slots = []
    take = Slots.take

    def noted(self, items, *, last):
        slots.append(take(self, items, last=last))
        return slots[-1]

    monkeypatch.setattr(Slots, "take", noted)
    ds = Dataset.from_tensor_slices(np.zeros((90, 1000))).batch(10).prefetch(4).with_options(Options(workers=2))
    list(ds)
    assert any(slot is None for slot in slots)  # of the first epoch, which had to see where batches are written
    slots.clear()
    list(ds)
    assert slots
    assert all(slot is not None for slot in slots)

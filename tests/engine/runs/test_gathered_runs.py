"""Runs whose batches a native thread gathers: the same batches, resumed anywhere, and nothing left of them."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import ClosedError
from penstock.engine.workers import native_thread
from penstock.engine.workers.native_thread import NativeThread
from penstock.testing.laws import same, verify_resume
from tests.draws import draws

INLINE = ps.Options(seed=3, executor="inline")
AUTO = ps.Options(seed=3)


@pytest.fixture(autouse=True)
def begun(monkeypatch):
    """Count the tasks gathered by a native thread and those requested of it; every task is large enough here."""
    count = [0, 0]
    begin = NativeThread.begin

    def counted(workers, task):
        gathered = begin(workers, task)
        count[0] += gathered is not None
        count[1] += 1
        return gathered

    monkeypatch.setattr(NativeThread, "begin", counted)
    monkeypatch.setattr("penstock.engine.tuning.tuner.BESIDE_PAYS", 0)
    monkeypatch.setattr("penstock.engine.tuning.tuner.THREAD_PAYS", 1 << 60)  # also on a machine that is slow just now
    return count


def rows(count):
    return {"x": np.arange(3 * count).reshape(count, 3), "y": np.arange(count, dtype=np.float32)}


def test_gathered_batches_are_those_made_inline(begun):
    ds = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(7).repeat(2)
    assert all(map(same, ds.with_options(AUTO), ds.with_options(INLINE)))
    assert begun[0] > 1
    assert sum(len(batch["y"]) for batch in ds.with_options(AUTO)) == 10_000


def test_gathering_continues_after_a_short_batch(monkeypatch):
    gathered, begin = [], NativeThread.begin

    def noted(workers, task):
        made = begin(workers, task)
        gathered.append(made and task.low)
        return made

    monkeypatch.setattr(NativeThread, "begin", noted)
    list(ps.Dataset.from_tensor_slices(rows(20_001)).shuffle().batch(2).repeat(2).with_options(AUTO))
    short = gathered.index(None)
    assert 0 < short < len(gathered) - 1
    assert gathered[short + 1] > 10_000


@given(st.integers(1, 300), st.integers(1, 9), st.integers(0, 3), st.booleans())
@settings(max_examples=draws(30))
def test_a_gathered_run_is_restored_at_every_step(count, size, skipped, drop):
    ds = ps.Dataset.from_tensor_slices(rows(count)).shuffle().skip(skipped).batch(size, drop_remainder=drop)
    verify_resume(ds.with_options(AUTO))


def test_a_gathered_batch_can_be_kept_and_changed():
    ds = ps.Dataset.from_tensor_slices(rows(3_000)).shuffle().batch(5)
    kept = []
    for batch in ds.with_options(AUTO):
        batch["y"] += 1
        kept.append(batch)
    assert all(same({**batch, "y": batch["y"] - 1}, wanted) for batch, wanted in zip(kept, ds.with_options(INLINE)))  # noqa: B905


def test_a_gathered_batch_that_is_kept_keeps_no_memory_but_its_own():
    ds = ps.Dataset.from_tensor_slices(np.zeros((4_000, 2_000), np.uint8)).shuffle().batch(10).with_options(AUTO)
    kept = [batch for number, batch in enumerate(ds) if number % 50 == 49]
    memory = ds._carry_over.memory
    assert memory.live_bytes <= 1.2 * sum(batch.nbytes for batch in kept)
    del kept
    assert memory.live_bytes == 0


@pytest.mark.parametrize(("error", "ended"), [(MemoryError, "failed"), (KeyboardInterrupt, "cancelled")])
def test_an_error_while_a_gathered_batch_is_taken_ends_the_run_and_loses_nothing(error, ended, monkeypatch, begun):
    ds = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10).with_options(AUTO)
    wanted = list(ds.with_options(INLINE).iterator(epoch=0))
    joining, fails = native_thread.joining, []

    def failing(structure):
        join = joining(structure)

        def joined(arrays):
            if fails:  # not by `exec`, after which an interrupt would count as unhandled, and end Python with code 130
                raise fails.pop()
            return join(arrays)

        return joined

    monkeypatch.setattr(native_thread, "joining", failing)
    it = ds.iterator(epoch=0)
    received = [next(it) for _ in range(40)]
    fails.append(error)
    with pytest.raises(error):
        next(it)
    with pytest.raises(ClosedError, match=ended):
        next(it)
    it.load_state_dict(it.state_dict())
    received += it
    assert begun[0] > 0
    assert all(map(same, received, wanted))
    assert len(received) == 500


class Interrupted:
    """A queue in which an interrupt comes once the native code has taken a batch out of it."""

    def __init__(self, queue):
        self.queue = queue

    def __len__(self):
        return len(self.queue)

    def popleft(self):
        self.queue.popleft()
        raise KeyboardInterrupt


def test_a_batch_taken_out_during_an_interrupt_was_not_received(begun):
    ds = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10).with_options(AUTO)
    it = ds.iterator(epoch=0)
    received = [next(it) for _ in range(40)]
    it._items = Interrupted(it._items)
    with pytest.raises(KeyboardInterrupt):
        next(it)
    it.load_state_dict(it.state_dict())
    received += it
    assert begun[0] > 0
    assert len(received) == 500
    assert all(map(same, received, ds.with_options(INLINE).iterator(epoch=0)))


IN_ORDER = ps.Dataset.from_tensor_slices(np.arange(3_000))
OF_TEXT = ps.Dataset.from_tensor_slices([b"text"] * 3_000).shuffle(seed=1)


@pytest.mark.parametrize(("ds", "tried"), [(IN_ORDER, 0), (OF_TEXT, 1)], ids=["in order", "of text"])
def test_a_plan_whose_batches_cannot_be_gathered_is_tried_at_most_once(ds, tried, begun):
    ds = ds.batch(5)
    assert all(map(same, ds.with_options(AUTO), ds.with_options(INLINE)))
    assert begun == [0, tried]


def rows_of_operations(it):
    return {operation.name: operation.rows for operation in it.stats().operations}


def test_stats_count_the_bytes_of_a_short_batch():
    ds = ps.Dataset.from_tensor_slices(np.zeros((1_001, 100))).shuffle().batch(10).with_options(AUTO)
    it = ds.iterator()
    taken = sum(batch.nbytes for batch in it)
    nbytes = {operation.name: operation.bytes for operation in it.stats().operations}
    assert nbytes["from_tensor_slices"] == nbytes["shuffle()"] == taken
    assert taken <= nbytes["batch(10)"] < taken + 8_000  # the short one may be taken for one like those before


def test_stats_count_every_gathered_batch_once(begun):
    ds = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10).with_options(AUTO)
    it = ds.iterator()
    list(it)
    stats = it.stats()
    assert begun[0] > 0
    assert (stats.items, stats.rows) == (500, 5_000)
    assert rows_of_operations(it) == {"from_tensor_slices": 5_000, "shuffle()": 5_000, "batch(10)": 500}


def test_stats_of_a_run_cut_short_count_the_batches_that_were_taken(begun):
    it = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10).with_options(AUTO).iterator()
    for _ in range(77):
        next(it)
    it.close()
    stats = it.stats()
    assert begun[0] > 0
    assert (stats.items, stats.rows) == (77, 770)
    assert rows_of_operations(it) == {"from_tensor_slices": 770, "shuffle()": 770, "batch(10)": 77}


def element(row):
    return {"x": np.full(3, float(row)), "y": row}


def test_rows_kept_in_memory_are_gathered_once_all_are_there(begun):
    ds = ps.Dataset.range(5_000).map(element).cache().shuffle(seed=1).batch(10)
    kept = ds.with_options(AUTO)
    with kept.iterator() as it:
        next(it)
    assert same(list(kept.iterator(epoch=1)), list(ds.with_options(INLINE).iterator(epoch=1)))
    assert begun == [0, 0], "some were missing when the epoch began"
    it = kept.iterator(epoch=2)
    assert same(list(it), list(ds.with_options(INLINE).iterator(epoch=2)))
    assert begun[0] > 0
    counted = rows_of_operations(it)
    assert [counted[name] for name in ("range(5000)", "cache()", "shuffle(seed=1)", "batch(10)")] == [
        0,
        5000,
        5000,
        500,
    ]


def test_rows_kept_as_a_list_are_not_gathered(begun):
    ds = ps.Dataset.range(3_000).map(str).cache().shuffle(seed=1).batch(10)
    for epoch in range(2):
        assert same(
            list(ds.with_options(AUTO).iterator(epoch=epoch)), list(ds.with_options(INLINE).iterator(epoch=epoch))
        )
    assert begun == [0, 0]


def test_nothing_is_gathered_inline_or_with_a_prefetch(begun):
    ds = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10)
    list(ds.with_options(INLINE))
    list(ds.prefetch(1).with_options(AUTO))
    assert begun == [0, 0]


def test_gathered_batches_stay_within_the_budget(monkeypatch):
    sizes, begin = set(), NativeThread.begin

    def noted(workers, task):
        sizes.add(len(task.given))
        return begin(workers, task)

    monkeypatch.setattr(NativeThread, "begin", noted)
    ds = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10)
    for batches in (1, 4):
        sizes.clear()
        bounded = ds.with_options(ps.Options(seed=3, memory_budget=batches * 10 * (24 + 4)))
        assert all(map(same, bounded, ds.with_options(INLINE)))
        assert max(sizes) <= batches


def test_a_gathered_run_that_is_closed_leaves_no_thread():
    unwatched = ps.Options(seed=3, stuck_after=math.inf)  # the watchdog's thread stays
    it = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10).with_options(unwatched).iterator()
    threads = threads_alive()
    for _ in range(40):
        next(it)
    state = it.state_dict()
    it.close()
    assert threads_alive() <= threads
    it.load_state_dict(state)
    assert len(list(it)) == 460


def threads_alive():
    """Return the number of threads of the process, including native ones, where the system reports it."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_continues_a_gathered_run():
    ds = ps.Dataset.from_tensor_slices(rows(5_000)).shuffle().batch(10)
    wanted = list(ds.with_options(INLINE))
    it = ds.with_options(AUTO).iterator()
    received = [next(it) for _ in range(40)]
    child = os.fork()
    received += it
    right = len(received) == 500 and all(map(same, received, wanted))
    if child == 0:
        os._exit(0 if right else 1)
    assert right
    assert os.waitpid(child, 0)[1] == 0

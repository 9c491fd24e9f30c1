"""Runs that another process makes."""

from __future__ import annotations

import gc
import io
import logging
import os
import pickle
import sys
import threading
import traceback
import warnings
from queue import SimpleQueue

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ClosedError
from penstock.engine.workers.processes import starting
from penstock.engine.workers.processes.member import RunLine

D = ps.Dataset
ISOLATED = ps.Options(isolate=True)
ISOLATED_INLINE = ps.Options(isolate=True, executor="inline")  # a busy machine would begin threads, with more ahead

pytestmark = pytest.mark.usefixtures("pool")


def pids_of(ds):
    return {int(pid) for pid in ds.with_options(ISOLATED)}


def endless_ints():
    while True:
        yield os.getpid()


# The process


@pytest.mark.parametrize(
    "ds",
    [
        D.range(20).map(lambda x: os.getpid()),
        D.range(20).filter(lambda x: x % 2 == 0).map(lambda x: os.getpid()),
        D.from_generator(endless_ints).take(9),
        D.range(20).scan(0, lambda state, x: (state, os.getpid())),
        D.range(4).flat_map(lambda x: D.range(3).map(lambda y: os.getpid())),
        D.range(40).map(lambda x: os.getpid(), num_parallel_calls=2),
    ],
    ids=["rows", "filter", "generator", "scan", "flat_map", "threads"],
)
def test_no_function_runs_in_this_process(ds, pool):
    assert pids_of(ds) == set(pool.crew.pids)


def test_epochs_follow_in_the_same_process_with_what_it_has_learnt():
    ds = D.range(8).map(lambda x: os.getpid()).with_options(ISOLATED)
    assert len({int(pid) for _ in range(3) for pid in ds}) == 1


def test_single_elements_are_made_here():
    ds = D.range(8).map(lambda x: os.getpid()).with_options(ISOLATED)
    assert ds[3] == os.getpid()


def test_a_run_within_an_isolated_run_is_made_there():
    def within(x):
        return int(next(iter(D.range(3).map(lambda y: os.getpid()).with_options(ISOLATED))))

    assert len(pids_of(D.range(5).map(within))) == 1


def test_worker_processes_of_the_process_write_into_the_memory_that_is_lent():
    here = os.getpid()
    ds = D.range(200).map(lambda x: np.full(3000, x)).batch(10)
    others = ps.Options(isolate=True, executor="processes", workers=1)
    it = ds.with_options(others).iterator(epoch=0)
    assert [int(x) for batch in it for x in batch[:, -1]] == list(range(200))
    assert it.stats().mode in ("isolated: 1 process", "isolated: inline")  # it has begun, or was not needed
    assert here not in pids_of(D.range(5).map(lambda x: os.getpid()).with_options(others))


def test_the_figures_of_the_process_are_those_of_the_iterator():
    ds = D.range(100).map(lambda x: np.full(1000, x)).filter(lambda x: x[0] % 2 == 0).batch(5)
    inline = ps.Options(isolate=True, executor="inline")
    it, there = ds.iterator(epoch=0), ds.with_options(inline).iterator(epoch=0)
    assert len(list(it)) == len(list(there)) == 10
    wanted, got = it.stats(), there.stats()
    assert got.mode == "isolated: inline"
    assert [(each.name, each.rows, each.left_out) for each in got.operations][:-1] == [
        (each.name, each.rows, each.left_out) for each in wanted.operations
    ][: len(got.operations) - 1]
    assert (got.items, got.rows, got.unit) == (10, 50, "batch")
    assert got.work > 0
    assert got.peak_bytes > 0


def test_the_start_of_the_process_is_told_apart_from_other_waits():
    ds = D.range(8).with_options(ps.Options(isolate=True, memory_budget=(1 << 26) + 4))  # a process of its own
    first, second = ds.iterator(), ds.iterator()
    for it in (first, second):
        assert list(it) == list(range(8))
    told = first.stats()
    assert 0 < second.stats().starting < told.starting <= told.waited
    assert f"{told.starting:.2f} s of it for the start of the process" in str(told)
    assert f"It waited {told.starting:.2f} s for the start of the process" in first.verdict()
    assert D.range(3).iterator().stats().starting == 0


def test_threads_are_named_in_the_mode():
    it = D.range(100).map(lambda x: x).with_options(ps.Options(isolate=True, executor="threads", workers=2)).iterator()
    assert len(list(it)) == 100
    assert it.stats().mode == "isolated: 2 threads"


def test_prints_and_log_records_come_from_the_process(caplog, monkeypatch):
    printed, logged = SimpleQueue(), SimpleQueue()  # what comes, in its own time: elements do not wait for it

    class Output(io.StringIO):
        def write(self, text):
            for line in text.splitlines():
                printed.put(line)
            return len(text)

    def said(x):
        print("made", x)
        logging.getLogger("mine").warning("logged %s", x)
        return x

    monkeypatch.setattr(sys, "stdout", Output())
    monkeypatch.setattr(caplog.handler, "emit", lambda record: logged.put(record.getMessage()))
    assert list(D.range(2).map(said).with_options(ISOLATED)) == [0, 1]
    for each, word in ((printed, "made"), (logged, "logged")):
        lines = [each.get(timeout=60) for _ in range(2)]
        assert [line.partition("] ")[2] for line in lines] == [f"{word} 0", f"{word} 1"]
        assert all(line.startswith("[worker ") for line in lines)


# Errors


def failing(x):
    if x == 7:
        raise KeyError("seven")
    return x


@pytest.mark.parametrize(
    "ds", [D.range(20).map(failing), D.range(20).filter(lambda x: True).map(failing)], ids=["rows", "stream"]
)
def test_errors_are_those_of_a_run_in_this_process(ds):
    told = []
    for each in (ds, ds.with_options(ISOLATED)):
        it = each.with_options(ps.Options(seed=0)).iterator(epoch=0)
        got = []
        with pytest.raises(KeyError) as caught:
            got.extend(int(x) for x in it)
        told.append((got, str(caught.value), caught.value.__notes__))
        assert any(entry.name == "failing" for entry in traceback.extract_tb(caught.value.__traceback__)) or (
            "in failing" in "".join(traceback.format_exception(caught.value))
        )
        with pytest.raises(ClosedError, match="has failed"):
            next(it)
        if ds._plan.indexed:
            it.load_state_dict({**it.state_dict(), "row": 8})
            assert [int(x) for x in it] == list(range(8, 20))
    assert told[0] == told[1]


def test_elements_that_cannot_be_sent_are_an_error_that_says_so():
    it = D.range(3).map(lambda x: threading.Lock()).with_options(ISOLATED).iterator()
    with pytest.raises(TypeError, match="pickle") as caught:
        next(it)
    assert "isolate=False" in str(caught.value.__notes__)


def test_a_function_that_cannot_be_sent_runs_here_and_an_event_names_it(caplog):
    lock = threading.Lock()

    def locked(x):
        with lock:
            return os.getpid()

    it = D.range(5).map(locked).with_options(ISOLATED).iterator()
    assert set(it) == {os.getpid()}
    (event,) = it.stats().events
    assert event.kind == "degraded"
    assert "lock in map(locked)" in event.words
    assert event.words in caplog.text
    assert "isolated" not in it.stats().mode


@pytest.mark.parametrize("way", ["obstacle", "start"])
def test_without_processes_the_run_is_made_here(way, monkeypatch):
    def refuse(*_):
        raise BlockingIOError("no more processes")

    if way == "obstacle":
        # the module that imports the function first, which may be loaded only now
        monkeypatch.setattr("penstock.isolation.elsewhere.obstacle", lambda: "there is no interpreter")
        monkeypatch.setattr(starting, "obstacle", lambda: "there is no interpreter")
    else:
        monkeypatch.setattr("penstock.engine.workers.processes.crew.started", refuse)
    ds = D.range(5).map(lambda x: os.getpid())
    it = ds.with_options(ps.Options(isolate=True, memory_budget=(1 << 26) + 1)).iterator()
    assert set(it) == {os.getpid()}
    (event,) = it.stats().events
    assert event.kind == "degraded"
    assert ("interpreter" if way == "obstacle" else "no more processes") in event.words


def test_an_executor_of_this_process_is_refused():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as threads:
        for each in (threads, lambda: threads):
            with pytest.raises(ValueError, match="cannot use an executor of this one"):
                ps.Options(isolate=True, executor=each)
    with pytest.raises(TypeError, match="isolate"):
        ps.Options(isolate=1)


# Memory


def test_batches_stay_as_long_as_they_are_kept_and_return_their_memory(pool):
    size = 1200
    ds = D.range(size).map(lambda x: np.full(20_000, x)).batch(2).with_options(ISOLATED_INLINE)
    it = ds.iterator(epoch=0)
    kept = []
    for number, batch in enumerate(it):
        if number % 120 == 0:
            kept.append(batch)
        del batch
    assert [int(batch[0, 0]) for batch in kept] == [240 * i for i in range(5)]
    assert all((batch == batch[:, :1]).all() for batch in kept)
    assert it.stats().peak_bytes < 300 * 320_000  # those kept and some ahead, up to 26 in a block; all are 600
    more = ds.iterator(epoch=0)
    assert all((batch == batch[:, :1]).all() for batch in more)
    assert all((batch == batch[:, :1]).all() for batch in kept)


def test_what_is_made_ahead_returns_when_an_iterator_is_closed():
    ds = D.range(100).map(lambda x: np.full(50_000, x)).batch(2).with_options(ISOLATED_INLINE)
    kept = []
    for _ in range(20):
        with ds.iterator(epoch=0) as it:
            kept.append(next(it))
    whole = ds.iterator(epoch=0)
    assert len(list(whole)) == 50
    live = whole.stats().live_bytes
    assert live < (20 * 10 + 2 * 50) * 800_000  # a batch keeps its block of up to ten; all that was ahead is 20 × 50
    assert all((batch[0] == 0).all() and (batch[1] == 1).all() for batch in kept)
    del kept
    gc.collect()
    it = ds.iterator(epoch=0)
    for _ in it:
        pass
    assert it.stats().live_bytes < 50 * 800_000  # its own ahead, and nothing of the closed iterators


def test_batches_can_be_written_and_cached_ones_cannot():
    ds = D.range(8).map(lambda x: np.full(2000, x)).batch(2)
    for each in (ds, ds.cache()):
        here = [batch.flags.writeable for _ in range(2) for batch in each]
        there = [batch.flags.writeable for _ in range(2) for batch in each.with_options(ISOLATED)]
        assert here == there


@pytest.mark.parametrize(
    "ds",
    [
        D.range(60).map(lambda x: np.full(20_000, x)).batch(4),  # placed one by one
        D.range(60).map(lambda x: (np.full((100, 50), x), x)).map(lambda a, x: {"a": a * 2, "x": x}).batch(4),
        D.range(60).map(lambda x: np.full(20_000, x)),  # in no batch
        D.range(60).filter(lambda x: x % 2 == 0).map(lambda x: np.full(20_000, x)).batch(4),
        D.from_tensor_slices(np.zeros((60, 20_000))).shuffle(seed=1).batch(4),
        D.range(60).map(lambda x: np.full(20_000, x)).shuffle(8, seed=1).padded_batch(4),
    ],
    ids=["rows", "nested", "elements", "stream", "slices", "padded"],
)
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_nothing_of_the_size_of_a_batch_goes_through_the_socket(ds, executor, monkeypatch):
    received, receive = [], RunLine.receive

    def counted(line):
        message = receive(line)
        received.append(len(pickle.dumps(message.head)) + len(message.tail))
        return message

    monkeypatch.setattr(RunLine, "receive", counted)
    options = ps.Options(isolate=True, executor=executor, workers=None if executor == "inline" else 1)
    for epoch in range(2):
        it = ds.with_options(options).iterator(epoch=epoch)
        assert sum(1 for _ in it) in (8, 15, 60)
        assert not it.stats().events
        assert len(received) > 4
        assert max(received) < 8000  # with the figures of the run; an element has 40,000 at least
        received.clear()


def test_without_room_in_the_arena_batches_come_through_the_socket():
    ds = D.range(60).map(lambda x: np.full(50_000, x)).batch(5)
    budget = ps.Options(isolate=True, memory_budget=1 << 14)  # an arena of two pages
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.errors.BudgetWarning)
        it = ds.with_options(budget).iterator(epoch=0)
        assert [int(x) for batch in it for x in batch[:, -1]] == list(range(60))


@pytest.mark.parametrize("limit", [1 << 20, 4 << 20])
@pytest.mark.parametrize("options", [{"isolate": True}, {"executor": "inline"}], ids=["isolated", "inline"])
def test_a_budget_holds_over_both_processes(limit, options):
    ds = D.range(400).map(lambda x: np.full(12_500, x)).batch(1)
    it = ds.with_options(ps.Options(**options, memory_budget=limit)).iterator(epoch=0)
    assert len(list(map(len, it))) == 400
    stats = it.stats()
    assert stats.budget == limit
    assert 0 < stats.peak_bytes <= limit + 106_496  # one batch that the consumer has, in memory of the next size
    assert not stats.notes


def test_batches_are_written_into_given_memory():
    blocks = []

    def reserve(nbytes):
        whole = np.zeros(nbytes + 64, np.uint8)
        at = -whole.ctypes.data % 64
        blocks.append(whole[at : at + nbytes])
        return blocks[-1]

    ds = D.range(40).map(lambda x: np.full(1000, x)).batch(4)
    for each in (ds, D.from_tensor_slices(np.arange(40_000).reshape(40, 1000) // 1000).filter(lambda x: True).batch(4)):
        blocks.clear()
        it = each.with_options(ISOLATED).iterator(epoch=0, allocate=reserve)
        got = list(it)
        assert [int(x) for batch in got for x in batch[:, 0]] == list(range(40))
        assert sum(any(np.may_share_memory(batch, block) for block in blocks) for batch in got) >= 8


# Other parts of the library


def test_a_switch_continues_each_of_its_datasets():
    train = D.range(10).map(lambda x: x + 1).repeat().with_options(ISOLATED)
    with ps.Switch(train=train, val=D.range(3).with_options(ISOLATED)) as switch:
        steps = [int(next(switch["train"])) for _ in range(4)]
        checks = [[int(x) for x in switch["val"]] for _ in range(2)]
        saved = switch.state_dict()
        steps.append(int(next(switch["train"])))
    assert steps == [1, 2, 3, 4, 5]
    assert checks == [[0, 1, 2]] * 2
    with ps.Switch(train=train, val=D.range(3)) as again:
        again.load_state_dict(saved)
        assert int(next(again["train"])) == 5


@pytest.mark.parametrize("streamed", [False, True])
def test_ranks_get_their_parts(streamed):
    ds = D.range(64).shuffle(seed=3).filter(lambda x: x % 2 == 0) if streamed else D.range(64).shuffle(seed=3)
    whole = ds.batch(4, drop_remainder=True).with_options(ps.Options(seed=0))
    for rank in range(2):
        mine = whole.shard_by_rank(rank=rank, world=2)
        here = [batch.tolist() for batch in mine.iterator(epoch=0)]
        assert [batch.tolist() for batch in mine.with_options(ISOLATED).iterator(epoch=0)] == here


def test_a_feed_takes_its_batches():
    torch = pytest.importorskip("torch")
    ds = D.range(40).map(lambda x: np.full(3000, x)).batch(4).with_options(ISOLATED)
    got = list(ds.to_torch())
    assert all(isinstance(batch, torch.Tensor) for batch in got)
    assert [int(x) for batch in got for x in batch[:, -1]] == list(range(40))

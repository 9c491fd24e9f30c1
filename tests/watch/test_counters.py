"""Counts of every operation, taken from outside it."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import sleep

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.nesting import leaf_column
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Occurrence
from penstock.engine.tuning.tuner import Tuner
from penstock.plan.flow import Piece
from penstock.watch.counters import Counters
from penstock.watch.counts import BYTES, CALLS, CPU, QUICK, ROWS, WALL
from penstock.watch.trace.spans import SpanCounters


def counted(ds, *calls):
    counters = Counters()
    program = compiled(ds._plan, np.empty, counters)
    for rows in calls:
        program(np.array(rows))
    return counters


def of(ds, kind="program", number=0):
    return Occurrence(number, ds._plan, kind)


def test_calls_rows_and_bytes_are_exact():
    ds = Dataset.from_tensor_slices(np.zeros((10, 4), np.float32)).skip(2).batch(3)
    counters = counted(ds, [0, 1], [2])
    cells = [operation.total() for operation in counters.operations]
    assert [operation.node.label() for operation in counters.operations][1:] == ["skip(2)", "batch(3)"]
    assert [cell[CALLS] for cell in cells] == [2, 2, 2]
    assert [cell[ROWS] for cell in cells] == [8, 8, 3]
    assert [cell[BYTES] for cell in cells] == [8 * 16] * 3
    assert min(cell[WALL] for cell in cells) > 0
    assert all(cell[CPU] >= 0 for cell in cells)


@pytest.mark.parametrize(
    "given",
    [
        Dataset.from_source([b"abc", b"d"]),
        Dataset.from_source([object(), object()]),
        Dataset.from_tensor_slices(np.array(["abc", "d"])),
        Dataset.from_tensor_slices(np.array([b"abc", "d"], object)),
        Dataset.from_tensor_slices({"x": np.zeros((2, 3)), "y": np.ones(2, np.float32)}),
        Dataset.from_tensor_slices(ps.Ragged.from_rows([[1, 2], [3, 4]])),
        Dataset.from_tensor_slices(ps.Sparse.from_dense(np.eye(2))),
    ],
)
def test_elements_made_one_at_a_time_count_as_those_made_together(given):
    ds = given.repeat(40).map(lambda x: {"made": x})
    cells = [operation.total() for operation in counted(ds, *[[row] for row in range(80)]).operations]
    wanted = [operation.total() for operation in counted(ds, list(range(80))).operations]
    assert [cell[CALLS] for cell in cells] == [80, 80, 80]
    assert [cell[ROWS] for cell in cells] == [cell[ROWS] for cell in wanted] == [80, 80, 80]
    assert all(cell[BYTES] > 0 for cell in cells)


def test_counters_know_the_inputs_of_operations():
    ds = Dataset.zip(Dataset.range(5), Dataset.range(6).skip(1)).batch(2)
    labels = {
        operation.node.label(): [each.node.label() for each in operation.inputs] for operation in counted(ds).operations
    }
    assert labels == {
        "range(5)": [],
        "range(6)": [],
        "skip(1)": ["range(6)"],
        "zip(2 datasets)": ["range(5)", "skip(1)"],
        "batch(2)": ["zip(2 datasets)"],
    }


def test_counts_of_threads_add_up():
    counters = Counters()
    program = compiled(Dataset.range(1000)._plan, np.empty, counters)
    threads = [threading.Thread(target=lambda: [program(np.arange(10)) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (operation,) = counters.operations
    assert operation.total()[:2] == [200, 2000]


def test_counts_are_sent_once():
    here, there = counted(Dataset.range(9).skip(1), [0]), counted(Dataset.range(9).skip(1), [1, 2], [3])
    here.absorb(there.drain())
    assert [operation.total()[ROWS] for operation in here.operations] == [4, 4]
    assert [cell[ROWS] for cell in there.drain().cells.values()] == [0, 0]


def test_a_pickled_observer_begins_at_zero():
    assert pickle.loads(pickle.dumps(counted(Dataset.range(9), [0]))).operations == []


def test_bytes_of_ragged_and_sparse_leaves_are_those_of_their_values():
    ragged, sparse = ps.Ragged.from_rows([[[1]], [[2, 3]]]), ps.Sparse.from_dense(np.eye(2))
    for leaf, values in ((ragged, ragged.flat_values), (sparse, sparse.values)):
        for ds, rows in ((Dataset.from_tensor_slices(leaf), [0, 1]), (Dataset.from_tensors(leaf), [0])):
            assert counted(ds, rows).operations[0].total()[BYTES] == values.nbytes


def test_bytes_of_function_results_are_a_multiple_of_one():
    ds = Dataset.range(40).map(lambda x: {"a": np.zeros(3), "b": (1, "ab")})
    for calls in ([[0, 1], [2]], [[row] for row in range(40)]):
        total = counted(ds, *calls).operations[-1].total()
        assert total[BYTES] == total[ROWS] * (24 + 8 + 2)
    assert counted(ds, []).operations[-1].total()[BYTES] == 0
    with ds.filter(lambda x: True).iterator() as it:
        list(it)
    assert [each.bytes for each in it.stats().operations if each.name.startswith("filter")] == [40 * 34]


def test_text_counts_by_length_also_in_given_memory():
    counters = Counters()
    read = counters.wrap(of(Dataset.from_source(["four"] * 5)), lambda rows, out=None: leaf_column(out[0]))
    read(np.arange(5), [np.array(["four"] * 5, object)])
    assert counters.operations[0].total()[BYTES] == 20


def test_a_call_that_raises_counts_only_its_time():
    counters = Counters()

    def fails(rows, out=None):
        raise KeyError

    program = counters.wrap(of(Dataset.range(3)), fails)
    with pytest.raises(KeyError):
        program(np.arange(2))
    calls, rows, wall, _, nbytes, *others = counters.operations[0].total()
    assert wall > 0
    assert not any([calls, rows, nbytes, *others])


@pytest.mark.parametrize("options", [Options(executor="inline"), Options(executor="threads", workers=2)])
def test_times_are_not_negative_if_elements_fail(options):
    def fails(x):
        if x % 50 == 7:
            raise LookupError
        return x

    batches = Dataset.range(400).batch(20).map(np.sort)
    for ds in (
        batches.unbatch().map(fails).map(abs).ignore_errors(),
        batches.map(lambda b: fails(b[7])).map(abs).ignore_errors(),
        Dataset.range(400).map(abs).map(fails, on_error=ps.on_error.replace(0)).batch(4),
    ):
        it = ds.with_options(options).iterator()
        assert len(list(it)) > 10
        assert all(operation.wall >= 0 for operation in it.stats().operations)


# Streams


class Clock:
    """One that only stands still or jumps."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now

    def pass_by(self, x):
        """Take 2 ms for an element."""
        self.now += 2_000_000
        return True


class Slow(Sequence):
    """Elements that take time to come by."""

    def __init__(self, clock):
        self.clock = clock

    def __len__(self):
        return 40

    def __getitem__(self, at):
        if at >= len(self):
            raise IndexError
        self.clock.pass_by(at)
        return at


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for name in ("perf_counter_ns", "thread_time_ns"):
        monkeypatch.setattr(f"penstock.watch.counters.{name}", clock)
    return clock


def stats_of(ds, **options):
    with ds.with_options(Options(**options)).iterator() as it:
        for _ in it:
            pass
        return {operation.name.partition("(")[0]: operation for operation in it.stats().operations}


WAYS = [{"executor": "inline"}, {"executor": "threads", "workers": 2}]


@pytest.mark.parametrize("options", WAYS, ids=["inline", "threads"])
def test_every_operation_of_a_stream_counts_its_elements(options):
    stats = stats_of(Dataset.range(40).filter(lambda x: x % 2 == 0).skip(4).map(lambda x: x).batch(3), **options)
    assert {name: stats[name].rows for name in stats} == {"range": 40, "filter": 20, "skip": 16, "map": 16, "batch": 6}
    assert all(stats[name].calls >= 1 for name in stats)


KEPT = Dataset.range(40).filter(lambda x: True)
BUILDS = {
    "filter": lambda clock: Dataset.range(40).filter(clock.pass_by).skip(1).batch(4).take(99),
    "map": lambda clock: KEPT.skip(0).enumerate().map(lambda i, x: clock.pass_by(x)).batch(4).take(99),
    "scan": lambda clock: KEPT.scan(0, lambda state, x: (state, clock.pass_by(x))).batch(4),
    "from_source": lambda clock: Dataset.from_source(Slow(clock)).filter(lambda x: True).skip(1).batch(4),
    "from_generator": lambda clock: Dataset.from_generator(lambda: iter(Slow(clock))).skip(1).map(float).batch(4),
}


@pytest.mark.parametrize("dear", BUILDS)
def test_time_counts_for_the_operation_that_took_it(dear, clock):
    stats = stats_of(BUILDS[dear](clock), executor="inline")
    assert {name: round(stats[name].wall, 6) for name in stats if stats[name].wall} == {dear: clock.now / 1e9}


def test_counts_of_a_stretch_in_another_process_return():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        stats = stats_of(Dataset.range(40).filter(even).skip(4).map(even), executor=executor)
    assert {name: stats[name].rows for name in stats} == {"range": 40, "filter": 20, "skip": 16, "map": 16}


def even(x):
    return x % 2 == 0


def test_a_failed_or_closed_flow_counts_up_to_its_end():
    def up_to(end):
        yield from range(end)
        raise LookupError

    with Dataset.from_generator(up_to, args=(5,)).skip(1).iterator() as it:
        with pytest.raises(LookupError):
            list(it)
        rows = {operation.name.partition("(")[0]: operation.rows for operation in it.stats().operations}
    assert rows == {"from_generator": 5, "skip": 4}
    closed = []

    def begin(epoch, mark=None):
        try:
            while True:
                yield Piece(Items([1]), np.arange(1))
        finally:
            closed.append(True)

    counters = Counters()
    flow = counters.wrap(of(Dataset.range(3), "flow"), begin)(0)
    next(flow)
    flow.close()
    assert closed == [True]
    assert counters.operations[0].total()[ROWS] == 1


def test_alternating_streams_count_as_one():
    ds = Dataset.range(64).filter(lambda x: True).batch(2).map(len).shard(2, 1, streams=8)
    for options in (Options(executor="inline"), Options(executor="threads", workers=2)):
        with ds.with_options(options).iterator() as it:
            list(it)
            rows = {operation.name: operation.rows for operation in it.stats().operations}
            assert len(it.stats().operations) == 5
        filtered = {"range(64)": 32, "filter(lambda, traced)": 32}
        assert rows == {**filtered, "batch(2)": 16, "map(len)": 16, "shard(4 of 8 streams)": 16}


def test_functions_wrapped_for_one_number_count_as_one_operation():
    counters = Counters()
    one, other = of(Dataset.range(3)), of(Dataset.range(3).filter(even), "flow", number=1)
    for number in (other, one, one, other):
        if number is one:
            counters.wrap(one, lambda rows, out=None: Items([1] * len(rows)))(np.arange(2))
        else:
            list(counters.wrap(other, lambda epoch, mark=None: iter([Piece(Items([1]), np.arange(1))]))(0))
    assert [operation.total()[ROWS] for operation in counters.operations] == [4, 2]
    assert [operation.node.name for operation in counters.operations] == ["range(3)", "filter"]


def test_a_dataset_that_is_read_twice_counts_as_two_operations():
    ds = Dataset.range(40)
    for options in WAYS:
        zipped = Dataset.zip(ds, ds.shuffle(seed=1)).batch(8).with_options(Options(**options))
        with zipped.iterator() as it:
            list(it)
            rows = [(operation.name.partition("(")[0], operation.rows) for operation in it.stats().operations]
        assert rows == [("range", 40), ("range", 40), ("shuffle", 40), ("zip", 40), ("batch", 5)]


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_batches_made_in_parts_are_counted_as_batches(workers):
    ds = Dataset.range(40).map(lambda x: sleep(2e-3) or x, vectorized=False)
    with ds.batch(20).repeat(2).with_options(Options(workers=workers)).iterator() as it:
        assert len(list(it)) == 4
        rows = [(operation.name.partition("(")[0], operation.rows) for operation in it.stats().operations]
    assert rows == [("range", 80), ("map", 80), ("batch", 4), ("repeat", 4)]


def test_each_epoch_in_the_same_worker_processes_is_counted():
    ds = Dataset.range(24).map(str).batch(4).with_options(Options(executor="processes", workers=1))
    for _ in range(3):
        with ds.iterator() as it:
            assert len(list(it)) == 6
            assert [operation.rows for operation in it.stats().operations] == [24, 24, 6]


def test_of_cheap_calls_one_stands_for_some(monkeypatch):
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("penstock.watch.counters.perf_counter_ns", lambda: next(clock))
    ds = Dataset.range(400).batch(2).map(lambda x: x).with_options(Options(executor="inline", rewrite=False))
    monkeypatch.setattr(Tuner, "group_items", lambda self, *, beside=False: 1)
    with ds.iterator() as it:
        assert len(list(it)) == 200
        last = it.stats().operations[-1]
    assert (last.calls, last.rows) == (200, 200)
    assert last.wall == pytest.approx(200 * 1e-6, rel=0.16)  # each measured call takes 1 µs; some come after the last
    assert next(clock) < 2000 * 1000


@pytest.mark.parametrize("counters", [Counters, SpanCounters])
@pytest.mark.parametrize("taken", [1, 17, 25, 31, 32, 40, 200])
def test_calls_that_are_not_measured_count_at_any_moment(counters, taken, monkeypatch):
    monkeypatch.setattr("penstock.watch.counters.perf_counter_ns", lambda: 0)
    monkeypatch.setattr("penstock.dataset.iterator.Counters", counters)
    monkeypatch.setattr(Tuner, "group_items", lambda self, *, beside=False: 1)
    ds = Dataset.range(600).batch(3).map(lambda x: x).with_options(Options(executor="inline", rewrite=False))
    with ds.iterator() as it:
        for _ in range(taken):
            next(it)
        source, batched, mapped = it.stats().operations
    assert (mapped.calls, mapped.rows, batched.rows, source.rows) == (taken, taken, taken, 3 * taken)
    assert (mapped.bytes, batched.bytes) == (24 * taken, 24 * taken)


def test_expensive_calls_are_all_measured(monkeypatch):
    clock = iter(range(0, 10**12, QUICK))
    monkeypatch.setattr("penstock.watch.counters.perf_counter_ns", lambda: next(clock))
    monkeypatch.setattr(Tuner, "group_items", lambda self, *, beside=False: 1)
    ds = Dataset.range(100).batch(2).map(lambda x: x).with_options(Options(executor="inline", rewrite=False))
    with ds.iterator() as it:
        list(it)
        assert it.stats().operations[-1].wall == pytest.approx(50 * QUICK * 1e-9)

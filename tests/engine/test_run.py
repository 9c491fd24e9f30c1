"""The four ways a run ends, and what is left of it: nothing."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from penstock.engine.job import Job

import penstock as ps
from penstock.core.errors import BudgetError, ClosedError, ElementError, WorkerError

ROOT = Path(__file__).resolve().parents[2]
D = ps.Dataset
WAYS = [
    ps.Options(),
    ps.Options(executor="inline"),
    ps.Options(executor="threads", workers=1),
    ps.Options(executor="threads", workers=4),
]


@pytest.fixture(params=WAYS, ids=["auto", "inline", "1 thread", "4 threads"])
def way(request):
    return request.param


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = set(threading.enumerate())
    yield
    gc.collect()
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(20)
    assert [thread.name for thread in left if thread.is_alive()] == []


# Exhausted


@pytest.mark.parametrize("depth", [0, -7, 1])
def test_only_the_end_of_the_epoch_ends_a_run(depth, monkeypatch, way):
    monkeypatch.setattr("penstock.engine.tuning.tuner.Tuner.depth", lambda tuner: depth)
    assert list(D.range(30).map(lambda x: x + 1, vectorized=False).with_options(way)) == list(range(1, 31))


@pytest.mark.parametrize("size", [1, 3])
def test_tasks_that_are_begun_together_ask_for_their_rows_once(size, monkeypatch):
    asked = []
    rows = Job.rows
    monkeypatch.setattr(Job, "rows", lambda job, *span: (asked.append(span), rows(job, *span))[1])
    monkeypatch.setattr("penstock.engine.tuning.tuner.Tuner.group_items", lambda tuner, **beside: size)
    monkeypatch.setattr("penstock.engine.tuning.tuner.Tuner.split_item", lambda tuner: 4)  # as of what is dear
    ds = D.range(300).map(lambda x: x + 1, vectorized=False).with_options(ps.Options(executor="threads", workers=2))
    assert list(ds) == list(range(1, 301))
    assert len(asked) < 300 / size / 2 + 2


def test_exhausted_it_stays_at_its_end(way):
    it = D.range(5).batch(2).with_options(way).iterator()
    assert len(list(it)) == 3
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(it)
    assert it.state_dict()["row"] == 3
    it.close()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 256, 257])
def test_epochs_of_any_length(count, way):
    for ds in (D.range(count), D.range(count).batch(2), D.range(count).batch(2, drop_remainder=True)):
        made = list(ds.with_options(way))
        assert len(made) == len(ds)
        assert [x for item in made for x in np.atleast_1d(item)] == list(range(count))[: len(made) * 2]


# Closed


def test_closed_it_says_so(way):
    it = D.range(5).with_options(way).iterator()
    assert next(it) == 0
    it.close()
    it.close()
    for _ in range(2):
        with pytest.raises(ClosedError, match="this iterator was closed"):
            next(it)
    assert it.state_dict()["row"] == 1


def test_closed_before_it_began(way):
    it = D.range(5).with_options(way).iterator()
    it.close()
    with pytest.raises(ClosedError, match="closed"):
        next(it)
    assert it.state_dict()["row"] == 0


def test_a_with_block_closes(way):
    with D.range(5).with_options(way).iterator() as it:
        next(it)
    with pytest.raises(ClosedError):
        next(it)


def test_a_closed_iterator_goes_on_from_a_state(way):
    it = D.range(9).batch(2).with_options(way).iterator()
    next(it)
    it.close()
    it.load_state_dict(it.state_dict())
    assert [batch.tolist() for batch in it] == [[2, 3], [4, 5], [6, 7], [8]]


def test_closing_returns_at_once_while_a_task_sleeps_in_user_code():
    begun, wake, ended = threading.Event(), threading.Event(), []

    def sleep(x):
        begun.set()
        assert wake.wait(60)
        return x

    it = D.range(9).map(sleep, num_parallel_calls=2).iterator()

    def consume():
        try:
            next(it)
        except ClosedError as error:
            ended.append(str(error))

    consumer = threading.Thread(target=consume)
    consumer.start()
    assert begun.wait(20)
    it.close()  # from another thread than the one that waits
    consumer.join(20)
    assert not wake.is_set()
    assert ended == ["this iterator was closed while it waited for its next item"]
    assert it.state_dict()["row"] == 0
    wake.set()


def test_an_iterator_that_is_dropped_leaves_nothing(way):
    it = D.range(10_000).map(lambda x: x).batch(2).with_options(way).iterator()
    next(it)
    reference = weakref.ref(it)
    del it
    assert reference() is None  # and the fixture looks for threads


# Failed


def at_37(x):
    if x == 37:
        raise LookupError("not 37")
    return x


def test_failed_it_says_so(way):
    it = D.range(60).map(at_37).with_options(way).iterator()
    with pytest.raises(LookupError):
        list(it)
    for _ in range(2):
        with pytest.raises(ClosedError, match="this iterator has failed"):
            next(it)
    assert it.state_dict()["row"] == 37


@pytest.mark.parametrize("batch", [None, 1, 4, 37, 38])
def test_what_comes_before_an_error_does_not_depend_on_who_runs_it(batch, way):
    ds = D.range(500).map(at_37)
    ds = ds if batch is None else ds.batch(batch)
    received = []
    with pytest.raises(LookupError):
        received.extend(ds.with_options(way))
    assert len(received) == 37 // (batch or 1)


def test_the_first_of_several_errors_is_the_one_that_is_raised(way):
    def picky(x):
        if x >= 30:
            raise ValueError(int(x))
        return x

    for ds in (D.range(99), D.range(99).map(lambda x: x).prefetch(50)):
        with pytest.raises(ValueError, match=r"^30\b"):
            list(ds.map(picky).with_options(way))


def test_a_failed_run_can_be_tried_again(way):
    broken = [True]

    def fragile(x):
        if x == 5 and broken[0]:
            raise OSError("the disk is away")
        return x

    it = D.range(12).map(fragile).batch(2).with_options(way).iterator()
    received = []
    with pytest.raises(OSError, match="away"):
        received.extend(batch.tolist() for batch in it)
    broken[0] = False
    it.load_state_dict(it.state_dict())
    assert received + [batch.tolist() for batch in it] == [[x, x + 1] for x in range(0, 12, 2)]


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, GeneratorExit])
@pytest.mark.parametrize("kind", ["elements", "batches", "rng", "columns", "source"])
def test_a_function_cannot_end_the_epoch_without_a_word(error, kind, way):
    def stop(x):
        if np.any(x == 7):
            raise error
        return x

    def drawing(x, *, rng):
        return stop(x)

    class Source:
        def __len__(self):
            return 20

        def __getitem__(self, row):
            return stop(np.int64(row))

    ds = {
        "elements": D.range(20).map(stop),
        "batches": D.range(20).map(stop).batch(2),
        "rng": D.range(20).map(drawing),
        "columns": D.range(20).map(stop, vectorized=True),
        "source": D.from_source(Source()),
    }[kind]
    received = []
    with pytest.raises((RuntimeError, StopAsyncIteration, GeneratorExit)):
        received.extend(ds.with_options(way))
    assert len(received) <= 7


def notes_of(ds):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        list(ds)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_errors_name_operation_row_record_and_how_to_replay(way):
    ds = D.range(100, 200).skip(3).map(at_137).batch(4).with_options(way)
    said = notes_of(ds)
    assert "in map(at_137), at row 34" in said
    assert "the number 137" in said
    assert "while making batch 8; make it again with ds[8]" in said
    with pytest.raises(LookupError, match="not 137"):
        ds[8]


def at_137(x):
    if x == 137:
        raise LookupError("not 137")
    return x


def test_errors_of_another_epoch_say_so(way):
    ds = D.range(9).shuffle(seed=1).map(lambda x: 1 // int(x)).with_options(way)
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds.iterator(epoch=3))
    notes = "\n".join(caught.value.__notes__)
    assert " of epoch 3" in notes
    position = notes.rpartition("ds[3, ")[2].rstrip("]")
    with pytest.raises(ZeroDivisionError):
        ds[3, int(position)]


def test_the_traceback_begins_in_the_users_code(way):
    with pytest.raises(LookupError) as caught:
        list(D.range(60).map(at_37).with_options(way))
    frames = [entry.name for entry in caught.traceback]
    assert frames[-1] == "at_37"


def test_elements_that_do_not_fit_name_both_rows(way):
    ds = D.range(20).map(lambda x: np.zeros(3 if x == 10 else 2)).batch(4).with_options(way)
    said = notes_of(ds)
    assert "rows 8 and 10 differ: shape (2,) against (3,)" in said
    assert "batch 2" in said


def test_a_failure_out_of_order_loses_no_element():
    ds = D.range(200).map(at_37).with_options(ps.Options(executor="threads", workers=2, deterministic=False))
    it = ds.iterator()
    received = []
    with pytest.raises(LookupError):
        received.extend(it)
    state = it.state_dict()
    ahead = [row for low, high in state.get("ahead", []) for row in range(low, high)]
    assert sorted(received) == sorted([*range(state["row"]), *ahead])
    assert 37 not in received


# Cancelled

INTERRUPTED = """
import os, signal, sys, threading
import penstock as ps

begun = threading.Event()

def sleep(x):
    if x == 3:
        begun.set()
        threading.Event().wait()
    return x

def once(*_):
    if not interrupted:
        interrupted.append(True)
        raise KeyboardInterrupt

def interrupt():
    begun.wait()
    while not interrupted:  # Python may overlook a signal just before it blocks
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.1)

interrupted = []
signal.signal(signal.SIGINT, once)

it = ps.Dataset.range(9).map(sleep).with_options(ps.Options(executor={executor!r}, workers={workers})).iterator()
threading.Thread(target=interrupt, daemon=True).start()
received = []
try:
    received.extend(it)
except KeyboardInterrupt:
    print("interrupted", len(received) <= 3)
try:
    next(it)
except ps.errors.ClosedError as error:
    print(error)
print(it.state_dict()["row"] == len(received))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("executor", "workers"), [("threads", 2), ("inline", None)])
def test_an_interrupt_cancels_the_wait(executor, workers):
    program = INTERRUPTED.format(executor=executor, workers=workers)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    said = "interrupted True\nthis iterator was cancelled: begin a new one, or load a saved state into it\nTrue\n"
    assert (done.stdout, done.stderr, done.returncode) == (said, "", 0)


def test_elements_that_do_not_fit_together_are_named_by_their_records(way):
    sizes = [3] * 10_000
    sizes[7_777] = 4
    ds = D.from_source(sizes).map(np.zeros).shuffle(seed=1)
    row = next(row for row in range(10_000) if ds.locate(row)[0].position == 7_777)
    for pipeline in (ds.batch(50), ds.batch(50).map(lambda batch: batch)):
        with pytest.raises(ElementError, match=rf"elements of rows .*\b{row}\b") as caught:
            list(pipeline.with_options(way))
        assert any(note.endswith("is made from item 7777 of list") for note in caught.value.__notes__)
        assert sum("is made from item" in note for note in caught.value.__notes__) == 2


def test_what_was_made_before_an_executor_broke_is_received():
    class Breaks(AtOnce):
        tasks = 0

        def submit(self, fn, /, *args, **kwargs):
            self.tasks += 1
            if self.tasks > 20:
                raise RuntimeError("no more today")
            return super().submit(fn, *args, **kwargs)

    with Breaks(2) as executor:
        it, received = D.range(60).with_options(ps.Options(executor=executor, workers=2)).iterator(), []
        with pytest.raises(WorkerError, match="no more today"):
            received.extend(it)
    assert received == list(range(len(received)))
    assert it.state_dict()["row"] == len(received) >= 20


# Memory


def test_a_batch_beyond_the_budget_is_refused_before_it_is_made(way):
    made = []
    ds = D.from_tensor_slices(np.zeros((8, 1000))).batch(4).map(lambda x: made.append(x) or x)
    big = D.from_tensor_slices(np.zeros((8, 1000))).batch(4)
    for limit, fits in ((4 * 8000, True), (4 * 8000 - 1, False)):
        bounded = big.with_options(way).with_options(ps.Options(memory_budget=limit))
        if fits:
            assert len(list(bounded)) == 2
        else:
            with pytest.raises(BudgetError, match=r"one batch takes 32,000 bytes .* allows 31,999"):
                list(bounded)
    assert made == []
    assert len(ds) == 2


def test_the_window_obeys_the_budget():
    batch = 1 << 16
    ds = D.range(60).map(lambda x: np.zeros(batch, np.uint8)).batch(1)
    it = ds.with_options(ps.Options(executor="threads", workers=4, memory_budget=3 * batch)).iterator()
    most = 0
    next(it)  # what a batch takes is known from here
    for _ in range(5):
        next(it)
    for item in it:
        del item
        run = it._run
        most = max(most, run._window.nbytes)
        assert run._window.nbytes <= 3 * batch
    assert most > 0


class AtOnce(ThreadPoolExecutor):
    """Runs what is submitted before `submit` returns, so that all that was begun is made when the consumer asks."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except ValueError as error:
            future.set_exception(error)
        return future


@pytest.fixture
def at_once():
    with AtOnce(2) as executor:
        yield ps.Options(executor=executor, workers=2)


@pytest.mark.parametrize("depth", [None, 50])
def test_what_is_held_for_the_consumer_is_of_the_budget(at_once, depth):
    size, batches = 1 << 16, 6
    ds = D.range(100).map(lambda x: np.zeros(size, np.uint8)).batch(1)
    ds = (ds if depth is None else ds.prefetch(depth)).with_options(at_once)
    it, most = ds.with_options(ps.Options(memory_budget=batches * size)).iterator(), 0
    for _ in it:
        most = max(most, len(it._items) + len(it._run._window))
    assert batches // 2 < most <= batches


def test_what_is_made_already_is_taken_at_once_and_the_position_stays_exact(at_once):
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


def test_a_failure_comes_after_what_was_taken_before_it(at_once):
    def fails_at_11(x):
        if x == 11:
            raise ValueError("eleven")
        return x

    it, received = D.range(30).map(fails_at_11).with_options(at_once).iterator(), []
    with pytest.raises(ValueError, match="eleven") as caught:
        received.extend(it)
    assert received == list(range(11))
    assert "while making element 11; make it again with ds[11]" in caught.value.__notes__


def test_a_short_window_for_a_short_prefetch():
    ds = D.range(200).map(lambda x: x, num_parallel_calls=2).prefetch(3)
    with ds.iterator() as it:
        for _ in range(50):
            next(it)
            assert it._run._window.items <= 3 + 1


# Who runs it


def test_auto_stays_inline_for_cheap_work_and_leaves_for_dear():
    with D.range(5000).batch(10).iterator() as it:
        for _ in range(400):
            next(it)
        assert it.stats().mode == "inline"

    def dear(x):
        threading.Event().wait(0.006)
        return x

    with D.range(500).map(dear).iterator() as it:
        for _ in range(4):
            next(it)
        assert it.stats().mode.endswith("threads")
        assert it.stats().decisions


def test_one_iterator_may_be_shared_by_threads(way):
    it = D.range(3000).map(lambda x: x).with_options(way).iterator()
    with ThreadPoolExecutor(4) as consumers:
        parts = list(consumers.map(lambda _: list(it), range(4)))
    assert sorted(x for part in parts for x in part) == list(range(3000))


def test_iterators_do_not_disturb_each_other(way):
    ds = D.range(200).batch(3).with_options(way)
    one, other = ds.iterator(epoch=0), ds.iterator(epoch=0)
    pairs = list(zip(one, other, strict=True))
    assert len(pairs) == 67
    assert all(np.array_equal(a, b) and a is not b for a, b in pairs)


def test_a_function_may_iterate_a_dataset_itself(way):
    inner = D.range(10).batch(5).with_options(way)
    made = list(D.range(6).map(lambda x: x + sum(int(b.sum()) for b in inner.iterator(epoch=0))).with_options(way))
    assert made == [45 + x for x in range(6)]


def test_no_element_for_a_structure_that_is_empty(way):
    with pytest.raises(ElementError):
        list(D.range(3).map(lambda x: None).with_options(way))

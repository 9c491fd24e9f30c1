"""Failing runs: the items before an error come first, with every executor, and the run can be continued."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ClosedError, WorkerError

D = ps.Dataset


def everything(x):
    return True


def even(x):
    return x % 2 == 0


def at_37(x):
    if x == 37:
        raise LookupError("not 37")
    return x


def is_not_37(x):
    at_37(x)
    return True


def second(_, x):
    return at_37(x)


def up_to_37():
    for x in range(500):
        yield at_37(x)


# Before the error

FAILING = {
    "rows": D.range(500).map(at_37),
    "filter": D.range(500).filter(is_not_37),
    "second stage": D.range(500).filter(everything).enumerate().map(second),
    "third stage": D.range(500).filter(is_not_37).enumerate().map(lambda i, x: x).enumerate().filter(lambda i, x: True),
    "generator": D.from_generator(up_to_37).map(lambda x: x),
}


@pytest.mark.parametrize("batch", [None, 1, 4, 37, 38])
@pytest.mark.parametrize("ds", FAILING.values(), ids=FAILING)
def test_the_items_before_an_error_do_not_depend_on_the_executor(ds, batch, way):
    received = []
    with pytest.raises(LookupError):
        received.extend((ds if batch is None else ds.batch(batch)).with_options(way))
    assert len(received) == 37 // (batch or 1)


def test_the_first_of_several_errors_is_raised(way):
    def picky(x):
        if x >= 30:
            raise ValueError(int(x))
        return x

    for ds in (D.range(99), D.range(99).map(lambda x: x).prefetch(50), D.range(99).filter(everything)):
        with pytest.raises(ValueError, match=r"^30\b"):
            list(ds.map(picky).with_options(way))


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


def test_a_failure_comes_after_the_items_made_together_with_it(at_once):
    def fails_at_11(x):
        if x == 11:
            raise ValueError("eleven")
        return x

    it, received = D.range(30).map(fails_at_11).with_options(at_once).iterator(), []
    with pytest.raises(ValueError, match="eleven") as caught:
        received.extend(it)
    assert received == list(range(11))
    assert "while making element 11; make it again with ds[11]" in caught.value.__notes__


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, GeneratorExit])
@pytest.mark.parametrize(
    "kind",
    [
        "elements",
        "batches",
        "rng",
        "columns",
        "source",
        "predicate",
        "later",
        "rng of a predicate",
        "columns of a predicate",
        "source of a stream",
        "batches of a stream",
    ],
)
def test_a_stop_iteration_of_a_function_does_not_end_the_epoch_silently(error, kind, way):
    def stop(x):
        if np.any(x == 8):
            raise error
        return x

    def drawing(x, *, rng):
        return stop(x)

    def choosing(x, *, rng):
        return bool(stop(x) + 1)

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
        "predicate": D.range(20).filter(lambda x: bool(stop(x) + 1)),
        "later": D.range(20).filter(even).skip(0).enumerate().map(lambda i, x: stop(x)),
        "rng of a predicate": D.range(20).filter(choosing),
        "columns of a predicate": D.range(20).filter(lambda x: stop(x) >= 0, vectorized=True),
        "source of a stream": D.from_source(Source()).filter(everything),
        "batches of a stream": D.range(20).filter(even).batch(2).map(stop),
    }[kind]
    received = []
    with pytest.raises((RuntimeError, StopAsyncIteration, GeneratorExit)):
        received.extend(ds.with_options(way))
    assert len(received) <= 8


# Afterwards


@pytest.mark.parametrize("ds", [D.range(60), D.range(60).filter(everything)], ids=["rows", "stream"])
def test_a_failed_iterator_reports_the_failure_and_its_position(ds, way):
    it = ds.map(at_37).with_options(way).iterator()
    with pytest.raises(LookupError):
        list(it)
    for _ in range(2):
        with pytest.raises(ClosedError, match="this iterator has failed"):
            next(it)
    assert it.state_dict()["row"] == 37


@pytest.mark.parametrize(
    ("ds", "wanted"),
    [
        (lambda fragile: D.range(60).map(fragile), list(range(60))),
        (lambda fragile: D.range(60).map(fragile).batch(2), [[x, x + 1] for x in range(0, 60, 2)]),
        (lambda fragile: D.range(60).filter(even).map(fragile), list(range(0, 60, 2))),
    ],
    ids=["rows", "batches", "stream"],
)
def test_a_failed_run_can_be_tried_again_from_its_state(ds, wanted, way):
    broken = [True]

    def fragile(x):
        if x == 38 and broken[0]:
            raise OSError("the disk is away")
        return x

    it = ds(fragile).with_options(way).iterator()
    received = []
    with pytest.raises(OSError, match="away"):
        received.extend(np.asarray(item).tolist() for item in it)
    assert received == wanted[: wanted.index(38) if 38 in wanted else wanted.index([38, 39])]
    with pytest.raises(ClosedError, match="this iterator has failed"):
        next(it)
    assert it.state_dict()["row"] == len(received)
    broken[0] = False
    it.load_state_dict(it.state_dict())
    assert received + [np.asarray(item).tolist() for item in it] == wanted


# Executors


def test_items_made_before_an_executor_broke_are_received(at_once):
    class Breaks(type(at_once.executor)):
        tasks = 0

        def submit(self, fn, /, *args, **kwargs):
            self.tasks += 1
            if self.tasks > 20:
                raise RuntimeError("no more today")
            return super().submit(fn, *args, **kwargs)

    with Breaks(2) as executor:
        it, received = D.range(60_000).with_options(ps.Options(executor=executor, workers=2)).iterator(), []
        with pytest.raises(WorkerError, match="no more today"):
            received.extend(it)
    assert received == list(range(len(received)))
    assert it.state_dict()["row"] == len(received) >= 20


def test_the_elements_before_an_error_in_a_process_are_the_same():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        ds = D.range(80).filter(even).shuffle(4, seed=1).map(lambda x: 1 // (x - 38))
        received, wanted = [], []
        with pytest.raises(ZeroDivisionError) as caught:
            received.extend(ds.with_options(ps.Options(executor=executor)))
        with pytest.raises(ZeroDivisionError):
            wanted.extend(ds)
    assert received == wanted
    assert any(note.startswith(f"while making element {len(wanted)};") for note in caught.value.__notes__)


def test_a_worker_process_that_dies_is_named_and_the_elements_before_are_received():
    home = os.getpid()

    def deadly(x):
        if x == 12 and os.getpid() != home:
            os._exit(1)
        return True

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        ds = D.range(40).filter(deadly).with_options(ps.Options(executor=executor))
        it = ds.iterator()
        received = []
        with pytest.raises(WorkerError, match=r"12 of .* ends the worker that makes it"):
            received.extend(it)
    assert received == list(range(len(received)))
    assert len(received) <= 12
    state = it.state_dict()
    assert state["row"] == len(received)
    again = D.range(40).filter(deadly).with_options(ps.Options(executor="inline")).iterator()
    again.load_state_dict(state)
    assert list(islice(again, 12 - len(received))) == list(range(len(received), 12))

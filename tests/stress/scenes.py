"""The scenes of the hunt: each builds a random pipeline, treats its iterators badly, and checks what they yield."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

import penstock as ps
from penstock.engine.workers.handed_in.remote import run_remotely

D = ps.Dataset
ROWS = 240
PATIENCE = 60


class Shared:
    """What all threads of the hunt use at the same time: executors, and a dataset."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(3)
        self.ds = D.range(ROWS).map(lambda x: x * 3).shuffle(seed=5).batch(4)

    def close(self) -> None:
        self.pool.shutdown()


class Fragile(Executor):
    """Runs tasks in a thread as if it were another process, and breaks now and then."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.thread, self.lock = draw, ThreadPoolExecutor(1), threading.Lock()
        self.under_way: list[Future[Any]] = []
        self.left = draw.randrange(2, 40)  # tasks; a suspect alone, the first, is never deadly

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> Future[Any]:
        assert fn is run_remotely
        future: Future[Any] = Future()
        with self.lock:
            if self.left == 0:
                raise BrokenExecutor("broken")
            self.under_way.append(future)
            self.thread.submit(self.run, future, args)
        return future

    def run(self, future: Future[Any], args: Any) -> None:
        with self.lock:
            if self.left == 0:
                return
            self.left -= 1
            broken, given = self.left == 0, list(self.under_way)
            if not broken:
                self.under_way.remove(future)
        if not broken:
            if future.set_running_or_notify_cancel():
                try:
                    result = run_remotely(*args)
                except Exception as error:  # noqa: BLE001 - the future carries it
                    future.set_exception(error)
                else:
                    future.set_result(result)
            return
        for each in given:
            with suppress(Exception):
                each.set_exception(BrokenExecutor("a worker died"))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.thread.shutdown(wait=False, cancel_futures=cancel_futures)


def pipeline(draw: random.Random) -> ps.Dataset[Any]:
    """Return a random pipeline: rows or a stream, with a shuffle, a batch, datasets in datasets, a prefetch."""
    ds: ps.Dataset[Any] = D.range(ROWS)
    if draw.random() < 0.5:
        ds = ds.shuffle(seed=draw.randrange(99))
    for _ in range(draw.randrange(1, 5)):
        step = draw.randrange(8)
        if step == 0:
            ds = ds.map(lambda x: x + 1)
        elif step == 1:
            ds = ds.map(lambda x: sum(range(int(np.ravel(x)[0]) % 300)) + x, vectorized=False)
        elif step == 2:
            ds = ds.filter(lambda x: int(np.ravel(x)[0]) % 5 > 0)
        elif step == 3:
            ds = ds.shuffle(draw.randrange(2, 40), seed=draw.randrange(99))
        elif step == 4:
            ds = ds.flat_map(lambda x: D.range(2).map(lambda y, x=x: np.ravel(x)[0] + y))
        elif step == 5:
            ds = ds.interleave(lambda x: D.range(2).map(lambda y, x=x: np.ravel(x)[0] * y), cycle_length=3)
        elif step == 6:
            ds = ds.prefetch(draw.randrange(1, 6))
        else:
            ds = ds.take(draw.randrange(1, 2 * ROWS))
    return ds.batch(draw.randrange(1, 9)) if draw.random() < 0.7 else ds


def ways(draw: random.Random, shared: Shared) -> ps.Options:
    """Return random options."""
    executor = draw.choice(["auto", "inline", "threads", "processes", shared.pool, lambda: Fragile(draw)])
    workers = None if executor == "inline" else draw.choice([None, 1, 2, 4])
    return ps.Options(executor=executor, workers=workers, stuck_after=draw.choice([None, 0.004]))


def plain(elements: Any) -> list[Any]:
    return [np.asarray(each).tolist() for each in elements]


def wanted(ds: ps.Dataset[Any]) -> list[Any]:
    return plain(ds.with_options(ps.Options(executor="inline", rewrite=False)).iterator(epoch=0))


def exhausted(draw: random.Random, shared: Shared) -> None:
    """A pass to the end yields what the inline run yields."""
    ds = pipeline(draw)
    assert plain(ds.with_options(ways(draw, shared)).iterator(epoch=0)) == wanted(ds)


def abandoned(draw: random.Random, shared: Shared) -> None:
    """Iterators are dropped after some elements, with garbage collection at any time."""
    ds = pipeline(draw).with_options(ways(draw, shared))
    for _ in range(5):
        it = iter(ds)
        list(islice(it, draw.randrange(20)))
        del it
        if draw.random() < 0.2:
            gc.collect()


def restored(draw: random.Random, shared: Shared) -> None:
    """A pass continues in other iterators, in other ways, in pieces of random length."""
    ds = pipeline(draw)
    received, state = list[Any](), None
    while True:
        with ds.with_options(ways(draw, shared)).iterator(epoch=0) as it:
            if state is not None:
                it.load_state_dict(state)
            some = plain(islice(it, draw.randrange(1, 60)))
            received += some
            state = it.state_dict()
            if not some:
                break
    assert received == wanted(ds)


def closed(draw: random.Random, shared: Shared) -> None:
    """Another thread closes the iterator at any time, and asks it for its state, stats and verdict."""
    ds = pipeline(draw)
    it = ds.with_options(ways(draw, shared)).iterator(epoch=0)
    steps = draw.randrange(200)

    def close() -> None:
        for _ in range(steps):
            it.state_dict(), it.stats(), it.verdict()
        it.close()

    closer = threading.Thread(target=close)
    closer.start()
    received = list[Any]()
    with suppress(ps.errors.ClosedError):
        received.extend(np.asarray(each).tolist() for each in it)
    closer.join(PATIENCE)
    assert not closer.is_alive()
    assert received == wanted(ds)[: len(received)]


class DrawnError(Exception):
    """What the functions of a scene raise."""


def failed(draw: random.Random, shared: Shared) -> None:
    """A function fails at a random element: the elements before it arrive, and the pass can be continued."""
    at = draw.randrange(ROWS)

    def fails(x: Any) -> Any:
        if x == at:
            raise DrawnError(int(x))
        return x

    ds = D.range(ROWS).map(fails).with_options(ways(draw, shared))
    it = ds.iterator(epoch=0)
    received = list[Any]()
    try:
        received.extend(map(int, it))
    except DrawnError:
        assert received == list(range(at))
        assert it.state_dict()["row"] == at
    else:
        raise AssertionError("nothing was raised")


def several(draw: random.Random, shared: Shared) -> None:
    """Several threads take elements of one iterator: each goes to one of them."""
    it = shared.ds.with_options(ways(draw, shared)).iterator(epoch=0)
    received = [list[Any]() for _ in range(3)]
    threads = [threading.Thread(target=lambda to=to: to.extend(map(np.ndarray.tolist, it))) for to in received]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert sorted(x for part in received for batch in part for x in batch) == [3 * x for x in range(ROWS)]


def nested(draw: random.Random, shared: Shared) -> None:
    """A function runs a pipeline of its own, on the same executor."""
    options = ways(draw, shared)
    inner = D.range(20).map(lambda y: y + 1).batch(5).with_options(ways(draw, shared))
    ds = D.range(30).map(lambda x: x + sum(int(batch.sum()) for batch in inner.iterator(epoch=0)), vectorized=False)
    if callable(options.executor) or options.executor == "processes":  # to which an executor cannot travel
        options = ps.Options(executor="threads", workers=2)
    assert plain(ds.with_options(options).iterator(epoch=0)) == [x + 210 for x in range(30)]


def interrupted(draw: random.Random, shared: Shared) -> None:
    """An interrupt reaches the consumer at any time: the run is over, and its state continues exactly."""
    ds = pipeline(draw)
    it = ds.with_options(ways(draw, shared)).iterator(epoch=0)
    consumer, done = threading.get_ident(), threading.Event()
    tosses = draw.randrange(300)

    def interrupt() -> None:
        for _ in range(tosses):
            it.state_dict()
        if not done.is_set():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(consumer), ctypes.py_object(KeyboardInterrupt))

    thread = threading.Thread(target=interrupt)
    received = list[Any]()
    try:
        thread.start()
        for each in it:
            received.append(np.asarray(each).tolist())
        done.set()
        thread.join(PATIENCE)
        for _ in range(100):  # an interrupt that was begun arrives here
            pass
    except KeyboardInterrupt:
        done.set()
    it.close()
    whole = wanted(ds)
    at = len(received)
    assert received == whole[:at]


def forked(draw: random.Random, shared: Shared) -> None:
    """A child continues the pass of its parent, inline, and ends at once."""
    ds = pipeline(draw)
    it = ds.with_options(ps.Options(executor=draw.choice(["auto", "threads", "inline"]))).iterator(epoch=0)
    received = plain(islice(it, draw.randrange(20)))
    whole = wanted(ds)
    child = os.fork()
    if child == 0:
        os._exit(0 if received + plain(islice(it, 20)) == whole[: len(received) + 20] else 1)
    received += plain(it)
    assert received == whole
    waited = threading.Event()
    for _ in range(600):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert status == 0, status
            return
        waited.wait(0.05)
    os.kill(child, signal.SIGABRT)
    raise AssertionError("the child stands still")


SCENES: dict[str, Callable[[random.Random, Shared], None]] = {
    scene.__name__: scene
    for scene in (exhausted, abandoned, restored, closed, failed, several, nested, interrupted, forked)
}

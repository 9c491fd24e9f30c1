"""A pass over a stream: the four ways it ends, what is left of it, and where it stands."""

from __future__ import annotations

import gc
import itertools
import json
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ClosedError, ElementError, WorkerError
from penstock.engine import streaming

ROOT = Path(__file__).resolve().parents[2]
D = ps.Dataset
POOL = "a pool of threads"
WAYS = {
    "auto": ps.Options(),
    "inline": ps.Options(executor="inline"),
    "1 thread": ps.Options(executor="threads", workers=1),
    "4 threads": ps.Options(executor="threads", workers=4),
    POOL: None,
}


def everything(x):
    return True


def even(x):
    return x % 2 == 0


@pytest.fixture(params=WAYS)
def way(request):
    if request.param != POOL:
        yield WAYS[request.param]
        return
    with ThreadPoolExecutor(2) as executor:
        yield ps.Options(executor=executor)


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


def test_exhausted_it_stays_at_its_end(way):
    it = D.range(10).filter(even).batch(2).with_options(way).iterator()
    assert len(list(it)) == 3
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(it)
    assert it.state_dict()["row"] == 3
    it.close()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 256, 257, 5000])
def test_epochs_of_any_length(count, way):
    for keep in (everything, even, lambda x: False):
        wanted = [x for x in range(count) if keep(x)]
        ds = D.range(count).filter(keep).with_options(way)
        assert list(ds) == wanted
        batches = [batch.tolist() for batch in ds.batch(7)]
        assert batches == [wanted[low : low + 7] for low in range(0, len(wanted), 7)]


def test_a_state_at_the_end_gives_nothing_more(way):
    it = D.range(30).filter(lambda x: x < 5).with_options(way).iterator()
    assert len(list(it)) == 5
    it.load_state_dict(json.loads(json.dumps(it.state_dict())))
    assert list(it) == []


# Closed


def test_closed_it_says_so(way):
    it = D.range(50).filter(even).with_options(way).iterator()
    assert next(it) == 0
    it.close()
    it.close()
    for _ in range(2):
        with pytest.raises(ClosedError, match="this iterator was closed"):
            next(it)
    assert it.state_dict()["row"] == 1
    it.load_state_dict(it.state_dict())
    assert list(it) == list(range(2, 50, 2))


def test_closed_before_it_began(way):
    it = D.range(5).filter(even).with_options(way).iterator()
    it.close()
    with pytest.raises(ClosedError, match="closed"):
        next(it)
    assert it.state_dict()["row"] == 0


def test_an_iterator_that_is_dropped_leaves_nothing(way):
    it = D.range(10_000).filter(even).batch(2).with_options(way).iterator()
    next(it)
    reference = weakref.ref(it)
    del it
    assert reference() is None  # and the fixture looks for threads


def closed_while_it_waits(ds, begun, state=None):
    """Close, from another thread, an iterator that waits for its next item; say whether that said so."""
    ended = []
    it = ds.iterator()
    if state is not None:
        it.load_state_dict(state)

    def consume():
        try:
            ended.append(next(it, "exhausted"))
        except ClosedError as error:
            ended.append(str(error))

    consumer = threading.Thread(target=consume)
    consumer.start()
    assert begun.wait(20)
    it.close()
    consumer.join(20)
    assert it.state_dict()["row"] == (0 if state is None else state["row"])
    return len(ended) == 1 and ended[0].startswith("this iterator was closed")


@pytest.mark.parametrize("build", ["one stage", "two stages", "batches"])
def test_closing_returns_at_once_while_a_task_sleeps_in_user_code(build):
    begun, wake = threading.Event(), threading.Event()

    def sleep(x):
        begun.set()
        assert wake.wait(60)
        return True

    ds = D.range(9).filter(sleep)
    ds = {"one stage": ds, "two stages": D.range(9).filter(everything).skip(1).filter(sleep), "batches": ds.batch(2)}[
        build
    ]
    assert closed_while_it_waits(ds.with_options(ps.Options(workers=2)), begun)
    assert not wake.is_set()
    wake.set()


def test_what_looks_for_an_element_that_never_comes_can_be_closed(way):
    begun = threading.Event()

    def never(x):
        begun.set()
        return False

    ds = D.counter().filter(never).take(1).with_options(way)
    assert closed_while_it_waits(ds, begun)


def endless(begun):
    """All numbers from 0 on; it can be waited for the thousandth."""
    yield from range(1000)
    begun.set()
    yield from itertools.count(1000)


FAR = {
    "generator": lambda begun: D.from_generator(endless, args=[begun]),
    "batches": lambda begun: D.from_generator(endless, args=[begun]).batch(2),
    "shuffled": lambda begun: D.from_generator(endless, args=[begun]).shuffle(10),
    "repeated": lambda begun: D.from_generator(lambda: begun.set() or iter([1, 2])).repeat(),
    "flat_map": lambda begun: D.range(3).flat_map(lambda x: endless(begun)),
    "interleave": lambda begun: D.range(3).interleave(lambda x: endless(begun), cycle_length=2),
    "datasets": lambda begun: D.range(3).flat_map(lambda x: D.counter().map(lambda y: begun.set() or y)),
    "rows": lambda begun: D.counter().filter(lambda x: x < 1000 or begun.set() is None),
}


@pytest.mark.parametrize("build", FAR)
def test_what_goes_to_a_place_without_end_can_be_closed(build, way):
    begun = threading.Event()
    ds = FAR[build](begun).with_options(way)
    state = {**ds.iterator().state_dict(), "row": 1 << 47, "offset": 1 << 47}
    assert closed_while_it_waits(ds, begun, state)


@pytest.mark.parametrize(
    ("build", "mark"),
    [
        (FAR["generator"], [1 << 47, None]),
        (FAR["flat_map"], [[None, 0], [1 << 47, [1 << 47, 0]]]),
        (FAR["flat_map"], [[None, 0], [1 << 47, [None, 1 << 47]]]),
        (FAR["interleave"], [[None, 2], 0, 0, [[[None, at], 1 << 47, [1 << 47, 0]] for at in (0, 1)]]),
        (FAR["interleave"], [[None, 2], 0, 0, [[[None, at], 1 << 47, [None, 1 << 47]] for at in (0, 1)]]),
    ],
)
def test_what_makes_elements_again_without_end_can_be_closed(build, mark):
    begun = threading.Event()
    it = build(begun).iterator()
    assert len(list(islice(it, 300))) == 300
    state = it.state_dict()
    assert state["form"]
    assert closed_while_it_waits(build(begun), begun, {**state, "row": 1 << 47, "mark": mark, "offset": 0})


def test_an_iterator_of_c_code_can_be_left_out_of_and_interrupted():
    said = "interrupted\nthis iterator was cancelled: begin a new one, or load a saved state into it\n"
    assert ran(FAR_INTERRUPTED) == (said, "", 0)


# Failed


def at_37(x):
    if x == 37:
        raise LookupError("not 37")
    return True


def test_failed_it_says_so_and_can_be_tried_again(way):
    broken = [True]

    def fragile(x):
        if x == 38 and broken[0]:
            raise OSError("the disk is away")
        return x

    it = D.range(60).filter(even).map(fragile).with_options(way).iterator()
    received = []
    with pytest.raises(OSError, match="away"):
        received.extend(it)
    assert received == list(range(0, 38, 2))
    for _ in range(2):
        with pytest.raises(ClosedError, match="this iterator has failed"):
            next(it)
    assert it.state_dict()["row"] == 19
    broken[0] = False
    it.load_state_dict(it.state_dict())
    assert list(it) == list(range(38, 60, 2))


@pytest.mark.parametrize("batch", [None, 1, 4, 37, 38])
def test_what_comes_before_an_error_does_not_depend_on_who_runs_it(batch, way):
    failing = [
        D.range(500).filter(at_37),
        D.range(500).filter(everything).enumerate().map(second),
        D.range(500).filter(at_37).enumerate().map(lambda i, x: x).enumerate().filter(lambda i, x: True),
        D.from_generator(up_to_37).map(lambda x: x),
    ]
    for ds in failing:
        received = []
        with pytest.raises(LookupError):
            received.extend((ds if batch is None else ds.batch(batch)).with_options(way))
        assert len(received) == 37 // (batch or 1)


def up_to_37():
    for x in range(500):
        at_37(x)
        yield x


def second(_, x):
    at_37(x)
    return x


def test_before_the_error_of_a_process_come_the_same_elements():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        ds = D.range(80).filter(even).shuffle(4, seed=1).map(lambda x: 1 // (x - 38))
        received, wanted = [], []
        with pytest.raises(ZeroDivisionError) as caught:
            received.extend(ds.with_options(ps.Options(executor=executor)))
        with pytest.raises(ZeroDivisionError):
            wanted.extend(ds)
    assert received == wanted
    assert any(note.startswith(f"while making element {len(wanted)};") for note in caught.value.__notes__)


def test_a_worker_process_that_dies_is_named_and_what_came_before_is_kept():
    home = os.getpid()

    def deadly(x):
        if x == 12 and os.getpid() != home:
            os._exit(1)
        return True

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        ds = D.range(40).filter(deadly).with_options(ps.Options(executor=executor))
        it = ds.iterator()
        received = []
        with pytest.raises(WorkerError, match="a worker died"):
            received.extend(it)
    assert received == list(range(len(received)))
    assert len(received) <= 12
    state = it.state_dict()
    assert state["row"] == len(received)
    again = D.range(40).filter(deadly).with_options(ps.Options(executor="inline"))
    assert list(islice(resumed(again, state), 12 - len(received))) == list(range(len(received), 12))


def resumed(ds, state):
    it = ds.iterator()
    it.load_state_dict(state)
    return it


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, GeneratorExit])
@pytest.mark.parametrize("kind", ["predicate", "later", "rng", "columns", "source", "batches"])
def test_a_function_cannot_end_the_epoch_without_a_word(error, kind, way):
    def stop(x):
        if np.any(x == 8):
            raise error
        return x

    def drawing(x, *, rng):
        return bool(stop(x) + 1)

    class Source:
        def __len__(self):
            return 20

        def __getitem__(self, row):
            return stop(np.int64(row))

    ds = {
        "predicate": D.range(20).filter(lambda x: bool(stop(x) + 1)),
        "later": D.range(20).filter(even).skip(0).enumerate().map(lambda i, x: stop(x)),
        "rng": D.range(20).filter(drawing),
        "columns": D.range(20).filter(lambda x: stop(x) >= 0, vectorized=True),
        "source": D.from_source(Source()).filter(everything),
        "batches": D.range(20).filter(even).batch(2).map(stop),
    }[kind]
    received = []
    with pytest.raises((RuntimeError, StopAsyncIteration, GeneratorExit)):
        received.extend(ds.with_options(way))
    assert len(received) <= 8


def notes_of(ds):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        list(ds)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def at_137(x):
    at_37(x - 100)
    return True


def test_errors_name_operation_record_and_element(way):
    said = notes_of(D.range(100, 200).skip(3).filter(at_137).batch(4).with_options(way))
    assert "not 37" in said
    assert "in filter(at_137)" in said
    assert "made from the number 137" in said
    assert "while making batch 8" in said


def test_what_failed_is_made_again_from_the_state_of_the_iterator_that_failed(way):
    def refuse(x, *, rng):
        drawn = int(rng.integers(1 << 40))
        if x == 37:
            raise LookupError(drawn)
        return x

    ds = D.range(100).shuffle().filter(lambda x: x % 2 == 1).map(refuse).batch(4).with_options(way)
    said = []
    failed = ds.iterator(epoch=3)
    for it in (failed, ds.iterator()):
        if said:
            it.load_state_dict(failed.state_dict())
            with pytest.raises(LookupError) as caught:
                next(it)
        else:
            with pytest.raises(LookupError) as caught:
                list(it)
        said.append([str(caught.value), *caught.value.__notes__])
    assert said[0] == said[1]
    assert said[0][-1].endswith(
        "of epoch 3; make it again with next() of another iterator, once it has loaded this one's state_dict()"
    )


def test_errors_of_another_epoch_say_so(way):
    ds = D.range(9).shuffle(seed=1).filter(lambda x: 1 // int(x) > -1).with_options(way)
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds.iterator(epoch=3))
    notes = "\n".join(caught.value.__notes__)
    assert " of epoch 3" in notes
    assert "made from the number 0" in notes


def test_the_traceback_ends_in_the_users_code(way):
    with pytest.raises(LookupError) as caught:
        list(D.range(60).filter(at_37).with_options(way))
    assert caught.traceback[-1].name == "at_37"


def test_elements_that_do_not_fit_are_named_by_their_place_in_the_stream(way):
    ds = D.range(20).filter(even).expand(2).map(lambda x: np.zeros(3 if x == 10 else 2)).batch(4).with_options(way)
    said = notes_of(ds)
    assert "rows 8 and 10 differ: shape (2,) against (3,)" in said
    assert "in batch(4)" in said
    assert "while making batch 2" in said


def test_a_predicate_must_say_yes_or_no(way):
    with pytest.raises(ElementError, match="the predicate returned 'maybe'"):
        list(D.range(9).filter(lambda x: "maybe" if x == 5 else True).with_options(way))


# Cancelled

INTERRUPTED = """
import os, signal, sys, threading
import penstock as ps

begun = threading.Event()

def sleep(x):
    if x == 3:
        begun.set()
        threading.Event().wait()
    return True

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

options = ps.Options(executor={executor!r}, workers={workers})
it = ps.Dataset.range(9).filter(sleep).skip(0).enumerate().with_options(options).iterator()
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


FAR_INTERRUPTED = """
import itertools, signal, threading
import penstock as ps

def endless():
    if again:
        threading.Timer(0, signal.raise_signal, [signal.SIGINT]).start()
    return itertools.count()

again = []
it = ps.Dataset.from_generator(endless).iterator()
assert all(next(it) == number for number in range(300))
it.load_state_dict({**it.state_dict(), "row": 1 << 47, "mark": [1 << 47, None]})
again.append(True)
try:
    next(it)
except KeyboardInterrupt:
    print("interrupted")
try:
    next(it)
except ps.errors.ClosedError as error:
    print(error)
"""


def ran(program):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("executor", "workers"), [("threads", 2), ("inline", None)])
def test_an_interrupt_cancels_the_wait(executor, workers):
    said = "interrupted True\nthis iterator was cancelled: begin a new one, or load a saved state into it\nTrue\n"
    assert ran(INTERRUPTED.format(executor=executor, workers=workers)) == (said, "", 0)


def test_an_interrupt_while_workers_are_made_leaves_none_and_makes_no_others(monkeypatch):
    pumps = []
    start = streaming.StreamRun._start_pump

    def interrupted(run):
        start(run)
        pumps.append(run._pump)
        raise KeyboardInterrupt

    monkeypatch.setattr(streaming.StreamRun, "_start_pump", interrupted)
    it = D.range(9).filter(even).with_options(ps.Options(executor="threads", workers=2)).iterator()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    with pytest.raises(ClosedError, match="cancelled"):
        next(it)
    (pump,) = pumps
    with pytest.raises(ClosedError):
        pump.take()


def test_one_dear_look_is_no_reason_for_a_pump_and_two_are():
    with D.range(9).filter(even).iterator() as it:
        next(it)
        run = it._run
        for took in [1_000] * 9 + [50_000_000]:
            run._look(took, 1)
        assert run._pump is None
        run._look(50_000_000, 1)
        assert run._pump is not None

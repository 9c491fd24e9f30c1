"""Elements that end the workers that make them: named, or handled as `on_error=` says, whatever makes the tasks."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext, suppress

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import FailuresError, WorkerDiedError
from penstock.engine.workers import suspects
from penstock.engine.workers.processes import ticket
from tests.engine.workers.processes.conftest import pool

# the thread of a pool that breaks ends with an error, if a call was canceled that it is about to fail
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

D = ps.Dataset
SERVER = multiprocessing.get_context("forkserver")  # begins a worker in a few milliseconds
SERVER.set_forkserver_preload(
    ["pytest", "penstock.engine.workers.processes.worker", "penstock.watch.counters", __name__]
)
END = signal.SIGUSR2  # ends a process without a core file, and is not what others send
SKIP, REPLACE = ps.on_error.skip(), ps.on_error.replace

__all__ = ["pool"]


def handed_in():
    return ProcessPoolExecutor(2, SERVER)


KINDS = ["processes", "handed in"]


@pytest.fixture
def options(request):
    if getattr(request, "param", "processes") == "processes":
        assert request.getfixturevalue("pool").is_open  # or this process would make what ends its maker
        return ps.Options(executor="processes", workers=2, seed=3)
    return ps.Options(executor=handed_in, seed=3)


def deadly(x):
    if x == 57:
        os.kill(os.getpid(), END)
    return np.full(3, x)


CASES = {
    "elements": (D.range(100).map(deadly), "row 57 of map(deadly)", 57),
    "batches": (D.range(100).map(deadly).batch(10), "row 57 of map(deadly)", 5),
    "padded": (D.range(100).map(deadly).padded_batch(10), "batch 5 of padded_batch(10)", 5),
    "a stream of rows": (D.range(100).filter(lambda x: x >= 0).map(deadly), "row 57 of range(100)", 57),
    "a stream": (D.from_generator(lambda: iter(range(100))).map(deadly), "element 57 of", 57),
    "another operation's policy": (
        D.range(100).map(deadly).map(lambda x: x, on_error="skip").batch(10),
        "row 57 of map(deadly)",
        5,
    ),
}


BOTH = {"batches", "a stream"}  # elements of all others are found in the same way


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, kind) for kind in KINDS for name in CASES if kind == "handed in" or name in BOTH],
    indirect=["options"],
)
def test_an_element_that_ends_workers_is_named_after_everything_before_it(name, options):
    ds, named, before = CASES[name]
    it = ds.with_options(options).iterator()
    got = []
    with pytest.raises(WorkerDiedError) as caught:
        got.extend(it)
    assert str(caught.value).startswith(f"{named}")
    assert "ends the worker that makes it" in str(caught.value)
    assert "SIGUSR2" in str(caught.value)
    assert len(got) == before
    assert caught.value.row in (57, 5)
    assert any("SIGUSR2" in event.words for event in it.stats().events)


@pytest.mark.parametrize("options", KINDS, indirect=True)
def test_later_runs_work(options):
    with pytest.raises(WorkerDiedError):
        list(D.range(100).map(deadly).batch(10).with_options(options))
    assert len(list(D.range(50).map(deadly).with_options(options))) == 50


@pytest.mark.parametrize("options", ["handed in"], indirect=True)
def test_elements_of_later_epochs_are_named_with_the_epoch(options):
    with pytest.raises(WorkerDiedError, match=r"row 57 of epoch 2 of map\(deadly\)"):
        list(D.range(100).map(deadly).batch(10).with_options(options).iterator(epoch=2))


BAD = (11, 52)


class Faulty:
    """Returns its argument, or fails for some: it raises, or it ends the process if that is a worker."""

    def __init__(self, ends=None):
        self.ends = ends

    def __call__(self, x):
        if np.isin(x, BAD).any():
            if self.ends:
                os.kill(os.getpid(), self.ends)
            raise LookupError(f"bad: {x}")
        return x * 2

    def __repr__(self):
        return "Faulty()"


def rows(x):
    return D.from_tensor_slices(np.arange(3) + 10 * x)


PIPELINES = {
    "skip": lambda f: D.range(100).map(f, on_error=SKIP).batch(10),
    "replace": lambda f: D.range(100).shuffle(seed=1).map(f, on_error=REPLACE(-1)),
    "replace in batches": lambda f: D.range(100).map(f, on_error=REPLACE(-1)).shuffle(seed=1).batch(10),
    "replace in padded batches": lambda f: D.range(100).map(f, on_error=REPLACE(-1)).padded_batch(10),
    "two policies": lambda f: (
        D.range(100)
        .map(lambda x: 3 // (x - 4), on_error=SKIP)
        .enumerate()
        .map(lambda i, x: (i, f(i)), on_error=REPLACE((-1, -1)))
    ),
    "ignored": lambda f: D.range(100).map(lambda x: x).map(f).ignore_errors().batch(7),
    "ignored above a policy": lambda f: (
        D.range(100).map(f, on_error=REPLACE(-1)).map(lambda x: 8 // (x - 40)).ignore_errors()
    ),
    "filter": lambda f: D.range(100).filter(lambda x: f(x) % 4 == 0, on_error=SKIP),
    "below filter": lambda f: D.range(100).map(f, on_error=SKIP).filter(lambda x: x % 4 == 0),
    "a stream": lambda f: D.from_generator(lambda: iter(range(100))).map(f, on_error=SKIP).batch(9),
    "zip": lambda f: D.zip(
        D.range(100).map(f, on_error=REPLACE(-1)), D.range(100).map(lambda x: 9 // (x - 3), on_error=REPLACE(0))
    ),
    "children": lambda f: D.range(12).flat_map(rows).map(f, on_error=SKIP).batch(5),
    "batches": lambda f: D.range(100).batch(10).map(f, on_error=SKIP),
    "unbatched": lambda f: D.range(100).batch(10).unbatch().map(f, on_error=SKIP),
}


def plain(elements):
    return [[np.asarray(leaf).tolist() for leaf in (each if isinstance(each, tuple) else (each,))] for each in elements]


def failed(it):
    return {operation.name: operation.failed for operation in it.stats().operations if operation.failed}


BY_PROCESSES = {"skip", "ignored"}


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, kind) for kind in KINDS for name in PIPELINES if kind == "handed in" or name in BY_PROCESSES],
    indirect=["options"],
)
def test_to_end_the_process_is_as_to_raise_where_a_policy_handles_it(name, options):
    raising, ending = PIPELINES[name](Faulty()), PIPELINES[name](Faulty(ends=END))
    here = raising.with_options(ps.Options(executor="inline", seed=3)).iterator(epoch=1)
    wanted = plain(here)
    it = ending.with_options(options).iterator(epoch=1)
    got = []
    for number, each in enumerate(it):
        got.append(each)
        if number == len(wanted) // 2:
            state = it.state_dict()
    assert plain(got) == wanted
    assert failed(it) == failed(here)
    kind = "died" if options.executor == "processes" else "broken"
    assert {event.kind for event in it.stats().events} == {kind}
    again = ending.with_options(options).iterator()
    again.load_state_dict(state)
    assert plain(again) == wanted[len(wanted) // 2 + 1 :]


@pytest.mark.parametrize("options", ["handed in"], indirect=True)
def test_the_quarantine_says_it_as_of_any_failed_element(options, tmp_path):
    path = str(tmp_path / "bad.jsonl")
    policy = ps.on_error.skip(ps.ErrorBudget(count=3), quarantine=path)
    ds = D.range(100).map(Faulty(ends=END), on_error=policy).batch(10)
    assert len(list(ds.with_options(options))) == 10
    assert len(list(ds.with_options(options).iterator(epoch=0))) == 10  # the same elements, told once
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    assert [(line["epoch"], line["row"], line["records"]) for line in lines] == [
        (0, x, [f"the number {x}"]) for x in sorted(BAD)
    ]
    assert {line["error"] for line in lines} == {"penstock.core.errors.WorkerDiedError"}
    assert all("SIGUSR2" in line["message"] for line in lines)


@pytest.mark.parametrize("options", ["handed in"], indirect=True)
def test_a_budget_counts_elements_that_end_workers(options):
    few = ps.on_error.skip(ps.ErrorBudget(count=1))
    got = []
    with pytest.raises(FailuresError, match="2 of 53 elements failed; at most 1 are allowed"):
        got.extend(D.range(100).map(Faulty(ends=END), on_error=few).with_options(options))
    assert got == [2 * x for x in range(52) if x != 11]


@pytest.mark.parametrize("options", KINDS, indirect=True)
def test_a_worker_that_ends_by_chance_costs_no_element(options, tmp_path):
    def unlucky(x):
        if x == 57:
            for attempt in range(3):  # the first two times with others, the third time alone
                if not os.path.exists(path := f"{tmp_path}/{x}-{attempt}"):
                    open(path, "x").close()
                    os.kill(os.getpid(), END)
        return x

    it = D.range(100).map(unlucky, on_error="skip").with_options(options).iterator()
    assert list(it) == list(range(100))
    assert len(it.stats().events) >= 3


def kill(x):
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


@pytest.mark.parametrize("options", KINDS, indirect=True)
def test_an_element_that_kills_its_worker_is_named_in_the_end(options, monkeypatch):
    monkeypatch.setattr(ticket, "OFTEN_KILLED", 2)
    monkeypatch.setattr(suspects, "MOST_KILLED", 3)
    got = []
    with pytest.raises(WorkerDiedError, match=r"row 3 of map\(kill\) ends[^$]*3 workers in a row were killed"):
        got.extend(D.range(10).map(kill).with_options(options))
    assert got == [0, 1, 2]


def test_a_pool_that_others_break_again_and_again_condemns_no_element():
    pools = []

    class Breaking(ProcessPoolExecutor):
        """Has one worker, which others end as soon as it has a task, unless they have ended enough."""

        def submit(self, function, *args):
            future = super().submit(function, *args)
            for pid in list(self._processes or ()) if len(pools) < 8 else ():
                with suppress(ProcessLookupError):
                    os.kill(pid, END)
            return future

    def broken():
        pools.append(Breaking(1, SERVER))
        return pools[-1]

    it = D.range(40).batch(4).with_options(ps.Options(executor=broken)).iterator()
    assert [batch.tolist() for batch in it] == [list(range(at, at + 4)) for at in range(0, 40, 4)]
    assert [event.kind for event in it.stats().events] == ["broken"] * 7


def hang(x):
    if x in BAD:
        threading.Event().wait()
    return x


@pytest.mark.parametrize("policy", ["raise", SKIP])
def test_an_element_that_never_ends_is_reported_with_its_stack_and_handled(pool, policy, caplog):
    ds = D.range(100).take(20).map(hang, on_error=policy)
    it = ds.with_options(ps.Options(executor="processes", workers=2, stuck_after=0.2, seed=3)).iterator()
    got = []
    raises = policy == "raise"
    with nullcontext() if not raises else pytest.raises(WorkerDiedError, match=r"11 of .*took too long") as caught:
        got.extend(it)
    assert got == [x for x in range(11 if raises else 20) if x not in BAD]
    assert not raises or caught.value.row == 11
    events = it.stats().events
    stuck = [event for event in events if event.kind == "stuck"]
    assert stuck
    assert all("hang" in event.words and "in wait" in event.words for event in stuck)
    assert [event.kind for event in events].count("died") >= 2
    assert any("has taken" in record.getMessage() for record in caplog.records)
    assert len(list(D.range(50).map(lambda x: x).with_options(ps.Options(executor="processes", workers=2)))) == 50

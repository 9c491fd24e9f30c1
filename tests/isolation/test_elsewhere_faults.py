"""Runs that another process makes: its deaths, and the ends of runs, of the process and of its parent."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
import re
import resource
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ClosedError, WorkerDiedError
from tests.engine.workers.processes.programs import await_end, begin, is_alive, run

D = ps.Dataset
ISOLATED = ps.Options(isolate=True)

pytestmark = pytest.mark.usefixtures("pool")


# Deaths


def wanted_of(ds):
    return [batch.tolist() for batch in ds.iterator(epoch=0)]


@pytest.mark.parametrize("kind", ["rows", "stream", "threads"])
def test_processes_that_are_killed_at_random_change_nothing(kind, pool):
    ds = D.range(400).shuffle(seed=5).map(lambda x: np.full(200, x) + 0 * sum(range(2000)))
    ds = (ds.filter(lambda x: x[0] % 3 > 0) if kind == "stream" else ds).batch(4)
    wanted = wanted_of(ds)
    executor = "threads" if kind == "threads" else None
    it = ds.with_options(ps.Options(isolate=True, executor=executor, workers=2 if executor else None)).iterator(epoch=0)
    draws, kills, got = random.Random(1), 0, []
    for batch in it:
        got.append(batch.tolist())
        if draws.random() < 0.03 and (pids := pool.crew.pids):
            os.kill(pids[0], signal.SIGKILL)
            kills += 1
    assert got == wanted
    assert kills > 2
    events = it.stats().events
    assert len(events) >= 2
    assert {event.kind for event in events} == {"died"}
    assert all("SIGKILL" in event.words and "another process goes on from batch" in event.words for event in events)


@pytest.mark.parametrize("code", ["os._exit(3)", "signal.raise_signal(signal.SIGSEGV)"])
def test_a_process_that_ends_once_is_replaced(code, tmp_path, caplog):
    once = tmp_path / "once"

    def dying(x):
        if x == 57 and not once.exists():
            once.touch()
            eval(code, {"os": os, "signal": signal})
        return x

    it = D.range(200).map(dying).batch(10).with_options(ISOLATED).iterator(epoch=0)
    assert [batch.tolist() for batch in it] == [list(range(at, at + 10)) for at in range(0, 200, 10)]
    (event,) = it.stats().events
    assert event.kind == "died"
    assert event.rows[0] <= 5  # batch 5 is the one with element 57
    assert ("SIGSEGV" if "SIGSEGV" in code else "exit code 3") in event.words
    assert event.words in caplog.text
    assert it.stats().operations[0].rows >= 150  # those of a moment before the death may be lost


MAKES = "ends the worker that makes it"
DEADLY = {  # pipelines of a function, and the error of one that ends its process for 41
    "rows": (lambda deadly: D.range(100).map(deadly), rf"^row 41 of map\(deadly\) {MAKES}"),
    "stream": (
        lambda deadly: D.range(100).map(deadly).filter(lambda x: True),
        rf"^row 41 of map\(deadly\), given to filter\(.*\), {MAKES}",
    ),
    "in order": (
        lambda deadly: D.range(100).scan(0, lambda state, x: (state, deadly(x))),
        r"^element 41 of scan\(.*\) ends the process that makes it",
    ),
}


@pytest.mark.parametrize("kind", DEADLY)
def test_an_element_that_ends_its_process_again_and_again_is_an_error_that_names_it(kind):
    def deadly(x):
        if x == 41:
            os._exit(5)
        return x

    make, told = DEADLY[kind]
    it = make(deadly).with_options(ISOLATED).iterator(epoch=0)
    got = []
    with pytest.raises(WorkerDiedError, match=rf"{told}: .* exit code 5"):
        got.extend(int(x) for x in it)
    assert got == list(range(41))
    assert 2 <= len(it.stats().events) <= 8  # of processes and their workers
    it.load_state_dict({**it.state_dict(), "row": 42} | ({"offset": 42} if kind != "rows" else {}))
    if kind == "rows":  # a stream makes again what comes before
        assert list(it) == list(range(42, 100))


def test_an_element_that_ends_its_process_is_handled_by_on_error(tmp_path):
    def deadly(x):
        if x == 41:
            os._exit(5)
        return x

    on_error = ps.on_error.skip(quarantine=tmp_path / "failed.jsonl")
    ds = D.range(60).filter(lambda x: x % 2 == 1).map(deadly, on_error=on_error).batch(4)
    it = ds.with_options(ps.Options(isolate=True, workers=2)).iterator(epoch=0)
    assert [int(x) for batch in it for x in batch] == [x for x in range(1, 60, 2) if x != 41]
    (line,) = (tmp_path / "failed.jsonl").read_text().splitlines()
    assert (json.loads(line)["row"], json.loads(line)["records"]) == (41, ["the number 41"])
    assert any("makes the next ones in worker processes" in event.words for event in it.stats().events)


def test_batches_outlive_the_process_that_made_them(pool):
    it = D.range(100).map(lambda x: np.full(5000, x)).batch(4).with_options(ISOLATED).iterator(epoch=0)
    first = next(it)
    os.kill(pool.crew.pids[0], signal.SIGKILL)
    rest = list(it)
    assert [int(x) for batch in [first, *rest] for x in batch[:, -1]] == list(range(100))
    assert (first == first[:, :1]).all()


@pytest.mark.parametrize("kind", ["rows", "stream", "threads"])
def test_a_function_that_never_returns_is_reported_with_its_stack_there(kind, tmp_path, caplog, monkeypatch):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def wait_for_the_network(x):
        if x == 14:
            gate.read_text()
        return x

    def open_gate(record):
        told.append(record.getMessage())
        with suppress(OSError):  # open already
            os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))

    told = []
    monkeypatch.setattr(caplog.handler, "emit", open_gate)
    ds = D.range(40).map(wait_for_the_network)
    ds = (ds.filter(lambda x: True) if kind == "stream" else ds).batch(2)
    executor, workers = ("threads", 2) if kind == "threads" else (None, None)
    options = ps.Options(isolate=True, stuck_after=0.1, executor=executor, workers=workers)
    it = ds.with_options(options).iterator(epoch=0)
    assert [batch.tolist() for batch in it] == [[x, x + 1] for x in range(0, 40, 2)]
    event = next(event for event in it.stats().events if "map(wait_for_the_network)" in event.words)
    assert event.kind == "stuck"
    assert event.operation == "map(wait_for_the_network)"
    assert re.search("for batch [1-7] of epoch 0", event.words)  # the first that was not received
    assert "gate.read_text()" in event.words
    assert any(line.startswith("[worker ") and line.endswith(event.words) for line in told)
    assert not any("nothing comes from isolated" in line for line in told)


# Items that cannot be sent


class Record:
    """A number that cannot be pickled, or cannot be unpickled, if it is a certain one."""

    def __init__(self, number, unpicklable=-1, never_back=-1):
        self.number = number
        if number == unpicklable:
            self.inner = {"of": threading.Lock()}
        self.never_back = number == never_back

    def __reduce__(self):
        if self.never_back:
            return int, ("not a number",)
        return opened, (self.number, vars(self))


def opened(number, attributes):
    made = Record(number)
    vars(made).update(attributes)
    return made


def seven(x, **bad):
    return D.from_source([Record(int(x) + each, **bad) for each in range(7)])


PIPELINES = {
    "rows": (lambda **bad: D.range(100).map(lambda x: Record(x, **bad)), "map(lambda) makes", 37),
    "batches": (lambda **bad: D.range(100).map(lambda x: Record(x, **bad)).batch(8), "batch(8) makes", 4),
    "filter": (
        lambda **bad: D.range(100).map(lambda x: Record(x, **bad)).filter(lambda x: x.number % 2 == 1),
        "filter(lambda) makes",
        18,
    ),
    "flat_map": (lambda **bad: D.range(0, 98, 7).flat_map(lambda x: seven(x, **bad)), "flat_map(lambda) makes", 37),
    "shuffle": (
        lambda **bad: D.range(100).filter(lambda x: True).map(lambda x: Record(x, **bad)).shuffle(30, seed=2),
        "shuffle",
        None,
    ),
}


def numbers(items):
    return [[each.number for each in item] if isinstance(item, np.ndarray) else item.number for item in items]


@pytest.mark.parametrize("threads", [None, 2])
@pytest.mark.parametrize("bad", ["unpicklable", "never_back"])
@pytest.mark.parametrize("kind", PIPELINES)
def test_items_before_one_that_cannot_be_sent_arrive_and_the_error_names_it(kind, bad, threads):
    make, who, at = PIPELINES[kind]
    wanted = numbers(make().iterator(epoch=0))
    at = wanted.index(37) if at is None else at
    ds = make(**{bad: 37})
    it = ds.with_options(ps.Options(isolate=True, workers=threads)).iterator(epoch=0)
    got = []
    with pytest.raises((TypeError, ValueError)) as caught:
        got.extend(numbers([item])[0] for item in it)
    assert got == wanted[:at]
    told = "\n".join(caught.value.__notes__)
    assert who in told
    unit = "batch" if kind == "batches" else "element"
    part = {"batches": "batch[5]"}.get(kind, "element")
    ending = ".inner['of'] is a lock" if bad == "unpicklable" else " is a Record"
    assert f"elements that cannot be sent between processes ({part}{ending}): change them" in told
    assert "Options(isolate=False) yields the same elements" in told
    assert f"while making {unit} {at}" in told
    rest = ds.iterator()
    rest.load_state_dict(it.state_dict())
    assert numbers(rest) == wanted[at:]


def test_an_item_that_only_the_consumer_cannot_unpickle_is_named_too(tmp_path):
    here = os.getpid()

    class Shy:
        def __init__(self, number):
            self.number = number

        def __reduce__(self):
            return (shown if self.number == 21 else Shy), (self.number,)

    def shown(number):
        if os.getpid() == here:
            raise LookupError("not here")
        return Shy(number)

    it = D.range(50).map(Shy).with_options(ISOLATED).iterator(epoch=0)
    got = []
    with pytest.raises(LookupError, match="not here") as caught:
        got.extend(each.number for each in it)
    assert got == list(range(21))
    assert "map(Shy) makes or is given elements that cannot be sent between processes" in caught.value.__notes__[0]
    assert "while making element 21; make it again with ds[21]" in caught.value.__notes__


def test_an_element_that_cannot_be_sent_is_no_failure_that_a_policy_skips():
    def record(x):
        if x == 5:
            raise LookupError("no good")
        return Record(x, unpicklable=9)

    it = D.range(20).map(record, on_error="skip").with_options(ISOLATED).iterator(epoch=0)
    got = []
    with pytest.raises(TypeError, match="cannot pickle") as caught:
        got.extend(each.number for each in it)
    assert got == [0, 1, 2, 3, 4, 6, 7, 8]
    assert "made from the number 9" in caught.value.__notes__
    assert sum(each.failed for each in it.stats().operations) == 1


# Ends


def test_a_consumer_that_waits_is_woken_by_close():
    asleep = threading.Event()

    def slow(x):
        import time

        while x == 3:
            time.sleep(0.01)
        return x

    it = D.range(10).map(slow).with_options(ps.Options(isolate=True, memory_budget=(1 << 26) + 2)).iterator(epoch=0)
    caught = []

    def consume():
        try:
            for x in it:
                if x == 2:
                    asleep.set()
        except ClosedError as error:
            caught.append(error)

    thread = threading.Thread(target=consume)
    thread.start()
    assert asleep.wait(60)
    it.close()
    thread.join(20)
    assert not thread.is_alive()
    assert len(caught) <= 1  # none if it was closed before it asked again
    assert it.state_dict()["row"] == 3


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_iterators_that_are_abandoned_leave_nothing(pool):
    ds = D.range(1000).map(lambda x: np.full(5000, x)).batch(2).with_options(ISOLATED)
    next(ds.iterator(epoch=0))
    gc.collect()
    before, threads = open_descriptors(), threading.active_count()
    for way in range(60):
        it = ds.iterator(epoch=0)
        next(it)
        if way % 2:
            it.close()
        del it
    gc.collect()
    assert open_descriptors() == before
    assert threading.active_count() == threads
    (pid,) = pool.crew.pids
    assert int(next(iter(D.range(1).map(lambda x: threading.active_count()).with_options(ISOLATED)))) < 20
    assert pool.crew.pids == [pid]


def test_the_process_ends_with_the_last_dataset():
    options = ps.Options(isolate=True, memory_budget=(1 << 26) + 3)
    ds = D.range(4).map(lambda x: os.getpid()).with_options(options)
    it = ds.iterator(epoch=0)
    pid = int(next(it))
    del ds, it
    gc.collect()
    assert await_end(pid)


def test_several_iterators_share_the_process():
    ds = D.range(40).map(lambda x: (x, os.getpid())).with_options(ISOLATED)
    its = [ds.iterator(epoch=0) for _ in range(3)]
    rows = [[next(it) for it in its] for _ in range(40)]
    assert [[int(x) for x, _ in row] for row in rows] == [[at] * 3 for at in range(40)]
    assert len({int(pid) for row in rows for _, pid in row}) == 1


# Ends of the parent

BEGUN = """
OPTIONS = ps.Options(isolate=True)
def slow(x):
    for _ in range(3 if x < 20 else 10**12):
        sum(range(10**4))
    return np.full(1000, x)
it = ps.Dataset.range(1000).map(slow).map(lambda x: (x, os.getpid())).batch(2).with_options(OPTIONS).iterator()
print(next(it)[1][0], os.getpid(), flush=True)
"""


@pytest.mark.parametrize(
    "end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 15)", "raise SystemExit"]
)
def test_nothing_outlives_the_parent(end, tmp_path):
    process = begin(BEGUN + end, env={**os.environ, "TMPDIR": str(tmp_path)})
    there, here = map(int, process.stdout.readline().split())
    assert there != here == process.pid
    process.wait(60)
    assert await_end(there)
    assert not is_alive(there)
    assert list(tmp_path.iterdir()) == []
    process.stdout.close()
    process.stderr.close()


def test_worker_processes_of_the_process_end_with_the_parent():
    program = """
def slow(x):
    sum(range(10**5))
    return os.getpid(), os.getppid()
options = ps.Options(isolate=True, executor="processes", workers=1)
pids = {os.getpid()}
for pid, parent in ps.Dataset.range(10**6).map(slow).with_options(options):
    pids |= {int(pid), int(parent)}
    if len(pids) == 3: break
print(*(pids - {os.getpid()}), flush=True)
os.kill(os.getpid(), 9)
"""
    process = begin(program)
    there = list(map(int, process.stdout.readline().split()))
    process.wait(60)
    assert len(there) == 2
    assert all(map(await_end, there))
    process.stdout.close()
    process.stderr.close()


def test_ctrl_c_ends_the_parent_and_the_process_with_one_traceback():
    process = begin(BEGUN + "list(it)", start_new_session=True)
    there, _ = map(int, process.stdout.readline().split())
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert await_end(there)
    assert err.count("Traceback") == 1, err
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "[worker" not in out + err


def test_a_run_continues_after_an_interrupt():
    program = """
ds = ps.Dataset.range(5000).map(lambda x: (x, os.getpid())).with_options(ps.Options(isolate=True))
it, got, pids = ds.iterator(), [], set()
try:
    for x, pid in it:
        got.append(int(x))
        pids.add(int(pid))
        if len(got) == 60: os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    pass
again = ds.iterator()
again.load_state_dict(it.state_dict())
x, pid = next(again)
print(got == list(range(len(got))), int(x) == len(got), pids == {int(pid)} != {os.getpid()})
"""
    done = run(program)
    assert done.stdout.split() == ["True"] * 3, done.stderr


def test_a_forked_child_begins_a_process_of_its_own():
    program = """
import gc
ds = ps.Dataset.range(2000).map(lambda x: (x, os.getppid())).batch(4).with_options(ps.Options(isolate=True))
it = iter(ds)
first = next(it)
other = ps.Dataset.range(3).map(lambda x: x).with_options(ps.Options(isolate=True))
list(other)
child = os.fork()
del other  # of which the process is told by the parent alone
gc.collect()
rest = list(it)
made = [int(x) for batch in rest for x in batch[0]]
print(made == list(range(4, 2000)), int(rest[-1][1][-1]) == os.getpid(), flush=True)
if not child:
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(program)
    assert done.stdout.split() == ["True"] * 4 + ["0"], done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("limit", "value"),
    [(resource.RLIMIT_FSIZE, 1 << 16), (resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_NOFILE, 16)],
)
def test_limits_of_the_process_change_no_element(limit, value, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # Python keeps files cut off at the limit, for all to read
    done = run(f"""
import resource
resource.setrlimit({limit}, ({value}, resource.getrlimit({limit})[1]))
ds = ps.Dataset.range(400).map(lambda x: np.full(5000, x)).batch(8)
it = ds.with_options(ps.Options(isolate=True)).iterator()
print([int(x) for batch in it for x in batch[:, -1]] == list(range(400)))
print(it.stats().isolated or "cannot run in a process of its own" in str(it.stats().events[0]))
""")
    assert done.stdout.split() == ["True", "True"], done.stderr
    assert done.returncode == 0


def test_without_any_shared_memory_batches_come_through_the_socket(monkeypatch, caplog):
    monkeypatch.setattr("penstock.isolation.elsewhere.MAKES_RUNS", "tests.isolation.host_without_arena")
    ds = D.range(60).map(lambda x: np.full(50_000, x)).batch(5).with_options(ISOLATED)
    it = ds.iterator(epoch=0)
    assert [int(x) for batch in it for x in batch[:, -1]] == list(range(60))
    told = "no memory is shared with the workers, so batches are copied: nothing left"
    assert [str(event) for event in it.stats().events] == [told]
    assert told in caplog.text
    assert it.stats().isolated


class LeavesWhenPickled:
    """Ends the process as its class says."""

    def __reduce__(self):
        raise SystemExit(3)


class UntoldError(Exception):
    """Has no text."""

    def __str__(self):
        raise RuntimeError("no text")


def test_exceptions_and_elements_whose_own_methods_fail_come_after_all_elements_before_them():
    def raises(x):
        if x == 30:
            raise UntoldError
        return int(x)

    def holds(x):
        return LeavesWhenPickled() if x == 30 else int(x)

    for function, error in ((raises, UntoldError), (holds, SystemExit)):
        it, made = D.range(40).map(function).with_options(ISOLATED).iterator(), []
        with pytest.raises(error):
            made.extend(it)
        assert made == list(range(30))


def test_a_function_that_breaks_the_process_for_good_is_named_instead_of_waited_for():
    def breaks(x):
        if x == 30:
            pickle.dumps = None  # no answer can be sent any longer
        return int(x)

    it, made = D.range(40).map(breaks).batch(1).with_options(ISOLATED).iterator(), []
    with pytest.raises(WorkerDiedError, match="batch 30 "):
        made.extend(int(batch[0]) for batch in it)
    assert made == list(range(30))

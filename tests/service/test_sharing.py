"""Elements that one process prepares for several."""

import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import PlanError, WorkerDiedError

D = ps.Dataset
PATIENCE = 60  # seconds, for the ends of processes


def noting(path):
    """Return a function that notes each call in a file, with the process that makes it."""

    def note(x):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{x} {os.getpid()}\n")
        return x * 10

    return note


def calls(path):
    return Counter(int(line.split()[0]) for line in path.read_text().splitlines())


def pids(path):
    return list(dict.fromkeys(int(line.split()[1]) for line in path.read_text().splitlines()))


def wait_for_end(pidfd):
    ended, _, _ = select.select([pidfd], [], [], PATIENCE)
    os.close(pidfd)
    assert ended, "the process goes on"


def plain(elements):
    return [np.asarray(x).tolist() for x in elements]


SEEDED = ps.Options(seed=3)
INDEXED = D.range(40).shuffle(seed=1).map(lambda x, *, rng: x * 1000 + rng.integers(1000)).with_options(SEEDED)
STREAM = D.range(60).filter(lambda x: x % 3 > 0).map(lambda x: x * 2)
WAYS = {
    "rows": (INDEXED, lambda ds: ds),
    "batches": (INDEXED.batch(7), lambda ds: ds),
    "batches after": (INDEXED, lambda ds: ds.map(lambda x: x + 1).batch(6)),
    "shuffled after": (INDEXED, lambda ds: ds.shuffle(seed=5)),
    "shuffled after a filter": (INDEXED, lambda ds: ds.filter(lambda x: x % 2 == 0).shuffle(9, seed=5)),
    "shards": (INDEXED, lambda ds: ds.shard(3, 1)),
    "ranks": (INDEXED, lambda ds: ds.batch(8).shard_by_rank(rank=1, world=4)),
    "virtual streams": (INDEXED, lambda ds: ds.filter(lambda x: x % 2 == 0).shard(2, 1, streams=4)),
    "repeated": (INDEXED, lambda ds: ds.repeat(2)),
    "stream": (STREAM, lambda ds: ds),
    "stream in batches": (STREAM.batch(4), lambda ds: ds.map(lambda x: x + 1)),
    "stream in batches after": (STREAM, lambda ds: ds.batch(4)),
    "stream shuffled": (STREAM.shuffle(20, seed=1), lambda ds: ds.map(lambda x: x + 1)),
    "stream in shards": (STREAM, lambda ds: ds.shard(3, 2)),
    "stream for ranks": (STREAM, lambda ds: ds.batch(8).shard_by_rank(rank=1, world=2, streams=1)),
    "paths": (D.range(9).flat_map(D.range), lambda ds: ds.map(str)),
    "empty": (D.range(0), lambda ds: ds),
    "no element left": (D.range(5).filter(lambda x: x > 9), lambda ds: ds),
}


@pytest.mark.parametrize("way", WAYS)
def test_elements_and_states_are_those_without_sharing(way):
    before, after = WAYS[way]
    shared, alone = after(before.share("x")), after(before)
    for _ in range(2):
        assert plain(shared) == plain(alone)
    assert shared.fingerprint() == alone.fingerprint()
    for one, other in ((shared, alone), (alone, shared), (shared, shared)):
        it, again = one.iterator(epoch=0), other.iterator(epoch=0)
        for _ in range(3):
            next(it, None)
        again.load_state_dict(json.loads(json.dumps(it.state_dict())))
        assert plain(again) == plain(it)


@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_every_executor_yields_the_same_on_both_sides(executor):
    chosen = ps.Options(executor=executor, workers=2)
    ds = D.range(50).map(lambda x: x * x).with_options(chosen).share("x").map(lambda x: x + 1).batch(4)
    assert plain(ds.with_options(chosen)) == plain(D.range(50).map(lambda x: x * x + 1).batch(4))


def test_objects_texts_and_arrays_arrive_as_they_are_and_may_be_changed():
    def make(x):
        return {"text": "ab" * int(x), "array": np.full((300, 7), x), "list": [bytes(int(x)), None], "set": {int(x)}}

    made, alone = list(D.range(6).map(make).share("x")), list(D.range(6).map(make))
    for one, other in zip(made, alone, strict=True):
        assert {**one, "array": one["array"].tolist()} == {**other, "array": other["array"].tolist()}
        one["array"][:] = 0
        assert one["array"].dtype == other["array"].dtype


# Once for all


@pytest.mark.parametrize("ds", [D.range(60), D.range(60).filter(lambda x: x >= 0)], ids=["rows", "stream"])
def test_each_element_is_made_once_for_jobs_that_go_on_together(ds, tmp_path):
    log = tmp_path / "log"
    jobs = [ds.map(noting(log)).share("x").iterator() for _ in range(3)]
    steps = list(zip(*jobs, strict=True))
    assert [step[0] for step in steps] == [x * 10 for x in range(60)]
    assert all(len(set(step)) == 1 for step in steps)
    assert calls(log) == Counter(range(60))
    assert len(pids(log)) == 1
    assert pids(log) != [os.getpid()]


@pytest.mark.parametrize("options", [ps.Options(), ps.Options(executor="threads", workers=3)], ids=["auto", "threads"])
def test_each_element_is_made_once_for_all_ranks_and_epochs_after(options, tmp_path):
    log = tmp_path / "log"

    def rank(number):
        shared = D.range(64).map(noting(log)).share("x")
        return shared.batch(8).shard_by_rank(rank=number, world=2).with_options(options)

    ranks = [rank(number) for number in range(2)]
    for epoch in range(2):
        steps = [np.concatenate(step).tolist() for step in zip(*ranks, strict=True)]
        assert [*chain.from_iterable(steps)] == [x * 10 for x in range(64)]
        assert calls(log) == Counter(dict.fromkeys(range(64), epoch + 1))


SCRIPT = """
import json, os, sys
import numpy as np
import penstock as ps
log, rank, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def note(x):
    import os
    with open(log, "a") as file:
        file.write(f"{x} {os.getpid()}\\n")
    return x * 10
ds = ps.Dataset.range(200).map(note).share("x")
it = ds.shard(world, rank).iterator()
print(json.dumps([next(it)]), flush=True)
sys.stdin.readline()
print(json.dumps([int(x) for x in it]), flush=True)
sys.stdin.readline()
"""


def job(log, rank=0, world=1):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(log), str(rank), str(world)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_each_element_is_made_once_for_ranks_in_several_processes(tmp_path):
    log = tmp_path / "log"
    jobs = [job(log, rank, 2) for rank in range(2)]
    received = [json.loads(each.stdout.readline()) for each in jobs]
    for each in jobs:
        each.stdin.write("\n")
        each.stdin.flush()
    for rank, each in enumerate(jobs):
        assert received[rank] + json.loads(each.stdout.readline()) == [x * 10 for x in range(rank, 200, 2)]
    assert calls(log) == Counter(range(200))
    ending = [os.pidfd_open(pid) for pid in pids(log)]
    for each in jobs:
        each.communicate("\n")
        assert each.returncode == 0
    for each in ending:
        wait_for_end(each)


def test_a_late_job_starts_at_its_own_cursor_while_others_go_on(tmp_path):
    log = tmp_path / "log"
    before = D.range(3000).map(noting(log))
    first = before.share("x").iterator()
    for _ in range(50):
        next(first)
    late = before.share("x").iterator()
    late.load_state_dict({**first.state_dict(), "row": 2000})
    assert next(late) == 20000
    assert next(first) == 500
    assert max(calls(log).values()) == 1
    assert sum(calls(log).values()) < 1500  # nobody has made the rows between
    assert list(late) == [x * 10 for x in range(2001, 3000)]
    assert list(first) == [x * 10 for x in range(51, 3000)]


def test_each_element_is_made_once_for_a_slower_job_within_what_the_service_keeps(tmp_path):
    log = tmp_path / "log"
    before = D.range(400).map(noting(log)).map(lambda x: np.full(1000, x))  # 3.2 MB, far less than half of any budget
    fast, slow = before.share("x").iterator(), before.share("x").iterator()
    assert next(slow)[0] == 0
    assert [x[0] for x in fast] == [x * 10 for x in range(400)]
    assert [x[0] for x in slow] == [x * 10 for x in range(1, 400)]
    assert calls(log) == Counter(range(400))
    assert not any("again" in str(event) for event in slow.stats().events)


def test_jobs_that_are_apart_stay_within_the_budget_and_get_the_same():
    small = ps.Options(memory_budget=4 << 20)
    before = D.range(300).map(lambda x: np.full(40_000, x)).with_options(small)  # 96 MB
    first, second = before.share("x").iterator(), before.share("x").iterator()
    ahead = [next(first)[0] for _ in range(100)]
    assert ahead == list(range(100))
    assert [x[0] for x in second] == list(range(300))
    assert [x[0] for x in first] == list(range(100, 300))
    told = [str(event) for event in second.stats().events]
    assert [text.startswith("share('x') makes elements again") for text in told] == [True]
    assert "up to 2.1 MB, half of its memory budget" in told[0]


# Deaths


@pytest.mark.parametrize("ds", [D.range(300), D.range(300).filter(lambda x: x >= 0)], ids=["rows", "stream"])
def test_a_service_that_is_killed_is_replaced_for_all_its_consumers(ds, tmp_path, folder, caplog):
    log = tmp_path / "log"
    jobs = [ds.map(noting(log)).share("x").iterator() for _ in range(2)]
    received = [[next(it) for _ in range(7)] for it in jobs]
    for _ in range(2):
        os.kill(pids(log)[-1], signal.SIGKILL)
        for it, mine in zip(jobs, received, strict=True):
            mine += [next(it) for _ in range(20)]
    said = "the process that prepares share('x') has ended; another one makes the same elements"
    assert caplog.messages == [said] * 2  # each job once
    assert [[str(event) for event in it.stats().events] for it in jobs] == [[said]] * 2
    for it, mine in zip(jobs, received, strict=True):
        assert mine + list(it) == [x * 10 for x in range(300)]
    assert len(pids(log)) == 3
    ending = os.pidfd_open(pids(log)[-1])
    del it, jobs
    gc.collect()
    wait_for_end(ending)
    assert [*folder.rglob("*.*")] == []
    assert [*Path("/dev/shm").glob("*penstock*")] == []


def test_the_service_ends_with_its_last_consumer_and_leaves_nothing(tmp_path, folder):
    log = tmp_path / "log"
    first, second = (D.range(30).map(noting(log)).share("x") for _ in range(2))
    assert list(first) == list(second)
    (pid,) = pids(log)
    ending = os.pidfd_open(pid)
    del first
    gc.collect()
    assert list(second) == [x * 10 for x in range(30)]
    assert pids(log) == [pid]
    assert [path.suffix for path in sorted(folder.rglob("*.*"))] == [".log", ".socket"]
    del second
    gc.collect()
    wait_for_end(ending)
    assert [*folder.rglob("*.*")] == []


@pytest.mark.parametrize("end", ["last consumer", "killed"])
def test_batches_outlive_the_service_that_has_lent_them(end, tmp_path):
    log = tmp_path / "log"
    note = noting(log)
    it = D.range(8).map(lambda x: np.full(50_000, note(x))).batch(4).share("x").iterator()
    kept = next(it)
    ending = os.pidfd_open(pids(log)[0])
    if end == "killed":
        signal.pidfd_send_signal(ending, signal.SIGKILL)
    del it
    gc.collect()
    wait_for_end(ending)
    assert (kept == np.arange(4)[:, None] * 10).all()


def test_the_service_ends_after_a_consumer_that_was_killed(tmp_path, folder):
    log = tmp_path / "log"
    killed = job(log)
    killed.stdout.readline()
    (pid,) = pids(log)
    ending = os.pidfd_open(pid)
    killed.kill()
    killed.communicate()
    wait_for_end(ending)
    assert [*folder.rglob("*.*")] == []


def test_an_element_that_ends_every_process_is_an_error_that_names_its_row_and_the_function():
    def deadly(x):
        return os._exit(1) if x == 5 else x

    ds = D.range(20).filter(lambda x: x > 1).map(deadly).batch(2).share("x")
    told = (
        r"^row 5 of range\(20\), given to filter\(.*\) and map\(deadly\), ends the worker that makes it: .* exit code 1"
    )
    with pytest.raises(WorkerDiedError, match=told):
        list(ds.with_options(ps.Options(executor="inline")))


def test_a_stretch_that_ends_every_service_is_an_error(folder):
    ds = D.range(20).scan(0, lambda state, x: (state, os._exit(1) if x == 5 else x)).share("x")
    with pytest.raises(WorkerDiedError, match=r"share\('x'\).*3 processes in a row .* made the elements after a mark"):
        list(ds.with_options(ps.Options(executor="inline")))
    assert [*folder.rglob("*.*")] == []


HANDLED = {"skip": ("skip", []), "replace": (ps.on_error.replace(-1), [-1])}


@pytest.mark.parametrize("way", HANDLED)
def test_an_element_that_ends_its_process_is_handled_by_on_error(way, tmp_path):
    on_error, instead = HANDLED[way]
    ds = D.range(12).map(lambda x: os._exit(1) if x == 5 else int(x), on_error=on_error)
    expected = [*range(5), *instead, *range(6, 12)]
    shared = ds.share("x")
    if way == "replace":
        assert list(shared.shuffle(seed=1)) == [expected[row] for row in D.range(12).shuffle(seed=1)]
    assert list(shared) == expected


def test_a_quarantine_names_the_element_that_ends_its_process(tmp_path):
    on_error = ps.on_error.skip(quarantine=tmp_path / "failed.jsonl")
    ds = D.range(12).map(lambda x: os._exit(1) if x == 5 else int(x), on_error=on_error)
    assert list(ds.share("x")) == [*range(5), *range(6, 12)]
    (line,) = (tmp_path / "failed.jsonl").read_text().splitlines()
    assert "ended each worker that made it" in line
    assert json.loads(line)["row"] == 5


def test_a_forked_child_uses_connections_of_its_own(tmp_path):
    it = D.range(100).map(noting(tmp_path / "log")).share("x").iterator()
    received = [next(it) for _ in range(10)]
    child = os.fork()
    if child == 0:
        os._exit(0 if [next(it) for _ in range(20)] == [x * 10 for x in range(10, 30)] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert received + list(it) == [x * 10 for x in range(100)]


# What fails


@pytest.mark.parametrize("kind", ["rows", "stream"])
def test_an_exception_of_a_function_comes_with_its_type_and_row(kind):
    before = D.range(20) if kind == "rows" else D.range(20).filter(lambda x: x >= 0)
    ds = before.map(lambda x: 1 // (x - 7)).share("x").with_options(ps.Options(executor="inline"))
    for _ in range(2):
        it, received = ds.iterator(), []
        with pytest.raises(ZeroDivisionError) as caught:
            received.extend(it)
        assert "map(lambda), at row 7" in "\n".join(caught.value.__notes__)
        assert it.state_dict()["row"] == 7
    assert list(before.map(lambda x: 1 // (x - 7), on_error="skip").share("y")) == [
        1 // (x - 7) for x in range(20) if x != 7
    ]


@pytest.mark.parametrize("other", [D.range(9).map(lambda x: x + 2), D.range(9).map(lambda x: x + 1).shard(2, 0)])
def test_another_pipeline_under_the_same_name_is_an_error(other):
    ds = D.range(9).map(lambda x: x + 1).share("x")
    assert list(ds) == list(range(1, 10))
    with pytest.raises(PlanError, match=r"share\('x'\): other elements are shared under this name.*map\(lambda\)"):
        list(other.share("x"))
    assert list(other.share("y")) == list(other)


def test_other_seeds_under_the_same_name_are_an_error():
    def shared(seed):
        return D.range(9).shuffle().share("x").with_options(ps.Options(seed=seed))

    first = shared(1)
    assert list(first) == list(D.range(9).shuffle().with_options(ps.Options(seed=1)))
    with pytest.raises(PlanError, match=r"here, .*the seed changed; .* the same seeds: set ps.Options\(seed=\)"):
        list(shared(2))
    assert list(shared(1)) == list(first.iterator(epoch=0))


def test_a_name_is_free_again_once_nobody_shares_it():
    for add in range(3):
        assert list(D.range(4).map(lambda x, add=add: x + add).share("x")) == list(range(add, add + 4))


def test_elements_and_functions_that_cannot_be_pickled_are_named():
    lock = __import__("threading").Lock()
    with pytest.raises(TypeError, match="pickle") as caught:
        list(D.range(3).map(lambda x: (lock, x)).share("x"))
    assert "share('x') sends the pipeline to another process" in "\n".join(caught.value.__notes__)
    with pytest.raises(TypeError, match="pickle") as caught:
        list(D.range(3).map(lambda x: __import__("threading").Lock()).share("y"))
    (note,) = (each for each in caught.value.__notes__ if "share('y') sends elements between processes" in each)
    assert "map(lambda) makes some that cannot be sent (element is a lock): change them" in note


def test_an_executor_of_this_process_cannot_be_shared():
    with ThreadPoolExecutor(1) as pool, pytest.raises(PlanError, match=r"a ThreadPoolExecutor of .*executor=lambda"):
        list(D.range(3).with_options(ps.Options(executor=pool)).share("x"))


def test_a_pipeline_that_is_tied_to_the_thread_of_its_consumer_cannot_be_shared():
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(PlanError, match="no thread but the consum"):
        D.range(3).map(lambda x: connection.execute("select 1").fetchone()).share("x")


def test_a_stream_is_shared_as_a_whole():
    with pytest.raises(PlanError, match=r"share\('x'\) shares the whole stream"):
        list(STREAM.share("x").shard(2, 0, streams=4))


def test_what_is_shared_may_be_shared_again_after_other_operations():
    inner = D.range(30).map(lambda x: x + 1).share("inner")
    outer = inner.map(lambda x: x * 2).share("outer")
    assert list(outer.batch(10).unbatch()) == [2 * (x + 1) for x in range(30)]
    other = D.range(30).map(lambda x: x + 2).share("other inner").map(lambda x: x * 2).share("outer")
    with pytest.raises(PlanError, match=r"share\('outer'\): other elements"):
        list(other)


def test_random_access_and_checks_need_no_service(folder):
    ds = D.range(5).map(lambda x: x * 3).share("x")
    assert (ds[2], len(ds), ds.check().ok) == (6, 5, True)
    assert [*folder.iterdir()] == []
    assert "share('x')" in ds.explain()


def test_a_value_that_a_function_reads_belongs_to_what_is_shared():
    added = {"by": 1}
    first = D.range(4).map(lambda x: x + added["by"]).share("added")
    assert list(first) == [1, 2, 3, 4]
    added["by"] = 500
    second = D.range(4).map(lambda x: x + added["by"]).share("added")
    with pytest.raises(PlanError, match=r"here, .*added.* changed; all datasets of a name"):
        list(second)
    assert list(first) == [500, 501, 502, 503]  # each pass has the values of its beginning
    assert list(second) == [500, 501, 502, 503]

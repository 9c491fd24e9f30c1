"""The limit on cores: threads, processes, and all that these start, stay on as many cores."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup
from penstock.kernels import HeldArrays, begin_filling
from penstock.memory.cores import cores_for, only_on, side_thread
from penstock.memory.limits import default_memory_budget

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="there is one core, or no limit"
)
MINE = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def cores_here(x):
    """The cores of the thread that calls, and of one that it starts, as a native library would."""
    found = [os.sched_getaffinity(0)]
    started = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
    started.start()
    started.join()
    return [sum(1 << core for core in cores) for cores in found]


def seen(ds, **options):
    """The sets of cores, as bits, of all the threads that made an element, and of those that they started."""
    before = os.sched_getaffinity(0)
    found = {cores for each in ds.map(cores_here).with_options(Options(**options)) for cores in np.ravel(each).tolist()}
    assert os.sched_getaffinity(0) == before  # the consumer's thread is not bound
    return found


def test_no_core_is_chosen_without_a_limit():
    assert cores_for(None) is None
    assert cores_for(MINE) is None
    assert cores_for(MINE + 1) is None


def test_all_runs_with_the_same_limit_share_their_cores():
    chosen = cores_for(1)
    assert len(chosen) == 1
    assert chosen <= os.sched_getaffinity(0)
    assert cores_for(1) == chosen


def test_the_thread_that_starts_others_is_bound_only_meanwhile():
    before, chosen = os.sched_getaffinity(0), cores_for(1)
    with only_on(chosen):
        assert os.sched_getaffinity(0) == chosen
    with pytest.raises(ZeroDivisionError), only_on(chosen):
        1 / 0  # noqa: B018
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("options", [{"executor": "threads", "workers": 3}, {"isolate": True}])
def test_threads_and_the_process_of_a_run_stay_on_one_core(options):
    (cores,) = seen(Dataset.range(40), cores=1, **options)
    assert cores.bit_count() == 1


def test_worker_processes_stay_on_one_core():
    pool = pool_for(PoolSetup(1, cores=cores_for(1)), default_memory_budget())
    assert pool.crew.begun.wait(90)  # until then, this process makes the elements
    (cores,) = seen(Dataset.range(40), cores=1, executor="processes")
    pool.close()
    assert cores.bit_count() == 1


def test_a_thread_that_makes_a_stream_ahead_stays_on_one_core():
    ds = Dataset.from_generator(lambda: iter(range(10))).prefetch(4)
    (cores,) = seen(ds, cores=1, executor="threads", workers=2)
    assert cores.bit_count() == 1


def test_without_a_limit_all_cores_are_used():
    (cores,) = seen(Dataset.range(40), executor="threads", workers=2)
    assert cores.bit_count() == MINE


def test_a_native_thread_stays_on_one_core():
    def of_threads():
        found = {}
        for thread in os.listdir("/proc/self/task"):
            found[thread] = os.sched_getaffinity(int(thread))
        return found

    side, before = side_thread(cores_for(1)), of_threads()
    out = np.empty((1, 4), np.int64), np.empty((1, 4), np.int32), np.empty((1, 4), np.int32)
    texts = HeldArrays([np.array([7, 8, 9])], np.dtype(np.int64))
    begin_filling([texts], np.array([[0, 0, 3, 0, 0]]), out, 0, side).wait()
    (started,) = [cores for thread, cores in of_threads().items() if thread not in before]
    assert started == cores_for(1)


def test_the_tuner_has_no_more_cores_than_the_limit():
    it = Dataset.range(64).map(lambda x: sum(range(40_000)) + x).with_options(Options(cores=1)).iterator()
    for _ in it:
        pass
    tuned = it.tuning()
    assert tuned.cores == 1
    assert any("1 core, as Options(cores=1) allows" in why for why in tuned.why)


def test_a_system_that_refuses_to_bind_threads_leaves_them_where_they_are(monkeypatch):
    def refused(thread, cores):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    (cores,) = seen(Dataset.range(40), executor="threads", workers=1, cores=1)
    assert cores.bit_count() == MINE

"""The ways to run a dataset, each of which gives the same; and the check that no thread is left of any."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from penstock import Options
from tests.workers import PATIENCE

WATCHDOG = "penstock-watchdog"  # of the process: it ends some seconds after the last run
POOL = "a pool of threads"
WAYS = {
    "auto": Options(),
    "inline": Options(executor="inline"),
    "1 thread": Options(executor="threads", workers=1),
    "4 threads": Options(executor="threads", workers=4),
    POOL: None,
}


@pytest.fixture(params=WAYS)
def way(request):
    if request.param != POOL:
        yield WAYS[request.param]
        return
    with ThreadPoolExecutor(2) as executor:
        yield Options(executor=executor)


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = set(threading.enumerate())
    yield
    gc.collect()
    left = [each for each in threading.enumerate() if each not in before and each.name != WATCHDOG]
    left = [each for each in left if not isinstance(each, threading._DummyThread)]  # which do not tell of their end
    for thread in left:
        thread.join(PATIENCE)
    assert [thread.name for thread in left if thread.is_alive()] == []


class AtOnce(ThreadPoolExecutor):
    """Runs a call before `submit` returns, so that everything that was begun is made when the consumer asks."""

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
        yield Options(executor=executor, workers=2)

from __future__ import annotations

import threading

import pytest

from penstock.engine.workers.threads import Threads
from penstock.testing.executors import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_threads_are_an_executor(check):
    with Threads(2) as threads:
        check(threads)


def test_results_and_errors_come_through_futures():
    with Threads(1) as threads:
        assert threads.submit(divmod, 7, 2).result(10) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            threads.submit(divmod, 7, 0).result(10)
        with pytest.raises(SystemExit):  # ends the task, not the thread
            threads.submit(raise_exit).result(10)
        assert threads.submit(int, "5").result(10) == 5


def raise_exit():
    raise SystemExit(3)


def meeting(threads, count):
    """Return whether `count` tasks are under way at once."""
    barrier = threading.Barrier(count)
    futures = [threads.submit(barrier.wait, 10) for _ in range(count)]
    return sorted(future.result(10) for future in futures) == list(range(count))


def test_the_number_of_threads_can_change():
    with Threads(1) as threads:
        threads.resize(3)
        assert threads.workers == 3
        assert meeting(threads, 3)
        workers = list(threads._threads)
        threads.resize(1)
        assert threads.workers == 1
        for _ in range(4):
            threads.submit(int).result(10)
        threads.resize(2)
        assert meeting(threads, 2)
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers)


def test_threads_that_were_shut_down_take_no_more_tasks():
    threads = Threads(2)
    threads.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        threads.submit(int)
    threads.shutdown()


def test_a_shutdown_does_not_wait_for_a_task_that_sleeps():
    wake, begun = threading.Event(), threading.Event()
    threads = Threads(1)

    def sleep():
        begun.set()
        return wake.wait(30)

    asleep, waiting = threads.submit(sleep), threads.submit(int)
    assert begun.wait(60)
    threads.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    assert not asleep.done()
    wake.set()
    assert asleep.result(10)
    threads.join(60)
    assert not any(thread.is_alive() for thread in threads._threads)


def test_threads_told_to_end_while_busy_also_end_after_a_shutdown():
    wake = threading.Event()
    threads = Threads(4)
    barrier = threading.Barrier(5)

    def sleep():
        barrier.wait(60)
        wake.wait(30)

    for _ in range(4):
        threads.submit(sleep)
    barrier.wait(60)
    threads.resize(1)
    workers = list(threads._threads)
    threads.shutdown(wait=False, cancel_futures=True)
    wake.set()
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers)


def test_waiting_for_threads_has_one_deadline():
    wake = threading.Event()
    threads = Threads(3)
    for _ in range(3):
        threads.submit(wake.wait, 30)
    threads.shutdown(wait=False)
    threads.join(0)
    assert any(thread.is_alive() for thread in threads._threads)
    wake.set()
    threads.join(60)
    assert not any(thread.is_alive() for thread in threads._threads)


def test_an_idle_thread_holds_no_result():
    import weakref

    class Result:
        pass

    with Threads(1) as threads:
        made = threads.submit(Result)
        reference = weakref.ref(made.result(10))
        del made
        threads.submit(int).result(10)
        assert reference() is None


def test_a_pool_that_garbage_collection_shuts_down_while_it_starts_threads_leaves_none(monkeypatch):
    pool = Threads(1)
    start = threading.Thread.start

    def started(thread):
        pool.shutdown(wait=False)  # as the finalizer of an iterator does
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    resizing = threading.Thread(target=pool.resize, args=[3], daemon=True)
    start(resizing)
    resizing.join(20)
    assert not resizing.is_alive()
    pool.join(20)
    assert not any(thread.is_alive() for thread in pool._threads)

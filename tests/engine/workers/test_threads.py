from __future__ import annotations

import threading

from penstock.engine.workers.executors import Threads
from tests.workers import await_end_of, posted, threads_of


def meeting(threads, count):
    """Return whether `count` tasks are under way at once."""
    barrier = threading.Barrier(count)
    futures = [posted(threads, barrier.wait, 10) for _ in range(count)]
    return sorted(future.result(10) for future in futures) == list(range(count))


def test_the_number_of_threads_can_change():
    with threads_of(1) as threads:
        threads.resize(3)
        assert threads.workers == 3
        assert meeting(threads, 3)
        workers = list(threads._threads)
        threads.resize(1)
        assert threads.workers == 1
        for _ in range(4):
            posted(threads, int).result(10)
        threads.resize(2)
        assert meeting(threads, 2)
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers)


def test_threads_that_were_shut_down_take_no_more_tasks():
    threads = Threads(2)
    threads.shutdown()
    assert not threads.post(print)
    threads.shutdown()
    await_end_of(threads)


def test_a_shutdown_does_not_wait_for_a_task_that_sleeps():
    wake, begun = threading.Event(), threading.Event()
    threads = Threads(1)

    def sleep():
        begun.set()
        return wake.wait(30)

    asleep, waiting = posted(threads, sleep), posted(threads, int)
    assert begun.wait(60)
    threads.shutdown()
    assert not asleep.done()
    wake.set()
    assert asleep.result(10)
    await_end_of(threads)
    assert not waiting.done()


def test_threads_told_to_end_while_busy_also_end_after_a_shutdown():
    wake = threading.Event()
    threads = Threads(4)
    barrier = threading.Barrier(5)

    def sleep():
        barrier.wait(60)
        wake.wait(30)

    for _ in range(4):
        posted(threads, sleep)
    barrier.wait(60)
    threads.resize(1)
    workers = list(threads._threads)
    threads.shutdown()
    wake.set()
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers)


def test_an_idle_thread_holds_no_result():
    import weakref

    class Result:
        pass

    with threads_of(1) as threads:
        made = posted(threads, Result)
        reference = weakref.ref(made.result(10))
        del made
        posted(threads, int).result(10)
        assert reference() is None


def test_a_pool_that_garbage_collection_shuts_down_while_it_starts_threads_leaves_none(monkeypatch):
    pool = Threads(1)
    start = threading.Thread.start

    def started(thread):
        pool.shutdown()  # as the finalizer of an iterator does
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    resizing = threading.Thread(target=pool.resize, args=[3], daemon=True)
    start(resizing)
    resizing.join(20)
    assert not resizing.is_alive()
    await_end_of(pool)

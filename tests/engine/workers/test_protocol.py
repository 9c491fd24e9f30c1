"""The protocol of all workers: the result of each task is told once, from any thread."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Job, Made, Task
from penstock.engine.tasks.works import RowWork
from penstock.engine.workers.executors import ThreadWorkers
from penstock.engine.workers.handed_in.pickled import pickled_plan
from penstock.engine.workers.handed_in.replaceable import ReplaceableExecutor
from penstock.engine.workers.handed_in.workers import RemoteWorkers
from penstock.engine.workers.native_thread import native_thread_for
from penstock.engine.workers.window import Window
from penstock.memory.pool import Memory
from penstock.plan.flow import Piece
from penstock.testing.laws import same
from tests.workers import threads_of

DS = ps.Dataset.from_tensor_slices(np.arange(40) % 7).shuffle(seed=1).batch(5)


def work():
    return RowWork(DS._plan, np.empty, Unobserved())


@contextmanager
def threads():
    with threads_of(2) as executor:
        yield ThreadWorkers(work(), executor)


@contextmanager
def pool():
    with ThreadPoolExecutor(2) as executor:
        yield ThreadWorkers(work(), executor)


@contextmanager
def processes():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        made = work()
        plan = pickled_plan(made, Unobserved())
        yield RemoteWorkers(made, ReplaceableExecutor(executor, 1, [].append), Unobserved(), plan)


@contextmanager
def native():
    workers = native_thread_for(work(), Memory())
    yield workers
    workers.close()


KINDS = [threads, pool, processes, native]


def job_of(*rows):
    return Job(Task(rows[0], rows[-1] + 1, Piece(Items([]), np.array(rows))), int)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_stored_in_the_window_in_the_order_of_the_jobs(kind):
    window, jobs = Window(ordered=True), [job_of(0, 1), job_of(2), job_of(3, 4, 5)]
    with kind() as workers:
        for job in jobs:
            window.push(job)
            workers.submit(job, 0, partial(window.finish, job, 0))
        for job in jobs:
            assert window.pop() == [job]
            (made,) = job.results
            assert isinstance(made, Made)
            batches = made.piece.chunk.elements()
            for row in made.piece.ids.tolist():
                assert same(batches.popleft() if hasattr(batches, "popleft") else batches.pop(0), DS[row])


@pytest.mark.parametrize("kind", KINDS)
def test_workers_have_a_name(kind):
    with kind() as workers:
        assert workers.name
        assert workers.shares_gil == (kind in (threads, pool))

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.memory.pool import Memory
from penstock.engine.tasks.gathering import Gathered, gathering_of
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Job, Made, Task
from penstock.engine.tasks.works import RowWork
from penstock.engine.workers.native_thread import NativeThread
from penstock.engine.workers.window import Window
from penstock.plan.flow import Piece

D = ps.Dataset
SHUFFLED = D.from_tensor_slices(np.arange(20) % 7).shuffle(seed=1).batch(5)


def work_of(ds):
    return RowWork(ds._plan, np.empty, Unobserved())


def task_of(*rows):
    return Task(0, len(rows), Piece(Items([]), np.array(rows)))


def submitted(workers, *rows):
    """Return the result of a task, available as soon as the task is submitted."""
    window, job = Window(ordered=True), Job(task_of(*rows), int)
    window.push(job)
    workers.submit(job, 0, window)
    assert not window.waits
    return window.pop().results[0]


def native(ds):
    return NativeThread(work_of(ds), gathering_of(ds._plan, Memory()), lambda: 40)


def test_batches_are_gathered_next_to_the_consumer():
    workers = native(SHUFFLED)
    result = submitted(workers, 0, 1)
    assert type(result.piece.chunk) is Gathered
    assert result.piece.chunk.batch_bytes == 40
    queue = result.piece.chunk.elements()
    assert [queue.popleft().tolist(), queue.popleft().tolist()] == [SHUFFLED[0].tolist(), SHUFFLED[1].tolist()]
    assert workers.gathers
    workers.close()


def test_batches_that_cannot_be_gathered_are_made_at_once():
    of_text = D.from_tensor_slices([str(row) for row in range(20)]).shuffle(seed=1).batch(5)
    workers = native(of_text)
    result = submitted(workers, 0, 1)
    assert isinstance(result, Made)
    assert [batch.tolist() for batch in result.piece.chunk.elements()] == [of_text[0].tolist(), of_text[1].tolist()]
    assert not workers.gathers
    workers.close()

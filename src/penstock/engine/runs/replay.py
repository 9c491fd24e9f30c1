"""The items of a failed job that come before the one at fault."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from penstock.core.errors import ElementError, WorkerDiedError, WorkerError
from penstock.engine.tasks.task import Job, Made, Redone
from penstock.engine.tasks.works import Work
from penstock.plan.flow import Piece


class AtFault(NamedTuple):
    """The exception of a job, and the number of the item that raised it."""

    failure: BaseException
    item: int


def replayed(job: Job, work: Work, *, lone_too: bool) -> Generator[Piece, None, AtFault | None]:
    """Yield the items of a failed job before the one at fault, made inline one by one; return the failure.

    So the items that the consumer receives before an error do not depend on the size of jobs. The function returns
    `None` if the failure does not recur, as with a disk. A job of one item is made again if its parts did not fit
    together, or if `lone_too`.
    """
    failure = job.failure()
    if isinstance(failure, Redone):
        for item, made in enumerate(failure.made):
            yield Piece(made.piece.chunk, made.piece.ids, job.mark_after(item + 1), made.piece.failed)
        return None if failure.failure is None else AtFault(failure.failure, len(failure.made))
    is_safe = isinstance(failure, WorkerDiedError) and failure.by_service
    if isinstance(failure, WorkerError) and not is_safe:  # a task that killed a worker would kill this process
        return AtFault(failure, 0)
    if any(isinstance(each, Made) and each.spares for each in job.results):
        apart = "parts of a batch, of which one spares an element that ends its worker, do not fit together"
        return AtFault(failure or ElementError(apart), 0)
    cut_apart = len(job.tasks) > 1 and isinstance(failure, ElementError | None)
    if len(job) == 1 and not cut_apart and not lone_too:
        return AtFault(failure or RuntimeError("a task ended without a result"), 0)
    for item in range(len(job)):
        result = work.tried(job.alone(item))
        if not isinstance(result, Made):
            return AtFault(result, item)
        yield Piece(result.piece.chunk, result.piece.ids, job.mark_after(item + 1), result.piece.failed)
    return None

"""Failures of a run: the items before the one at fault, and the errors that name it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple

from penstock.core.blame import Blame, add_blame, hand_on_blames
from penstock.core.errors import ClosedError, ElementError, WorkerDiedError, WorkerError
from penstock.core.frames import without_our_frames
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.task import Job, Made, Redone, Task
from penstock.engine.tasks.works import Work
from penstock.ops.group.batching import batching_of
from penstock.plan.blame import blame_given
from penstock.plan.flow import Flow, Piece
from penstock.plan.node import Node
from penstock.transport.unsent import is_unsent, part_at_fault, unsendable, why_unsent

if TYPE_CHECKING:
    from penstock.engine.runs.stage import Stage


class AtFault(NamedTuple):
    """The exception of a job, and the number of the item that raised it."""

    failure: BaseException
    item: int


def replayed_and_raised(job: Job, stage: Stage, *, lone_too: bool) -> Flow:
    """Yield the items of a failed job of a stage before the one at fault, then raise the failure, if it recurs."""
    at_fault = yield from replayed(job, stage.work, lone_too=lone_too)
    if at_fault is None:
        return
    failure, item = at_fault
    if isinstance(failure, Exception) and not isinstance(failure, WorkerError) and stage.below is not None:
        blame_given(failure, stage.below, int(job.task.given.ids[item]))
    stage.failed_at = job.task.low + item
    raise failure


def replayed(job: Job, work: Work, *, lone_too: bool) -> Generator[Piece, None, AtFault | None]:
    """Yield the items of a failed job before the one at fault, made inline one by one; return the failure.

    So the items that the consumer receives before an error do not depend on the size of jobs. The function returns
    `None` if the failure does not recur, as with a disk. A job of one item is made again if its parts did not fit
    together, if `lone_too`, or if its result, its exception or what it is given could not be sent.
    """
    failure = job.failure()
    if isinstance(failure, Redone):
        for item, made in enumerate(failure.made):
            yield Piece(made.piece.chunk, made.piece.ids, job.mark_after(item + 1), made.piece.failed)
        return None if failure.failure is None else AtFault(failure.failure, len(failure.made))
    if is_unsent(failure):
        return (yield from _made_again(job, work, failure))
    is_safe = isinstance(failure, WorkerDiedError) and failure.by_service
    if isinstance(failure, WorkerError) and not is_safe:  # a task that killed a worker would kill this process
        return AtFault(failure, 0)
    if any(isinstance(each, Made) and each.spares for each in job.results):
        apart = "parts of a batch, of which one spares an element that ends its worker, do not fit together"
        return AtFault(ElementError(apart) if failure is None else failure, 0)
    cut_apart = len(job.tasks) > 1 and isinstance(failure, ElementError | None)
    if len(job) == 1 and not cut_apart and not lone_too:
        return AtFault(RuntimeError("a task ended without a result") if failure is None else failure, 0)
    return (yield from _made_again(job, work))


def _made_again(job: Job, work: Work, unsent: BaseException | None = None) -> Generator[Piece, None, AtFault | None]:
    """Yield the items made again, up to one that fails, or that cannot be sent if that was the failure of the job."""
    for item in range(len(job)):
        task = job.alone(item)
        result = work.tried(task)
        is_sent = unsent is not None and not (isinstance(result, Made) and _is_held(result.piece, work.plan))
        if isinstance(result, Made) and is_sent:
            result = _unsendable(task, result, work.plan) or result
        if not isinstance(result, Made):
            return AtFault(result, item)
        if unsent is not None and is_sent and len(job) == 1:  # it has failed otherwise, as each next one might
            return AtFault(unsent, 0)
        yield Piece(result.piece.chunk, result.piece.ids, job.mark_after(item + 1), result.piece.failed)
    return None


def _is_held(piece: Piece, plan: Node) -> bool:
    """Return True if the consumer is to go through some result itself, such as a generator: it can be made here."""
    from penstock.ops.combine.unpack import HeldResult  # rarely needed

    if not isinstance(piece.chunk, Items):
        return False
    of_interleave = plan.elementwise and plan.name == "interleave"
    return any(kind is HeldResult or (of_interleave and issubclass(kind, Iterator)) for kind in piece.chunk.types)


def _unsendable(task: Task, made: Made, plan: Node) -> BaseException | None:
    """Return the error for the elements of one item if a worker cannot be given them, or cannot return them."""
    for does, piece in (("is given", task.given), ("makes", made.piece)):
        if (error := why_unsent(piece)) is not None:
            elements = piece.chunk.elements()
            unit = "element" if batching_of(plan) is None or does != "makes" else "batch"
            part = part_at_fault(elements[0], unit) if len(elements) == 1 else part_at_fault(elements, f"{unit}s")
            return unsendable(error, plan, does=does, part=part)
    return None


def named_failure(failure: BaseException, what: str, epoch: int, again: str | None) -> BaseException:
    """Return the failure with the item being made and how to make it again, and a traceback from the user's frames on.

    A `StopIteration` would silently end the consumer's loop, so a `RuntimeError` replaces it.
    """
    of_epoch = f" of epoch {epoch}" if epoch else ""
    failure = failure.with_traceback(without_our_frames(failure))
    add_blame(failure, Blame(detail=f"{what}{of_epoch}" + (f"; make it again with {again}" if again else "")))
    if isinstance(failure, StopIteration | StopAsyncIteration):
        error = RuntimeError(f"a function of the pipeline raised {type(failure).__name__}")
        error.__cause__ = failure
        hand_on_blames(failure, error)
        return error
    return failure


def over(ended: str) -> ClosedError:
    """Return the error for `next` of an iterator that was closed, was cancelled or has failed.

    >>> print(over("failed"))
    this iterator has failed; create a new one, or load a saved state into it
    """
    how = "has failed" if ended == "failed" else f"was {ended}"
    return ClosedError(f"this iterator {how}; create a new one, or load a saved state into it")

"""The words of a failure: what was being made, how to make it again, and where in their code it happened."""

from __future__ import annotations

from types import TracebackType

from penstock.core.blame import Blame, add_blame, hand_on_blames
from penstock.core.errors import ClosedError
from penstock.core.frames import is_ours


def named_failure(failure: BaseException, what: str, epoch: int, again: str | None) -> BaseException:
    """Return the failure with what was being made and how to make it again; its traceback begins at the user's frames.

    A `StopIteration` would end the consumer's loop without a word: a `RuntimeError` stands for it.
    """
    of_epoch = f" of epoch {epoch}" if epoch else ""
    failure.__traceback__ = _without_ours(failure.__traceback__)
    add_blame(failure, Blame(detail=f"{what}{of_epoch}" + (f"; make it again with {again}" if again else "")))
    if isinstance(failure, StopIteration | StopAsyncIteration):
        error = RuntimeError(f"a function of the pipeline raised {type(failure).__name__}")
        error.__cause__ = failure
        hand_on_blames(failure, error)
        return error
    return failure


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame that is not Penstock's on; all of it where there is none."""
    own = traceback
    while own is not None and is_ours(own.tb_frame.f_code.co_filename):
        own = own.tb_next
    return own or traceback


def over(ended: str) -> ClosedError:
    """Return the error for an iterator of which more is asked, though it was closed, cancelled or failed.

    >>> print(over("failed"))
    this iterator has failed: begin a new one, or load a saved state into it
    """
    how = "has failed" if ended == "failed" else f"was {ended}"
    return ClosedError(f"this iterator {how}: begin a new one, or load a saved state into it")

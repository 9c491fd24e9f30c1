"""Error messages of runs: the item being made, how to make it again, and the location in the user's code."""

from __future__ import annotations

from collections import deque
from time import time
from types import TracebackType
from typing import TYPE_CHECKING

from penstock.core.blame import Blame, add_blame, hand_on_blames
from penstock.core.errors import ClosedError
from penstock.core.frames import is_ours

if TYPE_CHECKING:
    from penstock.core.events import RunEvent


def named_failure(failure: BaseException, what: str, epoch: int, again: str | None) -> BaseException:
    """Return the failure with the item being made and how to make it again, and a traceback from the user's frames on.

    A `StopIteration` would silently end the consumer's loop, so a `RuntimeError` replaces it.
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
    """Return the traceback from the first frame outside Penstock on; all of it if there is no such frame."""
    own = traceback
    while own is not None and is_ours(own.tb_frame.f_code.co_filename):
        own = own.tb_next
    return own or traceback


def over(ended: str) -> ClosedError:
    """Return the error for `next` of an iterator that was closed, was cancelled or has failed.

    >>> print(over("failed"))
    this iterator has failed; create a new one, or load a saved state into it
    """
    how = "has failed" if ended == "failed" else f"was {ended}"
    return ClosedError(f"this iterator {how}; create a new one, or load a saved state into it")


def note_once(noted: set[str], events: deque[RunEvent], words: str) -> None:
    """Note that a run goes on without something, unless it was noted before."""
    if words not in noted:
        import logging  # expensive to load, and rarely needed

        from penstock.core.events import RunEvent

        noted.add(words)
        events.append(RunEvent(time(), "degraded", "", None, words))
        logging.getLogger("penstock").warning("%s", words)

"""One pass over a dataset that tallies its leaves in the workers of the pipeline."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any

from penstock import engine
from penstock.core.errors import CursorError
from penstock.dataset.describing import checkpoint as checkpoints
from penstock.dataset.describing.checkpoint import Saved
from penstock.dataset.describing.description import Description, described
from penstock.dataset.describing.outline import Outlining, Tallies
from penstock.dataset.describing.progress import Pacer
from penstock.dataset.iterator import Iterator
from penstock.dataset.passes import Passes
from penstock.ops.elementwise.map import Map

if TYPE_CHECKING:
    from penstock.plan.node import Node

SAVED_EVERY = 10.0  # seconds
NOT_SAVED = "describe(checkpoint=%r): the checkpoint cannot be written, and the pass goes on without it: %s"


class DescribingPass:
    """A pass over epoch 0 of a plan, up to `limit` elements, perhaps continued from a checkpoint."""

    def __init__(self, plan: Node, seed: int, limit: int | None, checkpoint: str | None) -> None:
        self._limit = limit
        self._checkpoint = checkpoint
        self.tallies = Tallies()
        self._is_whole = True  # not in the middle of an element
        passes = Passes(plan, seed)
        outlined = Map(plan, Outlining(), traceable=False)
        self._iterator = Iterator[Any](passes, engine.runs.scope.CarryOver(), 0, plan=outlined)
        saved = None if checkpoint is None else checkpoints.load_checkpoint(checkpoint)
        self._before = 0  # elements of earlier calls
        if saved is not None:
            self._continue(saved, str(checkpoint))

    def _continue(self, saved: Saved, path: str) -> None:
        if self._limit is not None and saved.tallies.elements > self._limit:
            raise ValueError(
                f"describe(limit={self._limit}): the checkpoint {path!r} already has {saved.tallies.elements:,} "
                "elements; remove it, or raise the limit"
            )
        try:
            self._iterator.load_state_dict(saved.position)
        except CursorError as error:
            error.add_note(f"describe(checkpoint={path!r}): remove the file to begin again")
            raise
        self.tallies, self._before = saved.tallies, saved.tallies.elements

    def run(self, pacer: Pacer, class_names: Sequence[str] = ()) -> Description:
        """Take all elements, and return their statistics, with the names of classes if these are known."""
        with ExitStack() as stack:
            stack.callback(pacer.close)
            stack.enter_context(self._iterator)
            try:
                self._take(pacer)
            except BaseException:
                self._save()
                raise
        if self._checkpoint is not None:
            checkpoints.remove_checkpoint(self._checkpoint)
        return described(self.tallies, class_names)

    def _take(self, pacer: Pacer) -> None:
        tallies, due = self.tallies, perf_counter() + SAVED_EVERY
        while self._limit is None or tallies.elements < self._limit:
            outline = next(self._iterator, None)
            if outline is None:
                break
            self._is_whole = False
            tallies.add(outline)
            self._is_whole = True
            now = perf_counter()
            pacer.note(tallies.elements, now)
            if now >= due:
                self._save()
                due = now + SAVED_EVERY
        pacer.finish(tallies.elements)

    def _save(self) -> None:
        """Save the position and the tallies, unless an interrupt came between the two."""
        is_at_one = self._iterator.stats().items == self.tallies.elements - self._before
        if self._checkpoint is not None and self._is_whole and is_at_one:
            try:
                checkpoints.save_checkpoint(self._checkpoint, Saved(self._iterator.state_dict(), self.tallies))
            except OSError as error:  # a full disk
                logging.getLogger("penstock").warning(NOT_SAVED, self._checkpoint, error)

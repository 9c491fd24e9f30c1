"""Keep elements at random, so that their classes occur in given proportions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.nesting import leaf_column, nested
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ArraySpec
from penstock.kernels import first_draws
from penstock.ops.elementwise.apply import Apply, element_wise
from penstock.ops.elementwise.error_budget import EnforceErrorBudget
from penstock.plan.blame import blame
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, Spread, resumed
from penstock.plan.functions import name_of
from penstock.plan.node import Node, Streamed
from penstock.plan.outcomes import outcomes_here
from penstock.plan.safety.calls import called_in_turns
from penstock.plan.safety.writing import chunk_for
from penstock.plan.step import Step
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

_PAIR = flatten((0, 0))[1]


@frozen()
class Classify(Node):
    """Pair each element with its class, the result of `class_func`: a whole number below `classes`.

    `thread_safe` is that of `Map`.
    """

    elementwise = True
    traits = Traits(ids="kept")

    input: Node
    class_func: Callable[..., Any]
    classes: int
    thread_safe: bool | None = field(default=None, metadata={"runs": True})

    @property
    def name(self) -> str:
        return "rejection_resample"

    @property
    def internal(self) -> bool:
        return True

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        return None if spec is None else (ArraySpec((), np.dtype(np.int64)), spec)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (rows,)

    def as_step(self, allocate: Allocate) -> Step | None:
        classify = self._classify()
        return Step(change=lambda chunk, rows, below, out: self._paired(chunk, rows, classify))

    def spread(self, allocate: Allocate) -> Spread:
        classify = self._classify()

        def run(piece: Piece) -> Piece:
            if len(piece) == 0:
                return piece
            return Piece(self._paired(piece.chunk, piece.ids, classify), piece.ids, piece.after)

        return run

    def _classify(self) -> Apply:
        apply = called_in_turns(element_wise(self), self.class_func, self.thread_safe)
        ready = chunk_for(self.class_func, go_on=True)
        return lambda chunk, rows, out: apply(ready(chunk), rows, out)

    def _paired(self, chunk: Chunk, ids: Rows, classify: Apply) -> Chunk:
        values = classify(chunk, ids, None).held()
        for value, row in zip(values, ids.tolist(), strict=True):
            try:
                self.number_of(value)
            except ElementError as error:
                blame(error, self, row)
                raise
        return with_classes(values, chunk)

    def number_of(self, value: Any) -> int:
        """Return the number of a class; raise an `ElementError` for any other value."""
        number = np.asarray(value)
        if number.dtype.kind not in "iu" or number.shape != () or not 0 <= number < self.classes:
            raise ElementError(
                f"rejection_resample: class_func returned {value!r:.60}; target_dist has {self.classes} classes, "
                f"so return a whole number from 0 to {self.classes - 1}"
            )
        return int(number)

    def arguments(self) -> str:
        return name_of(self.class_func)


@frozen()
class RejectionResample(Streamed):
    """Keep an element of class c, the first part of its pair, with probability `keep[c]`."""

    kind = "Resample"
    elementwise = True
    draws = True
    traits = Traits(ids="kept", selects=True)

    input: Classify | EnforceErrorBudget[Classify]
    keep: tuple[float, ...]
    seed: int | None

    @property
    def name(self) -> str:
        return "rejection_resample"

    def spec(self) -> Spec | None:
        return self.input.spec()

    def spread(self, allocate: Allocate) -> Spread:
        keep, seed = np.array(self.keep), self.seed

        def run(piece: Piece) -> Piece:
            if len(piece) == 0:
                return piece
            return piece.select(np.flatnonzero(_draws(seed, piece.ids) < keep[_classes(piece.chunk)]))

        return run

    def arguments(self) -> str:
        return ", ".join([_classified(self.input).arguments(), f"keep={_shown(self.keep)}"])


@frozen()
class ResampleEstimated(Streamed):
    """Keep elements so that classes occur as in `target`, given the counts of the classes so far.

    The state is the number of elements of each class; each count starts at one, so that no class is impossible.
    """

    draws = True
    traits = Traits(ids="kept", selects=True)

    input: Classify | EnforceErrorBudget[Classify]
    target: tuple[float, ...]
    seed: int | None

    @property
    def name(self) -> str:
        return "rejection_resample"

    def spec(self) -> Spec | None:
        return self.input.spec()

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        target = np.array(self.target)
        seen, at = resumed(mark, ([1] * len(target), None))
        counts = np.array(seen, np.int64)
        with Reader(inputs[0], epoch, at) as reader:
            while (piece := reader.read(MOST_READ)) is not None:
                outcomes_here.examined += len(piece)
                classes = _classes(piece.chunk)
                # counts up to and including each element: (k, classes)
                running = counts + np.cumsum(classes[:, None] == np.arange(len(target)), axis=0)
                counts = running[-1]
                chances = keep_chances(target, running)[np.arange(len(classes)), classes]
                kept = piece.select(np.flatnonzero(_draws(self.seed, piece.ids) < chances))
                yield Piece(kept.chunk, kept.ids, [counts.tolist(), reader.mark])

    def arguments(self) -> str:
        return ", ".join([_classified(self.input).arguments(), f"target_dist={_shown(self.target)}"])


def keep_chances(target: np.ndarray, initial: np.ndarray) -> np.ndarray:
    """Return the probability to keep each class so that `initial` becomes `target`: any unit, (..., classes).

    The probabilities are as large as possible: the class that is rarest relative to its target is always kept.

    >>> keep_chances(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    array([0.25, 1.  ])
    """
    wanted = np.divide(target, initial, out=np.zeros(np.broadcast(target, initial).shape), where=initial > 0)
    return wanted / wanted.max(axis=-1, keepdims=True)


def with_classes(classes: list[Any], chunk: Chunk) -> Chunk:
    """Return pairs of a class and its element."""
    return nested(_PAIR, [leaf_column(np.array(classes, np.int64)), chunk])


def _classified(node: Node) -> Node:
    """Return the node that calls the function: `node`, or one below that counts its errors or cuts its stream.

    A stage that stands on a flow does not see it.
    """
    while not isinstance(node, Classify) and node.inputs:
        (node,) = node.inputs
    return node


def _shown(shares: tuple[float, ...]) -> str:
    return f"[{', '.join(f'{share:.4g}' for share in shares)}]"


def _classes(pairs: Chunk) -> Rows:
    """Return the classes of a chunk of pairs that `Classify` made: `int64[k]`."""
    if isinstance(pairs, Columns):
        return np.asarray(pairs.columns[0], np.int64)
    return np.array([pair[0] for pair in pairs.held()], np.int64)


def _draws(seed: int | None, ids: Rows) -> np.ndarray:
    """Return a uniform number in [0, 1) for each element, `float64[k]`."""
    if seed is None:
        raise RuntimeError("a rejection_resample without a seed reached the compiler; run bind_seeds first")
    return (first_draws(seed, ids) >> np.uint64(11)).astype(np.float64) * 2.0**-53

"""Draw random numbers."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.core.seeds import mix, written_seed
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.spec import ArraySpec
from penstock.kernels import first_draws
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, Program, Spec


@frozen()
class Random(Node):
    """Draw integers uniformly from [0, 2**32), without end; different ones each epoch if `rerandomize`."""

    seed: int | None
    rerandomize: bool

    @cached_property
    def length(self) -> int:
        return INFINITE

    def spec(self) -> Spec | None:
        return ArraySpec((), np.dtype(np.int64))

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return ()

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        if self.seed is None:
            raise RuntimeError("random numbers without a seed reached the compiler; run bind_seeds first")
        key = mix(self.seed)

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            draws = first_draws(key, rows if self.rerandomize else rows % self.stride)
            return leaf_column((draws >> np.uint64(32)).astype(np.int64))

        return run

    def arguments(self) -> str:
        return "".join(written_seed(self.seed))

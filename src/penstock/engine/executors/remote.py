"""Run tasks where nothing is shared: the plan travels once by file, or with each task where files do not reach."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.engine.advice import Advise, advised, advising
from penstock.engine.compile import compiled, spreading
from penstock.engine.task import Listed, Meter, Stacked, make_listed, make_spread, make_stacked
from penstock.plan.flow import Piece, Spread
from penstock.plan.node import Node
from penstock.plan.types import Program

LARGEST_CARRIED = 1 << 16  # bytes of a pickled plan that may travel with every task


@dataclass(frozen=True)
class Shipment:
    """A pickled plan: its bytes, or the file they are in."""

    data: bytes | None
    path: str | None

    def load(self) -> Any:
        """Unpickle it."""
        import cloudpickle

        if self.data is not None:
            return cloudpickle.loads(self.data)
        with open(str(self.path), "rb") as file:
            return cloudpickle.load(file)

    def remove(self) -> None:
        """Delete the file, if there is one."""
        if self.path is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.path)


def shipped(node: Node, observer: Any) -> Shipment:
    """Pickle the node whose program the tasks run, with functions by value, and what measures it."""
    import tempfile

    import cloudpickle

    data = cloudpickle.dumps((node, observer))
    if len(data) <= LARGEST_CARRIED:
        return Shipment(data, None)
    handle, path = tempfile.mkstemp(prefix="penstock-plan-", suffix=".pickle")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return Shipment(None, path)


def run_shipped(shipment: Shipment, rows: Rows, batches: int, soon: Rows | None = None) -> tuple[Stacked | Listed, Any]:
    """In the worker: the task's result, and what its observer counted; sources are told of the rows `soon` first.

    They are stacked for a number of `batches`; for none they are listed.
    """
    program, advise, observer = _program(shipment)
    program = advised(program, advise, soon)
    if batches:
        made: Stacked | Listed = make_stacked(program, rows, None, _fresh, Meter(), batches=batches)
    else:
        made = make_listed(program, rows, Meter())
    return made, observer.drain()


def spread_shipped(shipment: Shipment, given: Piece, soon: Rows | None = None) -> tuple[Any, Any]:
    """In the worker: what comes of a unit of a stream, and what the task's observer counted; `soon` as above."""
    spread, advise, observer = _spread(shipment)
    return make_spread(spread, given, advise, soon, Meter()), observer.drain()


def _spread(shipment: Shipment) -> tuple[Spread, Advise | None, Any]:
    return _spread_of_file(shipment) if shipment.data is None else _spread_of_data(shipment)


def _loaded(shipment: Shipment) -> tuple[Spread, Advise | None, Any]:
    node, observer = shipment.load()
    return spreading(node, _fresh, observer), advising(node), observer


_spread_of_file = lru_cache(maxsize=4)(_loaded)
_spread_of_data = lru_cache(maxsize=64)(_loaded)  # small: virtual streams have many that differ in what they draw by


@lru_cache(maxsize=4)
def _program(shipment: Shipment) -> tuple[Program, Advise | None, Any]:
    node, observer = shipment.load()
    return compiled(node, _fresh, observer), advising(node), observer


def _fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    return np.empty(shape, dtype)


Run = Callable[[Shipment, Rows, int, Rows | None], tuple[Stacked | Listed, Any]]

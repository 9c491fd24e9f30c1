"""The limit of `cluster`: the work itself in as many processes, and nothing delivered."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from bench.contenders.preparing import Prepare
from bench.tally import Tally


def version() -> str:
    return ""


class Work:
    """Prepare a batch of photos and return their number."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.prepare = Prepare(options)

    def __call__(self, rows: range) -> int:
        return len(self.prepare.batch(rows))


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    work, batch = Work(options), options["batch"]
    pool = ProcessPoolExecutor(options["workers"], get_context("spawn"))
    spans = [range(low, low + batch) for low in range(0, options["rows"] // batch * batch, batch)]

    def run(tally: Tally, number: int) -> None:
        tally.rows = sum(pool.map(work, spans))

    return run

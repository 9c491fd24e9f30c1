"""torch DataLoader over a map-style dataset of integers, without workers, because it is slower with them here.

Tried: the default collation, and `collate_fn=torch.tensor`, which is three times faster and therefore measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Numbers(Dataset[Any]):
    """A dataset whose item i is `i` after every function, and whose item [i, j, ...] is an array of such items."""

    def __init__(self, rows: int, maps: int) -> None:
        self.rows, self.functions = rows, [lambda x: x + 1] * maps

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: Any) -> Any:
        value = row if isinstance(row, int) else np.array(row)
        for function in self.functions:
            value = function(value)
        return value


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    numbers, batch = Numbers(options["rows"], options["maps"]), options["batch"]
    if options.get("columns"):
        loader = DataLoader(
            numbers, sampler=BatchSampler(RandomSampler(numbers), batch, drop_last=True), batch_size=None
        )
    else:
        collate = None if options.get("default_collate") else torch.tensor
        loader = DataLoader(numbers, shuffle=True, batch_size=batch, drop_last=True, collate_fn=collate)

    def run(tally: Tally, number: int) -> None:
        for values in loader:
            tally.add(values, values)

    return run

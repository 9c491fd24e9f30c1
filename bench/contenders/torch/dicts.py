"""torch DataLoader over a list of dicts, without workers, because it is slower with them here.

Tried: the default collation, which makes a tensor of every value first, and batches made by NumPy, as by the limit,
which are faster and therefore measured. The default collation cannot pad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from bench.dicts import FUNCTIONS, collate, rows_of
from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Rows(Dataset[Any]):
    """A dataset whose item i is the result of the function for row i."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.rows, self.function = rows_of(options["kind"], options["rows"]), FUNCTIONS[options["kind"]]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Any:
        return self.function(self.rows[row])


def tensors(rows: list[Any]) -> dict[str, Any]:
    """Return the batch made by NumPy, with tensors over its numbers."""
    made = collate(rows)
    return {key: value if value.dtype == object else torch.from_numpy(value) for key, value in made.items()}


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    torch.set_num_threads(1)
    made = None if options.get("default_collate") else tensors
    loader = DataLoader(Rows(options), shuffle=True, batch_size=options["batch"], drop_last=True, collate_fn=made)
    data = "features" if options["kind"] == "stacked" else "tokens"

    def run(tally: Tally, number: int) -> None:
        for batch in loader:
            tally.add(batch[data], batch["id"])

    return run

"""torch DataLoader with persistent worker processes, each filling a whole batch in shared memory at a time.

Tried: an element per item with the default collation; prefetch factors; three workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler

from bench.contenders.laboring import Labor, rows_of
from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Elements(Dataset[Any]):
    """A dataset whose item i is an element, and whose item [i, j, ...] is a whole batch in shared memory."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.labor, self.rows = Labor(options), options["rows"]

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int):
            return self.labor(rows)
        made = shared((len(rows), self.labor.nbytes))
        self.labor.fill(made.numpy(), rows)
        return made


def shared(shape: tuple[int, int]) -> torch.Tensor:
    """Return new bytes that the other process can see, as `default_collate` makes them."""
    storage = torch.UntypedStorage._new_shared(int(np.prod(shape)), device="cpu")
    return torch.tensor([], dtype=torch.uint8).set_(storage, 0, shape)


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    elements, batch = Elements(options), options["batch"]
    settings: dict[str, Any] = {
        "num_workers": options.get("workers", 2),
        "persistent_workers": True,
        "prefetch_factor": options.get("prefetch", 2),
    }
    if options.get("batched", True):
        sampler = BatchSampler(SequentialSampler(elements), batch, drop_last=True)
        loader = DataLoader(elements, sampler=sampler, batch_size=None, **settings)
    else:
        loader = DataLoader(elements, batch_size=batch, drop_last=True, **settings)

    def run(tally: Tally, number: int) -> None:
        for made in loader:
            tally.add(made, rows_of(made.numpy()))

    return run

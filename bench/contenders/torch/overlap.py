"""torch DataLoader with two persistent worker processes. Tried: prefetch factors 2, 4 and 8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from bench.contenders.waiting import Prepare, train
from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Batches(Dataset[Any]):
    """A dataset whose item i is batch i."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.steps, self.prepare = options["steps"], Prepare(options)

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, i: int) -> torch.Tensor:
        return torch.from_numpy(self.prepare(i))


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    loader = DataLoader(
        Batches(options),
        batch_size=None,
        num_workers=options["parallel"],
        persistent_workers=True,
        prefetch_factor=options.get("prefetch", 4),
    )

    def run(tally: Tally, number: int) -> None:
        train(loader, options, tally)

    return run

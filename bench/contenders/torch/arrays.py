"""torch DataLoader over arrays, without workers (faster here): as documented, and with a batch per item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, TensorDataset

from bench.tally import Tally, record_ids


def version() -> str:
    return torch.__version__


class Rows(Dataset[Any]):
    """A dataset whose item [i, j, ...] is a whole batch, gathered at once."""

    def __init__(self, tensors: tuple[torch.Tensor, ...]) -> None:
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, rows: list[int]) -> tuple[torch.Tensor, ...]:
        index = torch.tensor(rows)
        return tuple(tensor.index_select(0, index) for tensor in self.tensors)


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    batch = options["batch"]
    files = [options["data"], *([options["labels"]] if "labels" in options else [])]
    tensors = tuple(torch.from_numpy(np.load(file)) for file in files)
    if options.get("batched"):
        rows = Rows(tensors)
        loader = DataLoader(rows, sampler=BatchSampler(RandomSampler(rows), batch, drop_last=True), batch_size=None)
    else:
        loader = DataLoader(TensorDataset(*tensors), shuffle=True, batch_size=batch, drop_last=True)

    def run(tally: Tally, number: int) -> None:
        for leaves in loader:
            tally.add(leaves[0], record_ids(leaves[0].numpy()) if tally.thorough else leaves[0])

    return run

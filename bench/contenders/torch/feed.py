"""torch DataLoader with a batch per item and a sampler without end, so that nothing stops between epochs.

Tried: 0, 1 and 2 worker processes, and prefetch factors; for JAX, whose step has threads of its own, also one thread of
PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Sampler

from bench.contenders.stepping import MIDDLE, SCALE, Stepping, read
from bench.contenders.torch.arrays import Rows
from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Endless(Sampler[list[int]]):
    """The row numbers of shuffled batches without end."""

    def __init__(self, rows: int, batch: int) -> None:
        self.rows, self.batch = rows, batch

    def __iter__(self) -> Iterator[list[int]]:
        while True:
            order = torch.randperm(self.rows)[: self.rows // self.batch * self.batch]
            yield from order.view(-1, self.batch).tolist()


def normalized(leaves: tuple[torch.Tensor, ...]) -> dict[str, torch.Tensor]:
    image, label = leaves
    return {"image": image.float().sub_(MIDDLE).div_(SCALE), "label": label}


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    if "threads" in options:
        torch.set_num_threads(options["threads"])
    rows = Rows(tuple(map(torch.from_numpy, read(options))))
    workers = options.get("workers", 0)
    loader = DataLoader(
        rows,
        sampler=Endless(len(rows), options["batch"]),
        batch_size=None,
        collate_fn=normalized,
        num_workers=workers,
        prefetch_factor=options.get("prefetch", 2) if workers else None,
    )
    batches = iter(loader)  # starts the workers, before JAX has threads
    stepping = Stepping(options)
    if options["framework"] == "torch":
        return stepping.over(batches)
    return stepping.over(stepping.placed({name: leaf.numpy() for name, leaf in batch.items()} for batch in batches))

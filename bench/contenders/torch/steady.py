"""torch DataLoader over arrays, with a batch per item, for a long run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

from bench.contenders.torch.arrays import Rows
from bench.contenders.watching import watch
from bench.tally import Tally


def version() -> str:
    return torch.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    rows = Rows((torch.from_numpy(np.load(options["data"])),))
    sampler = BatchSampler(RandomSampler(rows), options["batch"], drop_last=True)
    loader = DataLoader(rows, sampler=sampler, batch_size=None)

    def run(tally: Tally, number: int) -> None:
        watch(chain.from_iterable(repeat(loader)), options, tally)

    return run

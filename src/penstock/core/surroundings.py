"""The place of this process among several, as far as PyTorch tells; nothing is imported for it."""

from __future__ import annotations

import sys
from typing import Any

FETCHER = "torch.utils.data._utils.fetch"
"""The module in which a DataLoader asks for a row."""


def surroundings() -> tuple[int, int]:
    """Return how many DataLoader workers and how many ranks there are, of which this process is one.

    >>> surroundings()
    (1, 1)
    """
    worker = torch_worker()
    return (1 if worker is None else worker.num_workers), torch_ranks()


def torch_worker() -> Any:
    """Return the `WorkerInfo` of a DataLoader's worker process; `None` in any other process."""
    told = getattr(sys.modules.get("torch.utils.data"), "get_worker_info", None)
    return told() if told is not None else None


def torch_ranks() -> int:
    """Return how many ranks `torch.distributed` was initialised with; 1 where it was not."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 1
    return distributed.get_world_size()


def is_asked_by_pytorch() -> bool:
    """Return whether the code that called the caller of this function is of PyTorch's DataLoader or its samplers."""
    caller = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing else tells
    return str(caller.f_globals.get("__name__")).startswith("torch.utils.data.")


def is_read_by_a_dataloader() -> bool:
    """Return whether the code that called the caller of this function is a DataLoader's, asking for a row."""
    caller = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing else tells
    return caller.f_globals.get("__name__") == FETCHER

"""A small ResNet in PyTorch, fed by Penstock and by a DataLoader."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import penstock as ps
from bench.feeding.torch_training import Training
from bench.feeding.work import WIDTHS, Work, again, verdict_of
from penstock.elements.nested.structure import flatten, unflatten
from penstock.testing.feeds import verify_feed


def check(work: Work) -> tuple[dict[str, float], dict[str, float], str]:
    """Return the seconds of a step, the bytes a second of transfers, and the verdict of the feed."""
    for depth in (1, 2, 3):
        verify_feed(lambda ds, depth=depth: ds.to_torch(work.device, depth=depth), numpy_of)
    print("  the conformance suite passes", flush=True)
    is_cuda = work.device.startswith("cuda")
    step = Training(work.device, WIDTHS, normalized)
    feed = work.dataset().to_torch(work.device)
    it = feed.iterator()
    sources = {
        "replayed": lambda: again(next(it)),
        "the feed": lambda: it,
        "resident data": lambda: iter(ps.feed.resident(work.dataset(), work.device)),
        f"DataLoader, {work.workers} workers, pinned": lambda: loaded(work),
    }
    times = work.times(sources, step, step.wait)
    rates = {"plain copy, pinned": plain_rate(work), "the feed": feed_rate(work)} if is_cuda else {}
    return times, rates, verdict_of(feed, step, work.steps)


def normalized(image: torch.Tensor) -> torch.Tensor:
    return image.to(torch.bfloat16).sub_(127).div_(64)


class Rows(torch.utils.data.Dataset):
    """The same images for a DataLoader, a batch at a time, which is its fastest way."""

    def __init__(self, work: Work) -> None:
        self.data, self.flip = work.data, work.flip

    def __len__(self) -> int:
        return len(self.data["label"])

    def __getitems__(self, rows: list[int]) -> dict[str, torch.Tensor]:
        image = self.data["image"][rows]
        image = image[:, :, ::-1] if self.flip else image
        return {
            "image": torch.from_numpy(np.ascontiguousarray(image)),
            "label": torch.from_numpy(self.data["label"][rows]),
        }


def loaded(work: Work) -> Iterator[Any]:
    is_cuda = work.device.startswith("cuda")
    options: dict[str, Any] = {"persistent_workers": True, "prefetch_factor": 4} if work.workers else {}
    loader = torch.utils.data.DataLoader(
        Rows(work),
        work.batch,
        shuffle=True,
        drop_last=True,
        num_workers=work.workers,
        pin_memory=is_cuda,
        collate_fn=lambda batch: batch,
        **options,
    )
    while True:
        for batch in loader:
            yield {name: tensor.to(work.device, non_blocking=True) for name, tensor in batch.items()}


def plain_rate(work: Work) -> float:
    """Return the bytes a second of copies of a batch out of pinned memory, one after another."""
    source = torch.empty(work.batch_bytes, dtype=torch.uint8, pin_memory=True)
    target = torch.empty(work.batch_bytes, dtype=torch.uint8, device=work.device)
    best = math.inf
    for _ in range(20):
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        began.record()
        target.copy_(source, non_blocking=True)
        ended.record()
        ended.synchronize()
        best = min(best, began.elapsed_time(ended))
    return work.batch_bytes / best * 1e3


def feed_rate(work: Work) -> float:
    """Return the bytes a second of the feed's own copies, beside no steps."""
    feed = work.dataset().to_torch(work.device)
    with feed.iterator() as it:
        for _ in range(50):
            next(it)
            torch.cuda.synchronize()
        times = feed._placement.clock.times()
    return times.nbytes / times.moving


def numpy_of(batch: Any) -> Any:
    def one(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if leaf.layout == torch.jagged:
            return ps.Ragged.from_torch(leaf)
        return ps.Sparse.from_torch(leaf) if leaf.is_sparse else leaf.numpy(force=True)

    leaves, structure = flatten(batch)
    return unflatten(structure, list(map(one, leaves)))

"""torch DataLoader with OpenCV: persistent worker processes, each filling a whole batch in shared memory at a time.

Tried: several workers; one image per item with the default collation; a batch per item (BatchSampler as sampler),
copied into shared memory or written straight into it; prefetch factors.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from bench.contenders.opencv_crop import crop_into, empty_batch
from bench.data import image_files
from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Photos(Dataset[Any]):
    """A dataset whose item i is a crop and its label, and whose item [i, j, ...] is a whole batch of them."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.files, self.labels = image_files(Path(options["folder"]))
        self.floats, self.large, self.shared = options["float"], options["large"], options.get("shared", True)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, rows: Any) -> tuple[Any, Any]:
        rng = random  # torch seeds the generator in each worker and epoch
        if isinstance(rows, int):
            out = empty_batch(1, self.floats)[0]
            crop_into(self.files[rows], rng, out, self.large)
            return out, self.labels[rows]
        images = self.empty(len(rows))
        out = images.numpy()
        for i, row in enumerate(rows):
            crop_into(self.files[row], rng, out[i], self.large)
        return images, torch.tensor([self.labels[row] for row in rows])

    def empty(self, rows: int) -> torch.Tensor:
        kind = torch.from_numpy(empty_batch(0, self.floats))
        shape = (rows, *kind.shape[1:])
        if not self.shared:
            return torch.empty(shape, dtype=kind.dtype)
        count = int(np.prod(shape))  # as default_collate does: make the batch in memory that the other process can see
        storage = kind.untyped_storage()._new_shared(count * kind.element_size(), device="cpu")
        return torch.tensor([], dtype=kind.dtype).set_(storage, 0, shape)


def one_thread(worker: int) -> None:
    cv2.setNumThreads(0)
    torch.set_num_threads(1)


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    dataset, batch = Photos(options), options["batch"]
    workers = options.get("workers", 2)
    settings: dict[str, Any] = {
        "num_workers": workers,
        "persistent_workers": True,
        "prefetch_factor": options.get("prefetch", 2),
        "worker_init_fn": one_thread,
    }
    if options.get("batched", True):
        sampler = BatchSampler(RandomSampler(dataset), batch, drop_last=True)
        loader = DataLoader(dataset, sampler=sampler, batch_size=None, **settings)
    else:
        loader = DataLoader(dataset, shuffle=True, batch_size=batch, drop_last=True, **settings)

    def run(tally: Tally, number: int) -> None:
        for images, labels in loader:
            tally.add(images, labels)

    return run

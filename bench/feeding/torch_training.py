"""A training step of a small ResNet in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn

Array = torch.Tensor


def version() -> str:
    return torch.__version__


def placed(batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return NumPy arrays as tensors on the CPU, over the same memory."""
    return {name: torch.from_numpy(array) for name, array in batch.items()}


def unchanged(image: torch.Tensor) -> torch.Tensor:
    return image


class Training:
    """Take a step of stochastic gradient descent for each batch of images (k, size, size, 3) and labels (k,).

    `ready` casts and normalizes the images on the device. The network computes in the type of its result.
    """

    def __init__(
        self, device: str, widths: Sequence[int], ready: Callable[[torch.Tensor], torch.Tensor] = unchanged
    ) -> None:
        torch.manual_seed(0)
        self.kind = device.partition(":")[0]
        self.ready = ready
        self.model = resnet(widths).to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01, momentum=0.9)

    def __call__(self, batch: dict[str, torch.Tensor]) -> None:
        image = self.ready(batch["image"]).permute(0, 3, 1, 2)
        with torch.autocast(self.kind, torch.bfloat16, enabled=image.dtype == torch.bfloat16):
            loss = nn.functional.cross_entropy(self.model(image), batch["label"].long())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def wait(self) -> None:
        """Wait until all steps are done."""
        if self.kind == "cuda":
            torch.cuda.synchronize()


class Block(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, 2, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.beside = nn.Conv2d(before, after, 1, 2, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.beside(x))


def resnet(widths: Sequence[int]) -> nn.Module:
    """Return a network with `widths[0]` channels after the stem, and a block for each further width."""
    first, last = widths[0], widths[-1]
    stem = nn.Sequential(nn.Conv2d(3, first, 7, 2, 3, bias=False), nn.BatchNorm2d(first), nn.ReLU(), nn.MaxPool2d(2))
    blocks = [Block(before, after) for before, after in pairwise(widths)]
    return nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 100))

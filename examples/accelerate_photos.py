"""Train with Accelerate on crops of photos, stop within an epoch, and resume: `python examples/accelerate_photos.py`.

A small network tells from which of two photos of scikit-learn a crop is, for 9 of 10 crops. The feed takes no part in
`prepare`, and is registered, so that Accelerate saves and loads its position with the model. Needs accelerate.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import sklearn.datasets
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

import penstock as ps

EPOCHS, CROPS = 4, 400  # crops of an epoch


def crops(count: int, *, seed: int) -> ps.Dataset:
    """Return batches of crops, other ones in each epoch; in a job of several processes, the part of this one."""
    folder = Path(sklearn.datasets.__file__).parent / "images"
    files = ps.read_files([str(folder / name) for name in ("china.jpg", "flower.jpg")])
    labels = ps.Dataset.range(2)
    return (
        ps.Dataset.zip({"image": files, "label": labels})
        .expand(count // 2)  # crops of each photo
        .shuffle()
        .map(ps.image.decode(), on="image")  # only the pixels of the crop
        .map(ps.image.random_resized_crop(32, scale=(0.02, 0.2)), on="image")
        .map(ps.image.random_flip(), on="image")
        .batch(20)
        .shard_by_rank()
        .with_options(ps.Options(seed=seed))
    )


def normalized(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return a batch with pixels as a network wants them; bytes travel to the device."""
    return {**batch, "image": batch["image"].movedim(-1, 1).float() / 255 - 0.5}


def network() -> nn.Module:
    first, second = nn.Conv2d(3, 16, 3, stride=2), nn.Conv2d(16, 32, 3, stride=2)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2))


class Run:
    """A model, its optimizer and its data, which Accelerate saves and loads together."""

    def __init__(self) -> None:
        set_seed(0)
        self.accelerator = Accelerator(cpu=not torch.cuda.is_available())
        model = network()
        self.model, self.optimizer = self.accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.01))
        self.feed = crops(CROPS, seed=0).to_torch(self.accelerator.device, finish=normalized)
        self.accelerator.register_for_checkpointing(self.feed)

    def train(self, *, stop_after: int = -1, checkpoint: str = "") -> float:
        """Train, and save a checkpoint after `stop_after` steps. Return the last loss."""
        steps = 0
        for _ in range(self.feed.epoch, EPOCHS):
            for batch in self.feed:
                loss = nn.functional.cross_entropy(self.model(batch["image"]), batch["label"])
                self.optimizer.zero_grad()
                self.accelerator.backward(loss)
                self.optimizer.step()
                steps += 1
                if steps == stop_after:
                    self.accelerator.save_state(checkpoint)
                    return loss.item()
        return loss.item()

    @torch.no_grad()
    def accuracy(self) -> float:
        """Return the share of crops that are recognized, of other crops than those of the training."""
        seen = crops(200, seed=1).to_torch(self.accelerator.device, finish=normalized)
        right = [self.model(batch["image"]).argmax(1) == batch["label"] for batch in seen]
        return self.accelerator.gather(torch.cat(right)).float().mean().item()


def main() -> None:
    torch.set_num_threads(1)  # a network this small gains nothing from more, and the pipeline needs the cores
    whole = Run()
    uninterrupted = whole.train()
    print(whole.feed.verdict())
    print(f"{whole.accuracy():.1%} of other crops are recognized")
    with tempfile.TemporaryDirectory() as folder:
        Run().train(stop_after=50, checkpoint=folder)
        again = Run()
        again.accelerator.load_state(folder)
        print(f"last loss: {uninterrupted:.6f} uninterrupted, {again.train():.6f} resumed in epoch {again.feed.epoch}")


if __name__ == "__main__":
    main()

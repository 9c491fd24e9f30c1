"""Train with Lightning, stop within an epoch, and resume from its checkpoint: `python examples/lightning_digits.py`.

`train_dataloader` returns a feed. Lightning saves its position with the model, and `fit(ckpt_path=...)` continues after
the last digit that was trained on. Needs lightning. Recognizes 95 % of the handwritten digits held out.
"""

from __future__ import annotations

import logging
import tempfile

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from sklearn.datasets import load_digits

import penstock as ps

EPOCHS = 6
TRAINED = 1500  # digits; the others are held out


class Digits(lightning.LightningDataModule):
    """The digits to train with, shuffled and smudged, and those held out."""

    def setup(self, stage: str) -> None:
        data = load_digits()
        ds = ps.Dataset.from_tensor_slices((data.data.astype(np.float32) / 16, data.target, np.arange(len(data.data))))
        ds = ds.shuffle(seed=0, reshuffle_each_iteration=False)  # one order, cut in two
        train = ds.take(TRAINED).shuffle().map(smudged, on=0).batch(50).with_options(ps.Options(seed=1))
        self.train = train.shard_by_rank().to_torch()  # with several devices, each gets its part of the 50
        self.held_out = ds.skip(TRAINED).batch(50).to_torch()

    def train_dataloader(self) -> ps.feed.torch.TorchFeed:
        return self.train

    def val_dataloader(self) -> ps.feed.torch.TorchFeed:
        return self.held_out


def smudged(pixels: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    return pixels + rng.normal(0, 0.1, pixels.shape).astype(np.float32)


class Network(lightning.LightningModule):
    """A network that notes the ids of the digits it is trained on."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        self.seen = []

    def training_step(self, batch: tuple[torch.Tensor, ...], number: int) -> torch.Tensor:
        x, y, ids = batch
        self.seen += ids.tolist()
        return torch.nn.functional.cross_entropy(self.layers(x), y)

    def validation_step(self, batch: tuple[torch.Tensor, ...], number: int) -> None:
        x, y, _ = batch
        self.log("accuracy", (self.layers(x).argmax(1) == y).float().mean(), batch_size=len(y))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.003)


def trainer(folder: str, **limits: int) -> lightning.Trainer:
    save = ModelCheckpoint(folder, filename="latest", every_n_train_steps=10, enable_version_counter=False)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lightning.Trainer(accelerator="cpu", devices=1, callbacks=[save], **quiet, **limits)


def main() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)  # a network this small gains nothing from more, and the pipeline needs the cores
    with tempfile.TemporaryDirectory() as folder:
        first, second = Network(), Network()
        trainer(folder, max_steps=40).fit(first, Digits())  # an epoch has 30 steps
        digits, again = Digits(), trainer(folder, max_epochs=EPOCHS)
        again.fit(second, digits, ckpt_path=f"{folder}/latest.ckpt")
    ids = (first.seen + second.seen)[TRAINED : 2 * TRAINED]
    print(f"epoch 1, stopped and resumed: {len(ids)} digits, {len(set(ids))} different ones")
    print(f"{again.callback_metrics['accuracy']:.1%} of the digits held out are recognized")
    print(again.train_dataloader.verdict())


if __name__ == "__main__":
    main()

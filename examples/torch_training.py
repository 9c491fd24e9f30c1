"""Train a PyTorch model on handwritten digits, stop within an epoch, and resume from one file.

Run it with `python examples/torch_training.py`. The loss after resuming is that of a run without the stop, to the bit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

import penstock as ps

EPOCHS = 5
TRAINED = 1500  # digits; the others are held out


def digits() -> tuple[ps.Dataset, ps.Dataset]:
    """Return batches of digits to train with, shuffled and smudged, and of those held out."""
    data = load_digits()
    pixels = data.images.astype(np.float32) / 16  # (1797, 8, 8)
    ds = ps.Dataset.from_tensor_slices({"x": pixels, "y": data.target})
    ds = ds.shuffle(seed=0, reshuffle_each_iteration=False)  # one order, cut in two
    # One seed for the shuffle and the smudges of every epoch; without it, each run would draw a new seed.
    train = ds.take(TRAINED).shuffle().map(smudged, on="x").batch(64).with_options(ps.Options(seed=1))
    return train, ds.skip(TRAINED).batch(64)


def smudged(image: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Add noise; `rng` belongs to the example, so the number of workers makes no difference."""
    return image + rng.normal(0, 0.1, image.shape).astype(np.float32)


def network() -> torch.nn.Module:
    nn = torch.nn
    first, second = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)  # 8 × 8, then 4 × 4
    top = nn.Linear(64 * 16, 10)
    return nn.Sequential(
        nn.Unflatten(1, (1, 8)), first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.Flatten(), top
    )


def train(checkpoint: Path, *, stop_after: int | None = None) -> tuple[float, torch.nn.Module]:
    """Train, from the checkpoint if there is one, and save one after `stop_after` steps. Return the last mean loss."""
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    feed = digits()[0].to_torch()  # tensors that share the memory of the batches
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        feed.load_state_dict(saved["data"])
    steps, losses = 0, []
    for _ in range(feed.epoch, EPOCHS):
        losses = []
        with feed.iterator() as batches:
            for batch in batches:
                loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                steps += 1
                if steps == stop_after:
                    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                    torch.save({**state, "data": feed.state_dict()}, checkpoint)
                    return float(np.mean(losses)), model
    print(f"epoch {EPOCHS - 1}: loss {np.mean(losses):.3f}. {batches.verdict()}")
    return float(np.mean(losses)), model


@torch.no_grad()
def accuracy(model: torch.nn.Module) -> float:
    right = [model(batch["x"]).argmax(1) == batch["y"] for batch in digits()[1].to_torch()]
    return torch.cat(right).float().mean().item()


def main() -> None:
    torch.set_num_threads(1)  # a network this small gains nothing from more, and the pipeline needs the cores
    with tempfile.TemporaryDirectory() as folder:
        uninterrupted, _ = train(Path(folder) / "none")
        checkpoint = Path(folder) / "checkpoint.pt"
        train(checkpoint, stop_after=60)
        print("stopped within an epoch; resuming")
        resumed, model = train(checkpoint)
        print(f"last epoch's loss: {uninterrupted:.6f} uninterrupted, {resumed:.6f} resumed")
        print(f"{accuracy(model):.1%} of the digits held out are recognized")


if __name__ == "__main__":
    main()

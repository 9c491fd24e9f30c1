"""Train a PyTorch model, stop within an epoch, and resume from one file: `python examples/torch_training.py`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import torch

import penstock as ps

EPOCHS = 3


def dataset(count: int = 4096) -> ps.Dataset:
    """Return points in the plane, labeled by whether they lie in a ring."""
    points = np.random.default_rng(0).uniform(-1, 1, (count, 2)).astype(np.float32)
    inside = np.abs(np.hypot(points[:, 0], points[:, 1]) - 0.6) < 0.25
    ds = ps.Dataset.from_tensor_slices({"x": points, "y": inside.astype(np.int64)})
    # One seed for the shuffle and the jitter of every epoch; without it, each run would draw a new seed.
    return ds.shuffle().map(jitter, on="x").batch(64).with_options(ps.Options(seed=1))


def jitter(x: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    return x + rng.normal(0, 0.01, 2).astype(np.float32)


def train(checkpoint: Path, *, stop_after: int | None = None) -> float:
    """Train, from the checkpoint if there is one, and save one after `stop_after` steps. Return the last mean loss."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    feed = dataset().to_torch()  # tensors that share the memory of the batches
    cursor = None
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        cursor = json.loads(saved["cursor"])
    steps, losses = 0, []
    for epoch in range(cursor["epoch"] if cursor else 0, EPOCHS):
        with feed.iterator(epoch=epoch) as batches:
            if cursor:
                batches.load_state_dict(cursor)
                cursor = None
            losses = []
            for batch in batches:
                loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                steps += 1
                if steps == stop_after:
                    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                    torch.save({**state, "cursor": json.dumps(batches.state_dict())}, checkpoint)
                    return float(np.mean(losses))
            print(f"epoch {epoch}: loss {np.mean(losses):.3f}. {batches.verdict()}")
    return float(np.mean(losses))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        uninterrupted = train(Path(folder) / "none")
        checkpoint = Path(folder) / "checkpoint.pt"
        train(checkpoint, stop_after=100)
        print("stopped within an epoch; resuming")
        resumed = train(checkpoint)
        print(f"last epoch's loss: {uninterrupted:.6f} uninterrupted, {resumed:.6f} resumed")


if __name__ == "__main__":
    main()

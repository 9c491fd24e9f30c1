"""Evaluate every hundred steps while training goes on: `python examples/torch_evaluating.py`.

A `Switch` keeps two pipelines of handwritten digits under way. Training goes on where it was after each evaluation, and
each evaluation sees all digits held out. One state has the positions of both: a run that is stopped goes on as
if it had not been, and recognizes 95 % of the digits held out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

import penstock as ps

STEPS = 400
TRAINED = 1500  # digits; the others are held out


def digits() -> ps.Switch:
    """Return the batches to train with, without end, and those held out."""
    data = load_digits()
    ds = ps.Dataset.from_tensor_slices({"x": data.data.astype(np.float32) / 16, "y": data.target})
    ds = ds.shuffle(seed=0, reshuffle_each_iteration=False)  # one order, cut in two
    train, held_out = ds.take(TRAINED).shuffle(seed=1).repeat(), ds.skip(TRAINED)
    return ps.Switch(train=train.batch(64).to_torch(), held_out=held_out.batch(100).to_torch())


@torch.no_grad()
def accuracy(model: torch.nn.Module, batches: Iterable[dict[str, torch.Tensor]]) -> float:
    right = [model(batch["x"]).argmax(1) == batch["y"] for batch in batches]
    return torch.cat(right).float().mean().item()


def train(checkpoint: Path, *, stop_after: int = STEPS) -> list[tuple[float, float]]:
    """Train, from the checkpoint if there is one, and save one at the end. Return accuracies and losses on the way."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    step, found = 0, []
    with digits() as switch:
        if checkpoint.exists():
            saved = torch.load(checkpoint, weights_only=True)
            step, found = saved["step"], saved["found"]
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            switch.load_state_dict(saved["data"])
        while step < stop_after:
            batch = next(switch.train)
            loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                right = accuracy(model, switch.held_out)  # a loop over a name begins a new pass
                found.append((right, loss.item()))
                print(f"step {step}: loss {loss:.3f}, {right:.1%} of the digits held out are recognized")
        print(switch.train.verdict())
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": switch.state_dict()}
        torch.save({**state, "step": step, "found": found}, checkpoint)
    return found


def main() -> None:
    torch.set_num_threads(1)  # a network this small gains nothing from more, and the pipeline needs the cores
    with tempfile.TemporaryDirectory() as folder:
        uninterrupted = train(Path(folder) / "whole.pt")
        train(Path(folder) / "checkpoint.pt", stop_after=250)
        print("stopped; going on")
        print(f"as without the stop: {train(Path(folder) / 'checkpoint.pt') == uninterrupted}")


if __name__ == "__main__":
    main()

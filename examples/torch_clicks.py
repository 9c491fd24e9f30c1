"""Predict clicks from sparse features, with two replicas of a model in one program: `python examples/torch_clicks.py`.

A third of the modules of Python's own library serve as a click log. A visitor of a module, who has `seen` some of its
names (1 to 20), is `shown` another name, and has `clicked` if it comes next; half of the names shown are drawn from all
modules. Each batch is cut into a part for each replica: to two GPUs, a part travels as one copy, however many features
there are; without them, both replicas are on the CPU. Of the names shown in records that were held out, 7 of 10 are
judged correctly.
"""

from __future__ import annotations

import collections
import os
import re
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from torch import nn

import penstock as ps

NAMES, SIZE, EPOCHS = 2000, 32, 3
parse = ps.records.parse_example({
    "module": ps.records.FixedLenFeature([], "int64"),
    "seen": ps.records.RaggedFeature("int64"),
    "shown": ps.records.FixedLenFeature([], "int64"),
    "clicked": ps.records.FixedLenFeature([], "float32"),
})  # fmt: skip


def modules() -> list[np.ndarray]:
    """Return the numbers of the names in every third module, in order, without the 500 most frequent names."""
    files = sorted(Path(os.__file__).parent.glob("*.py"))[::3]
    words = [re.findall(r"[A-Za-z_]\w+", file.read_text("utf-8", errors="replace")) for file in files]
    frequent = [name for name, _ in collections.Counter(name for each in words for name in each).most_common()]
    number = {name: place for place, name in enumerate(frequent[500 : 500 + NAMES])}
    return [np.array([number[name] for name in each if name in number], int) for each in words]


def log(modules: list[np.ndarray]) -> Iterator[bytes]:
    """Yield a record for each name that is shown, in random order, as visitors come."""
    rng = np.random.default_rng(0)
    everything = np.concatenate(modules)
    visits = [(module, place) for module, names in enumerate(modules) for place in range(1, len(names))]
    for module, place in rng.permutation(visits):
        names, clicked = modules[module], rng.random() < 0.5
        shown = names[place] if clicked else everything[rng.integers(len(everything))]
        seen = names[max(place - rng.integers(1, 21), 0) : place]
        yield ps.records.encode_example({"module": module, "seen": seen, "shown": shown, "clicked": float(clicked)})


class Model(nn.Module):
    """Compares a name with the module and with the mean of the names seen."""

    def __init__(self, modules: int) -> None:
        super().__init__()
        self.names, self.module = nn.EmbeddingBag(NAMES, SIZE), nn.Embedding(modules, SIZE)
        self.frequency = nn.Parameter(torch.zeros(NAMES))
        nn.init.normal_(self.names.weight, std=0.2)
        nn.init.normal_(self.module.weight, std=0.2)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        seen, shown = batch["seen"], batch["shown"]  # a nested tensor, and a plain one
        wanted = self.module(batch["module"]) + self.names(seen.values(), seen.offsets()[:-1])
        return (wanted * self.names.weight[shown]).sum(1) + self.frequency[shown]


def step(replicas: list[Model], optimizer: torch.optim.Optimizer, parts: list[dict[str, torch.Tensor]]) -> float:
    """Train the first replica with the gradients of all parts of a batch, and copy its weights to the others."""
    first, *others = replicas
    for replica, part in zip(replicas, parts, strict=True):
        replica.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(replica(part), part["clicked"])
        (loss / len(parts)).backward()
    for own, *copies in zip(*(replica.parameters() for replica in replicas), strict=True):
        own.grad += sum(copy.grad.to(own.device) for copy in copies)
    optimizer.step()
    for replica in others:
        replica.load_state_dict(first.state_dict())
    return loss.item()


def main() -> None:
    torch.set_num_threads(1)  # a model this small gains nothing from more, and the pipeline needs the cores
    devices = ["cuda:0", "cuda:1"] if torch.cuda.device_count() > 1 else ["cpu", "cpu"]
    found = modules()
    with tempfile.TemporaryDirectory() as folder:
        files = ps.Dataset.from_generator(lambda: log(found)).write_tfrecord(f"{folder}/clicks.tfrecord")
        records = ps.read_tfrecord(files)
        train = records.skip(4000).shuffle(seed=0).batch(512, drop_remainder=True).map(parse)
        held_out = records.take(4000).batch(1000).map(parse)
        print(f"{len(records):,} records; {train.element_spec}")
        torch.manual_seed(0)
        model = Model(len(found))
        replicas = [deepcopy(model).to(device) for device in devices]
        optimizer = torch.optim.Adam(replicas[0].parameters(), lr=0.01)
        for epoch in range(EPOCHS):
            with train.to_torch(devices, split=True).iterator() as batches:
                losses = [step(replicas, optimizer, parts) for parts in batches]
            right = [(replicas[0](x) > 0) == (x["clicked"] > 0) for x in held_out.to_torch(devices[0])]
            print(f"epoch {epoch}: loss {np.mean(losses):.3f}; held out: {torch.cat(right).float().mean():.1%} correct")
        print(batches.verdict())


if __name__ == "__main__":
    main()

"""Train on two processes, stop within an epoch, and go on with three: `python examples/torch_ddp.py`.

`DistributedDataParallel` over gloo, on handwritten digits, of which it recognizes 95 % of those held out. The global
batches are those of one process, however many there are, so every digit comes exactly once in every epoch, also in that
of the stop. The program starts its own processes; under torchrun, call `work` in each.
"""

from __future__ import annotations

import json
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel

import penstock as ps

EPOCHS = 4
TRAINED = 1500  # digits; the others are held out


def digits() -> tuple[ps.Dataset, ps.Dataset]:
    """Return this rank's part of the batches of digits to train with, and of those held out."""
    data = load_digits()
    ds = ps.Dataset.from_tensor_slices({"x": data.images.astype(np.float32) / 16, "y": data.target})
    ds = ds.shuffle(seed=0, reshuffle_each_iteration=False)  # one order, cut in two
    train = ds.take(TRAINED).shuffle(seed=1).batch(60)  # 60 digits of all ranks together
    return train.shard_by_rank(), ds.skip(TRAINED).batch(60).shard_by_rank(remainder="pad")


def work(rank: int, world: int, folder: str, stop_after: int | None = None) -> None:
    """Be one of `world` processes: go on from the checkpoint if there is one, and save one after `stop_after` steps."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store-{world}", world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timedelta(seconds=100))
    train, held_out = digits()  # now that it is known which rank this is
    torch.manual_seed(0)
    nn = torch.nn
    layers = nn.Unflatten(1, (1, 8)), nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten()
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(64 * 16, 10)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    checkpoint, steps = Path(folder, "checkpoint.pt"), 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        train.load_state_dict(saved["data"])
    for epoch in range(train.epoch, EPOCHS):
        with train.to_torch().iterator() as batches:
            for batch in batches:
                loss = nn.functional.cross_entropy(model(batch["x"]), batch["y"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                steps += 1
                if steps == stop_after:
                    break
        Path(folder, f"ledger-{world}-{rank}-{epoch}.json").write_text(json.dumps(batches.ledger()))
        if steps == stop_after:
            break
    if stop_after is None:
        right, count = evaluated(model.module, held_out)
        if rank == 0:
            print(f"{world} processes, last epoch: {batches.verdict()}")
            print(f"{right / count:.1%} of {count} digits held out are recognized")
    elif rank == 0:
        position = batches.state_dict()  # of rank 0, and so of all
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": position}, checkpoint)
        print(f"{world} processes: stopped in epoch {epoch} after {position['row']} batches")
    dist.barrier()  # no rank ends while its gradients, or those of another one, are under way
    dist.destroy_process_group()


@torch.no_grad()
def evaluated(network: torch.nn.Module, held_out: ps.Dataset) -> tuple[int, int]:
    """Return how many digits are recognized and how many there are, of all ranks together."""
    counts = torch.zeros(2, dtype=torch.int64)
    for batch in held_out.to_torch():
        valid = batch["valid"]  # not the rows of zeros that fill up the last batch
        right = (network(batch["x"]).argmax(1) == batch["y"]) & valid
        counts += torch.stack([right.sum(), valid.sum()])
    dist.all_reduce(counts)
    return int(counts[0]), int(counts[1])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (2, folder, 30), nprocs=2)
        torch.multiprocessing.spawn(work, (3, folder), nprocs=3)
        ledgers = [json.loads(file.read_text()) for file in Path(folder).glob("ledger-*.json")]
    print(f"{len(ledgers)} ledgers of {EPOCHS} epochs: {ps.testing.audit(ledgers, digits()[0])}")


if __name__ == "__main__":
    main()

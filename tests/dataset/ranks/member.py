"""Processes of a real process group: `python member.py FRAMEWORK WORLD ADDRESS RANK '{"task": ...}' ...`.

Each task is done by a process of its own; the first of them has the rank RANK. The processes are forked from one that
has imported PyTorch. They write what they received, each as one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

import penstock as ps


def pipeline(task):
    size = task.get("size", 12)
    ds = ps.Dataset.range(task.get("count", 150)).shuffle(seed=task.get("seed", 3))
    if task.get("kind", "stream") == "stream":
        ds = ds.filter(lambda x: x % 3 > 0)
    if task.get("unseeded"):
        ds = ds.map(lambda x, rng: x * 1000 + int(rng.integers(1000)))
    if task.get("kind") == "endless":
        ds = ds.repeat()
    return ds.batch(size)


def join(framework, rank, world, address):
    if framework == "torch":
        import torch.distributed

        torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=world)
    elif framework == "jax":
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.distributed.initialize(address, world, rank, initialization_timeout=15)


def await_others(framework):
    """Wait until all processes are here, since the first one holds the store of all."""
    if framework == "torch":
        import torch.distributed

        torch.distributed.barrier()
    elif framework == "jax":
        from jax._src import distributed

        distributed.global_state.client.wait_at_barrier("told", 15_000)


def group_of(task, rank):
    """The process group that the task names for this rank, if it names any."""
    if "groups" not in task:
        return None
    import torch.distributed

    groups = [torch.distributed.new_group(ranks) for ranks in task["groups"]]  # made by all, as PyTorch demands
    return next(group for group, ranks in zip(groups, task["groups"], strict=True) if rank in ranks)


def checkpoints():
    import torch.distributed.checkpoint

    return torch.distributed.checkpoint


def received(task, rank):
    found = {"rank": rank, "steps": [], "error": ""}
    try:
        ds = pipeline(task).shard_by_rank(group=group_of(task, rank), timeout=task.get("timeout", 12))
        if task.get("state"):
            ds.load_state_dict(task["state"])
        if "restore" in task:
            checkpoints().load({"data": ds}, checkpoint_id=task["restore"])
        for step, batch in enumerate(ds, 1):
            found["steps"].append(batch.tolist())
            if step == task.get("save"):
                found["state"] = ds.state_dict()
                if "checkpoint" in task:
                    checkpoints().save({"data": ds}, checkpoint_id=task["checkpoint"])
            if step == task.get("stop"):
                break
            if [rank, step] == task.get("dies"):
                return {**found, "died": True}
        found["last"] = ds.state_dict()
    except ps.errors.RankError as error:
        found["error"] = str(error)
    return found


def be(framework, rank, world, address, task, pipe):
    """Be one rank, write what it received to a pipe, and end this process."""
    try:
        join(framework, rank, world, address)
        found = received(task, rank)
    except Exception:  # noqa: BLE001 - the test shows it
        found = {"crashed": traceback.format_exc()}
    with os.fdopen(pipe, "w") as file:
        file.write(json.dumps(found))
    if "dies" not in task and "crashed" not in found:
        await_others(framework)
    os._exit(0)  # no goodbye to the other ranks, as when the process is killed


def main():
    framework, world, address, first, *tasks = sys.argv[1:]
    if framework == "torch":
        import torch.distributed  # noqa: F401 - once for all
    pipes = []
    for rank, task in enumerate(map(json.loads, tasks), int(first)):
        reading, writing = os.pipe()
        if os.fork() == 0:
            be(framework, rank, int(world), address, task, writing)
        os.close(writing)
        pipes.append(reading)
    for pipe in pipes:
        with os.fdopen(pipe) as file:
            print(file.read(), flush=True)


if __name__ == "__main__":
    main()

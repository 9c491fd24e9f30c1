"""The model of a cluster: closed forms where there are some."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.watch.queueing import ClusterModel, ItemCost

MODEL = ClusterModel(
    world=1,
    ranks_per_node=1,
    workers=1,
    cores=64.0,
    ahead=2,
    step=0.01,
    nbytes=0.0,
    latencies=np.zeros(1),
    bandwidth=np.inf,
    synchronous=True,
)


def constant(wall, cpu=0.0):
    return ItemCost(np.array([wall]), np.array([cpu]))


@pytest.mark.parametrize("workers", [1, 2, 4, 7])
@pytest.mark.parametrize("step", [0.001, 0.03, 0.5])
def test_the_slower_of_workers_and_step_counts(workers, step):
    model = replace(MODEL, workers=workers, ahead=2 * workers, step=step)
    run = model.run(constant(0.1), 700, seed=0)
    assert run.step == pytest.approx(max(step, 0.1 / workers))
    assert run.waited == pytest.approx(run.step - step)


def test_bandwidth_and_latency_count():
    assert replace(MODEL, nbytes=5e6, bandwidth=1e8).run(constant(0.0), 200, seed=0).step == pytest.approx(0.05)
    assert replace(MODEL, latencies=np.array([0.2])).run(constant(0.0), 200, seed=0).step == pytest.approx(0.2)
    many = replace(MODEL, latencies=np.array([0.2]), workers=10, ahead=20)
    assert many.run(constant(0.0), 400, seed=0).step == pytest.approx(0.02)


def test_workers_of_a_node_share_its_cores():
    busy = replace(MODEL, world=8, ranks_per_node=8, cores=2.0)
    assert busy.slowdown(constant(0.1, 0.1)) == pytest.approx(4.0)
    assert busy.run(constant(0.1, 0.1), 100, seed=0).step == pytest.approx(0.4)
    assert busy.slowdown(constant(0.1, 0.02)) == 1.0  # eight times 0.02 s of work in 0.1 s are 1.6 cores
    assert replace(busy, cores=1.0).slowdown(constant(0.1, 0.02)) == pytest.approx(4.0)
    assert replace(busy, cores=0.5).slowdown(constant(0.1, 0.0)) == 1.0


def test_a_synchronous_job_waits_for_its_slowest_rank():
    cost = ItemCost(np.array([0.01] * 19 + [0.5]), np.zeros(20))
    steps = [replace(MODEL, world=world, workers=2, ahead=4).run(cost, 400, seed=1).step for world in (1, 8, 64)]
    assert steps == sorted(steps)
    assert steps[2] > 2 * steps[0]
    alone = replace(MODEL, world=64, workers=2, ahead=4, synchronous=False).run(cost, 400, seed=1).step
    assert alone == pytest.approx(steps[0], rel=0.2)


def test_runs_follow_from_the_seed():
    cost = ItemCost(np.array([0.01, 0.03]), np.zeros(2))
    assert MODEL.run(cost, 50, seed=3) == MODEL.run(cost, 50, seed=3) != MODEL.run(cost, 50, seed=4)

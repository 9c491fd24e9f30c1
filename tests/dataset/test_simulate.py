"""Predictions for clusters, compared with real runs."""

from __future__ import annotations

import re
import time
from itertools import count
from statistics import median

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import PlanError
from penstock.dataset.simulate import Simulation, StorageModel, simulate

LATENCIES = np.random.default_rng(0).uniform(0.04, 0.12, 32)


def late(x):
    time.sleep(LATENCIES[x])
    return x


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_prediction_is_that_of_real_runs(workers):
    ds, step = Dataset.range(32).map(late).repeat(), 0.01
    options = ps.Options(executor="threads", workers=workers)

    def seconds_of_a_step():
        with ds.with_options(options).iterator(epoch=0) as it:
            for number in range(8 + 8 * workers):
                if number == 8:
                    began = time.perf_counter()
                next(it)
                time.sleep(step)
            return (time.perf_counter() - began) / (8 * workers)

    predicted, real = [], []
    for _ in range(3):  # in turn, so that a busy machine slows down both
        predicted.append(simulate(ds, world=1, step=step, workers=workers, seconds=1.3, steps=1000).step)
        real.append(seconds_of_a_step())
    assert median(predicted) == pytest.approx(median(real), rel=0.1)


def test_costs_and_sizes_are_those_of_the_pipeline():
    ds = Dataset.from_tensor_slices(np.zeros((40, 1000), np.float32)).batch(4)
    ds.load_state_dict({**ds.state_dict(), "row": 3})
    found = simulate(ds, world=16, step=0.5, ranks_per_node=4, workers=3, cores=8, seconds=0.05)
    assert (found.unit, found.nodes, found.workers) == ("batch", 4, 1)
    assert found.step == pytest.approx(0.5, rel=0.05)
    assert found.rate == pytest.approx(32, rel=0.05)
    assert found.bytes == pytest.approx(16 * 16_000 / found.step)
    assert found.node_bytes == pytest.approx(found.bytes / 4)
    assert found.node_memory == 4 * 7 * 16_000
    assert 0 < found.node_cores < 8
    assert ds.state_dict()["row"] == 3  # passes go on where they were
    by_hand = simulate(ds, world=16, step=0.5, seconds=0.05, storage=StorageModel(item_bytes=1e6))
    assert by_hand.bytes == pytest.approx(16e6 / by_hand.step)


def test_the_start_of_a_pass_is_no_cost_of_an_item_however_short_the_measurement():
    starts = iter([0.5])

    def slow_at_first(x):
        time.sleep(next(starts, 0.0))
        return x

    found = simulate(Dataset.range(4).map(slow_at_first), world=1, step=0.1, workers=1, seconds=0.01)
    assert found.workers == 1


def test_workers_are_those_of_the_options():
    ds = Dataset.range(4).map(late).with_options(ps.Options(workers=5))
    assert simulate(ds, world=1, step=1.0, seconds=0.01).node_memory == 8 * 11


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        ({"step": 5.0}, "The step is the limit"),
        ({"step": 0.01, "workers": 1, "cores": 1e6}, r"The workers are the limit: a rank has 1, and the step needs \d"),
        ({"step": 0.5, "storage": StorageModel(bandwidth=512e6, item_bytes=5e6)}, "The storage is the limit"),
        ({"step": 0.5, "storage": StorageModel(node_bandwidth=8e6, item_bytes=5e6)}, "The storage is the limit"),
        ({"step": 0.2, "storage": StorageModel([0.0] * 30 + [2.0])}, "Slow items are the limit"),
    ],
    ids=["step", "workers", "bandwidth", "network", "slow items"],
)
def test_the_next_change_is_named(cluster, says):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.dataset.simulate.perf_counter", count(0, 0.03).__next__)
        patch.setattr("penstock.dataset.simulate.thread_time", count(0, 1e-5).__next__)
        found = simulate(Dataset.range(9), world=512, seconds=1, **cluster)
    assert re.match(says, found.change)
    assert (found.waiting > 0.02) == (not found.change.startswith("The step"))


def test_busy_cores_are_named():
    with pytest.MonkeyPatch.context() as patch:
        for clock in ("perf_counter", "thread_time"):
            patch.setattr(f"penstock.dataset.simulate.{clock}", count(0, 0.1).__next__)
        found = simulate(Dataset.range(9), world=8, step=0.05, workers=9, cores=4, seconds=2)
    assert found.change.startswith("The cores are the limit: a node has 4.0, and the step needs 16.0")


def test_a_prediction_prints_as_four_lines():
    found = Simulation(512, 64, "batch", 0.125, 0.25, 2048.0, 1.5e8, 9.6e9, 3.2e8, 6.5, 2, "The workers are the limit.")
    assert str(found).splitlines() == [
        "512 ranks on 64 nodes: 12 % of the time is waiting for data; 2,048 batches/s, 250.0 ms a step",
        "storage: 150.0 MB/s a node, 9,600.0 MB/s in all",
        "a node: 320.0 MB of items ahead; the step alone takes 6.5 cores and 2 workers a rank",
        "The workers are the limit.",
    ]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"world": 0}, ValueError, r"simulate\(world=0\)"),
        ({"world": "8"}, TypeError, r"simulate\(world="),
        ({"step": 0}, ValueError, r"simulate\(step=0\): expected a finite number above 0"),
        ({"cores": -1}, ValueError, r"simulate\(cores=-1\)"),
        ({"seconds": "x"}, TypeError, r"simulate\(seconds="),
        ({"workers": 0}, ValueError, r"simulate\(workers=0\)"),
        ({"storage": StorageModel(latency=[])}, ValueError, r"StorageModel\(latency=\[\]\)"),
        ({"storage": StorageModel(latency=-0.1)}, ValueError, "one or more non-negative numbers of seconds"),
        ({"storage": StorageModel(latency=[0.1, "a"])}, TypeError, r"StorageModel\(latency='a'\)"),
        ({"storage": StorageModel(latency=[[0.1]])}, TypeError, r"StorageModel\(latency=\[0\.1\]\)"),
        ({"storage": StorageModel(bandwidth=0)}, ValueError, r"StorageModel\(bandwidth=0\)"),
        ({"storage": StorageModel(node_bandwidth="1G")}, TypeError, r"StorageModel\(node_bandwidth='1G'\)"),
        ({"storage": StorageModel(item_bytes=-1)}, ValueError, r"StorageModel\(item_bytes=-1\)"),
        ({"storage": {}}, TypeError, r"simulate\(storage=\): expected a ps\.StorageModel, not dict"),
        ({"synchronous": "no"}, TypeError, r"simulate\(synchronous="),
        ({"seed": -1}, ValueError, r"simulate\(seed=-1\)"),
        ({"seconds": float("inf")}, ValueError, r"simulate\(seconds=inf\): expected a finite number"),
    ],
)
def test_wrong_arguments_are_refused(change, error, says):
    with pytest.raises(error, match=says):
        simulate(Dataset.range(3), **{"world": 8, "step": 0.1, "seconds": 0.01, **change})


def test_a_dataset_is_needed_with_some_element():
    with pytest.raises(TypeError, match="expected a Dataset, not list"):
        simulate([1], world=1, step=1)
    with pytest.raises(PlanError, match="no element to measure"):
        simulate(Dataset.range(0), world=1, step=1)

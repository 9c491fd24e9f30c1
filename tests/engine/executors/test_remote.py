from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from penstock.engine.executors.remote import LARGEST_CARRIED, run_shipped, shipped
from penstock.engine.observer import Unobserved

import penstock as ps
from penstock.watch.counters import Counters

ROWS = np.array([3, 1], np.int64)


def large(rows=20_000):
    return ps.Dataset.from_tensor_slices(np.arange(rows))._plan


def test_a_small_plan_travels_with_every_task():
    shipment = shipped(ps.Dataset.range(9).map(lambda x: x * 2)._plan, Unobserved())
    assert shipment.path is None
    assert len(shipment.data) <= LARGEST_CARRIED
    made, counted = run_shipped(pickle.loads(pickle.dumps(shipment)), ROWS, batches=0)
    assert made.elements == [6, 2]
    assert counted is None
    shipment.remove()


def test_a_large_plan_travels_once_by_file_which_is_removed():
    shipment = shipped(large(), Unobserved())
    assert shipment.data is None
    assert Path(shipment.path).stat().st_size > LARGEST_CARRIED
    made, _ = run_shipped(pickle.loads(pickle.dumps(shipment)), ROWS, batches=1)
    assert made.arrays[0].tolist() == [3, 1]
    shipment.remove()
    assert not Path(shipment.path).exists()
    shipment.remove()


def test_what_was_counted_comes_back_once():
    shipment = shipped(ps.Dataset.range(9).map(lambda x: x)._plan, Counters())
    for _ in range(2):
        _, counted = run_shipped(shipment, ROWS, batches=0)
        assert [cell[1] for cell in counted] == [2, 2]

"""Counts of every operation, taken from outside it."""

from __future__ import annotations

import pickle
import threading

import numpy as np

import penstock as ps
from penstock import Dataset
from penstock.engine.compile import compiled
from penstock.watch.counters import BYTES, CALLS, CPU, ROWS, WALL, Counters


def counted(ds, *calls):
    counters = Counters()
    program = compiled(ds._plan, np.empty, counters.wrap)
    for rows in calls:
        program(np.array(rows))
    return counters


def test_calls_rows_and_bytes_are_exact():
    ds = Dataset.from_tensor_slices(np.zeros((10, 4), np.float32)).skip(2).batch(3)
    counters = counted(ds, [0, 1], [2])
    cells = [operation.total() for operation in counters.operations]
    assert [operation.label for operation in counters.operations][1:] == ["skip(2)", "batch(3)"]
    assert [cell[CALLS] for cell in cells] == [2, 2, 2]
    assert [cell[ROWS] for cell in cells] == [8, 8, 3]
    assert [cell[BYTES] for cell in cells] == [8 * 16] * 3
    assert cells[0][WALL] <= cells[1][WALL] <= cells[2][WALL]
    assert all(cell[CPU] >= 0 for cell in cells)


def test_an_operation_knows_what_it_reads():
    ds = Dataset.zip(Dataset.range(5), Dataset.range(6).skip(1)).batch(2)
    labels = {operation.label: [each.label for each in operation.inputs] for operation in counted(ds).operations}
    assert labels == {
        "range(5)": [],
        "range(6)": [],
        "skip(1)": ["range(6)"],
        "zip(2 datasets)": ["range(5)", "skip(1)"],
        "batch(2)": ["zip(2 datasets)"],
    }


def test_threads_count_apart_and_add_up():
    counters = Counters()
    program = compiled(Dataset.range(1000)._plan, np.empty, counters.wrap)
    threads = [threading.Thread(target=lambda: [program(np.arange(10)) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (operation,) = counters.operations
    assert operation.total()[:2] == [200, 2000]


def test_counts_travel_once():
    here, there = counted(Dataset.range(9).skip(1), [0]), counted(Dataset.range(9).skip(1), [1, 2], [3])
    here.absorb(there.drain())
    assert [operation.total()[ROWS] for operation in here.operations] == [4, 4]
    assert [cell[ROWS] for cell in there.drain()] == [0, 0]


def test_an_observer_that_travels_begins_from_nothing():
    assert pickle.loads(pickle.dumps(counted(Dataset.range(9), [0]))).operations == []


def test_bytes_of_ragged_and_sparse_leaves_are_counted():
    for leaf in (ps.Ragged.from_rows([[[1]], [[2, 3]]]), ps.Sparse.from_dense(np.eye(2))):
        for ds, rows in ((Dataset.from_tensor_slices(leaf), [0, 1]), (Dataset.from_tensors(leaf), [0])):
            assert counted(ds, rows).operations[0].total()[BYTES] == leaf.nbytes


def test_an_error_counts_nothing():
    counters = Counters()

    def fails(rows, out=None):
        raise KeyError

    program = counters.wrap(Dataset.range(3)._plan, fails)
    try:
        program(np.arange(2))
    except KeyError:
        assert counters.operations[0].total() == [0, 0, 0, 0, 0]

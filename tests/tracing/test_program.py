"""Programs write into the given memory, release unused values, and decline other columns."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.to_arrays import stack_all
from penstock.tracing import program
from penstock.tracing.program import Frame, UnequalError
from tests.tracing.comparing import chunk_of, trace_of

ROWS = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)


def given(*arrays):
    """Return an allocator that hands out exactly these arrays, in order."""
    waiting = list(arrays)

    def allocate(shape, dtype):
        memory = waiting.pop(0)
        assert (memory.shape, memory.dtype) == (shape, dtype)
        return memory

    return allocate


@pytest.mark.parametrize("block", [1, 30, 1 << 18])
def test_results_are_written_into_given_memory(monkeypatch, block):
    monkeypatch.setattr(program, "_BLOCK", block)
    made = trace_of(lambda x: (x[0] * 2, x.astype(np.float32) / 255, x), ROWS)
    out = [np.empty((4, 3), np.uint8), np.empty((4, 2, 3), np.float32), np.empty_like(ROWS)]
    columns = made.columns(chunk_of(ROWS), out, np.empty).columns
    assert columns[0] is out[0]
    assert columns[1] is out[1]
    assert columns[2] is ROWS  # what is handed on is the caller's to copy
    np.testing.assert_array_equal(out[0], ROWS[:, 0] * 2)
    np.testing.assert_array_equal(out[1], ROWS.astype(np.float32) / 255)


def test_memory_that_does_not_fit_is_left_alone():
    made = trace_of(lambda x: x * 2, ROWS)
    for out in ([np.empty((4, 2, 3))], [np.empty((3, 2, 3), np.uint8)], []):
        (column,) = made.columns(chunk_of(ROWS), out, np.empty).columns
        assert not any(column is each for each in out)
        np.testing.assert_array_equal(column, ROWS * 2)


def test_large_results_reuse_memory(monkeypatch):
    monkeypatch.setattr(program, "OWN_MEMORY", 24)
    memory = np.empty_like(ROWS)
    made = trace_of(lambda x: (x * 2, x[:, 0] * 2), ROWS)
    assert made.columns(chunk_of(ROWS), None, given(memory)).columns[0] is memory


@pytest.mark.parametrize("length", [1, 5, 100])
def test_intermediate_columns_are_made_in_blocks(monkeypatch, length):
    wide = np.ones((100, 1000))
    made = trace_of(lambda x: (wide * x).sum(), np.arange(100))
    most = []
    monkeypatch.setattr(program, "_BLOCK", 1 << 20)  # one row
    step = made._program.steps[0]
    run = step.run
    object.__setattr__(step, "run", lambda frame, out: most.append(len(frame.columns[0])) or run(frame, out))
    assert made.columns(chunk_of(np.arange(length)), None, np.empty).elements() == [1e5 * x for x in range(length)]
    assert most == [1] * length


def test_large_elements_are_left_to_the_function(monkeypatch):
    wide = np.ones((100, 1000))
    made = trace_of(lambda x: (wide * x).T[:2], np.arange(3))
    monkeypatch.setattr(program, "_BLOCK", 1 << 20)
    assert made.columns(chunk_of(np.arange(3)), None, np.empty) is not None
    monkeypatch.setattr(program, "MOST_AT_ONCE", 1 << 21)
    assert made.columns(chunk_of(np.arange(3)), None, np.empty) is None


def test_a_constant_array_is_returned_as_the_same_object():
    table = np.arange(5000)
    made = trace_of(lambda x: (table, np.zeros(2)), np.arange(3))
    rows, zeros = zip(*made.columns(chunk_of(np.arange(3)), None, np.empty).elements(), strict=True)
    assert all(row is table for row in rows)
    assert not any(np.shares_memory(zeros[0], other) for other in zeros[1:])


def test_two_results_of_the_same_value_are_equal():
    def twice(x):
        y = x * 2
        return y, y

    made = trace_of(twice, ROWS)
    out = [np.empty_like(ROWS), np.empty_like(ROWS)]
    columns = made.columns(chunk_of(ROWS), out, np.empty)
    for column in stack_all(columns, np.arange(len(ROWS)), out=out, allocate=np.empty)[1]:
        np.testing.assert_array_equal(column, ROWS * 2)


def test_views_stay_views():
    (column,) = trace_of(lambda x: x[1:, ::-1], ROWS).columns(chunk_of(ROWS), None, np.empty).columns
    assert np.shares_memory(column, ROWS)


def test_numpy_scalars_stay_numpy_scalars():
    columns = np.arange(3.0)
    found = trace_of(lambda x: (np.sqrt(x), x + 1), columns).columns(chunk_of(columns), None, np.empty).elements()
    assert [(type(a), type(b)) for a, b in found] == [(np.float64, float)] * 3


def test_columns_with_scattered_elements_are_left_to_the_function():
    made = trace_of(lambda x: x * 2, ROWS)
    assert made.columns(chunk_of(np.asfortranarray(ROWS)), None, np.empty) is None
    gaps = np.ones((4, 2, 6))[:, :, ::2]
    assert trace_of(lambda x: x * 2, gaps).columns(chunk_of(gaps), None, np.empty) is not None
    assert trace_of(lambda x: x.sum(), gaps).columns(chunk_of(gaps), None, np.empty) is None


def test_bounds_are_the_minimum_and_maximum_or_those_recorded():
    frame = Frame([np.array([3, -7, 5])])
    assert frame.bounds(0) == (-7, 5)
    frame.bound(1, 0, 9)
    assert frame.bounds(1) == (0, 9)
    assert issubclass(UnequalError, Exception)

"""Results of functions that only read come as columns if they are alike."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.apart import results_in_columns

ROWS = [{"n": i, "x": np.full(2, i, np.float32), "name": f"row {i}"} for i in range(100)]


def kept(row):
    return {"name": row["name"], "x": row["x"], "half": row["n"] / 2, "odd": row["n"] % 2 == 1, "n": row["n"]}


def test_columns_have_the_results():
    columns = results_in_columns(kept, ROWS, None)
    for made, row in zip(columns.elements(), ROWS, strict=True):
        assert list(made) == list(wanted := kept(row))
        assert made["x"] is row["x"]
        assert {key: made[key] for key in made if key != "x"} == {key: wanted[key] for key in wanted if key != "x"}


def test_results_are_written_to_the_memory_of_their_leaves():
    out = [np.empty(100), np.empty(100, np.int64), np.empty(0, object), np.empty(100, bool), np.empty((100, 2), "f4")]
    columns = results_in_columns(kept, ROWS, out)
    assert [mine is given for mine, given in zip(columns.columns, out, strict=True)] == [True, True, False, True, True]
    assert out[4][:, 1].tolist() == list(range(100))


@pytest.mark.parametrize("memory", [np.empty(99, np.int64), np.empty(100, np.int32), np.empty(200, np.int64)[::2]])
def test_memory_that_does_not_fit_is_not_used(memory):
    (column,) = results_in_columns(lambda row: row["n"], ROWS, [memory]).columns
    assert column is not memory
    assert column.tolist() == list(range(100))


def test_tuples_and_single_leaves_are_taken_apart_too():
    assert [list(c) for c in results_in_columns(lambda row: (row["n"], row["name"]), ROWS[:2], None).columns] == [
        [0, 1],
        ["row 0", "row 1"],
    ]
    assert results_in_columns(lambda row: row["name"], ROWS[:2], None).columns == [["row 0", "row 1"]]


@pytest.mark.parametrize(
    "function",
    [
        lambda row: {"deep": {"n": row["n"]}},
        lambda row: {"a": (1, 2), "b": None},
        lambda row: [row["n"]],
        lambda row: None,
        lambda row: {"n": row["n"] or None},
        lambda row: {"n": row["n"] << 62},
        lambda row: {"n": row["n"], **({"more": 1} if row["n"] == 70 else {})},
        lambda row: {"n": 1 // (row["n"] - 70)},
        lambda row: {"n": 1 // row["n"]},
        lambda row: {"n": {row["n"]}},
    ],
)
def test_other_results_and_failures_give_nothing(function):
    assert results_in_columns(function, ROWS, None) is None

"""Functions whose results are only batched make columns, with the same batches and errors."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.rewrite.passes import rewritten

ROWS = [
    {"id": i, "x": np.full(3, i, np.float32), "tokens": np.arange(i % 7 + 1), "name": f"row {i}"} for i in range(300)
]
PLAIN = ps.Options(rewrite=False)


def branching(row):
    n = row["id"]
    if n % 3 == 0:
        n = 0
    return {"n": n, "x": row["x"], "tokens": row["tokens"][:5], "name": row["name"]}


def even(row):
    return {"x": row["x"], "n": 0 if row["id"] % 3 else 1, "name": row["name"]}


def applied(ds):
    return rewritten(ds._plan).applied


def equal(one, other):
    assert list(one) == list(other)
    for key in one:
        assert type(one[key]) is type(other[key])
        assert one[key].dtype == other[key].dtype
        assert one[key].tolist() == other[key].tolist()


def test_functions_that_only_read_make_columns_for_a_batch():
    ds = Dataset.from_source(ROWS)
    for batches in (ds.map(even).batch(7), ds.map(branching).padded_batch(7), ds.map(branching).ragged_batch(7)):
        assert applied(batches) == ("make_columns",)
        assert rewritten(rewritten(batches._plan).plan).applied == ()


def test_other_functions_and_other_consumers_are_left_alone():
    ds, kept = Dataset.from_source(ROWS), []
    others = [
        ds.map(even),
        ds.map(even).shuffle(5).batch(2),
        ds.map(lambda row: kept.append(row) or row).batch(2),
        ds.map(lambda row: np.array(row["id"])).batch(2),
        ds.map(even, on="x").batch(2),
        ds.map(lambda row: {**row, "x": row.pop("x")}).batch(2),
    ]
    assert [applied(other) for other in others] == [()] * len(others)


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize(
    "make",
    [
        lambda ds: ds.map(even).batch(64),
        lambda ds: ds.map(even).batch(7, remainder="pad"),
        lambda ds: ds.map(branching).padded_batch(64),
        lambda ds: ds.map(branching).padded_batch(7, remainder="pad"),
        lambda ds: ds.filter(lambda row: row["id"] % 5 > 0).map(branching).padded_batch(16),
    ],
)
def test_batches_are_those_of_the_plain_plan(make, executor):
    ds = make(Dataset.from_source(ROWS).shuffle(seed=1)).with_options(ps.Options(executor=executor))
    plain = ds.with_options(PLAIN)
    for epoch in range(2):
        pairs = zip(ds.iterator(epoch=epoch), plain.iterator(epoch=epoch), strict=True)
        for one, other in pairs:
            equal(one, other)


def test_batches_share_no_memory_with_the_rows():
    rows = [{"x": np.zeros(3), "n": i} for i in range(40)]
    for batch in Dataset.from_source(rows).map(lambda row: {"x": row["x"], "n": row["n"]}).batch(4):
        batch["x"][...] = 1
    assert all(not row["x"].any() for row in rows)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda row: {"n": 1 // (row["id"] - 200)}, "item 200"),
        (lambda row: {"n": row["id"] if row["id"] < 200 else 0.5}, "200"),
        (lambda row: {"n": row["id"]} if row["id"] != 200 else {}, "200"),
        (lambda row: {"x": row["x"] if row["id"] != 200 else row["tokens"]}, "200"),
    ],
)
def test_errors_are_those_of_the_plain_plan(function, told):
    ds = Dataset.from_source(ROWS).map(function).batch(300)

    def told_by(some):
        with pytest.raises(Exception) as caught:  # noqa: PT011 (compared)
            list(some)
        return type(caught.value), str(caught.value), getattr(caught.value, "__notes__", [])

    assert told_by(ds) == told_by(ds.with_options(PLAIN))
    assert told in str(told_by(ds))

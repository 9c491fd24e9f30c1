"""A row that cannot be made is lost alone, wherever it is in a row group or record batch, and is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.arrow.apart import made_apart

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

COUNT = 100


def numbers(bad, kind=None):
    return pyarrow.array([None if i in bad else i for i in range(COUNT)], kind or pyarrow.int64())


def texts(bad, *, coded=False):
    made = pyarrow.array([b"\xff" if i in bad else b"text %d" % (i % 3 if coded else i) for i in range(COUNT)])
    return pyarrow.Array.from_buffers(pyarrow.string(), COUNT, made.buffers())


def lists(bad):
    return pyarrow.array([[i, None] if i in bad else [i] for i in range(COUNT)], pyarrow.list_(pyarrow.int64()))


COLUMNS = {"numbers": numbers, "texts": texts, "few texts": lambda bad: texts(bad, coded=True), "lists": lists}


def as_parquet(table, path):
    parquet.write_table(table, path, row_group_size=40)
    return ps.read_parquet(path)


def as_arrow(compression):
    def make(table, path):
        with pyarrow.ipc.new_file(
            str(path), table.schema, options=pyarrow.ipc.IpcWriteOptions(compression=compression)
        ) as file:
            file.write_table(table, max_chunksize=40)
        return ps.read_arrow(path)

    return make


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("bad", [{0}, {39, 40}, {7, 8, 9, 77}, {99}, set(range(40, 80))], ids=str)
def test_a_bad_value_of_parquet_loses_only_its_row(tmp_path, kind, bad):
    ds = as_parquet(pyarrow.table({"id": range(COUNT), "x": COLUMNS[kind](bad)}), tmp_path / "a.parquet")
    good = [i for i in range(COUNT) if i not in bad]
    assert [element["id"] for element in ds.ignore_errors()] == good
    batches = ds.shuffle(seed=1).map(lambda x: x["id"], vectorized=False).ignore_errors().batch(8)
    assert sorted(np.concatenate(list(batches)).tolist()) == good
    for i in (good[0], good[-1]):
        assert ds[i]["id"] == i
    for i in bad:
        with pytest.raises(DataError, match=f"a.parquet, row group {i // 40}") as raised:
            ds[i]
        assert kind.endswith("texts") or f"column x is null in row {i};" in str(raised.value)


@pytest.mark.parametrize("compression", [None, "lz4"])
@pytest.mark.parametrize("kind", ["numbers", "lists"])
def test_a_null_of_arrow_loses_only_its_row(tmp_path, compression, kind):
    bad = {0, 50, 51, 99}
    ds = as_arrow(compression)(pyarrow.table({"id": range(COUNT), "x": COLUMNS[kind](bad)}), tmp_path / "a.arrow")
    assert [element["id"] for element in ds.ignore_errors()] == [i for i in range(COUNT) if i not in bad]
    with pytest.raises(DataError, match=r"record batch 1.*column x is null in row 11;"):
        ds[51]


def test_filtered_rows_are_named_by_their_number_in_the_file(tmp_path):
    table = pyarrow.table({"id": range(COUNT), "x": numbers({60, 61})})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=40)
    ds = ps.read_parquet(tmp_path / "a.parquet", filters=[("id", ">=", 55)])
    assert [element["id"] for element in ds.ignore_errors()] == [*range(55, 60), *range(62, COUNT)]
    with pytest.raises(DataError, match="column x is null in row 61;"):
        ds[6]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.sets(st.integers(0, 50)))
def test_the_first_row_at_fault_is_found(rows, bad):
    def make(some):
        wrong = [row for row in some.tolist() if row in bad]
        if wrong:
            raise DataError(f"row {wrong[0]}")
        return some.tolist()

    faults = [place for place, row in enumerate(rows) if row in bad]
    if not faults:
        assert made_apart(np.array(rows), make) == rows
        return
    with pytest.raises(DataError, match=f"^row {rows[faults[0]]}$") as raised:
        made_apart(np.array(rows), make)
    assert raised.value.element == faults[0]

"""Locations of record batches equal those of Arrow; an inconsistent footer is ignored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.arrow.footer import batch_extents

pyarrow = pytest.importorskip("pyarrow")


def written(batches, compression=None):
    sink = pyarrow.BufferOutputStream()
    schema = pyarrow.schema([("a", pyarrow.int64()), ("b", pyarrow.string())])
    with pyarrow.ipc.new_file(sink, schema, options=pyarrow.ipc.IpcWriteOptions(compression=compression)) as file:
        for rows in batches:
            file.write_table(pyarrow.table({"a": range(rows), "b": ["text"] * rows}, schema=schema))
    return np.frombuffer(sink.getvalue(), np.uint8)


@pytest.mark.parametrize("compression", [None, "lz4"])
@pytest.mark.parametrize("batches", [[], [3], [5, 1, 1000, 7]])
def test_extents_of_record_batches_equal_those_of_arrow(batches, compression):
    content = written(batches, compression)
    found = batch_extents(content)
    assert len(found) == len(batches)
    schema = pyarrow.ipc.open_file(pyarrow.py_buffer(content)).schema
    for (begin, end), rows in zip(found, batches, strict=True):
        message = pyarrow.ipc.read_message(pyarrow.py_buffer(content[begin:end]))
        assert pyarrow.ipc.read_record_batch(message, schema).num_rows == rows


@pytest.fixture(scope="module")
def whole():
    return written([5, 1])


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 255)), max_size=4), st.data())
def test_damaged_footers_never_raise(whole, changes, data):
    content = whole.copy()
    length = data.draw(st.integers(0, len(content)))
    for back, value in changes:
        content[-back] = value
    assert all(len(extent) == 2 for extent in batch_extents(content))
    assert all(len(extent) == 2 for extent in batch_extents(content[:length]))

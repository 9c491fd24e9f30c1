"""The protocol of every source."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from penstock.elements.spec import compatible, spec_of
from penstock.sources.arrays import slices
from penstock.sources.constant import constant
from penstock.sources.files import FileBytes
from penstock.sources.indexable import indexable
from penstock.sources.integers import counter, integer_range


@pytest.fixture(params=["slices", "constant", "files", "labels", "indexable", "range", "counter"])
def source(request, tmp_path):
    paths = [str(tmp_path / f"{i}.bin") for i in range(5)]
    for i, path in enumerate(paths):
        with open(path, "wb") as file:
            file.write(bytes([i]))
    makers = {
        "slices": lambda: slices({"x": np.arange(10.0).reshape(5, 2), "s": list("abcde")}),
        "constant": lambda: constant((np.arange(3), "a")),
        "files": lambda: FileBytes(paths),
        "labels": lambda: FileBytes(paths, np.arange(5)),
        "indexable": lambda: indexable([{"i": i} for i in range(5)]),
        "range": lambda: integer_range(2, 12, 2),
        "counter": lambda: counter(5),
    }
    return makers[request.param]()


def plain(chunk):
    return repr(chunk.elements())


def test_rows_come_in_any_order_and_may_repeat(source):
    last = source.length - 1 if source.length > 0 else 4
    rows = np.array([last, 0, last])
    single = [source.read_many(np.array([row])).elements()[0] for row in rows]
    assert plain(source.read_many(rows)) == repr(single)
    assert len(source.read_many(rows[:0])) == 0


def test_elements_fit_the_spec(source):
    (element,) = source.read_many(np.array([0])).elements()
    assert source.spec() is None or compatible(source.spec(), spec_of(element))


def test_a_source_can_be_pickled(source):
    there = pickle.loads(pickle.dumps(source))
    rows = np.array([0])
    assert plain(there.read_many(rows)) == plain(source.read_many(rows))
    assert there.fingerprint() == source.fingerprint()


def test_a_source_has_a_name_a_record_per_row_and_a_plain_fingerprint(source):
    assert source.name
    assert isinstance(source.describe(0), str)
    assert all(isinstance(part, str | int | tuple) for part in source.fingerprint())

"""Rows of a cache: the kernel finds and copies what its twin does, and refuses memory that does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.cached_rows import (
    ANY_LENGTH,
    LOG_RECORD,
    VERIFIED,
    copy_cached_rows,
    crc32c_rows,
    look_up_rows,
)
from penstock.kernels.reference import cached_rows as twin


def sealed(records: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Return the records with the checksums of what they refer to, where that is in the data."""
    for record in records:
        begin, end = int(record["offset"]), int(record["offset"] + record["length"])
        if begin >= 0 and end <= len(data):
            record["crc"] = twin.crc32c(data[begin:end].tobytes())
    records["own"] = twin.crc32c_rows(records.view(np.uint8).reshape(len(records), -1), 28)
    return records


@st.composite
def caches(draw):
    """Two logs, of which the first may be damaged, entries of their records, and rows."""
    logs = ([], [])
    rows, entries = [], []
    for number in range(2):
        data = np.frombuffer(draw(st.binary(min_size=40, max_size=60)), np.uint8).copy()
        records = np.zeros(3, LOG_RECORD)
        for record in records:
            record["row"] = draw(st.integers(0, 5))
            record["offset"], record["length"] = draw(st.sampled_from([(0, 12), (8, 12), (9, 0), (60, 12), (30, 20)]))
        sealed(records, data)
        if number == 0 and draw(st.booleans()):
            data[draw(st.integers(0, 39))] ^= 1
            records.view(np.uint8)[draw(st.integers(0, 95))] ^= 1
        logs[0].append(records)
        logs[1].append(data)
        for at in draw(st.lists(st.integers(0, 4), max_size=40)):
            entries.append(number << 32 | at | draw(st.sampled_from([0, 1 << 63])) | 5 << 52)
            rows.append(int(records["row"][(at - 1) % 3]) if draw(st.booleans()) else draw(st.integers(0, 5)))
    return logs, np.array(entries, np.uint64), np.array(rows, np.int64)


@given(cache=caches(), length=st.sampled_from([ANY_LENGTH, 12]), start=st.integers(0, 9))
def test_rows_are_copied_as_by_the_twin(cache, length, start):
    logs, entries, rows = cache
    made = []
    for copy in (copy_cached_rows, twin.copy_cached_rows):
        outs = [np.zeros((len(rows), 2), np.uint8), np.zeros(len(rows), "V3")]
        spans = np.zeros((len(rows), 2), np.int64)
        ok, bad = copy(entries, rows, logs, length, [(start, outs[0]), (0, outs[1])], spans)
        made.append((ok.tolist(), bad, [out[ok].tolist() for out in outs], spans[ok].tolist()))
    assert made[0] == made[1]


@given(
    table=st.lists(st.sampled_from([0, 1, 7, 1 << 52, 1 << 63 | 1 << 52]), max_size=5),
    rows=st.lists(st.integers(-9, 9)),
)
def test_rows_are_looked_up_as_by_the_twin(table, rows):
    table, rows = np.array(table, np.uint64), np.array(rows, np.int64)
    entries, *others = look_up_rows(table, rows)
    expected, *others_expected = twin.look_up_rows(table, rows)
    assert (entries.tolist(), others) == (expected.tolist(), others_expected)


@given(rows=st.lists(st.binary(min_size=9, max_size=9)), length=st.integers(0, 9))
def test_checksums_of_rows(rows, length):
    rows = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), 9)
    assert crc32c_rows(rows, length).tolist() == twin.crc32c_rows(rows, length).tolist()


def test_a_verified_row_is_not_verified_again():
    data = np.arange(12, dtype=np.uint8)
    records = np.zeros(1, LOG_RECORD)
    records["length"] = 12
    sealed(records, data)
    data[3] ^= 1
    entry = np.ones(1, np.uint64)
    for given_entry, expected in ((entry, False), (entry | VERIFIED, True)):
        ok, _ = copy_cached_rows(given_entry, np.zeros(1, np.int64), ([records], [data]), 12, [])
        assert ok.tolist() == [expected]


@pytest.mark.parametrize("missing", [0, 1])
def test_files_that_are_not_mapped_have_no_rows(missing):
    data = np.arange(12, dtype=np.uint8)
    records = np.zeros(1, LOG_RECORD)
    records["length"] = 12
    logs = ([sealed(records, data)], [data])
    logs[missing][0] = None
    assert copy_cached_rows(np.ones(1, np.uint64), np.zeros(1, np.int64), logs, 12, [])[1] == 1


def test_memory_that_does_not_fit_is_refused():
    entries, rows, logs = np.ones(2, np.uint64), np.zeros(2, np.int64), ([None], [None])
    with pytest.raises(ValueError, match="one row for each of rows"):
        copy_cached_rows(entries, rows, logs, 4, [(0, np.zeros((3, 4), np.uint8))])
    with pytest.raises(ValueError, match="an entry for each row"):
        copy_cached_rows(entries[:1], rows, logs, 4, [])
    with pytest.raises(ValueError, match="data for each log"):
        copy_cached_rows(entries, rows, ([None], []), 4, [])
    with pytest.raises(ValueError, match="two numbers for each row"):
        copy_cached_rows(entries, rows, logs, 4, [], np.zeros((1, 2), np.int64))
    with pytest.raises(ValueError, match="as many bytes as asked for"):
        crc32c_rows(np.zeros((2, 3), np.uint8), 4)

"""Values cut into rows by other features: the results of tf.io, and refused partitions."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Ragged
from penstock.records.partitions import MOST_PARTITION_ROWS

R = ps.records
P = R.RaggedFeature
ROWS = [[1, 2], [], [3]]
SAID = {
    P.RowSplits: [0, 2, 2, 3],
    P.RowLengths: [2, 0, 1],
    P.RowStarts: [0, 2, 2],
    P.RowLimits: [2, 2, 3],
    P.ValueRowIds: [0, 0, 2],
}


def parse_with(*partitions):
    return R.parse_example({"x": R.RaggedFeature("int64", "v", partitions)})


@pytest.mark.parametrize("partition", SAID, ids=lambda partition: partition.__name__)
def test_all_kinds_of_partitions_give_the_same_rows(partition) -> None:
    parse = parse_with(partition("p"))
    record = R.encode_example({"v": [1, 2, 3], "p": SAID[partition]})
    assert parse(record)["x"] == Ragged.from_rows(ROWS, np.int64).with_splits("int32")
    assert parse([record, b"", record])["x"].tolist() == [ROWS, [], ROWS]


def test_the_innermost_partition_is_the_last() -> None:
    parse = parse_with(P.RowLengths("outer"), P.RowLengths("inner"), P.UniformRowLength(2))
    record = R.encode_example({"v": range(8), "inner": [1, 0, 3], "outer": [2, 0, 1]})
    x = parse(record)["x"]
    assert x.shape == (3, None, None, 2)
    assert x.tolist() == [[[[0, 1]], []], [], [[[2, 3], [4, 5], [6, 7]]]]


def test_uniform_rows_around_others_are_ragged() -> None:
    parse = parse_with(P.UniformRowLength(2), P.RowLengths("p"))
    record = R.encode_example({"v": [1, 2, 3], "p": [1, 0, 2, 0]})
    assert parse(record)["x"].tolist() == [[[1], []], [[2, 3], []]]


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        *[(P.RowSplits, s) for s in ([0, 2], [1, 3], [0, 4], [0, 2, 1, 3], [-1, 3], [3], [])],
        *[(P.RowLengths, s) for s in ([1, 1], [4], [-1, 4], [1 << 62, 1 << 62], [])],
        *[(P.RowStarts, s) for s in ([1], [0, 4], [0, 2, 1], [0, -1], [])],
        *[(P.RowLimits, s) for s in ([2], [4], [2, 1, 3], [-1, 3], [])],
        *[
            (P.ValueRowIds, s)
            for s in ([0, 1], [0, 1, 0], [-1, 0, 0], [0, 0, 1 << 62], [0, 0, MOST_PARTITION_ROWS + 1])
        ],
    ],
)
def test_rows_that_do_not_divide_the_values_are_refused(partition, said: list) -> None:
    parse = parse_with(partition("p"))
    good = R.encode_example({"v": [1, 2, 3], "p": SAID[partition]})
    with pytest.raises(ps.errors.DataError, match=r'record 1 .*"x": its 3 values are not divided exactly .* "p"'):
        parse([good, R.encode_example({"v": [1, 2, 3], "p": np.array(said, np.int64)}), good])


@pytest.mark.parametrize("partitions", [(P.UniformRowLength(2),), (P.UniformRowLength(2), P.RowLengths("p"))])
def test_uniform_rows_have_to_come_out_even(partitions) -> None:
    with pytest.raises(ps.errors.DataError, match="do not divide into rows of 2"):
        parse_with(*partitions)(R.encode_example({"v": [1, 2, 3], "p": [1, 1, 1]}))


def test_lists_are_cut_step_by_step() -> None:
    parse = R.parse_sequence_example({}, {"x": R.RaggedFeature("int64", "v", [P.RowLengths("p")])})
    record = R.encode_sequence_example({}, {"v": [[1, 2, 3], [], [4]], "p": [[1, 2], [], [1]]})
    assert parse(record)[1]["x"].tolist() == [[[1], [2, 3]], [], [[4]]]
    bad = R.encode_sequence_example({}, {"v": [[1], [2]], "p": [[1], [2]]})
    with pytest.raises(ps.errors.DataError, match=r'record 2 .*"x": its 1 values are not divided'):
        parse([record, b"", bad, record])
    with pytest.raises(ps.errors.DataError, match="number of steps differs"):
        parse(R.encode_sequence_example({}, {"v": [[1], [2]], "p": [[1]]}))

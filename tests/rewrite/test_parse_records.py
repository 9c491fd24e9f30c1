"""Parsing takes the records of a source joined wherever the source can hand them up so, and gives the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pytest

import penstock as ps
from penstock.dataset.methods.read import reading
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ObjectSpec
from penstock.ops.elementwise.map import Map
from penstock.ops.group.batch import Batch
from penstock.ops.group.ragged import RaggedBatch
from penstock.ops.order.shuffle import Shuffle
from penstock.ops.order.take import Take
from penstock.ops.read.source import Read
from penstock.rewrite.parse_records import parse_in_kernel

R = ps.records
PARSE = R.parse_example(
    {"x": R.FixedLenFeature([], "int64"), "t": R.FixedLenFeature([], bytes), "r": R.RaggedFeature("int64")}
)
RECORDS = tuple(R.encode_example({"x": i, "t": str(i), "r": range(i % 5)}) for i in range(20))


@dataclass(frozen=True)
class Memory:
    """Records in memory that can be handed up joined."""

    records: tuple[bytes, ...] = RECORDS
    joined: bool = False
    name: str = "memory"

    @property
    def length(self) -> int:
        return len(self.records)

    def spec(self):
        return ObjectSpec(bytes)

    def read_many(self, rows, out=None):
        found = [self.records[row] for row in rows.tolist()]
        if not self.joined:
            return Columns(LEAF, [found], len(rows))
        splits = np.cumsum([0, *map(len, found)])
        return Columns(LEAF, [Ragged(np.frombuffer(b"".join(found), np.uint8).copy(), splits)], len(rows))

    def describe(self, row: int) -> str:
        return f"record {row}"

    def fingerprint(self):
        return ("memory", len(self.records))


READ, JOINED = Read(Memory()), Read(Memory(joined=True))
INT64 = np.dtype(np.int64)


def test_the_records_of_a_source_are_joined_under_what_moves_them() -> None:
    plan = Map(Take(Shuffle(READ, None, 1, reshuffle=True), 10), PARSE)
    assert parse_in_kernel(plan) == replace(plan, input=swapped(plan.input))


def swapped(node):
    return JOINED if node == READ else replace(node, input=swapped(node.input))


def test_a_batch_of_joined_records_is_ragged() -> None:
    plan = Map(Take(Batch(Take(READ, 10), 4, drop_remainder=False), 2), PARSE)
    batch = RaggedBatch(Take(JOINED, 10), 4, row_splits_dtype=INT64, ranks=(1,))
    assert parse_in_kernel(plan) == Map(Take(batch, 2), PARSE)


def test_the_records_of_a_rank_are_joined() -> None:
    ds = reading(Memory()).batch(4).map(PARSE).shard_by_rank(rank=1, world=2)
    assert "parse_in_kernel" in str(ds.explain())
    assert [batch["x"].tolist() for batch in ds] == [[row + 2, row + 3] for row in range(0, 20, 4)]


@pytest.mark.parametrize(
    "plan",
    [
        Map(READ, len),
        Map(READ, PARSE, on=0),
        Map(Map(READ, bytes.strip), PARSE),
        Map(JOINED, PARSE),
        Batch(READ, 4, drop_remainder=False),
        READ,
    ],
)
def test_other_plans_stay_as_they_are(plan) -> None:
    assert parse_in_kernel(plan) is None


@pytest.mark.parametrize("size", [1, 3, 10, 30])
@pytest.mark.parametrize("drop", [False, True])
def test_rewriting_changes_no_batch(size: int, drop: bool) -> None:
    ds = reading(Memory()).shuffle(seed=3)
    fixed = R.parse_example({"x": R.FixedLenFeature([], "int64"), "t": R.FixedLenFeature([], bytes)})
    for made in (
        ds.map(PARSE),
        ds.map(PARSE).ragged_batch(size, drop_remainder=drop),
        ds.map(fixed).batch(size, drop_remainder=drop),
        ds.batch(size, drop_remainder=drop).map(PARSE),
        ds.batch(size, drop_remainder=drop).take(2).map(PARSE),
        ds.batch(size, drop_remainder=drop).map(PARSE).shard_by_rank(rank=0, world=1),
    ):
        plain = list(made.with_options(ps.Options(rewrite=False)).iterator(epoch=0))
        assert repr(list(made.iterator(epoch=0))) == repr(plain)


def test_files_of_records_are_parsed_joined(tmp_path) -> None:
    ps.Dataset.from_source(RECORDS).write_tfrecord(tmp_path / "a.tfrecord")
    ds = ps.read_tfrecord(tmp_path / "a.tfrecord").shuffle(seed=0).batch(8).map(PARSE)
    assert "parse_in_kernel" in str(ds.explain())
    found = [batch["x"].tolist() for batch in ds.iterator(epoch=0)]
    assert sorted(chain.from_iterable(found)) == list(range(20))


def test_a_bad_record_is_lost_alone() -> None:
    ds = reading(Memory((*RECORDS[:3], b"\xff", *RECORDS[3:6])))
    assert [element["x"] for element in ds.map(PARSE, on_error="skip")] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ps.errors.DataError, match="damaged") as caught:
        list(ds.map(PARSE))
    assert any("record 3" in note for note in caught.value.__notes__)

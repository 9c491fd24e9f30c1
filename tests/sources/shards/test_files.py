"""Files that begin with a table of their samples: read whole or compressed, ahead, and anew in another process."""

from __future__ import annotations

import io
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.sources.shards import files as shards
from penstock.sources.shards.files import PackedShards, PlainShards, ShardFile, read_table
from penstock.sources.shards.mds import MDS, mds_samples
from tests.sources.shard_files import simple_mds, table, u32


@given(st.lists(st.binary(max_size=9), max_size=20), st.binary(max_size=9))
def test_a_table_has_the_offsets_of_samples(samples, lead):
    data = table(samples, lead)
    offsets = read_table(io.BytesIO(data), len(data), "x")
    assert [data[begin:end] for begin, end in pairwise(offsets.tolist())] == samples


@pytest.mark.parametrize(("data", "why"), [
    (b"", "at byte 0: .* would have 0 entries and 8 bytes, and the file has 0"),
    (u32(2**32 - 1, 0, 0), "17179869188 bytes, and the file has 12"),
    (u32(1, 12, 11) + b"abc", "at byte 8: .* sample 1|ends at byte"),
    (u32(1, 11, 15) + b"abc", "at byte 4: .* is damaged: sample 0 begins at byte 11"),
    (u32(1, 12, 16) + b"abc", "ends at byte 16, and the file has 15"),
])  # fmt: skip
def test_a_table_that_does_not_fit_is_named(data, why):
    with pytest.raises(DataError, match=why):
        read_table(io.BytesIO(data), len(data), "x")


@pytest.mark.parametrize("compression", [None, "gz"])
def test_shards_are_read_ahead_and_can_be_pickled(compression, tmp_path):
    source = mds_samples(simple_mds(tmp_path, compression=compression))
    rows = np.array([19, 3, 3, 11])
    source.advise(rows)
    expected = source.payloads.read(rows)
    source.advise(rows)
    assert pickle.loads(pickle.dumps(source)).payloads.read(rows) == expected
    assert source.fingerprint() == mds_samples(tmp_path).fingerprint()


def test_only_shards_that_are_not_cached_are_read_ahead(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(shards, "advise_whole", told.extend)
    payloads = mds_samples(simple_mds(tmp_path, compression="gz")).payloads
    payloads.read(np.array([0]))
    payloads.advise(np.arange(20))
    assert told == [str(tmp_path / f"shard.0000{i}.mds.gz") for i in (1, 2)]


def test_blocks_are_shards_that_have_samples(tmp_path):
    packed = PackedShards(
        [ShardFile("a", 3, 100, "gzip"), ShardFile("b", 0, 8, "gzip"), ShardFile("c", 2, 100, "gzip")]
    )
    assert packed.blocks().bounds.tolist() == [0, 3, 5]
    assert packed.length == 5
    assert PackedShards([]).blocks() is None
    assert PlainShards([], MDS).length == 0

"""Chunks in zstd frames: the tables of sample locations, and the decompressed bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.litdata.folder import litdata_samples
from penstock.sources.litdata.frames import FramedShards, scan_frames
from penstock.sources.shards.files import ShardFile
from tests.sources.shard_files import frames, simple_litdata

pytest.importorskip("zstandard")


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=30), st.integers(1, 8))
def test_samples_are_decompressed(tmp_path_factory, samples, each):
    path = tmp_path_factory.mktemp("chunk") / "chunk-0-0.bin"
    path.write_bytes(frames(samples, each))
    found = scan_frames(str(path), lambda seen: None)
    assert len(found["frames"]) == -(-len(samples) // each) + 1
    assert np.diff(found["offsets"]).tolist() == list(map(len, samples))
    shards = FramedShards([ShardFile(str(path), len(samples), 0)])
    assert shards.read(np.arange(len(samples))[::-1]) == samples[::-1]


def test_a_frame_is_decompressed_once(tmp_path, monkeypatch):
    shards = litdata_samples(simple_litdata(tmp_path, level="batch")).payloads
    decompressed = []
    load = FramedShards.load
    monkeypatch.setattr(FramedShards, "load", lambda self, piece: decompressed.append(piece) or load(self, piece))
    shards.read(np.array([0, 1, 2, 8]))
    shards.read(np.array([1, 7, 9]))
    assert sorted(decompressed) == [0, 3]
    assert shards.blocks().bounds.tolist() == [0, 3, 6, 7, 10, 13, 14, 17, 20]
    assert shards.describe(9).endswith("chunk-0-1.bin, sample 2")


def test_frames_are_read_ahead(tmp_path):
    shards = litdata_samples(simple_litdata(tmp_path, level="batch")).payloads
    shards.read(np.array([0]))
    shards.advise(np.arange(20))
    assert len(shards.read(np.arange(20))) == 20

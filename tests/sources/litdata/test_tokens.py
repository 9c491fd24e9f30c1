"""Tokens of LitData: blocks of one length, across documents but not across chunks."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.sources.litdata.tokens import litdata_tokens
from penstock.testing.sources import verify_source
from tests.sources.shard_files import changed_index, simple_litdata, tokens

CHUNKS = [[list(range(5)), list(range(5, 12))], [list(range(100, 103))], [[7]], [list(range(200, 209))]]


def test_blocks_cross_documents_but_not_chunks(tmp_path):
    ds = ps.read_litdata(tokens(tmp_path, CHUNKS), block_size=3)
    blocks = [list(range(i, i + 3)) for i in (0, 3, 6, 9, 100, 200, 203, 206)]
    assert [block.tolist() for block in ds] == blocks
    assert repr(ds.element_spec) == "int32[3]"
    assert next(iter(ds.shuffle(seed=0).batch(8))).shape == (8, 3)
    verify_source(litdata_tokens(tmp_path, 3))
    ps.testing.verify_resume(ds.shuffle(seed=2).batch(3))


@pytest.mark.parametrize("size", [1, 12, 13])
def test_any_block_size_is_taken(size, tmp_path):
    count = sum(sum(map(len, chunk)) // size for chunk in CHUNKS)
    ds = ps.read_litdata(tokens(tmp_path, CHUNKS, "<u2", 20), block_size=size)
    assert len(ds) == len(list(ds)) == count
    assert ds.element_spec.dtype == np.uint16


def test_a_block_is_located(tmp_path):
    assert (
        str(ps.read_litdata(tokens(tmp_path, CHUNKS), block_size=3).locate(4)[0])
        == f"{tmp_path}/chunk-0-1.bin, record 0"
    )


def test_a_chunk_of_another_size_is_refused(tmp_path):
    tokens(tmp_path, CHUNKS)
    changed_index(tmp_path, lambda index: index["chunks"][1].update(dim=4))
    with pytest.raises(DataError, match=r"chunk-0-1.bin has 24 bytes; index.json says 28"):
        list(ps.read_litdata(tmp_path, block_size=3))


def test_folders_of_samples_are_refused_as_tokens(tmp_path):
    with pytest.raises(PlanError, match="has samples, not tokens"):
        ps.read_litdata(simple_litdata(tmp_path), block_size=3)
    with pytest.raises(ValueError, match="block_size"):
        ps.read_litdata(tmp_path, block_size=0)
    with pytest.raises(PlanError, match="tokens are numbers"):
        ps.read_litdata(tmp_path, block_size=3, decode=False)


def test_compressed_tokens_are_refused(tmp_path):
    tokens(tmp_path, CHUNKS)
    changed_index(tmp_path, lambda index: index["config"].update(compression="zstd"))
    with pytest.raises(PlanError, match="tokens are compressed"):
        ps.read_litdata(tmp_path, block_size=3)


@pytest.mark.filterwarnings("ignore:The given buffer is not writable:UserWarning")
def test_files_of_the_original_package_are_read(tmp_path):
    litdata = pytest.importorskip("litdata")
    torch = pytest.importorskip("torch")
    from litdata.streaming.item_loader import TokensLoader
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(tmp_path), chunk_bytes=2000, item_loader=TokensLoader())
    for number in range(60):
        writer[number] = torch.arange(number, number + 37, dtype=torch.int32)
    writer.done()
    writer.merge()
    theirs = litdata.StreamingDataset(str(tmp_path), item_loader=TokensLoader(block_size=16))
    ours = ps.read_litdata(tmp_path, block_size=16)
    assert len(ours) == len(theirs) > 100
    assert all(np.array_equal(ours[i], theirs[i].numpy()) for i in range(len(ours)))

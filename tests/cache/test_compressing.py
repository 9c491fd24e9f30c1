"""Rows are compressed one by one, where that makes them smaller."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from penstock.cache.compressing import row_compressor, row_decompressor
from penstock.cache.store import CacheStore
from penstock.core.errors import DataError, MissingDependencyError
from tests.cache.kinds import chunk_of

BOTH = pytest.mark.parametrize("compression", ["lz4", "zstd"])


@BOTH
def test_rows_come_back(compression):
    for row in (b"", b"a", bytes(10_000), np.random.default_rng(0).bytes(1000)):
        assert row_decompressor(compression)(row_compressor(compression)(row)) == row


@BOTH
def test_damaged_rows_are_refused(compression):
    row = row_compressor(compression)(bytes(1000))
    with pytest.raises(DataError, match="a compressed row is damaged"):
        row_decompressor(compression)(row[:-3])


@BOTH
def test_smooth_rows_take_less_room_and_noise_takes_no_more(tmp_path, compression):
    noise = np.random.default_rng(0).integers(0, 256, 20_000, np.uint8)
    for name, value, most in (("smooth", np.zeros(20_000, np.uint8), 3000), ("noise", noise, 20_100)):
        sizes = []
        for rows in (1, 11):
            store = CacheStore.open(tmp_path / f"{name} {rows}", "key", {}, compression=compression)
            store.write(np.arange(rows), chunk_of([value] * rows))
            sizes.append(store.bytes)
        assert (sizes[1] - sizes[0]) / 10 < most


@BOTH
def test_readers_need_no_setting_and_say_which_library_is_missing(tmp_path, monkeypatch, compression):
    elements = [np.full(3000, i) for i in range(3)]
    CacheStore.open(tmp_path, "key", {}, compression=compression).write(np.arange(3), chunk_of(elements))
    store = CacheStore.open(tmp_path, "key", {})
    out = [np.empty((2, 3000), np.int64)]
    chunk, _ = store.read(np.array([2, 1]), out)
    assert chunk.columns[0] is out[0]
    assert out[0][:, 5].tolist() == [2, 1]

    def missing(name, *args):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=f"rows kept with compression='{compression}'"):
        store.read(np.array([0]))
    with pytest.raises(MissingDependencyError, match=r"penstock\[compression\]"):
        CacheStore.open(tmp_path, "key", {}, compression=compression)


def test_an_unknown_compression_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected 'lz4', 'zstd' or None"):
        CacheStore.open(tmp_path, "key", {}, compression="gzip")

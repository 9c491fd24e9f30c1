"""Checksums of blocks: each verified once, on the first read; errors name the damage and the affected elements."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.sources.saved.manifest import CHECKSUM_BLOCK
from penstock.sources.saved.sums import CheckedBlocks, Sums, write_sums


@pytest.mark.parametrize("size", [1, CHECKSUM_BLOCK - 1, CHECKSUM_BLOCK, CHECKSUM_BLOCK + 1, 3 * CHECKSUM_BLOCK])
def test_a_flipped_bit_is_found_in_its_block_only(tmp_path, size):
    content = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    content.tofile(tmp_path / "a")
    write_sums(str(tmp_path), ["a"])
    sums = Sums(np.fromfile(tmp_path / "penstock.crc32c", "<u4"), CHECKSUM_BLOCK)
    assert len(sums.values) == -(-size // CHECKSUM_BLOCK)
    CheckedBlocks("a", content, sums).check(np.zeros(1, np.int64), np.full(1, size))
    content[-1] ^= 1
    blocks = CheckedBlocks("a", content, sums)
    last = (size - 1) // CHECKSUM_BLOCK
    begins = np.arange(last + 1) * CHECKSUM_BLOCK
    blocks.check(begins[:-1], begins[1:])
    with pytest.raises(DataError, match=f"a is damaged: its bytes from {last * CHECKSUM_BLOCK:,} on") as error:
        blocks.check(begins, np.minimum(begins + CHECKSUM_BLOCK, size))
    assert error.value.element == last


def test_without_checksums_no_block_is_verified():
    CheckedBlocks("a", np.zeros(9, np.uint8), None).check(np.zeros(1, np.int64), np.full(1, 9))

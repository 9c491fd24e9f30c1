"""Operations that would lose a mask raise an error."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ElementError

MASKED = np.ma.masked_array([1, -999, 3], mask=[False, True, False])


def masked():
    return ps.Dataset.range(3).map(lambda x: MASKED)


@pytest.mark.parametrize(
    "use",
    [
        lambda path: masked().batch(2)[0],
        lambda path: list(masked().padded_batch(2)),
        lambda path: list(masked().ragged_batch(2)),
        lambda path: list(masked().unbatch()),
        lambda path: list(masked().pack(4)),
        lambda path: masked().save(path),
        lambda path: masked().map(lambda x: {"x": x}).write_parquet(path),
        lambda path: ps.records.encode_example({"x": MASKED}),
        lambda path: ps.Ragged.from_rows([MASKED]),
        lambda path: ps.Dataset.from_tensor_slices(MASKED),
    ],
)  # fmt: skip
def test_what_would_lose_a_mask_refuses_the_array(use, tmp_path):
    with pytest.raises(ElementError, match=r"mask.* would lose its mask; fill it by array.filled\(value\)"):
        use(str(tmp_path / "written"))


def test_elements_and_caches_keep_their_masks(tmp_path):
    for ds in (masked(), masked().cache(), masked().cache(str(tmp_path / "cache"))):
        for _ in range(2):
            assert all(isinstance(each, np.ma.MaskedArray) and each.sum() == 4 for each in ds)

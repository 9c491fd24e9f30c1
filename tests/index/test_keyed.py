"""Keys of many rows at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.seeds import mix
from penstock.index.keyed import mix_each

PARTS = st.lists(st.integers(0, (1 << 63) - 1), min_size=1, max_size=5)


@given(key=st.integers(0, (1 << 64) - 1), first=PARTS)
def test_keys_equal_those_of_mix(key: int, first: list[int]) -> None:
    parts = np.array(first, np.int64)
    once = mix_each(mix(key), parts)
    assert once.tolist() == [mix(key, part) for part in first]
    assert mix_each(once, parts[::-1]).tolist() == [mix(key, *two) for two in zip(first, first[::-1], strict=True)]

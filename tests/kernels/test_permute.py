"""The native orders equal those of the NumPy implementation bit for bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock import kernels
from penstock.kernels.reference import permute as twin

KEYS = st.integers(0, (1 << 64) - 1)
LENGTHS = st.one_of(
    st.integers(1, 300),
    st.integers(1, 1 << 62),
    st.builds(lambda k, d: max(1, min((1 << k) + d, 1 << 62)), st.integers(0, 62), st.integers(-1, 1)),
)


@given(length=LENGTHS, key=KEYS, seed=st.integers(0, 1000), count=st.sampled_from([0, 1, 12, 13, 256, 257, 700]))
def test_permute_and_its_inverse(length: int, key: int, seed: int, count: int) -> None:
    positions = np.random.default_rng(seed).integers(0, length, count)
    order = kernels.permute(positions, length, key)
    assert order.tolist() == twin.permute(positions, length, key).tolist()
    assert kernels.unpermute(order, length, key).tolist() == positions.tolist()
    assert twin.unpermute(order, length, key).tolist() == positions.tolist()


@given(length=st.integers(1, 2000), key=KEYS, reshuffle=st.booleans(), seed=st.integers(0, 1000))
def test_permute_rows(length: int, key: int, reshuffle: bool, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 4 * length, 300)
    expected = twin.permute_rows(rows, length, key, reshuffle)
    assert kernels.permute_rows(rows, length, key, reshuffle).tolist() == expected.tolist()


@given(length=st.integers(1, 3000), window=st.integers(1, 3000), key=KEYS)
def test_permute_within(length: int, window: int, key: int) -> None:
    positions = np.random.default_rng(key).permutation(length)[:500]
    expected = twin.permute_within(positions, length, window, key)
    assert kernels.permute_within(positions, length, window, key).tolist() == expected.tolist()

"""Whole numbers in given proportions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.index.divided import divided


@given(
    length=st.integers(0, 2**62),
    weights=st.lists(st.integers(0, 1000), min_size=1, max_size=6).filter(any),
)
def test_sizes_add_up_and_are_within_one_of_the_share(length: int, weights: list[int]) -> None:
    sizes = divided(length, weights)
    assert sum(sizes) == length
    for size, weight in zip(sizes, weights, strict=True):
        assert abs(size * sum(weights) - length * weight) < sum(weights)
        assert size == 0 or weight > 0


def test_remaining_elements_go_to_the_largest_fractions() -> None:
    assert divided(10, [60, 25, 15]) == [6, 3, 1]
    assert divided(10, [62, 19, 19]) == [6, 2, 2]
    assert divided(1, [1, 1]) == [1, 0]

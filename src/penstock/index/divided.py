"""Sizes of the parts of `split`: whole numbers in given proportions."""

from __future__ import annotations

from collections.abc import Sequence


def divided(length: int, weights: Sequence[int]) -> list[int]:
    """Return the sizes of parts of `length` elements: they add up to `length`, each within one of its share.

    By largest remainder (Hamilton's method): every part gets its share rounded down, and the remaining elements go one
    by one to the parts with the largest fractions; the first part wins a tie.

    >>> divided(10, [9, 9, 2])
    [5, 4, 1]
    """
    total = sum(weights)
    sizes = [length * weight // total for weight in weights]
    lost = [length * weight % total for weight in weights]
    by_loss = sorted(range(len(weights)), key=lambda part: -lost[part])  # stable: the first part wins a tie
    for part in by_loss[: length - sum(sizes)]:
        sizes[part] += 1
    return sizes

"""Sizes of the parts of `split`: whole numbers in given proportions."""

from __future__ import annotations

from collections.abc import Sequence


def divided(length: int, weights: Sequence[int]) -> list[int]:
    """Return how many of `length` elements each part gets: they add up to `length`, each within one of its share.

    By largest remainder (Hamilton's method): every part gets its share rounded down, and what is left goes one by one
    to the parts that lost most; to the first of those that lost as much.

    >>> divided(10, [9, 9, 2])
    [5, 4, 1]
    """
    total = sum(weights)
    sizes = [length * weight // total for weight in weights]
    lost = [length * weight % total for weight in weights]
    by_loss = sorted(range(len(weights)), key=lambda part: -lost[part])  # stable: the first of equals stays first
    for part in by_loss[: length - sum(sizes)]:
        sizes[part] += 1
    return sizes

"""Random words for many rows at once, equal to those of `core.seeds.mix` for one."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def mix_each(key: Words | int, part: NDArray[np.integer]) -> Words:
    """Return `mix(*parts, part[i])` for each i, where `key` is `mix(*parts)` or an array of such keys.

    `part` must not be negative. The words are frozen, like those of `mix`.

    >>> from penstock.core.seeds import mix
    >>> mix_each(mix(7), np.array([1, 2])).tolist() == [mix(7, 1), mix(7, 2)]
    True
    """
    with np.errstate(over="ignore"):
        return _scrambled((np.asarray(key, np.uint64) ^ part.astype(np.uint64)) + _INCREMENT)


def _scrambled(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return cast("Words", words ^ (words >> np.uint64(31)))


_INCREMENT = np.uint64(0x9E3779B97F4A7C15)

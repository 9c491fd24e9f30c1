"""Samples of tar archives in Python; archives are `penstock.kernels.tar.Samples`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows


def keys_of_samples(archives: Sequence[Any], starts: Rows, rows: Rows) -> list[str]:
    """Return the keys of the samples at `rows`."""
    return [archives[archive].key(sample) for archive, sample in _places(starts, rows)]


def members_of_samples(
    archives: Sequence[Any], parts: Sequence[Sequence[str]], starts: Rows, rows: Rows
) -> NDArray[np.int64]:
    """Return the member of each part of the samples at `rows`, numbered across all archives; -1 if missing."""
    first = np.cumsum([0, *(len(samples.extension) for samples in archives)])
    found = np.full((len(rows), len(parts)), -1, np.int64)
    for i, (archive, sample) in enumerate(_places(starts, rows)):
        samples = archives[archive]
        members = range(int(samples.members[sample]), int(samples.members[sample + 1]))
        by_extension = {samples.extensions[int(samples.extension[member])]: member for member in members}
        for part, extensions in enumerate(parts):
            there = [by_extension[extension] for extension in extensions if extension in by_extension]
            if there:
                found[i, part] = int(first[archive]) + there[0]
    return found


def _places(starts: Rows, rows: Rows) -> list[tuple[int, int]]:
    """Return the archive of each row, and the number of its sample there."""
    of = np.searchsorted(starts, rows, side="right") - 1
    return list(zip(of.tolist(), (rows - starts[of]).tolist(), strict=True))

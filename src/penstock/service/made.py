"""The memory of what a service has made, so that it notices what it makes again."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows

ROWS_OF_PAGE = 1 << 12  # rows of a page
PAGES_REMEMBERED = 1 << 12  # 16 MiB
KEYS_REMEMBERED = 1 << 16


class MadeRows:
    """The rows that were made, with a flag for each, in pages: as many as were made last.

    >>> made = MadeRows()
    >>> made.add(np.array([3, 5])), made.add(np.array([5, 5000]))
    (0, 1)
    """

    def __init__(self) -> None:
        self._pages: OrderedDict[int, NDArray[np.bool_]] = OrderedDict()

    def add(self, rows: Rows) -> int:
        """Note rows that are made, and return how many of them were made before."""
        again = 0
        pages = rows // ROWS_OF_PAGE
        for page in np.unique(pages).tolist():
            flags = self._pages.pop(page, None)
            if flags is None:
                flags = np.zeros(ROWS_OF_PAGE, np.bool_)
            self._pages[page] = flags
            inside = rows[pages == page] - page * ROWS_OF_PAGE
            again += int(flags[inside].sum())
            flags[inside] = True
        while len(self._pages) > PAGES_REMEMBERED:
            self._pages.popitem(last=False)
        return again


class MadeKeys:
    """The keys of pieces that were made, as hashes: of those made last.

    >>> made = MadeKeys()
    >>> made.add((0, "a")), made.add((0, "b")), made.add((0, "a"))
    (False, False, True)
    """

    def __init__(self) -> None:
        self._hashes: OrderedDict[int, None] = OrderedDict()

    def add(self, key: tuple[int, str]) -> bool:
        """Note a piece that is made, and return whether it was made before."""
        known = hash(key)
        was_made = known in self._hashes
        self._hashes[known] = None
        if len(self._hashes) > KEYS_REMEMBERED:
            self._hashes.popitem(last=False)
        return was_made

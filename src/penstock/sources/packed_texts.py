"""Long lists of texts on their way to other processes: one block of memory, which all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows

_LONG = 1000  # a shorter list travels as it is


class PackedTexts(Sequence[Any]):
    """The items of a list of `str` or `bytes`, each made when it is asked for.

    `data` has their bytes (UTF-8, surrogates included), and `ends`, `int64[n]`, the end of each. A list of 10⁷ paths
    takes 1.2 GB in every process that has it. These arrays take half of that, once for all processes that map them.
    """

    def __init__(self, kind: type[str | bytes], data: NDArray[np.uint8], ends: Rows) -> None:
        self.kind, self.data, self.ends = kind, data, ends

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, at: int) -> Any: ...

    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self._item(position) for position in range(len(self))[at]]
        return self._item(range(len(self))[at])

    def read_many(self, rows: Rows) -> list[Any]:
        """Return the items at `rows`, `int64[k]`."""
        return list(map(self._item, rows.tolist()))

    def _item(self, position: int) -> Any:
        begin = self.ends[position - 1] if position else 0
        content = self.data[begin : self.ends[position]].tobytes()
        return content if self.kind is bytes else content.decode("utf-8", "surrogatepass")

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedTexts, (self.kind, self.data, self.ends)


def packed_texts(values: Any) -> Any:
    """Return a long list of texts, or of bytes, as `PackedTexts`, and anything else as it is.

    >>> packed_texts([f"{i}.jpg" for i in range(2000)])[1:3]
    ['1.jpg', '2.jpg']
    """
    if type(values) is not list or len(values) < _LONG:
        return values
    kinds = set(map(type, values))
    if kinds == {str}:
        kind, contents = str, [value.encode("utf-8", "surrogatepass") for value in values]
    elif kinds == {bytes}:
        kind, contents = bytes, values
    else:
        return values
    ends = np.fromiter(accumulate(map(len, contents)), np.int64, len(contents))
    return PackedTexts(kind, np.frombuffer(b"".join(contents), np.uint8), ends)

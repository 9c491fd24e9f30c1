"""Keep one part of a split: by a permutation of the positions, or by a key of the elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate, Rows
from penstock.core.blame import Blame, ElementPlace, add_blame, noting_blames
from penstock.core.cached import cached_property
from penstock.core.digest import hashed
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.core.seeds import mix, written_seed
from penstock.index.permuted import permuted
from penstock.index.selected import selected
from penstock.index.strided import strided
from penstock.plan.flow import Piece, Spread
from penstock.plan.functions import name_of
from penstock.plan.node import RowMap
from penstock.plan.safety.calls import entered, turns_of
from penstock.plan.safety.writing import elements_for
from penstock.plan.traits import Traits
from penstock.plan.types import UNKNOWN

SPLIT = 0x73706C6974  # "split" in ASCII: distinguishes the permutation from a shuffle with the same seed


@frozen()
class Part(RowMap):
    """Keep `count` elements from position `start` on of an order keyed by `seed`, the same in every epoch."""

    part: str
    start: int
    count: int
    seed: int

    @property
    def name(self) -> str:
        return "split"

    @cached_property
    def length(self) -> int:
        return self.count

    def rows_of(self, rows: Rows) -> Rows:
        stride = self.input.stride
        places = strided(rows, length=self.stride, input_stride=stride, start=self.start)
        return permuted(places, length=stride, key=mix(SPLIT, self.seed), reshuffle=False)

    def arguments(self) -> str:
        return ", ".join([repr(self.part), *written_seed(self.seed)])


class Hashes:
    """The hashes of all elements' keys: computed in one pass on first use, and shared by all parts of the split.

    `elements` starts a pass over an epoch. Pickling sends the hashes, not the function.
    """

    def __init__(self, elements: Callable[[], Iterator[Any]], key: Callable[..., Any], seed: int) -> None:
        self._elements = elements
        self._key = key
        self._seed = seed

    @cached_property
    def all(self) -> NDArray[np.uint64]:
        """All hashes in element order, shape `(n,)`."""
        made = (_hash(element, self._key, self._seed, row) for row, element in enumerate(self._elements()))
        with noting_blames():  # any code may make the first request
            return np.fromiter(made, np.uint64)

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self.all, self._key, self._seed)


def _found(hashes: NDArray[np.uint64], key: Callable[..., Any], seed: int) -> Hashes:
    found = Hashes(lambda: iter(()), key, seed)
    found.__dict__["all"] = hashes
    return found


@frozen()
class Keyed(RowMap):
    """Keep the elements whose key hash is in `[low, high)`, out of 2**64.

    `thread_safe` is that of `Map`.
    """

    elementwise = True
    keeps_order = True
    traits = Traits(ids="kept", selects=True)

    part: str
    key: Callable[..., Any]
    seed: int
    low: int
    high: int
    hashes: Hashes = field(metadata={"runs": True}, compare=False)
    thread_safe: bool | None = field(default=None, metadata={"runs": True})

    @property
    def name(self) -> str:
        return "split"

    @cached_property
    def length(self) -> int:
        return len(self.positions) if self.input.indexed else UNKNOWN

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The positions of the part's elements in every epoch, sorted."""
        return np.flatnonzero(self._has(self.hashes.all))

    def rows_of(self, rows: Rows) -> Rows:
        return selected(rows, positions=self.positions, input_stride=self.input.stride)

    def spread(self, allocate: Allocate) -> Spread:
        turns, elements_of = turns_of(self.key, thread_safe=self.thread_safe), elements_for(self.key, go_on=True)

        def run(piece: Piece) -> Piece:
            found = (_hash(element, self.key, self.seed) for element in elements_of(piece.chunk))
            with entered(turns):
                hashes = np.fromiter(found, np.uint64, len(piece))
            return piece.select(np.flatnonzero(self._has(hashes)))

        return run

    def _has(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if self.low == self.high:
            return np.zeros(len(hashes), np.bool_)
        return (hashes >= np.uint64(self.low)) & (hashes <= np.uint64(self.high - 1))

    def arguments(self) -> str:
        return f"{self.part!r}, key_func={name_of(self.key)}"


def _hash(element: Any, key: Callable[..., Any], seed: int, row: int | None = None) -> int:
    """Return the hash of one element's key; an error names the row if it is known."""
    try:
        return hashed(_checked(key(*element) if type(element) is tuple else key(element)), seed)
    except Exception as error:
        add_blame(error, Blame(f"split(key_func={name_of(key)})", None if row is None else ElementPlace("row", row)))
        raise


def _checked(value: Any) -> str | bytes | int:
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, str | bytes | int):
        raise ElementError(
            f"split(key_func=): the key of an element is {value!r:.80} ({type(value).__name__}); "
            "return a str, bytes or a whole number"
        )
    return value

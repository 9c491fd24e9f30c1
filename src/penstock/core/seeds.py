"""Keys of randomness: mix them, draw fresh ones, and derive the generator of one row."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator, Philox

_WORD = (1 << 64) - 1
START = 0x70656E73746F636B  # "penstock"
INCREMENT = 0x9E3779B97F4A7C15


def mix(*parts: int) -> int:
    """Return one 64-bit key for all `parts` in their order.

    A part is taken in words of 64 bits, negative parts in two's complement. The keys are frozen: saved cursors rely on
    them. The algorithm is a chain of splitmix64 output functions (Steele, Lea, Flood 2014), one per word; it is not a
    cryptographic hash.

    >>> mix(0, 1) == mix(1, 0)
    False
    """
    state = START
    for part in parts:
        state = scramble(((state ^ part) + INCREMENT) & _WORD)
        rest = part >> 64
        while rest not in (0, -1):
            state = scramble(((scramble(state) ^ rest) + INCREMENT) & _WORD)  # not as if it were the next part
            rest >>= 64
    return state


def scramble(word: int) -> int:
    """Return the splitmix64 output for a 64-bit word: a bijection that scatters near inputs."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _WORD
    return word ^ (word >> 31)


class Derived(int):
    """A seed derived for an operation that replaces the seed as `written`, which is `None` if the user wrote none."""

    written: int | None

    def __new__(cls, seed: int, written: int | None) -> Self:
        made = super().__new__(cls, seed)
        made.written = written.written if isinstance(written, Derived) else written
        return made

    def __reduce__(self) -> Any:
        return Derived, (int(self), self.written)


def written_seed(seed: int | None) -> list[str]:
    """Return the argument `seed=` as the user wrote it, if any, for the label of an operation.

    >>> written_seed(5), written_seed(None), written_seed(Derived(123, None)), written_seed(Derived(123, 5))
    (['seed=5'], [], [], ['seed=5'])
    """
    written = seed.written if isinstance(seed, Derived) else seed
    return [] if written is None else [f"seed={written}"]


def fresh_seed() -> int:
    """Return a fresh seed of 63 bits from the operating system."""
    return int.from_bytes(os.urandom(8), "little") >> 1


class Recording(threading.local):
    """The recorder of the draws that one thread makes by row, while `ds.explain(row=)` follows an element.

    `record(key, row, generator)` returns the generator to use instead, which draws the same.
    """

    record: Callable[[int, int, Generator], Generator] | None = None


recording_here = Recording()
"""The recorder of the calling thread, mostly none."""


def row_generator(key: int, row: int) -> Generator:
    """Return the generator of one row under an operation's key: Philox4x64-10 with key `(key, row)`, counting from 0.

    The generator equals `Generator(Philox(key=[key, row]))`, which costs more because it draws entropy that is never
    used.

    >>> row_generator(7, 123).integers(0, 100, 3).tolist() == row_generator(7, 123).integers(0, 100, 3).tolist()
    True
    """
    generator, philox = _numpy_random()
    made = generator(philox(cast("Any", RowKey(key & _WORD, row & _WORD))))
    record = recording_here.record
    return made if record is None else record(key, row, made)


class RowKey:
    """A substitute for a seed sequence, from which Philox takes its key and `Generator.spawn` the keys of children."""

    __slots__ = ("key", "row", "spawned")

    def __init__(self, key: int, row: int) -> None:
        self.key = key
        self.row = row
        self.spawned = 0

    def generate_state(self, n_words: int, dtype: object = np.uint64) -> np.ndarray:
        return np.array((self.key, self.row), np.uint64)

    def spawn(self, n_children: int) -> list[RowKey]:
        first = self.spawned
        self.spawned += n_children
        return [RowKey(mix(self.key, self.row, child), child) for child in range(first, self.spawned)]


@cache
def _numpy_random() -> tuple[type[Generator], type[Philox]]:
    # numpy.random takes milliseconds to import, and most pipelines never draw
    from numpy.random import Generator, Philox
    from numpy.random.bit_generator import ISpawnableSeedSequence

    ISpawnableSeedSequence.register(RowKey)
    return Generator, Philox

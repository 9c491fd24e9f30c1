"""Counts, ranges, means and deviations of numbers that merge: exact for integers, by Chan's formula for floats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, cast

import numpy as np

MOST_NUMBERS = 1 << 16
"""The numbers of an array that are looked at together, so that a large array takes little memory beside itself."""
_LIMB = 22  # bits; 2**16 products of two limbs fit an int64
_EXACT = 1 << 53  # below it, float64 counts in ones


@dataclass
class Whole:
    """The count, sum, sum of squares and range of integers, all exact."""

    count: int = 0
    total: int = 0
    squares: int = 0
    low: int | None = None
    high: int | None = None

    def add(self, numbers: Iterable[int]) -> None:
        """Add Python integers of any size.

        >>> whole = Whole()
        >>> whole.add([3, 1, 2**70])
        >>> whole.count, whole.low, whole.total == 4 + 2**70
        (3, 1, True)
        """
        given = list(numbers)
        if given:
            squares = sum(each * each for each in given)
            self.merge(Whole(len(given), sum(given), squares, int(min(given)), int(max(given))))

    def add_array(self, array: np.ndarray) -> None:
        """Add an array of integers or flags."""
        for block in blocks(array):
            low, high = int(block.min()), int(block.max())
            total, squares = _sums(block, max(abs(low), abs(high)))
            self.merge(Whole(len(block), total, squares, low, high))

    def merge(self, other: Whole) -> None:
        """Add the numbers of another."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        self.low = _least(self.low, other.low)
        self.high = _most(self.high, other.high)

    @property
    def mean(self) -> float | None:
        """The mean, rounded once."""
        return self.total / self.count if self.count else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the population, as `np.std`."""
        return sqrt(self._spread / self.count**2) if self.count else None

    @property
    def _spread(self) -> int:
        return self.count * self.squares - self.total**2

    def moments(self) -> Moments:
        """Return the same as floats."""
        if not self.count:
            return Moments()
        return Moments(self.count, self.total / self.count, self._spread / self.count)


@dataclass
class Moments:
    """The count and mean of finite floats, and the sum of their squared differences from it."""

    count: int = 0
    mean: float = 0.0
    spread: float = 0.0

    def merge(self, other: Moments) -> None:
        """Add the numbers of another, by the formula of Chan, Golub and LeVeque.

        >>> moments = moments_of(np.array([1.0, 2.0]))
        >>> moments.merge(moments_of(np.array([6.0])))
        >>> moments.mean, moments.spread
        (3.0, 14.0)
        """
        if not other.count:
            return
        count = self.count + other.count
        apart = other.mean - self.mean
        self.spread += other.spread + apart * apart * (self.count * other.count / count)
        self.mean = self.mean + apart * (other.count / count) if self.count else other.mean
        self.count = count

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the population, as `np.std`."""
        return sqrt(self.spread / self.count) if self.count and self.spread >= 0 else None


@dataclass
class Floats:
    """Floats: how many are NaN and infinite, the range, and the moments of those that are finite."""

    count: int = 0
    nan: int = 0
    infinite: int = 0
    low: float | None = None
    high: float | None = None
    moments: Moments = field(default_factory=Moments)

    def add_array(self, array: np.ndarray) -> None:
        """Add an array of floats, in the order of its rows."""
        for block in blocks(array):
            self.merge(_of_block(block.astype(np.float64)))

    def merge(self, other: Floats) -> None:
        """Add the numbers of another."""
        self.count += other.count
        self.nan += other.nan
        self.infinite += other.infinite
        self.low = _least(self.low, other.low)
        self.high = _most(self.high, other.high)
        self.moments.merge(other.moments)


def _of_block(block: np.ndarray) -> Floats:
    nan = int(np.count_nonzero(np.isnan(block)))
    numbers = block[~np.isnan(block)] if nan else block
    if not len(numbers):
        return Floats(len(block), nan)
    low, high = float(numbers.min()), float(numbers.max())
    infinite = 0
    if not np.isfinite([low, high]).all():
        infinite = int(np.count_nonzero(np.isinf(numbers)))
        numbers = numbers[np.isfinite(numbers)]
    return Floats(len(block), nan, infinite, low, high, moments_of(numbers))


def moments_of(numbers: np.ndarray) -> Moments:
    """Return the moments of `float64[n]`, all finite."""
    if not len(numbers):
        return Moments()
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(numbers.mean())
        apart = numbers - mean
        return Moments(len(numbers), mean, float(np.einsum("i,i->", apart, apart)))


def blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the numbers of an array in the order of its rows, at most `MOST_NUMBERS` at a time.

    A block may be memory that the next one uses again.
    """
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        yield from (flat[at : at + MOST_NUMBERS] for at in range(0, array.size, MOST_NUMBERS))
    elif array.size:
        flags: Any = ["external_loop", "buffered"]
        yield from cast("Iterator[np.ndarray]", np.nditer(array, flags, order="C", buffersize=MOST_NUMBERS))


def _sums(block: np.ndarray, largest: int) -> tuple[int, int]:
    """Return the sum and the sum of squares of at most `MOST_NUMBERS` integers up to `largest`, exactly."""
    if largest**2 * len(block) < _EXACT:
        numbers = block.astype(np.float64)
        return int(numbers.sum()), int(np.einsum("i,i->", numbers, numbers))
    mask = (1 << _LIMB) - 1
    limbs: list[tuple[int, np.ndarray]] = []  # (power of two, int64[n])
    rest: np.ndarray = block
    for power in (0, _LIMB):
        limbs.append((power, (rest & block.dtype.type(mask)).astype(np.int64)))
        rest = rest >> block.dtype.type(_LIMB)
    limbs.append((2 * _LIMB, rest.astype(np.int64)))
    total = sum(int(limb.sum()) << power for power, limb in limbs)
    squares = sum(int(np.einsum("i,i->", a, b)) << (power_a + power_b) for power_a, a in limbs for power_b, b in limbs)
    return total, squares


def _least(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else min(a, b)


def _most(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else max(a, b)

"""Refuse wrong counts and types in public calls, in one wording."""

from __future__ import annotations

import operator


def check_count(call: str, name: str, value: object, *, least: int, also: tuple[int, ...] = ()) -> int:
    """Return `value` as an `int` of at least `least` (or one of `also`), or say what is wrong.

    >>> check_count("batch", "batch_size", 3, least=1)
    3
    >>> check_count("batch", "batch_size", 0, least=1)
    Traceback (most recent call last):
    ValueError: batch(batch_size=0): expected at least 1
    """
    if isinstance(value, bool):
        raise TypeError(f"{call}({name}={value}): expected a whole number, not bool")
    try:
        count = operator.index(value)  # pyright: ignore[reportArgumentType] - refused just below
    except TypeError:
        raise TypeError(f"{call}({name}={value!r}): expected a whole number, not {type(value).__name__}") from None
    if count < least and count not in also:
        allowed = "".join(f", or {extra}" for extra in also)
        raise ValueError(f"{call}({name}={count}): expected at least {least}{allowed}")
    return count


def check_seed(call: str, seed: object) -> int | None:
    """Return `seed` as an `int` in [0, 2**64) or `None`, or say what is wrong."""
    if seed is None:
        return None
    value = check_count(call, "seed", seed, least=0)
    if value >= 1 << 64:
        raise ValueError(f"{call}(seed={value}): expected less than 2**64")
    return value

"""The number of random examples that a law draws: fewer in the profile `ci`, which draws the same on every run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

TIMES = {"ci": 0.3, "thorough": 10}  # as many as an ordinary run draws


class _EnoughError(Exception):
    """Nothing more needs to be drawn."""


def draws(count: int) -> int:
    """Return the number of examples to draw where an ordinary run draws `count`."""
    return round(count * TIMES.get(settings.get_current_profile_name(), 1))


def draw_until(is_enough: Callable[[Any], bool], strategy: SearchStrategy[Any], most: int) -> None:
    """Call a function with up to `most` examples, the same in every run, until it returns true."""

    @given(strategy)
    @settings(
        max_examples=most,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def each(example: Any) -> None:
        if is_enough(example):
            raise _EnoughError

    with suppress(_EnoughError):
        each()

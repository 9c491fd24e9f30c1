"""The number of random examples that a law draws: fewer in the profile `ci`, which draws the same on every run."""

from __future__ import annotations

from hypothesis import settings

TIMES = {"ci": 0.6, "thorough": 10}  # as many as an ordinary run draws


def draws(count: int) -> int:
    """Return the number of examples to draw where an ordinary run draws `count`."""
    return round(count * TIMES.get(settings.get_current_profile_name(), 1))

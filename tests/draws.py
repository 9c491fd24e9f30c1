"""The number of random examples that a law draws: ten times as many in the profile `thorough`."""

from __future__ import annotations

from hypothesis import settings


def draws(count: int) -> int:
    """Return the number of examples to draw where an ordinary run draws `count`."""
    return 10 * count if settings.get_current_profile_name() == "thorough" else count
